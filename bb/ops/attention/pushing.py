"""Pushes an agent's messages into an open session of a host that neither asks for them nor acknowledges them.

This is a harness like any other (`serving`), with two differences. A message counts as accepted as soon as it was
written, as it does when an agent pulls it. And while another harness of the agent is connected, nothing is pushed.
"""

from __future__ import annotations

from typing import Any

from bb.attention.turns.rendering import STANDING_RULES
from bb.attention.turns.turn_text import RULES, name_of
from bb.kernel.record import Record
from bb.ops.attention import connected, greeting
from bb.ops.attention.ledger_watch import LedgerWatch
from bb.ops.attention.serving import TAKEN, Hosting
from bb.ops.desk import agent_news

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bb.attention.harness.session import Deliver
    from bb.ops.desk.desk import Desk

CAN = {
    "delivery": {"ack": True, "redelivery": True},  # `pushed` acknowledges
    "injection": {"immediate": True, "buffered": True, "notify": True},
}


class Push(Record):
    """One message or knock to push: its TEXT as in any turn, and what is known ABOUT it."""

    deliver: Deliver
    text: str
    about: dict[str, str]
    names: tuple[str, ...]  # under which the host's session remembers it

    @property
    def event(self) -> str:
        """The id of the event."""
        return self.deliver.handed.event


class Pushing:
    """The host's side of one open session. Its agent is the one of the desk, as soon as there is one."""

    def __init__(self, desk: Desk, note: Callable[[str], None], report: Callable[[Exception], None]) -> None:
        self._desk = desk
        self._watch = LedgerWatch(desk, note, report)
        self._hosting: Hosting | None = None
        self._due: int | None = None
        self._is_waiting = True  # whether there may be something to push

    @property
    def due(self) -> int | None:
        """When to look again, even if nothing is recorded."""
        return min((due for due in (self._due, self._watch.tick_at) if due is not None), default=None)

    def look(self) -> list[Push]:
        """What to push now. It is recorded as offered."""
        hosting = self._current()
        if hosting is None:
            return []
        has_changed = self._watch.look([hosting])
        self._is_waiting |= has_changed or (self._due is not None and self._desk.now() >= self._due)
        if not self._is_waiting:
            return []
        plan = hosting.hand_over()
        self._due, self._is_waiting = plan.due, False
        return self._pushes(hosting.agent, plan.delivers)

    def pushed(self, push: Push) -> None:
        """Record that PUSH was written to the host: it counts as accepted."""
        if self._hosting is None:
            return
        memory = agent_news.memory_of(self._desk, self._hosting.agent)
        agent_news.remember(self._desk, memory, push.names, seen=memory.session.told, begins=False)
        self._hosting.answered(push.deliver.handed.request, {"status": TAKEN[0]}, None)
        self._is_waiting = True  # the next message of the conversation may follow

    def _current(self) -> Hosting | None:
        """The harness of the desk's agent; None if there is no agent, or another harness of it is connected."""
        who = self._desk.actor(None)
        if not who or connected.is_connected(self._desk.ledger.path, who):
            self._hosting = None
        elif self._hosting is None or self._hosting.agent != who:
            begin = {"protocolVersion": greeting.PROTOCOL, "capabilities": CAN}
            self._hosting, _ = greeting.begin(self._desk, begin, who)
            self._hosting.yields = True
            self._is_waiting = True
        return self._hosting

    def _pushes(self, agent: str, delivers: Iterable[Deliver]) -> list[Push]:
        """The pushes for these deliveries. The first one that a session gets has the standing rules."""
        knows_rules = RULES in agent_news.memory_of(self._desk, agent).session.told
        pushes = []
        for deliver in delivers:
            handed = deliver.handed
            text = _text(deliver.envelope)
            names = (RULES, name_of(handed.event, handed.shape, None), *handed.events)
            pushes.append(Push(deliver, text if knows_rules else f"{STANDING_RULES}\n\n{text}", _about(deliver), names))
            knows_rules = True
        return pushes


def _text(envelope: dict[str, Any]) -> str:
    """The text of an envelope: as it is shown in a turn, or, if it is too long for that, a pointer to it."""
    return str(envelope.get("rendered") or envelope["content"][0].get("text", ""))


def _about(deliver: Deliver) -> dict[str, str]:
    envelope = deliver.envelope
    where, attention = envelope["conversation"], envelope["attention"]
    known = {
        "event_id": envelope["eventId"],
        "content_version": envelope["contentVersion"],
        "form": "knock" if "knock" in envelope else "message",
        "policy": attention.get("policy"),
        "reason": attention.get("reason"),
        "priority": attention.get("priority"),
        "conversation": where.get("id"),
        "conversation_kind": where.get("kind"),
        "thread": where.get("threadId"),
        "author": envelope["author"]["id"],
    }
    return {name: str(value) for name, value in known.items() if value not in (None, "")}
