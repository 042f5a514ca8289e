"""The admin of designs, of who uses and performs them, and of what lies below."""

from hermes_workflow.admin import channels, designs, hooks, machinery, people, profiles, schedules, tokens

__all__ = ["channels", "designs", "hooks", "machinery", "people", "profiles", "schedules", "tokens"]
