"""Hermes Workflow in a Hermes Agent: its tools for the model, and `/workflow` for people. It speaks HTTP and keeps nothing."""

import json
import logging
import os
import urllib.error
import urllib.parse
import urllib.request
import uuid

TOOLSET = "workflow"
TIMEOUT = 30.0  # seconds
LARGEST = 8 * 1024 * 1024  # bytes of an answer
AWAY = "Hermes Workflow cannot be reached"

log = logging.getLogger(__name__)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token to another place."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        return None


_open = urllib.request.build_opener(_NoRedirect).open


def register(ctx):
    """Every tool that the server has, as it describes them; without the server only the command, which says so."""
    tools = _call("GET", "/api/tools/")
    for tool in tools.get("results", []):
        schema = _for_a_model(tool)
        ctx.register_tool(name=tool["name"], toolset=TOOLSET, schema=schema, handler=_handler(tool["name"]))
    if "results" not in tools:
        log.warning("no workflow tools: %s", _says(tools))
    ctx.register_command(
        "workflow",
        handler=_command,
        description="Run workflows and answer what they ask",
        args_hint="list | run <name> | run retry <run> | status <run> | answer <run> <option> | runs | link [code] | help",
    )


def _for_a_model(tool):
    """The tool without `source`: who said something is known from the chat, and no model's word."""
    parameters = dict(tool["parameters"])
    parameters["properties"] = {name: about for name, about in parameters["properties"].items() if name != "source"}
    return {"name": tool["name"], "description": tool["description"], "parameters": parameters}


def _handler(name):
    def handle(params=None, **_):
        """Run the tool; its answer, or why there is none, as JSON."""
        given = {key: value for key, value in (params or {}).items() if key != "source"}
        return json.dumps(_call("POST", f"/api/tools/{name}/", given), ensure_ascii=False)

    return handle


def _command(raw="", **_):
    """What a person typed behind /workflow, passed on as theirs; the answer as text."""
    body = {"text": f"/workflow {raw or ''}".strip()}
    source = _source()
    if source:
        body["source"] = source
    return _says(_call("POST", "/api/chat/command/", body))


def _source():
    """Whose message this is, by the chat; else the one person of this agent; else nobody's, and the bot speaks for itself."""
    channel, account = _session("PLATFORM"), _session("USER_ID")
    if not (channel and account):
        channel, _, account = os.environ.get("HERMES_WORKFLOW_ACCOUNT", "").partition(":")
    if not (channel and account):
        return None
    message, chat = _session("MESSAGE_ID"), _session("CHAT_ID")
    heard = {"message_id": f"{chat}:{message}" if chat else message} if message else {"event_id": uuid.uuid4().hex}
    return {"channel": channel, "external_id": account, **heard}


def _session(name):
    """What the agent's gateway knows of the message that is handled now."""
    try:
        from gateway.session_context import get_session_env
    except ImportError:
        return os.environ.get(f"HERMES_SESSION_{name}", "")
    return str(get_session_env(f"HERMES_SESSION_{name}", "") or "")


def _says(answer):
    error = answer.get("error") or {}
    return answer.get("text") or " ".join(part for part in (error.get("msg"), error.get("hint")) if part) or AWAY


def _call(method, path, body=None):
    """The answer of the server as a dict, refusals included. Never raises: an agent goes on without a workflow."""
    try:
        return _answered(_request(method, path, body))
    except urllib.error.HTTPError as refusal:
        with refusal:
            return _read(refusal.read(LARGEST), f"the server answered {refusal.code}")
    except Exception as error:  # whatever happens to a connection, the agent gets an answer
        log.warning("%s: %s", AWAY, type(error).__name__)
        return _failure("unreachable", f"{AWAY}: {type(error).__name__}")


def _request(method, path, body):
    base = os.environ.get("HERMES_WORKFLOW_URL", "").rstrip("/")
    if urllib.parse.urlsplit(base).scheme not in ("http", "https"):
        raise ValueError("HERMES_WORKFLOW_URL must be an http or https address")
    headers = {"Authorization": f"Token {os.environ.get('HERMES_WORKFLOW_TOKEN', '')}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    return urllib.request.Request(f"{base}{path}", data=data, headers=headers, method=method)  # noqa: S310 - checked above


def _answered(request):
    with _open(request, timeout=TIMEOUT) as response:
        return _read(response.read(LARGEST + 1), "the answer is too large")


def _read(data, fault):
    try:
        found = json.loads(data)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else _failure("unreadable", f"Hermes Workflow: {fault}")


def _failure(code, msg):
    return {"ok": False, "error": {"code": code, "msg": msg, "hint": "try again later, or tell the person"}}
