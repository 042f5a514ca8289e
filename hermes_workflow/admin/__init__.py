"""The admin of designs and of who uses them."""

from hermes_workflow.admin import designs as designs
