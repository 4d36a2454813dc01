"""The Agent Client Protocol, version 1, as a client needs it: the members of requests, and the meaning of what an agent
sends. Every value from the agent is checked here, because an agent program is somebody else's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import bb
from bb.kernel.errors import Refused
from bb.kernel.escaping import name, quotation
from bb.kernel.record import Record

VERSION = 1
INITIALIZE, AUTHENTICATE = "initialize", "authenticate"
NEW, LOAD, PROMPT, CANCEL = "session/new", "session/load", "session/prompt", "session/cancel"
UPDATE, PERMISSION = "session/update", "session/request_permission"
AUTH_REQUIRED = -32000
LONGEST = 200  # characters of a title or a name
MOST_OPTIONS = 12

# Why a turn stopped.
END, TOKENS, REQUESTS, REFUSAL, CANCELLED = "end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"
STOPS = (END, TOKENS, REQUESTS, REFUSAL, CANCELLED)
# The kinds of a permission's options.
ALLOW_ONCE, ALLOW_ALWAYS, REJECT_ONCE, REJECT_ALWAYS = "allow_once", "allow_always", "reject_once", "reject_always"
ALLOWING, REJECTING = (ALLOW_ONCE, ALLOW_ALWAYS), (REJECT_ONCE, REJECT_ALWAYS)  # the smallest permission first

NotAnAcpAgent = Refused.declare(
    "NOT_AN_ACP_AGENT",
    "The command does not speak the Agent Client Protocol",
    hint="many agents need an option for it: `gemini --acp`, `opencode acp`; docs/attach.md lists commands",
)
AcpVersion = Refused.declare(
    "ACP_VERSION",
    "The agent speaks another version of the Agent Client Protocol",
    hint="install a version of the agent that speaks version 1",
)
AgentNeedsLogin = Refused.declare("AGENT_NEEDS_LOGIN", "The agent is not logged in to its model provider")


class AuthMethod(Record):
    """A way to log in that the agent names. COMMAND is empty if the agent does not say how to run it."""

    id: str
    name: str
    about: str = ""
    arguments: tuple[str, ...] = ()


class Agent(Record):
    """What the agent said of itself."""

    name: str = ""
    version: str = ""
    can_load: bool = False
    auth: tuple[AuthMethod, ...] = ()

    @property
    def title(self) -> str:
        """Its name and version for a person."""
        return " ".join(name(word, LONGEST) for word in (self.name, self.version) if word) or "the agent"


class Option(Record):
    """One of the answers that the agent accepts to a request for permission."""

    id: str
    name: str
    kind: str


class Permission(Record):
    """A request of the agent for permission to run one of its own tools."""

    title: str
    kind: str
    tool: str
    options: tuple[Option, ...]

    def option(self, *, is_allowed: bool) -> str | None:
        """The option with the smallest effect that allows the tool, or that rejects it; None if there is none."""
        wanted = ALLOWING if is_allowed else REJECTING
        return next((option.id for kind in wanted for option in self.options if option.kind == kind), None)


# -- what the client sends


def initialize() -> dict[str, Any]:
    """The members of `initialize`. bb offers neither files nor terminals, so agents use their own."""
    return {
        "protocolVersion": VERSION,
        "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
        "clientInfo": {"name": "bb", "title": "bb chat attach", "version": bb.__version__},
    }


def server(called: str, command: str, arguments: Iterable[str], env: Mapping[str, str]) -> dict[str, Any]:
    """An MCP server that the agent starts for the session."""
    variables = [{"name": name, "value": value} for name, value in env.items()]
    return {"name": called, "command": command, "args": list(arguments), "env": variables}


def prompt(session: str, text: str) -> dict[str, Any]:
    """The members of `session/prompt`."""
    return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}


def outcome(option: str | None) -> dict[str, Any]:
    """The answer to a request for permission: the chosen option, or that the turn was cancelled."""
    return {"outcome": {"outcome": "selected", "optionId": option} if option else {"outcome": "cancelled"}}


# -- what the agent sends


def agent(result: Any) -> Agent:
    """The agent that answered `initialize`. Refused if it speaks another version, or no ACP at all."""
    found = _object(result)
    version = found.get("protocolVersion")
    if type(version) is not int:
        raise NotAnAcpAgent("the command answered `initialize` without a protocol version")
    if version != VERSION:
        raise AcpVersion(
            f"the agent speaks version {version} of the protocol, and bb speaks {VERSION}", version=version
        )
    info = _object(found.get("agentInfo"))
    methods = found.get("authMethods")
    return Agent(
        _text(info, "name"),
        _text(info, "version"),
        _object(found.get("agentCapabilities")).get("loadSession") is True,
        tuple(_method(each) for each in methods if isinstance(each, dict)) if isinstance(methods, list) else (),
    )


def needs_login(of: Agent, words: Iterable[str]) -> Exception:
    """The refusal of an agent that is not logged in. WORDS are the command that started it."""
    command = " ".join(map(name, words))
    how = [_login(method, command) for method in of.auth]
    hint = f"log in once, then attach again: {'; or '.join(how)}" if how else f"run `{command}` once to log in"
    return AgentNeedsLogin(f"{of.title} needs a login", hint=hint, methods=[method.id for method in of.auth])


def _login(method: AuthMethod, command: str) -> str:
    about = f" ({quotation(method.about, LONGEST)})" if method.about else ""
    run = f": `{' '.join((command, *map(name, method.arguments)))}`" if method.arguments else ""
    return f"{name(method.name or method.id, LONGEST)}{about}{run}"


def _method(found: Mapping[str, Any]) -> AuthMethod:
    listed = found.get("args")
    arguments = tuple(word for word in listed if isinstance(word, str)) if isinstance(listed, list) else ()
    return AuthMethod(_text(found, "id"), _text(found, "name"), _text(found, "description"), arguments)


def session(result: Any) -> str:
    """The id of the session that the agent has opened."""
    found = _object(result).get("sessionId")
    if not isinstance(found, str) or not found:
        raise NotAnAcpAgent("the agent opened a session without an id")
    return found


def stop_reason(result: Any) -> str:
    """Why the turn stopped. An unknown reason counts as an ordinary end."""
    found = _object(result).get("stopReason")
    return found if found in STOPS else END


def permission(params: Mapping[str, Any]) -> Permission:
    """A request for permission."""
    call = _object(params.get("toolCall"))
    listed = params.get("options")
    options = [
        Option(_text(each, "optionId"), _text(each, "name"), _text(each, "kind"))
        for each in (listed if isinstance(listed, list) else [])[:MOST_OPTIONS]
        if isinstance(each, dict)
    ]
    title = _text(call, "title") or _text(call, "name") or "an unnamed tool"
    return Permission(title, _text(call, "kind"), _text(call, "name"), tuple(each for each in options if each.id))


def text_of(update: Mapping[str, Any]) -> str:
    """The text of a piece of a message."""
    content = _object(update.get("content"))
    text = content.get("text") if content.get("type") == "text" else ""
    return text if isinstance(text, str) else ""


def title_of(update: Mapping[str, Any]) -> str:
    """The title of a tool call."""
    return _text(update, "title")


def is_of(params: Mapping[str, Any], session_id: str) -> bool:
    """Whether an update is about our session."""
    return params.get("sessionId") == session_id


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(of: Mapping[str, Any], member: str) -> str:
    text = of.get(member)
    return text[:LONGEST] if isinstance(text, str) else ""
