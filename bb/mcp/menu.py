"""Which tools an MCP host is shown, and which op stands behind each.

This is all that is said here: what a tool takes and what its arguments mean is the op's own declaration, so that an op
that gains a parameter shows it here too. A menu costs every session tokens, before anything is done: so there are ten
tools at most, and what few calls need is taken but not listed (HIDDEN).
"""

from __future__ import annotations

from bb.kernel.record import Record
from bb.ops import catalogue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# What is taken and not listed: retries, exceptions and fine points that a refusal or the documentation leads to.
RARE = frozenset(["key", "allow_secret", "thread", "fallback"])


class Shown(Record):
    """One tool: its name, the op behind it, or one op for each value of an argument that CHOOSES."""

    name: str
    ops: Mapping[str, str]
    also: str = ""  # what to say besides the op's own summary
    about: str = ""  # what to say instead of it
    chooses: str = ""
    hidden: frozenset[str] = RARE
    covers: tuple[str, ...] = ()  # ops besides that it stands for where a hint names them
    needs: tuple[str, ...] = ()  # what the op can do without, and a call of the tool cannot
    is_sign_of_life: bool = False  # what it calls only reads, and the call itself shows that the agent is alive
    is_idempotent: bool = True
    is_open: bool = False  # whether what it does may reach beyond this repository
    is_others_text: bool = False  # whether it answers with what other agents wrote

    @property
    def annotations(self) -> dict[str, bool]:
        """What a host may know of it without calling it. What is given back or handed over is never destroyed."""
        if self.ops and not self.is_sign_of_life and all(catalogue.find(name).reads for name in self.ops.values()):
            return {"readOnlyHint": True, "openWorldHint": self.is_open}
        return {"destructiveHint": False, "idempotentHint": self.is_idempotent, "openWorldHint": self.is_open}


ANY = ""  # the op of a tool that has only one

SESSION = Shown(
    "session",
    {ANY: "resume"},
    about="Who am I and what next: identity, what you hold, unread mail, what you owe, uncommitted files, next steps. "
    "Call it first, and after a compaction. It is a sign of life.",
    covers=("agent.register", "agent.heartbeat"),
    is_sign_of_life=True,
    is_others_text=True,
)
CHAT = Shown("chat", {}, is_open=True, is_others_text=True)  # what is answered there may go out through a bridge

MENU = (
    SESSION,
    Shown(
        "check",
        {ANY: "check"},
        also="PATH_HELD names the holder.",
        hidden=RARE | {"staged", "override", "token"},
        needs=("path",),
    ),
    Shown(
        "reserve",
        {ANY: "agent.reserve"},
        also="All of them or none. RESERVATION_CONFLICT names who is in the way. Again for your own renews it.",
        is_idempotent=False,
    ),
    Shown("release", {ANY: "agent.release"}),
    Shown(
        "hand_over",
        {"HANDOFF": "protocol.handoff", "BLOCKED": "protocol.blocked"},
        about="Pass work on (HANDOFF), or say that you cannot go on and ask for something (BLOCKED). Either is to be "
        "accepted. Reservations do not move by themselves: release yours.",
        chooses="kind",
        hidden=RARE | {"no_ack"},
        is_idempotent=False,
    ),
    Shown("inbox", {ANY: "agent.inbox"}, is_others_text=True),
    Shown("send", {ANY: "agent.send"}, is_idempotent=False),
    Shown(
        "acknowledge",
        {"seen": "agent.read", "accepted": "agent.ack"},
        about="Mark a message as seen, or accept what it asks for: it is your responsibility then.",
        chooses="as",
        is_others_text=True,
    ),
    Shown("status", {ANY: "status"}, covers=("agent.status", "agent.list"), is_others_text=True),
    CHAT,
)
CAPABILITIES = ("chat_capabilities", "chat.capabilities")  # not listed: C2A's negotiation, of which MCP has none
BY_NAME = {shown.name: shown for shown in MENU}

# By what an op is told who acts. Where the server knows that, nobody is asked.
CALLERS = ("agent", "from")
ROLE = ("agent.register", "role")  # what `session` takes besides: whoever says its role is registered
