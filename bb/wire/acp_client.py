"""The client's side of one connection to an ACP agent: received lines in, lines to send out, and what has happened.

    new ──start──> greeting ──agent──> opening ──session──> idle <──end, failure── prompting ──cancel──> cancelling
                                                             └────────prompt────────^

The caller owns the process and the time. A line of the agent may be anything: what is not understood changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from bb.kernel.record import Record
from bb.wire import acp, jsonrpc
from bb.wire.acp import Agent, Permission
from bb.wire.jsonrpc import Answer, Id, Invalid, Notification, Request

NEW, GREETING, OPENING, IDLE, PROMPTING, CANCELLING = "new", "greeting", "opening", "idle", "prompting", "cancelling"
BUSY = (PROMPTING, CANCELLING)
SHOWN = 100  # bytes of a line that is no message
MOST_TEXT = 200_000  # characters of a turn's text that are kept
MESSAGE, THOUGHT, CALL, CALL_UPDATE = "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update"


class Ready(Record):
    """A session is open."""

    agent: Agent
    session: str
    is_loaded: bool


class Worked(Record):
    """The agent is at work: it wrote, thought, or called a tool (with its TITLE)."""

    what: str
    title: str = ""


class Asked(Record):
    """The agent asks for permission."""

    request: Id
    permission: Permission


class Ended(Record):
    """The turn is over. TEXT is the last message of the turn, without what the agent wrote between tool calls."""

    why: str
    text: str


class TurnFailed(Record):
    """The agent answered a prompt with an error."""

    code: int
    message: str


class Unreadable(Record):
    """A line of the agent is no message."""

    reason: str
    line: str  # its beginning


Event = Ready | Worked | Asked | Ended | TurnFailed | Unreadable


class AcpClient:
    """One connection. SAY sends lines to the agent; FOLDER and SERVERS are those of the session. With a SESSION, that
    session is loaded if the agent can do it."""

    def __init__(
        self,
        say: Callable[[bytes], None],
        words: Iterable[str],
        folder: str,
        servers: list[dict[str, Any]],
        session: str = "",
    ) -> None:
        self._say, self._words = say, tuple(words)
        self._place = {"cwd": folder, "mcpServers": servers}
        self.session, self._wanted = "", session
        self.agent = Agent()
        self.state = NEW
        self._count = 0
        self._waits: tuple[int, str] = (0, "")  # our unanswered request, and its method
        self._asked: dict[Id, Permission] = {}
        self._text = self._earlier = ""  # of the turn: its last message, and the one before
        self._message_id: Any = None

    # -- what the caller wants

    def start(self) -> None:
        """Begin the connection."""
        self.state = GREETING
        self._request(acp.INITIALIZE, acp.initialize())

    def prompt(self, text: str) -> None:
        """Begin a turn. The session must be idle."""
        if self.state != IDLE:
            raise AssertionError("a turn is running")
        self.state = PROMPTING
        self._text, self._earlier, self._message_id = "", "", None
        self._request(acp.PROMPT, acp.prompt(self.session, text))

    def cancel(self) -> None:
        """Cancel the running turn. Its end is still to come."""
        if self.state == PROMPTING:
            self.state = CANCELLING
            self._say(jsonrpc.notification(acp.CANCEL, {"sessionId": self.session}))
            for request in list(self._asked):
                self.decide(request, None)

    def decide(self, request: Id, option: str | None) -> None:
        """Answer a request for permission with one of its options; None if the turn was cancelled."""
        if self._asked.pop(request, None) is not None:
            self._say(jsonrpc.result(request, acp.outcome(option)))

    @property
    def is_busy(self) -> bool:
        """Whether a turn is running."""
        return self.state in BUSY

    # -- what the agent sends

    def take(self, line: bytes | None) -> Iterator[Event]:
        """What one line of the agent means; None for a line that was too long."""
        message = jsonrpc.read(line)
        match message:
            case Answer():
                yield from self._answered(message)
            case Notification(method=acp.UPDATE, params=params) if acp.is_of(params, self.session):
                yield from self._updated(params.get("update"))
            case Request():
                yield from self._requested(message)
            case Invalid():
                yield Unreadable(message.reason, (line or b"")[:SHOWN].decode("utf-8", "replace"))

    def _answered(self, answer: Answer) -> Iterator[Event]:
        number, method = self._waits
        if not number or answer.id != number:
            return
        self._waits = (0, "")
        if method == acp.PROMPT:
            yield from self._stopped(answer)
        elif method == acp.INITIALIZE:
            self._greeted(answer)
        else:
            yield from self._opened(method, answer)

    def _greeted(self, answer: Answer) -> None:
        if answer.error is not None:
            raise acp.NotAnAcpAgent(f"the agent refused `initialize`: {_error(answer.error)}")
        self.agent = acp.agent(answer.result)
        self.state = OPENING
        if self._wanted and self.agent.can_load:
            self._request(acp.LOAD, {"sessionId": self._wanted, **self._place})
        else:
            self._request(acp.NEW, self._place)

    def _opened(self, method: str, answer: Answer) -> Iterator[Event]:
        if answer.error is None:
            self.session = self._wanted if method == acp.LOAD else acp.session(answer.result)
            self.state = IDLE
            yield Ready(self.agent, self.session, method == acp.LOAD)
        elif answer.error.get("code") == acp.AUTH_REQUIRED:
            raise acp.needs_login(self.agent, self._words)
        elif method == acp.LOAD:  # the session is gone
            self._request(acp.NEW, self._place)
        else:
            raise acp.NotAnAcpAgent(f"the agent opened no session: {_error(answer.error)}")

    def _stopped(self, answer: Answer) -> Iterator[Event]:
        self.state = IDLE
        self._asked.clear()
        if answer.error is None:
            yield Ended(acp.stop_reason(answer.result), self._text.strip() or self._earlier)
        elif answer.error.get("code") == acp.AUTH_REQUIRED:
            raise acp.needs_login(self.agent, self._words)
        else:
            yield TurnFailed(answer.error["code"], _error(answer.error))

    def _updated(self, update: Any) -> Iterator[Event]:
        if not self.is_busy or not isinstance(update, dict):
            return  # the history of a loaded session, or something about its modes
        what = update.get("sessionUpdate")
        if what == MESSAGE:
            self._write(update)
            yield Worked(MESSAGE)
        elif what in (CALL, CALL_UPDATE):
            if what == CALL:
                self._begin_message()  # what the agent wrote before a tool call is not its last message
            yield Worked(CALL, acp.title_of(update) if what == CALL else "")
        else:
            yield Worked(THOUGHT)

    def _write(self, update: Mapping[str, Any]) -> None:
        if (name := update.get("messageId")) is not None and name != self._message_id:
            self._begin_message()
            self._message_id = name
        if len(self._text) < MOST_TEXT:  # else each of many pieces would copy it
            self._text = (self._text + acp.text_of(update))[:MOST_TEXT]

    def _begin_message(self) -> None:
        self._text, self._earlier = "", self._text.strip() or self._earlier

    def _requested(self, request: Request) -> Iterator[Event]:
        if request.method != acp.PERMISSION:
            why = {"method": request.method[:100]}
            self._say(jsonrpc.failure(request.id, jsonrpc.METHOD_NOT_FOUND, "bb does not offer this method", why))
        elif self.state != PROMPTING or not acp.is_of(request.params, self.session):
            self._say(jsonrpc.result(request.id, acp.outcome(None)))
        else:
            permission = acp.permission(request.params)
            self._asked[request.id] = permission
            self._begin_message()
            yield Asked(request.id, permission)

    def _request(self, method: str, params: Mapping[str, Any]) -> None:
        self._count += 1
        self._waits = (self._count, method)
        self._say(jsonrpc.request(self._count, method, params))


def _error(error: Mapping[str, Any]) -> str:
    """The words of an error, with its details if there are any."""
    from bb.kernel.escaping import quotation  # noqa: PLC0415  (few turns fail)

    data = error.get("data")
    details = data.get("details") if isinstance(data, dict) else data
    words = [part for part in (error.get("message"), details) if isinstance(part, str) and part]
    return quotation(": ".join(words) or "no reason given")
