"""Permissions: what becomes of a program's request to run one of its own tools, by a declared policy.

    ask     the person decides: at this terminal, else with `bb chat confirm`
    allow   every tool runs
    deny    no tool runs that the program asks about

The tools of bb are always allowed: they are why the program was attached, and bb checks each call itself. At this
terminal the person is also asked about messages that would show private content to more people.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from bb.cli.programs.attach_report import Report
from bb.cli.programs.terminal_questions import Questions
from bb.kernel.foreign import Foreign, name, quotation, sentence
from bb.kernel.record import Record
from bb.ops.attention import attaching
from bb.ops.attention.serving import Hosting
from bb.wire.acp import Permission
from bb.wire.jsonrpc import Id

ASK, ALLOW, DENY = "ask", "allow", "deny"
WAIT = 15 * 60.0  # seconds for the person's answer
LONGEST = 120  # characters of a title

# How programs name bb's tools: Gemini CLI, Claude Code and Codex, OpenCode. A title is made by the program from the
# words of a model, so only exact ones count, and none of a kind that runs or changes something.
TOOLS = ("session", "check", "reserve", "release", "hand_over", "inbox", "send", "acknowledge", "status", "chat")
TITLES = ("{tool} ({server} MCP Server)", "mcp__{server}__{tool}", "{server}_{tool}")
OWN_TITLES = frozenset(title.format(tool=tool, server=attaching.SERVER) for title in TITLES for tool in TOOLS)
OWN_KINDS = ("", "other")


class Waiting(Record):
    """A request that waits for the person: at the terminal, or under the id of a recorded one."""

    request: Id
    permission: Permission
    until: float
    recorded: str = ""


class Permissions:
    """The requests of the program that HOSTING's agent runs in. DECIDE gives the program its answer. IS_WATCHED: a
    person is at this terminal."""

    def __init__(
        self,
        policy: str,
        hosting: Hosting,
        report: Report,
        now: Callable[[], float],
        decide: Callable[[Id, str | None], None],
        *,
        is_watched: bool,
    ) -> None:
        self._policy, self._hosting, self._report, self._now = policy, hosting, report, now
        self._decide = decide
        self._terminal = Questions(report.question, now) if is_watched else None
        self._waiting: dict[Id, Waiting] = {}
        self._must_read = True  # whether the ledger may have answers that were not read
        self._sends: set[str] = set()  # requests to send something that were put to the person at the terminal

    @property
    def is_waiting(self) -> bool:
        """Whether the program waits for the person."""
        return bool(self._waiting)

    def ask(self, request: Id, permission: Permission, event: str) -> None:
        """Decide about a request that the program made in the turn for EVENT, or put it to the person."""
        is_own = is_own_tool(permission)
        if is_own or self._policy in (ALLOW, DENY):
            self._answer(request, permission, is_allowed=is_own or self._policy == ALLOW)
            return
        waiting = Waiting(request, permission, self._now() + WAIT)
        if self._terminal:
            self._waiting[request] = waiting
            text = f"may the agent run {quotation(permission.title, LONGEST)}?"
            self._terminal.put(_key(request), text, partial(self._settle, waiting))
            self._report.asked(permission, "")
        elif not self._report.guarded("the request for permission", lambda: self._record(waiting, event)):
            self._answer(request, permission, is_allowed=False)

    def _record(self, waiting: Waiting, event: str) -> None:
        recorded = attaching.ask_person(self._hosting, event, waiting.permission.title)
        self._waiting[waiting.request] = waiting.replace(recorded=recorded)
        self._report.asked(waiting.permission, recorded)

    def look(self, *, has_changed: bool) -> None:
        """Look for answers of the person in the ledger if it HAS_CHANGED. Deny what nobody has answered in time."""
        self._must_read |= has_changed
        if self._must_read and (self._waiting or self._terminal):
            self._must_read = not self._report.guarded("the answers of the person", self._read)
        for waiting in list(self._waiting.values()):
            if self._now() > waiting.until:
                self._drop(waiting)
                self._settle(waiting, False)

    def _read(self) -> None:
        for waiting in list(self._waiting.values()):
            answer = attaching.persons_answer(self._hosting, waiting.recorded) if waiting.recorded else None
            if answer is not None:
                self._settle(waiting, answer)
        if self._terminal:
            self._look_for_sends(self._terminal)

    def heard(self, line: str) -> None:
        """The person has typed a line."""
        if self._terminal:
            self._terminal.heard(line)

    def forget(self) -> None:
        """The turn is over, so the program waits for nothing any more."""
        for waiting in self._waiting.values():
            self._drop(waiting)
        self._waiting.clear()

    def _drop(self, waiting: Waiting) -> None:
        """Take the question back."""
        if self._terminal:
            self._terminal.drop(_key(waiting.request))
        elif waiting.recorded:
            self._report.guarded("the request", lambda: attaching.withdraw(self._hosting, waiting.recorded))

    def _settle(self, waiting: Waiting, is_allowed: bool) -> None:
        if self._waiting.pop(waiting.request, None):
            self._answer(waiting.request, waiting.permission, is_allowed=is_allowed)

    def _answer(self, request: Id, permission: Permission, *, is_allowed: bool) -> None:
        self._report.decided(permission, is_allowed=is_allowed)
        self._decide(request, permission.option(is_allowed=is_allowed))

    def _look_for_sends(self, terminal: Questions) -> None:
        """Ask about messages that would show private content to more people, and forget those that are settled."""
        found = {each["id"]: each for each in attaching.unsent(self._hosting)}
        for gone in self._sends - found.keys():
            terminal.drop(gone)
        self._sends = set(found)
        for request, about in found.items():
            terminal.put(request, _send_question(Foreign(about)), partial(self._allow, request))

    def _allow(self, request: str, is_allowed: bool) -> None:
        self._sends.discard(request)
        self._report.guarded(
            "the answer", lambda: attaching.answer_for_person(self._hosting, request, is_allowed=is_allowed)
        )


def _key(request: Id) -> str:
    return f"tool {request}"


def _send_question(about: Foreign) -> str:
    to = name(about["to"]) if about["to"] else "another conversation"
    return f"may the agent send {quotation(about['text'])} to {to}? {sentence(about['why'])}"


def is_own_tool(permission: Permission) -> bool:
    """Whether the request is about a tool of bb."""
    return permission.kind in OWN_KINDS and permission.title in OWN_TITLES
