"""Describes events as sentences for people: one sentence for each fact that matters to them."""

from __future__ import annotations

from bb.attention.facts import AttentionFact, Claiming, Moved
from bb.attention.state import transitions
from bb.attention.state.claims import EVENT
from bb.cbcl.facts import Heard, Installed, Removed
from bb.coordination.agents import liveness, pauses
from bb.coordination.facts import (
    CONTESTED,
    OVERLAPPING,
    REFUSED,
    TAKEN_OVER,
    TOUCHED,
    TRANSFERRED,
    AgentFact,
    Expired,
    Incurred,
    LeftLine,
    NameSettled,
    Overridden,
    Paused,
    PauseFact,
    Pinned,
    Queued,
    QueueFact,
    Redacted,
    Registered,
    Released,
    Renewed,
    Reserved,
    Resolved,
    Resumed,
    Retired,
    Seen,
    Started,
    Stopped,
    TakenOver,
    Transferred,
    Updated,
)
from bb.coordination.holdings import holdings, places, scopes
from bb.coordination.protocol import notices
from bb.coordination.protocol.events import BLOCKED, HANDOFF
from bb.groups.facts import (
    Changed,
    ContextChanged,
    GroupFact,
    GroupStarted,
    GroupStopped,
    ScopeAttached,
    ScopeChosen,
    ScopeDetached,
    SettingsChanged,
    StateSet,
)
from bb.kernel import escaping, ids
from bb.kernel.plurals import counted
from bb.kernel.validation import shown_bead
from bb.ledger.index import counting
from bb.ledger.journal import kinds, unreadable
from bb.ledger.records.newest_first import newest_first
from bb.messaging import messages
from bb.messaging.facts import Acked, Agreed, Read, Sent
from bb.messaging.mail import mail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from bb.kernel.event import Event
    from bb.ledger.index.counting import Counting
    from bb.ledger.records.event_filters import Filter
    from bb.ledger.records.store import Store

    Sentence = tuple[str, str | None, list[str]]  # the text, its bead, and the other agents that it is about

KINDS = kinds.KINDS
UNVERIFIED = "unverified"
CLAIMS = {"claim": "claimed", "release": "released", "transfer": "transferred", "take_over": "took over"}
OUTCOMES = {transitions.PUT_OFF: "deferred", transitions.RESOLVED: "resolved"}
VERBS = {HANDOFF: "handed over to", BLOCKED: "needs input from", mail.DECISION: "asks"}  # of messages


def latest(
    store: Store, wanted: Filter, agent: str | None, bead: str | None, limit: int | None
) -> list[dict[str, Any]]:
    """The last LIMIT events as rows, or all of them, oldest first."""
    teller = SentenceWriter(store)
    rows: list[dict[str, Any]] = []
    for event in newest_first(store, wanted.may_admit):
        if not wanted.admits(event):
            continue
        row = teller.row(event)
        if row and is_about(row, agent, bead):
            rows.append(row)
            if len(rows) == limit:
                break
    return rows[::-1]


def is_about(told: dict[str, Any], agent: str | None, bead: str | None) -> bool:
    """Whether a row is about that agent and that bead; None admits all."""
    return bead in (None, told["bead_id"]) and (agent is None or agent in told["about"])


class SentenceWriter:
    """Describes events. It looks up the reservations and messages that they name.

    If signatures are required, events that do not count (docs/signing.md) are omitted. Otherwise they are marked as
    unverified, and so is every event in the person's name without the person's key.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._counted = counting.for_index(store.caught_up())

    def is_omitted(self, event: Event) -> bool:
        """Whether EVENT is omitted because it does not count yet."""
        return self._counted is not None and self._counted.leaves_out and not self._counted.counts(event)

    def row(self, event: Event) -> dict[str, Any] | None:
        if self.is_omitted(event):
            return None
        row = self._row(event)
        if row is None or self._counted is None or not self._is_doubted(self._counted, event):
            return row
        return row | {"text": f"{UNVERIFIED}: {row['text']}"} | counting.UNVERIFIED

    def _is_doubted(self, counted: Counting, event: Event) -> bool:
        return counted.is_doubted(event.id, event.kind, event.by) or not counted.counts(event)

    def _row(self, event: Event) -> dict[str, Any] | None:
        fact = kinds.fact_of(event.kind, event.data, event.by)
        if fact is None:
            return _unreadable(event)
        sentence = self._resolution(fact) if isinstance(fact, Resolved) else self._sentence(fact, event.by)
        if sentence is None:
            return None
        text, bead, others = sentence
        about = [event.by, *(other for other in others if other != event.by)]
        return {"at": event.ts, "by": event.by, "text": text, "bead_id": bead, "about": about, "event_id": event.id}

    def _sentence(self, fact: Any, by: str) -> Sentence | None:
        """The sentence for FACT by its author BY."""
        if isinstance(fact, AgentFact):
            return _of_an_agent(fact, by)
        for family, tell in FAMILIES:
            if isinstance(fact, family):
                return tell(fact)
        match fact:
            case Redacted(_, event):
                return f"redacted {event}", None, []
            case Reserved():
                return _reserved(fact)
            case Incurred():
                return _incursion(fact, by)
            case Resumed(_, prior, adopted, reason, bead=bead):
                return f"continues as {adopted} ({escaping.name(reason)})", bead or None, [prior, adopted]
            case Sent(_, to, _, subject, bead=bead, cbcl=dict()):
                return f"said to {', '.join(to)}: {subject}", bead or None, list(to)
            case Sent(_, to, category, subject, bead=bead):
                return f"{VERBS.get(category, 'told')} {', '.join(to)}: {subject}", bead, list(to)
        return self._about_another(fact)

    def _resolution(self, fact: Resolved) -> Sentence | None:
        """The resolution of an incursion; None if its author was not allowed to resolve it."""
        state = self._store.index.state(notices.NAME, fact.event)
        met = notices.notice(state) if notices.is_known(state) else None
        if not isinstance(met, Incurred) or not notices.may_resolve(met, fact.agent, fact.state):
            return None
        changed = f"the change by {met.incoming} in {met.where}"
        what = f"{met.held} to {met.incoming}" if fact.state == TRANSFERRED else changed
        others = [met.owner, met.incoming]
        return f"{fact.state} {what}" + (f": {fact.note}" if fact.note else ""), shown_bead(met.bead), others

    def _holders(self, reservations: Sequence[str]) -> list[str]:
        states = [(name, self._store.index.state(holdings.NAME, name)) for name in reservations]
        past_reservations = [holdings.reservation(name, state) for name, state in states]
        return list(dict.fromkeys(reservation.agent for reservation in past_reservations if reservation))

    def _about_another(self, fact: Any) -> Sentence | None:
        """The sentence for a fact that names earlier reservations or an earlier message."""
        if isinstance(fact, Overridden):
            text = f"committed {_some(fact.paths)} although held by others: {fact.reason}"
            return text, None, self._holders(fact.reservations)
        if isinstance(fact, Read | Acked | Agreed):
            verb = "read" if isinstance(fact, Read) else "accepted"
            letter = self._store.index.state(messages.NAME, fact.message)
            if letter is None:
                return f"{verb}: a message", None, []
            sent = messages.sent(letter)
            return f"{verb}: {sent.subject}", sent.bead or None, [sent.sender]
        state = self._store.index.state(holdings.NAME, fact.reservation)
        reservation = holdings.reservation(fact.reservation, state)
        scope, bead, others = (
            (reservation.scope, reservation.bead, [reservation.agent]) if reservation else ("a reservation", None, [])
        )
        bead = None if reservation and reservation.is_freeze else bead
        match fact:
            case Renewed():
                return f"renewed {scope}", bead, others
            case Released():
                return ("thawed" if reservation and reservation.is_freeze else "released") + f" {scope}", bead, others
            case Transferred(by, _, to):
                transfers = ((tenure.given_by, tenure.agent) for tenure in holdings.tenures(fact.reservation, state))
                return (f"transferred {scope} to {to}", bead, [*others, to]) if (by, to) in transfers else None
            case Expired():
                return f"found that {scope} had expired", bead, others
            case TakenOver(_, _, owner, liveness):
                return f"took over {scope} from {owner}, which was {liveness}", bead, [owner]
        return type(fact).__name__, bead, others


def _unreadable(event: Event) -> dict[str, Any] | None:
    """The row of an unreadable event: the reason, without its content."""
    why = unreadable.why(event)
    if why is None:
        return None
    text = f"recorded an unreadable event: {why}"
    return {"at": event.ts, "by": event.by, "text": text, "bead_id": None, "about": [event.by], "event_id": event.id}


def _reserved(fact: Reserved) -> Sentence:
    """A reservation; by the person, a freeze."""
    if fact.agent != ids.PERSON:
        return (
            f"reserved {scopes.shown(fact.scope, fact.region)} for {counted(fact.ttl, 'minute')}",
            shown_bead(fact.bead),
            [],
        )
    until = "" if fact.ttl >= holdings.FOREVER else f" for {counted(fact.ttl, 'minute')}"
    return f"froze {scopes.shown(fact.scope, fact.region)}{until}" + (f": {fact.why}" if fact.why else ""), None, []


def _of_the_line(fact: QueueFact) -> Sentence | None:
    """Places in the line. A granted place is shown as the reservation, and a replaced one as the new place."""
    match fact:
        case Queued(bead=bead):
            wanted = list(map(scopes.shown, fact.scopes, fact.regions or [""] * len(fact.scopes)))
            return f"waits in line for {_some(wanted)}", shown_bead(bead), []
        case LeftLine(how=how) if how in LEFT:
            return LEFT[how], None, []
    return None


LEFT = {
    places.CANCELLED: "left the line",
    places.TIME_OVER: "left the line, because its time was over",
    places.RETIRED: "left the line, because it was retired",
}


def _of_attention(fact: AttentionFact) -> Sentence | None:
    """Claims and their outcomes. `bb chat audit` shows all other events of a chat."""
    match fact:
        case Claiming(_, subject, action) if action in CLAIMS:
            return f"{CLAIMS[action]} {subject.removeprefix(EVENT)}", None, []
        case Moved(by, event, agent, to) if to in OUTCOMES and by == agent:
            return f"{OUTCOMES[to]} {event}", None, []
    return None


def _of_a_pause(fact: PauseFact) -> Sentence | None:
    """Pauses and unpauses by the person. From any other author they do not count and are omitted."""
    if fact.by != ids.PERSON:
        return None
    is_about_all = fact.agent == pauses.EVERYBODY
    whom, others = ("all agents", []) if is_about_all else (fact.agent, [fact.agent])
    if isinstance(fact, Paused):
        return f"paused {whom}" + (f": {fact.why}" if fact.why else ""), None, others
    return f"unpaused {whom}", None, others


def _of_a_threshold(fact: Pinned) -> Sentence | None:
    """The stale minutes pinned by the person. From any other author they do not count and are omitted."""
    if fact.by != ids.PERSON:
        return None
    return f"pinned the stale minutes at {fact.minutes}" if fact.minutes else "unpinned the stale minutes", None, []


def _of_cbcl(fact: Heard | Installed | Removed) -> Sentence | None:
    """Installed and removed dialects. `Heard` is omitted, because the message is shown as read."""
    match fact:
        case Installed(_, dialect, author=author, source=source):
            return f"installed the dialect {dialect} of @{author}, from {escaping.name(source)}", None, []
        case Removed(_, dialect):
            return f"removed the dialect {dialect}", None, []
    return None


def _of_an_agent(fact: AgentFact, by: str) -> Sentence | None:  # noqa: C901  (one case for each fact)
    """Changes of an agent. `Seen` for an active agent only informs other clones, so it is omitted."""
    match fact:
        case Registered(agent, role):
            return f"started as {role}" if by == agent else f"added {agent} as {escaping.name(role)}", None, [agent]
        case Updated(agent, None, None, None):
            return "continued its work", None, [agent]
        case Updated(agent, None, None):
            return f"changed how {agent} runs", None, [agent]
        case Updated(agent):
            return "changed its role or name", None, [agent]
        case NameSettled(agent, _, None):
            return f"is the same agent as {agent} in another clone", None, [agent]
        case NameSettled(agent, _, name):
            return f"is called {name} now, because another clone had the name {agent} first", None, [agent, str(name)]
        case Started(agent):
            return f"started {agent}", None, [agent]
        case Stopped(agent):
            return f"stopped {agent}", None, [agent]
        case Retired(agent):
            return f"retired {agent}", None, [agent]
        case Seen(agent, after):
            return None if after == liveness.ACTIVE else (f"is back; it was {after}", None, [agent])


def _of_the_group(fact: GroupFact | ContextChanged) -> Sentence | None:
    """Changes of the group. Its creation is omitted."""
    match fact:
        case Changed(_, title, topic):
            text = f"named the group {escaping.name(title)}" if title else f"set the group's topic: {topic or ''}"
        case ScopeAttached(_, key, title):
            text = f"attached {escaping.name(title or key)} to the group"
        case ScopeDetached(_, key):
            text = f"detached {key} from the group"
        case ScopeChosen(_, key):
            text = f"made {key} the group's active scope"
        case StateSet(_, state):
            text = f"set the group to {state}"
        case SettingsChanged(_, patch):
            text = f"changed {_some(list(patch))} of the group"
        case GroupStarted():
            text = "started the group"
        case GroupStopped():
            text = "stopped the group"
        case ContextChanged(_, ops):
            text = f"changed the group's shared context: {_some(_names(ops))}"
        case _:
            return None
    return text, None, []


FAMILIES: tuple[tuple[Any, Callable[[Any], Sentence | None]], ...] = (
    (GroupFact | ContextChanged, _of_the_group),
    (AttentionFact, _of_attention),
    (QueueFact, _of_the_line),
    (PauseFact, _of_a_pause),
    (Pinned, _of_a_threshold),
    (Heard | Installed | Removed, _of_cbcl),
)


def _names(ops: Sequence[Any]) -> list[str]:
    return list(dict.fromkeys(str(op["op"]) for op in ops if op))


def _incursion(fact: Incurred, by: str) -> Sentence | None:
    """An incursion; its author is named if it was not the agent that caused it."""
    if fact.outcome == TAKEN_OVER:
        return None  # the TakenOver fact has its own sentence
    verb = {REFUSED: "asked for", OVERLAPPING: "works in", CONTESTED: "also reserved", TOUCHED: "changed"}.get(
        fact.outcome, "met"
    )
    finding = "" if by == fact.incoming else f"found that {fact.incoming} "
    return f"{finding}{verb} {fact.where}, held by {fact.owner}", shown_bead(fact.bead), [fact.owner, fact.incoming]


def _some(paths: Sequence[str]) -> str:
    """The first three of PATHS, and the number of the others."""
    return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
