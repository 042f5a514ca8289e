"""The webhook page by example: its commands start a run, and once more they start none."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hermes_workflow import services
from hermes_workflow.models import Hook
from hermes_workflow.rights import DESIGNER
from runs.models import Event, Run
from tests import builders as b
from tests.conftest import require

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "webhook.md").read_text()


@pytest.mark.django_db(transaction=True)
def test_the_call_of_the_page_starts_one_run(live_server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    require("curl", shutil.which("curl"))
    require("openssl", shutil.which("openssl"))
    making, calling = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    trigger = json.loads(re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0])
    b.profile()
    services.save_design(principal=b.person("dora", DESIGNER), name="orders", document=b.design(trigger, b.approval("review")))
    secret = subprocess.run(["bash", "-c", f"{making}\nprintf %s $HERMES_HOOK_ORDERS"], capture_output=True, text=True, check=True).stdout
    assert len(secret) == 64
    monkeypatch.setenv(Hook.objects.get().secret_env, secret)
    said = []
    for _ in range(2):
        done = subprocess.run(
            ["bash", "-c", f"set -eu\n{calling}"],
            env={"HERMES_HOOK_ORDERS": secret, "URL": live_server_url, "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        said.append(json.loads(done.stdout))
    run = Run.objects.get()
    assert said == [{"ok": True, "status": status, "run_id": run.pk} for status in ("accepted", "duplicate")]
    assert Event.objects.get(seq=1).body["order"] == 4711
