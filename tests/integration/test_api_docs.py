"""The API by example: every command of the page works, and every address is on it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from hermes_workflow import installation
from hermes_workflow.api.urls import urlpatterns
from runs.models import Run
from tests.conftest import require

DOCS = Path(__file__).parents[2] / "docs"
PAGE, CHAT_BOT = ((DOCS / name).read_text() for name in ("api.md", "how-to/chat-bot.md"))


def run_commands_of(page: str, live_server_url: str) -> str:
    """What the commands of a page print, run against a new installation."""
    require("curl", shutil.which("curl"))
    installation.create_roles()
    installation.create_profiles()
    User.objects.create_superuser("admin", password="pw")
    script = "set -eu -o pipefail\n" + "\n".join(re.findall(r"```sh\n(.*?)```", page, re.DOTALL))
    environment = {"URL": f"{live_server_url}/api", "PASSWORD": "pw", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


@pytest.mark.django_db(transaction=True)
def test_the_commands_of_the_page_work_in_order(live_server_url: str) -> None:
    said = run_commands_of(PAGE, live_server_url)
    assert sorted(Run.objects.values_list("status", flat=True)) == ["awaiting_agent", "done"]
    assert '"winner"' not in said


@pytest.mark.django_db(transaction=True)
def test_the_commands_for_a_chat_bot_work_in_order(live_server_url: str) -> None:
    said = run_commands_of(CHAT_BOT, live_server_url)
    assert "answer the gate review: approve or reject" in said
    assert said.endswith("letter\n")
    assert Run.objects.get().status == "awaiting_approval"


def test_every_address_is_on_the_page() -> None:
    said = re.sub(r"\$RUN|\{run_id\}|…", "<str:run_id>", re.sub(r"\$GATE", "<str:gate_id>", PAGE))
    said = said.replace("letter/", "<str:name>/").replace("{name}", "<str:name>").replace("{id}", "<str:token_id>")
    said = said.replace("{slug}", "<str:slug>")
    said = said.replace("outputs/draft/", "outputs/<path:node_id>/").replace("deliveries/{node_id}/", "deliveries/<path:node_id>/")
    said = said.replace("$SCHEDULE", "<str:schedule_id>")
    patterns = {str(pattern.pattern) for pattern in urlpatterns if pattern.name}
    assert [pattern for pattern in sorted(patterns) if f"/{pattern}" not in said] == []
