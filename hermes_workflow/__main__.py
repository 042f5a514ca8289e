"""`python -m hermes_workflow …`: the operator's command line, as `manage.py hermes …`."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hermes_workflow.settings")
    execute_from_command_line([sys.argv[0], "hermes", *sys.argv[1:]])
