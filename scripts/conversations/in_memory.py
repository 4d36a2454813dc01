"""The host in memory: the rules with a ledger of their own, and a harness for each agent as `bb chat serve` has one."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from bb.attention.acts import configuration, outbox, tools
from bb.attention.acts.refusal_records import refusal_fact
from bb.attention.acts.timers import tick
from bb.attention.facts import Moved
from bb.attention.harness import updates
from bb.attention.harness.capabilities import OURS, Capabilities
from bb.attention.harness.session import Harness, acceptance_facts, begin_facts
from bb.attention.incoming import receiving
from bb.attention.messages import envelopes
from bb.attention.messages.message import in_sequence_order
from bb.attention.refusals import NUMBERS
from bb.attention.rehearsal.rehearsal import Rehearsal
from bb.attention.state import transitions
from bb.attention.state.agent_status import AgentStatus
from bb.attention.surfaces import SURFACES
from bb.kernel.errors import BbError
from scripts.conversations.stage import Refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from bb.attention.facts import Answer
    from bb.attention.state.attention_state import AttentionState
    from scripts.conversations.platforms.platform import Platform
    from scripts.conversations.script import Conversation

ALL = frozenset(f"{section}.{name}" for section, names in OURS.items() for name in names) - {"injection.digest"}
STATES = {"started": transitions.STARTED, "ended": transitions.ENDED}


class InMemory:
    """The rules alone."""

    def __init__(self) -> None:
        self._agents: dict[str, AgentStatus] = {}
        self._ledger = Rehearsal(agents=self._agents)
        self._harnesses: dict[str, Harness] = {}
        self._now = 0

    def begin(self, conversation: Conversation, names: Platform, now: int) -> None:
        self._now = now
        for agent in conversation.agents:
            self._agents[agent.id] = AgentStatus("builder", is_live=not agent.is_away)
        for agent in conversation.agents:
            bound = _bindings(names, agent)
            self._do(
                functools.partial(configuration.bind, self.book(), "user", agent.id, bound, self._now, remove=False)
            )
            if not agent.is_away:
                harness = Harness(agent.id, Capabilities(ALL))
                self._ledger.record(begin_facts(self.book(), harness, "", now), now)
                self._harnesses[agent.id] = harness
        for place, about in arranged(conversation, names):
            self._do(functools.partial(configuration.arrange, self.book(), "user", place, about))

    def external(self, conversation: str) -> None:
        if not self.book().conversation(conversation).is_external:
            about = {"is_external": True, "platform": "discord"}
            self._do(lambda: configuration.arrange(self.book(), "user", conversation, about))

    def book(self) -> AttentionState:
        return self._ledger.book

    def until(self, now: int) -> None:
        self._now = now
        facts, _ = tick(self.book(), now)
        self._ledger.record(facts, now)

    def ingest(self, form: str, documents: list[Any]) -> list[dict[str, Any]]:
        raw = [line for document in documents for line in SURFACES[form](document["headers"], document["body"])]
        lines = [envelopes.parse_line(line, self._now) for line in raw]
        return [
            self._do(functools.partial(receiving.receive, self.book(), line, f"svc:{form}", self._now))
            for line in in_sequence_order(lines, lambda each: each.counted)
        ]

    def deliveries(self) -> list[tuple[str, dict[str, Any]]]:
        handed = []
        for agent, harness in self._harnesses.items():
            plan = updates.plan(harness, self.book(), self._now, "seed")
            self._ledger.record(plan.facts, self._now)
            harness.note_sent(plan, self._now)
            harness.forget(plan.settled)
            for deliver in plan.delivers:
                self._ledger.record(acceptance_facts(self.book(), harness, deliver.handed), self._now)
                harness.take(deliver.handed)
                handed.append((agent, deliver.envelope))
        return handed

    def call(self, agent: str, tool: str, given: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._do(lambda: tools.call(tool, self.book(), agent, given, self._now), agent)
        except BbError as refusal:
            raise Refused(refusal.code, refusal.details) from refusal

    def turn(self, agent: str, envelope: dict[str, Any], state: str, *, outbound: bool) -> None:
        event, harness = envelope["eventId"], self._harnesses[agent]
        if state == "started":
            harness.begin_turn(event, self._now)
        else:
            harness.end_turn(event)
        delivery = self.book().delivery(event, agent)
        if delivery and delivery.attempt and delivery.turn != STATES[state]:
            about = {"outbound": True} if outbound else None
            self._ledger.record([Moved(agent, event, agent, STATES[state], about)], self._now)

    def outbox(self) -> list[dict[str, Any]]:
        return list(outbox.to_post(self.book()))

    def posted(self, event: str, name: str) -> None:
        about = {"platform_id": name} if name else {}
        self._do(lambda: outbox.record_result(self.book(), "system", event, about, self._now))

    def _do(self, decide: Callable[[], Answer], who: str = "system") -> dict[str, Any]:
        try:
            facts, answer = decide()
        except BbError as refusal:
            if refusal.code in NUMBERS and refusal.code != "NOT_FOUND":
                self._ledger.record([refusal_fact(who, refusal)], self._now)
            raise
        self._ledger.record(facts, self._now)
        return answer


def _bindings(names: Platform, agent: Any) -> dict[str, list[str]]:
    found = bindings(names, agent)
    return {name: listed for name, listed in found.items() if listed}


def bindings(names: Platform, agent: Any) -> dict[str, list[str]]:
    """The names of an agent on the platform, and what it owns."""
    role = [f"{names.name}:{names.role(agent.role)}"] if agent.role else []
    places = {said.place for said in names.conversation.said if names.is_direct(said.place)}
    direct = [names.channel(place) for place in sorted(places) if place.removeprefix("dm-").split("-")[0] == agent.name]
    return {
        "handles": [f"{names.name}:{names.user(agent.name)}"],
        "roles": role,
        "streams": list(agent.owns),
        "conversations": direct,
    }


def arranged(conversation: Conversation, names: Platform) -> list[tuple[str, dict[str, Any]]]:
    """The conversations that a bridge posts to, with their settings."""
    settings: dict[str, Any] = {"is_external": True, "platform": names.name}
    ids = {agent.name: agent.id for agent in conversation.agents}
    settings |= {name: ids[who] for name, who in (("lead", conversation.lead), ("owner", conversation.owner)) if who}
    places = dict.fromkeys(said.place for said in conversation.said)
    return [(names.channel(place), settings | ({"kind": "dm"} if names.is_direct(place) else {})) for place in places]
