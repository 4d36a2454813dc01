"""The work of a host for one connected harness: deliver messages, process its answers, run its tools.

Each method returns after recording, so the harness never receives anything unrecorded. The caller owns the connection.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from bb.attention.acts import answers, tools
from bb.attention.acts.audit import check_progress, remark
from bb.attention.acts.timers import tick
from bb.attention.acts.tools import Tool
from bb.attention.facts import Answer, AttentionFact, Moved, Progressed
from bb.attention.harness import session, updates
from bb.attention.harness.session import Harness, Plan, ResyncRequired
from bb.attention.incoming import from_hosts
from bb.attention.incoming.receiving import receive
from bb.attention.judging.cases import find_message, open_cases
from bb.attention.messages import envelopes
from bb.attention.messages.envelopes import LONGEST_TEXT, EnvelopeMembers, invalid
from bb.attention.messages.redaction import redact
from bb.attention.refusals import CapabilityMissing, NoSuchEvent
from bb.attention.state import transitions
from bb.attention.state.attention_state import AttentionState
from bb.attention.turns.offers import retry_at
from bb.kernel import clock
from bb.kernel.errors import Busy
from bb.ops.attention import ingest
from bb.ops.attention import tools as attention_tools
from bb.ops.attention.attention_desk import C2aDesk
from bb.ops.attention.connected import Mark
from bb.ops.attention.ingest import BRIDGE
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk

CLOCK, BY_CLIENT = "BB_CHAT_CLOCK", "client"
PERMANENT = (-32602, -32601)  # with these errors the harness refuses the message for good
TAKEN, IS_BUSY = ("accepted", "duplicate"), "busy"
LONGEST_WAIT = 5 * clock.MINUTE
STEPS = {
    "started": transitions.STARTED,
    "ended": transitions.ENDED,
    "failed": transitions.TURN_FAILED,
}


class Hosting:
    """The host's side of the session with one harness."""

    def __init__(self, desk: Desk, harness: Harness, glyphs: Mapping[str, str]) -> None:
        self.desk = desk
        self.harness = harness
        self.agent = harness.agent
        self._glyphs = glyphs
        self._at = C2aDesk(desk, harness.agent)
        self._beat_at = 0
        self._mark: Mark | None = None
        self.yields = False  # whether other harnesses of the agent get its messages while they are connected

    def leave(self) -> None:
        """The connection has ended."""
        if self._mark:
            self._mark.remove()

    # -- deliveries

    def hand_over(self) -> Plan:
        """Plan and record what to send to the harness now."""
        if not (self.yields or self._mark):
            self._mark = Mark(self._at.store.path, self.agent)
        self.beat()
        now = self.desk.now()
        seed = os.urandom(9).hex()
        plan = updates.plan(self.harness, self._at.book(), now, seed)
        if not plan.is_empty:

            def decide(book: AttentionState, then: int) -> Answer:
                nonlocal plan
                if not plan.holds(book):  # planning can take a while, so the plan may be out of date
                    plan = updates.plan(self.harness, book, then, seed)
                return list(plan.facts), {}

            self._at.act(decide)
            self.harness.note_sent(plan, now)
        self.harness.forget(plan.settled)
        self.harness.note_nothing_due(now)
        return plan

    def beat(self) -> None:
        """Record a sign of life of the agent, at most once a minute: a connected agent counts as working."""
        now = self.desk.now()
        if not self._beat_at <= now < self._beat_at + clock.MINUTE:
            signs_of_life.record_sign_of_life(self.desk, self.agent)
            self._beat_at = now

    def answered(self, request: Any, result: Any, error: Mapping[str, Any] | None) -> None:
        """Process the harness's answer to a delivery. It is ignored if the delivery was cancelled meanwhile."""
        handed, now = self.harness.by_request(request), self.desk.now()
        if handed is None or handed.is_taken:
            return
        if error is not None and error.get("code") in PERMANENT:
            reason = redact(" ".join(str(error.get("message", "")).split()))[: answers.LONGEST_NOTE]
            why = {"reason": reason, "code": error["code"]}
            self._at.act(lambda book, then: (session.rejection_facts(book, self.harness, handed, why, then), {}))
            self.harness.drop(handed.event)
            return
        answer = result if error is None and isinstance(result, dict) else {}
        status = answer.get("status", TAKEN[0]) if error is None else ""
        if status in TAKEN:
            self._at.act(lambda book, _: (session.acceptance_facts(book, self.harness, handed), {}))
            self.harness.take(handed)
            return
        wait = answer.get("retryAfterMs") if status == IS_BUSY else None
        until = now + min(wait, LONGEST_WAIT) if type(wait) is int and wait >= 0 else retry_at(handed.attempt, now)
        self.harness.wait(handed, until)

    def dropped(self, params: Mapping[str, Any]) -> None:
        """The harness has cancelled a delivery: deliver again later. If it cancels a call of its own, that call is
        already complete."""
        handed = self.harness.by_request(params.get("requestId"))
        if handed is not None:
            self.harness.leases.end(handed.event)
            self.harness.wait(handed, retry_at(handed.attempt, self.desk.now()))

    # -- progress

    def turn(self, params: Mapping[str, Any]) -> None:
        """A turn of the harness's model has started, ended or failed."""
        members = EnvelopeMembers(params)
        to, event = STEPS[members.one_of("state", tuple(STEPS))], members.id("eventId")
        attempt, has_spoken = members.number("attempt"), members.flag("outbound")
        handed = self.harness.handed.get(event)
        if handed and attempt is not None and attempt < handed.attempt:
            return  # that delivery was cancelled and repeated meanwhile
        if to == STEPS["started"]:
            self.harness.begin_turn(event, self.desk.now())
        else:
            self.harness.end_turn(event)
        self._at.act(lambda book, _: (self._turned(book, event, to, has_spoken=has_spoken), {}))

    def _turned(self, book: AttentionState, event: str, to: str, *, has_spoken: bool) -> list[AttentionFact]:
        delivery = book.delivery(event, self.agent)
        if delivery is None or delivery.attempt == 0 or delivery.turn == to:
            return []
        taken = [] if delivery.accepted else [Moved(self.agent, event, self.agent, transitions.ACCEPTED)]
        about = {"outbound": True} if has_spoken else None
        return [*taken, Moved(self.agent, event, self.agent, to, about)]

    def progressed(self, params: Mapping[str, Any]) -> None:
        """Record the progress of a piece of work."""
        self.harness.leases.renew(self.desk.now())
        members = EnvelopeMembers(params)
        token = members.id("progressToken", is_needed=True)
        about: dict[str, Any] = {"progress": _amount(members, "progress"), "total": _amount(members, "total")}
        if about["progress"] is None:
            raise invalid("missing", "/progress")
        said = members.text("message", LONGEST_TEXT)

        def decide(book: AttentionState, now: int) -> Answer:
            check_progress(book, self.agent, token, about)
            message = remark(book, self.agent, said, now)
            kept = {name: value for name, value in (about | {"message": message}).items() if value not in (None, "")}
            return [Progressed(self.agent, token, kept)], {}

        self._at.act(decide)

    def typed(self, params: Mapping[str, Any]) -> None:
        """Record that an author has started or stopped typing."""
        fields = {**params, "type": envelopes.TYPING}
        for name in ("conversation", "author"):
            if isinstance(fields.get(name), str):
                fields[name] = {"id": fields[name]}
        line = envelopes.parse_line(fields, self.desk.now())
        self._at.act(lambda book, now: receive(book, line, BRIDGE, now), BRIDGE)

    # -- requests

    def tools(self) -> list[Tool]:
        """The tools that the harness can use."""
        return [tool for name, tool in tools.TOOLS.items() if self.harness.can.tool(name)]

    def call(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool. That the harness does so renews the leases of its turns."""
        self.harness.leases.renew(self.desk.now())
        tool = attention_tools.find_tool(name)
        if not self.harness.can.tool(tool.name):
            raise CapabilityMissing(f"{tool.name} is not among the negotiated capabilities", capability=tool.name)
        answer = attention_tools.run(self._at, self.agent, tool, given)
        return answer | {"glyph": self._glyphs.get(answer["signal"], answer["glyph"])} if "glyph" in answer else answer

    def received(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Accept a delivery for the agent from a harness that is a host itself."""
        answer = self._at.act(
            lambda book, now: from_hosts.receive_delivery(book, self.agent, params, BRIDGE, now), BRIDGE
        )
        self.harness.own |= from_hosts.ids_here(self.agent, params)
        return answer

    def ingested(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Accept lines from a platform, if the harness is a bridge."""
        if not isinstance(params.get("lines"), list):
            raise invalid("lines must be a list", "/lines")
        return ingest.take_from_harness(self.desk, self.agent, params["lines"])

    def resume(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Deliver again all messages that the harness has not accepted."""
        after, book = EnvelopeMembers(params).id("after"), self._at.book()
        if after and not is_known(book, after):
            raise ResyncRequired(f"there is no event {after[:80]!r}")
        opened = open_cases(book, self.agent, self.desk.now())
        events = [head.event for head, stands in opened if session.is_untaken(stands.delivery)]
        self.harness.repeat(events)
        return {"replaying": len(events)}

    def left(self) -> int:
        """The number of undelivered messages."""
        return session.count_undelivered(self._at.book(), self.agent, self.desk.now())


def is_known(book: AttentionState, event: str) -> bool:
    """Whether an event with this id exists."""
    try:
        find_message(book, event)
    except NoSuchEvent.error:
        return False
    return True


def _amount(given: EnvelopeMembers, name: str) -> int | float | None:
    value = given.value.get(name)
    if value is not None and (type(value) not in (int, float) or not 0 <= value < 1 << 53):
        raise invalid("the value must be a number from 0 up", given.at(name))
    return value


# -- time


def process_due(desk: Desk) -> int | None:
    """Process everything that is due. Return the time at which to call this again, if known."""
    at, now = C2aDesk(desk, "system"), desk.now()
    book = at.book()
    try:
        if tick(book, now)[0]:
            at.act(lambda then, moment: (tick(then, moment)[0], {}), "system")
            book = at.book()
    except Busy:
        return now + clock.SECOND
    return session.next_tick(book, now)


def set_clock(desk: Desk, params: Mapping[str, Any]) -> None:
    """Let the client set the clock, for tests and for replaying a session."""
    moment = clock.parse(EnvelopeMembers(params).text("now", 100, is_needed=True))
    desk.env = {**desk.env, "BB_NOW": clock.text(moment)}
