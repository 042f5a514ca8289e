"""Every environment variable the product reads: its type, its default, and what it means."""

from dataclasses import dataclass
from typing import Any

import environ


@dataclass(frozen=True, slots=True)
class Setting:
    """One variable. `shown` is its default as the documentation prints it, when that is computed."""

    name: str
    kind: type
    default: Any
    meaning: str
    shown: str = ""

    @property
    def printed(self) -> str:
        """The default as the settings table shows it."""
        default = ",".join(self.default) if isinstance(self.default, list) else str(self.default)
        return self.shown or default or "empty"


LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"]

SETTINGS = (
    Setting(
        "DATABASE_URL",
        str,
        "",
        "Where runs are kept: `sqlite:///path` or `postgres://user:password@host:port/name`",
        "SQLite in `HERMES_HOME`",
    ),
    Setting("REDIS_URL", str, "", "Redis for the task queue and for live pages; without it the database does both"),
    Setting("HOST", str, "127.0.0.1", "The address the web server listens on"),
    Setting("PORT", int, 8000, "The port the web server listens on"),
    Setting("HERMES_HOME", str, "", "The directory of all data: database, secret key, first password", "`var` in the checkout"),
    Setting(
        "HERMES_SKILLS_DIRS",
        list,
        [],
        "Folders, separated by commas, whose `<skill>/SKILL.md` canvas nodes may select",
        "`HERMES_HOME/skills`",
    ),
    Setting("HERMES_SECRET_KEY", str, "", "Signs sessions and tasks", "made once, kept in `HERMES_HOME/secret-key`"),
    Setting("HERMES_DEBUG", bool, False, "Show tracebacks in the browser; for development only"),
    Setting("HERMES_ALLOWED_HOSTS", list, LOCAL_HOSTS, "Host names the site answers to, separated by commas"),
    Setting(
        "HERMES_TRUSTED_ORIGINS",
        list,
        [],
        "Origins (`https://flows.example.com`) whose forms and sockets are accepted besides the own host",
    ),
    Setting("HERMES_HTTPS", bool, False, "The site is served over HTTPS: secure cookies, redirect, HSTS"),
    Setting("HERMES_TRUSTED_PROXIES", int, 0, "How many reverse proxies stand in front and set `X-Forwarded-For` and `X-Forwarded-Proto`"),
    Setting("HERMES_PROCESS", str, "cli", "What this process is: `web`, `worker` or `cli`; the supervisor sets it"),
    Setting("HERMES_WORKERS", int, 2, "Worker processes that perform steps"),
    Setting(
        "HERMES_STEPS_PER_WORKER", int, 8, "Steps that one worker process performs at the same time, once they take more than a second"
    ),
    Setting("HERMES_LEASE_SECONDS", float, 30.0, "How long a silent worker keeps its step before another takes it over"),
    Setting(
        "HERMES_SYNCHRONOUS",
        str,
        "NORMAL",
        "SQLite durability: `NORMAL` may lose the last commits on power loss, `FULL` does not and is slower",
    ),
    Setting("HERMES_REMIND_HOURS", float, 24.0, "Hours between two reminders of a gate that is still open; 0 sends none"),
    Setting("HERMES_DEFAULT_PROFILE", str, "default", "The profile of a step that names none"),
    Setting("HERMES_SEPARATE_DUTIES", bool, False, "Who started a run or last edited its design may not approve its gates"),
    Setting("HERMES_TOKEN_DAYS", int, 90, "Days until a new API token expires"),
    Setting("HERMES_LOG_LEVEL", str, "INFO", "The least severe record that is logged"),
    Setting("HERMES_TEST_DB_SUFFIX", str, "", "Added to the name of the test database, so that test runs do not meet"),
)


def read_environment() -> environ.Env:
    """A reader with a type and a default for every known variable."""
    return environ.Env(**{setting.name: (setting.kind, setting.default) for setting in SETTINGS})


def settings_table() -> str:
    """The Markdown table of the documentation."""
    rows = [f"| `{setting.name}` | {setting.printed} | {setting.meaning} |" for setting in SETTINGS]
    return "\n".join(["| variable | default | meaning |", "|---|---|---|", *rows])
