"""The session of one harness: received lines in, lines to send out. The caller owns the connection.

    new ──initialize──> initialized ──initialized notification, or any request──> receives deliveries ──shutdown──> over

Every request is answered once, under its id; a notification is not answered. A delivery is recorded before it is sent,
and a harness's message is recorded before it takes effect. So the connection may break between any two messages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bb.attention.acts.tools import BY_ANY_NAME
from bb.attention.harness import capabilities
from bb.attention.messages.envelopes import EnvelopeMembers
from bb.attention.refusals import NotInitializedYet
from bb.kernel import clock
from bb.kernel.errors import BbError, Usage
from bb.kernel.escaping import harmless
from bb.ops.attention import greeting, serving
from bb.ops.attention.serving import Hosting
from bb.ops.desk.desk import Desk
from bb.wire import c2a, jsonrpc
from bb.wire.envelope import AnswerTooLarge
from bb.wire.jsonrpc import Answer, Invalid, Notification, Request

Params = dict[str, Any]

LONGEST_NOTE = 2000
PAUSE = clock.SECOND  # until the next attempt after a refusal

NoSuchMethod = Usage.declare("METHOD_NOT_FOUND", "The method does not exist")
Twice = Usage.declare("ALREADY_INITIALIZED", "The session is already initialized")

NUMBERS = {NoSuchMethod.code: jsonrpc.METHOD_NOT_FOUND, Twice.code: jsonrpc.INVALID_REQUEST}


class HarnessSession:
    """The session of one harness. SAY sends lines to it, NOTE informs the operator, REPORT reports bugs. LOOK is called
    before each answer, and hands over everything that happened earlier."""

    def __init__(
        self,
        desk: Desk,
        agent: str | None,
        say: Callable[[bytes], None],
        note: Callable[[str], None],
        report: Callable[[Exception], None],
        look: Callable[[], None],
    ) -> None:
        self._desk, self._named = desk, agent
        self._say, self._note, self._report, self._look = say, note, report, look
        self.hosting: Hosting | None = None
        self._has_begun = False  # whether the harness is ready for deliveries
        self.is_over = False
        self.due: int | None = None

    @property
    def takes_deliveries(self) -> bool:
        """Whether the harness wants deliveries."""
        return self.hosting is not None and self.hosting.harness.can.takes_deliveries

    # -- input

    def take(self, line: bytes | None) -> None:
        """Handle one line from the harness; None for one that was too long."""
        message = jsonrpc.read(line)
        match message:
            case Request():
                self._asked(message)
            case Notification():
                self._told(message)
            case Answer() if self.hosting is not None:
                self._guarded(self.hosting.answered, message.id, message.result, message.error)
            case Invalid():
                self._say(c2a.invalid(message))

    def _asked(self, found: Request) -> None:
        self._look()
        try:
            octets = _fitting(jsonrpc.result(found.id, self._answer(found.method, found.params)))
        except (NoSuchMethod.error, Twice.error) as refusal:
            octets = jsonrpc.failure(found.id, NUMBERS[refusal.code], refusal.message, c2a.data_of(refusal))
        except BbError as refusal:
            octets = c2a.failure(found.id, refusal)
        except Exception as bug:  # report it, and keep serving
            self._report(bug)
            octets = c2a.invalid(Invalid(jsonrpc.INTERNAL_ERROR, "bb ran into a bug", found.id))
        self._say(octets)

    def _answer(self, method: str, params: Params) -> Any:
        if method == c2a.INITIALIZE:
            return self._begin(params)
        if self.hosting is None:
            raise NotInitializedYet()
        self._has_begun = True
        if method in BY_ANY_NAME:
            return self.hosting.call(method, params)
        if method not in METHODS:
            raise NoSuchMethod(f"the method {harmless(method[:60])!r} does not exist")
        return METHODS[method](self, self.hosting, params)

    def _begin(self, params: Params) -> Params:
        if self.hosting is not None:
            raise Twice()
        self.hosting, answer = greeting.begin(self._desk, params, self._named)
        return answer

    def leave(self) -> None:
        """The connection is closed."""
        if self.hosting is not None:
            self.hosting.leave()

    def _told(self, found: Notification) -> None:
        if found.method == c2a.NOW and self._desk.env.get(serving.CLOCK) == serving.BY_CLIENT:
            self._guarded(serving.set_clock, self._desk, found.params)
        elif self.hosting is not None and found.method in NOTICES:
            self._guarded(NOTICES[found.method], self, self.hosting, found.params)

    def _guarded(self, call: Callable[..., None], *given: Any) -> None:
        """Carry out a notification. A refusal is noted for the operator, because notifications get no answer."""
        try:
            call(*given)
        except BbError as refusal:
            self._note(f"{refusal.code}: {refusal.message}")

    # -- output

    def hand_over(self) -> None:
        """Send the deliveries and cancellations that are due."""
        self.due = None
        if self.hosting is None or not self._has_begun or self.is_over or not self.takes_deliveries:
            return
        try:
            plan = self.hosting.hand_over()
        except BbError as refusal:
            self._note(f"{refusal.code}: {refusal.message}")
            self.due = self._desk.now() + PAUSE
            return
        self.due = plan.due
        can = self.hosting.harness.can
        for handed, reason in plan.cancels if can(capabilities.CANCELLATION) and can(capabilities.ACK) else ():
            self._say(jsonrpc.notification(c2a.CANCELLED, {"requestId": handed.request, "reason": reason}))
        for deliver in plan.delivers:
            if can(capabilities.ACK):
                self._say(jsonrpc.request(deliver.handed.request, c2a.DELIVER, deliver.envelope))
            else:
                self._say(jsonrpc.notification(c2a.DELIVER, deliver.envelope))

    def supersede(self) -> None:
        """End this session, because a newer harness of the same agent receives the deliveries from now on."""
        about = {"code": "superseded_session", "message": "another harness of this agent has connected"}
        self._say(jsonrpc.notification(c2a.MESSAGE, {"level": "warning", "logger": "bb", "data": about}))
        self.is_over = True

    # -- the methods

    def _ping(self, _: Hosting, __: Params) -> Params:
        return {}

    def _shutdown(self, hosting: Hosting, _: Params) -> Params:
        self.is_over = True
        return {"persisted": hosting.left()}

    def _list_tools(self, hosting: Hosting, _: Params) -> Params:
        return {"tools": [c2a.tool(tool) for tool in hosting.tools()]}

    def _call_tool(self, hosting: Hosting, params: Params) -> Params:
        members = EnvelopeMembers(params)
        name = members.text("name", 100, is_needed=True)
        return c2a.called(hosting.call(name, members.object("arguments").value))

    def _initialized(self, _: Hosting, __: Params) -> None:
        self._has_begun = True

    def _progressed(self, hosting: Hosting, params: Params) -> None:
        if hosting.harness.can(capabilities.PROGRESS):
            hosting.progressed(params)

    def _logged(self, hosting: Hosting, params: Params) -> None:
        if hosting.harness.can(capabilities.LOGGING):
            text = params.get("data", params.get("message", ""))
            self._note(f"{hosting.agent} says: {harmless(str(text)[:LONGEST_NOTE])}")


def _fitting(octets: bytes) -> bytes:
    if len(octets) > jsonrpc.MOST:
        raise AnswerTooLarge("The answer does not fit into a line", hint="request fewer items at once")
    return octets


def _forget(_: Any) -> None:
    """Drop the result of a notification."""


METHODS: dict[str, Callable[[HarnessSession, Hosting, Params], Params]] = {
    c2a.PING: HarnessSession._ping,
    c2a.SHUTDOWN: HarnessSession._shutdown,
    c2a.TOOLS_LIST: HarnessSession._list_tools,
    c2a.TOOLS_CALL: HarnessSession._call_tool,
    c2a.RESUME: lambda _, hosting, params: hosting.resume(params),
    c2a.DELIVER: lambda _, hosting, params: hosting.received(params),
    c2a.INGEST: lambda _, hosting, params: hosting.ingested(params),
}
NOTICES: dict[str, Callable[[HarnessSession, Hosting, Params], None]] = {
    c2a.INITIALIZED: HarnessSession._initialized,
    c2a.PROGRESS: HarnessSession._progressed,
    c2a.MESSAGE: HarnessSession._logged,
    c2a.DELIVER: lambda _, hosting, params: _forget(hosting.received(params)),
    c2a.CANCELLED: lambda _, hosting, params: hosting.dropped(params),
    c2a.TURN: lambda _, hosting, params: hosting.turn(params),
    c2a.TYPING: lambda _, hosting, params: hosting.typed(params),
}
