"""The MCP tools, and the op behind each.

The arguments of a tool and their descriptions come from the op's declaration. A new parameter of an op therefore
appears here too. The tool listing costs every session tokens, so there are ten tools at most. Arguments that few calls
need are accepted but not listed (`hidden`).
"""

from __future__ import annotations

from collections.abc import Mapping

from bb.kernel.record import Record
from bb.ops import catalogue

# Accepted but not listed: retries, exceptions and details that a refusal or the documentation mentions.
UNLISTED_ARGUMENTS = frozenset(["key", "allow_secret", "thread", "fallback"])


class MenuTool(Record):
    """One tool: its name and its op, or one op for each value of the argument CHOOSES."""

    name: str
    ops: Mapping[str, str]
    also: str = ""  # appended to the op's summary
    about: str = ""  # replaces the op's summary
    chooses: str = ""
    hidden: frozenset[str] = UNLISTED_ARGUMENTS
    covers: tuple[str, ...] = ()  # further ops whose commands a hint replaces with this tool
    needs: tuple[str, ...] = ()  # arguments that are optional for the op and required by the tool
    is_heartbeat: bool = False  # its op only reads, but the call counts as a heartbeat
    is_idempotent: bool = True
    is_open: bool = False  # whether its effects may reach beyond this repository
    is_others_text: bool = False  # whether its answer contains text from other agents

    @property
    def annotations(self) -> dict[str, bool]:
        """The tool's MCP annotations. No tool is destructive: a release or a hand-over can be undone."""
        if self.ops and not self.is_heartbeat and all(catalogue.find(name).reads for name in self.ops.values()):
            return {"readOnlyHint": True, "openWorldHint": self.is_open}
        return {"destructiveHint": False, "idempotentHint": self.is_idempotent, "openWorldHint": self.is_open}


ONLY_OP = ""  # the op of a tool that has only one

SESSION = MenuTool(
    "session",
    {ONLY_OP: "resume"},
    about="Your identity, reservations, unread mail, open obligations, uncommitted files, next steps, and in `news` "
    "what is new since your last call. Call it first, once a turn and after a compaction. Counts as a heartbeat.",
    covers=("agent.register", "agent.heartbeat", "turn"),
    is_heartbeat=True,
    is_others_text=True,
)
CHAT = MenuTool("chat", {}, is_open=True, is_others_text=True)  # a bridge may publish its messages elsewhere

MENU = (
    SESSION,
    MenuTool(
        "check",
        {ONLY_OP: "check"},
        also="PATH_HELD names the holder.",
        hidden=UNLISTED_ARGUMENTS | {"staged", "override", "token"},
        needs=("path",),
    ),
    MenuTool(
        "reserve",
        {ONLY_OP: "agent.reserve"},
        also="All scopes or none. RESERVATION_CONFLICT names the holder. Reserve again to renew.",
        is_idempotent=False,
    ),
    MenuTool("release", {ONLY_OP: "agent.release"}),
    MenuTool(
        "hand_over",
        {"HANDOFF": "protocol.handoff", "BLOCKED": "protocol.blocked"},
        about="Pass work on (HANDOFF), or report that you are blocked and need something (BLOCKED). The recipient "
        "must accept it. Reservations do not move: release yours.",
        chooses="kind",
        hidden=UNLISTED_ARGUMENTS | {"no_ack"},
        is_idempotent=False,
    ),
    MenuTool("inbox", {ONLY_OP: "agent.inbox"}, is_others_text=True),
    MenuTool("send", {ONLY_OP: "agent.send"}, is_idempotent=False),
    MenuTool(
        "acknowledge",
        {"seen": "agent.read", "accepted": "agent.ack"},
        about="Mark a message as seen, or accept it: its request is then your responsibility.",
        chooses="as",
        is_others_text=True,
    ),
    MenuTool("status", {ONLY_OP: "status"}, covers=("agent.status", "agent.list"), is_others_text=True),
    CHAT,
)
CAPABILITIES = ("chat_capabilities", "chat.capabilities")  # not listed: C2A's negotiation, which MCP does not need
BY_NAME = {tool.name: tool for tool in MENU}

# The parameters that name the calling agent. They are not listed if the server knows the agent.
CALLERS = ("agent", "from")
ROLE = ("agent.register", "role")  # an additional argument of `session`: a call with a role registers a new agent
