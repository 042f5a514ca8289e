"""Hermes Workflow: agent workflows with human approval that people can trust."""
