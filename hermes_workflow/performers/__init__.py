"""Performers that ship with the product: small programs that need no credentials, no Django and no network."""

import os
import sys

# Not pathlib: this module is imported by every start of the demo, and pathlib would make up a tenth of it.
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BOOT = "import sys; sys.path.insert(0, sys.argv.pop(1)); from hermes_workflow.performers.demo import main; sys.exit(main())"


def demo_argv() -> list[str]:
    """The command line of the demo performer: isolated from the environment and without site-packages, so that it starts fast."""
    return [sys.executable, "-I", "-S", "-c", BOOT, ROOT]
