"""Runs a script: the agents, the messages, the acts of agents, and the passing of time.

Each step is an object with one thing to do. The same rules as in real use give its answer, but the ledger is in memory
and the clock moves only by a step. With the answer comes what each agent would see in its next turn. If there are
several clones, `in` names the clone of a step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bb.attention.acts.refusal_records import may_record, refusal_fact
from bb.attention.refusals import NUMBERS
from bb.attention.rehearsal.native_ids import NativeIds
from bb.attention.rehearsal.rehearsal import Rehearsal
from bb.attention.rehearsal.steps import STEPS, InvalidStep
from bb.attention.state.agent_status import AgentStatus
from bb.attention.turns.offers import Session, offers_for
from bb.kernel import clock
from bb.kernel.errors import BbError, Conflict

START = clock.parse("2026-06-02T19:00:00Z")
FIRST = "here"
BESIDE = ("in", "expect", "note")  # members of a step that are not the thing to do

NotAsExpected = Conflict.declare("NOT_AS_EXPECTED", "The answer of a step differs from what the script expects")


class Replay:
    """One run of a script."""

    def __init__(self, start: int = START) -> None:
        self.now = start
        self.agents: dict[str, AgentStatus] = {}
        self.clones = {FIRST: Rehearsal(agents=self.agents, writer="aaaaaaaaaaaa")}
        self.sessions: dict[str, Session] = {}
        self.ids = NativeIds()
        self._in = FIRST

    @property
    def here(self) -> Rehearsal:
        """The clone in which the step happens."""
        if self._in not in self.clones:
            raise InvalidStep(f"there is no clone {self._in[:40]!r}", path="$.in")
        return self.clones[self._in]

    def step(self, given: Any) -> dict[str, Any]:
        """Run one step: its answer or refusal, and what each agent would see now."""
        if not isinstance(given, dict):
            raise InvalidStep("a step must be a JSON object")
        names = [name for name in given if name not in BESIDE]
        if len(names) != 1 or names[0] not in STEPS:
            what = ", ".join(map(repr, names)) or "none"
            raise InvalidStep(f"a step must have exactly one of {', '.join(STEPS)}; this one has {what}"[:600])
        self._in = str(given.get("in", FIRST))
        (name,) = names
        result: dict[str, Any] = {"do": name, "at": clock.text(self.now)}
        try:
            result["answer"] = self.ids.shortened(STEPS[name](self, given[name]))
        except InvalidStep.error:
            raise
        except BbError as refusal:
            error = {"code": refusal.code, "message": refusal.message, "details": refusal.details}
            result["error"] = self.ids.shortened(error)
        result["sees"] = self.seen()
        if "expect" in given and (difference := first_difference(given["expect"], result)):
            raise NotAsExpected(f"{name}: {difference}", step=name, got=result)
        return result

    def seen(self) -> dict[str, list[str]]:
        """A summary of what each agent would see in its next turn."""
        seen_by_agent = {}
        for agent in sorted(self.agents):
            offers, _ = offers_for(self.here.book, agent, self.now, self.sessions.get(agent, Session()))
            shown = [f"{offer.shape} {offer.event} {offer.policy}" for offer in offers]
            seen_by_agent[agent] = self.ids.shortened(shown)
        return seen_by_agent

    def do(self, decide: Callable[[], tuple[list[Any], dict[str, Any]]], who: str = "system") -> dict[str, Any]:
        """Record the facts of DECIDE and return its answer. Refusals of C2A are recorded, too, as in real use."""
        try:
            facts, answer = decide()
        except BbError as refusal:
            if refusal.code in NUMBERS and may_record(refusal, self.here.book, who, self.now):
                self.here.record([*refusal.leaving, refusal_fact(who, refusal)], self.now)
            raise
        self.here.record(facts, self.now)
        return answer


def first_difference(expected: Any, found: Any, where: str = "$") -> str | None:
    """The first difference between EXPECTED and FOUND; None if there is none. Objects may have more members."""
    if isinstance(expected, dict):
        if not isinstance(found, dict):
            return f"{where} is not an object"
        differences = (first_difference(value, found.get(name), f"{where}.{name}") for name, value in expected.items())
        return next((difference for difference in differences if difference), None)
    if isinstance(expected, list):
        if not isinstance(found, list) or len(found) != len(expected):
            return f"{where} is {str(found)[:200]}, not {str(expected)[:200]}"
        differences = (first_difference(value, found[at], f"{where}[{at}]") for at, value in enumerate(expected))
        return next((difference for difference in differences if difference), None)
    return None if expected == found else f"{where} is {str(found)[:200]}, not {str(expected)[:200]}"
