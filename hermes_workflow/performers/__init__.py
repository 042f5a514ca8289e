"""Performers that ship with the product: small programs that need no credentials, no Django and no network."""

import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[2])
BOOT = "import sys; sys.path.insert(0, sys.argv.pop(1)); from hermes_workflow.performers.demo import main; sys.exit(main())"


def demo_argv() -> list[str]:
    """The command line of the demo performer: isolated from the environment and without site-packages, so that it starts fast."""
    return [sys.executable, "-I", "-S", "-c", BOOT, ROOT]
