"""Permissions: what becomes of an agent's request to run one of its own tools, by a declared policy.

    ask     the person decides: at this terminal, else with `bb chat confirm`
    allow   every tool runs
    deny    no tool runs that the agent asks about

The chat tools of bb are always allowed: they are why the agent was attached, and bb checks each call itself.
"""

from __future__ import annotations

from collections.abc import Callable

from bb.cli.programs.attach_report import Report
from bb.kernel.record import Record
from bb.ops.attention import attaching
from bb.wire.acp import Permission
from bb.wire.jsonrpc import Id

ASK, ALLOW, DENY = "ask", "allow", "deny"
POLICIES = (ASK, ALLOW, DENY)
WAIT = 15 * 60.0  # seconds for an answer of the person
YES, NO = ("y", "yes"), ("", "n", "no")
ALLOWED, DENIED = "allowed", "denied"
HOW = "allow it? [y/N]"

Decide = Callable[[Id, str | None], None]


class Pending(Record):
    """A request that waits for the person."""

    request: Id
    permission: Permission
    until: float


class Permissions:
    """The requests of one agent. DECIDE gives the agent its answer. A person is at the terminal if IS_WATCHED."""

    def __init__(
        self, policy: str, report: Report, now: Callable[[], float], decide: Decide, *, is_watched: bool
    ) -> None:
        self._policy, self._report, self._now, self._decide = policy, report, now, decide
        self._is_watched = is_watched
        self._pending: list[Pending] = []

    @property
    def is_waiting(self) -> bool:
        """Whether the person has to decide about something."""
        return bool(self._pending)

    def ask(self, request: Id, permission: Permission) -> None:
        """Decide about a request, or put it to the person."""
        if self._policy == ALLOW or is_own_tool(permission):
            self._answer(request, permission, is_allowed=True)
        elif self._policy == DENY or not self._is_watched:
            self._answer(request, permission, is_allowed=False)
        else:
            self._pending.append(Pending(request, permission, self._now() + WAIT))
            if len(self._pending) == 1:
                self._report.asked(permission, HOW)

    def heard(self, line: str) -> None:
        """The person has typed a line."""
        if not self._pending:
            return
        word = line.strip().lower()
        if word not in (*YES, *NO):
            self._report.asked(self._pending[0].permission, HOW)
            return
        first = self._pending.pop(0)
        self._answer(first.request, first.permission, is_allowed=word in YES)
        if self._pending:
            self._report.asked(self._pending[0].permission, HOW)

    def expire(self) -> None:
        """Deny what the person has not answered in time."""
        while self._pending and self._now() > self._pending[0].until:
            first = self._pending.pop(0)
            self._answer(first.request, first.permission, is_allowed=False)

    def forget(self) -> None:
        """The turn is over, so nothing waits any more."""
        self._pending.clear()

    def _answer(self, request: Id, permission: Permission, *, is_allowed: bool) -> None:
        self._report.decided(permission, ALLOWED if is_allowed else DENIED)
        self._decide(request, permission.option(is_allowed=is_allowed))


def is_own_tool(permission: Permission) -> bool:
    """Whether the request is about a chat tool of bb. Agent programs make the titles; only exact ones count."""
    return permission.kind in OTHER_KINDS and permission.title in OWN_TITLES


OTHER_KINDS = ("", "other")
OWN_TITLES = frozenset(
    [f"chat ({attaching.SERVER} MCP Server)", f"{attaching.SERVER}_chat", f"mcp__{attaching.SERVER}__chat"]
)
