"""What happened, told in sentences: one for each fact a person may care about."""

from __future__ import annotations

from bb.attention.facts import AttentionFact, Claiming, Moved
from bb.attention.state import deliveries
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
    Overridden,
    Paused,
    PauseFact,
    Pinned,
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
from bb.coordination.holdings import holdings
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
from bb.kernel import ids, show
from bb.ledger.index import counting
from bb.ledger.journal import kinds
from bb.messaging import messages
from bb.messaging.facts import Acked, Agreed, Read, Sent
from bb.messaging.mail import mail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from bb.kernel.event import Event
    from bb.ledger.index.counting import Counting
    from bb.ledger.records.store import Store
    from bb.ledger.records.walk import Filter

    Sentence = tuple[str, str | None, list[str]]  # and the bead it is about, and who else

KINDS = kinds.KINDS
UNVERIFIED = "unverified"
CLAIMS = {"claim": "claimed", "release": "gave back", "transfer": "passed on", "take_over": "took over"}
OUTCOMES = {deliveries.PUT_OFF: "put off", deliveries.RESOLVED: "settled"}
VERBS = {HANDOFF: "passed on to", BLOCKED: "needs input from", mail.DECISION: "asks"}  # of messages


def latest(
    store: Store, wanted: Filter, agent: str | None, bead: str | None, limit: int | None
) -> list[dict[str, Any]]:
    """The last LIMIT things that happened, or all of them, oldest first."""
    teller = Teller(store)
    found: list[dict[str, Any]] = []
    for event in store.newest_first(None, wanted.may_admit):
        if not wanted.admits(event):
            continue
        told = teller.told(event)
        if told and is_about(told, agent, bead):
            found.append(told)
            if len(found) == limit:
                break
    return found[::-1]


def is_about(told: dict[str, Any], agent: str | None, bead: str | None) -> bool:
    """Whether what was TOLD is about that agent and that bead, where they are given."""
    return bead in (None, told["bead_id"]) and (agent is None or agent in told["about"])


class Teller:
    """Tells events, looking up the reservations and messages they name.

    What does not count (docs/signing.md) is not told where signatures are required. Elsewhere an order that does not
    count, and whatever else is in the person's name without the person's key, is told as unverified.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._counted = counting.of(store.caught_up())

    def waits(self, event: Event) -> bool:
        """Whether EVENT is not told because it does not count yet."""
        return self._counted is not None and self._counted.leaves_out and not self._counted.counts(event)

    def told(self, event: Event) -> dict[str, Any] | None:
        if self.waits(event):
            return None
        found = self._told(event)
        if found is None or self._counted is None or not self._is_doubted(self._counted, event):
            return found
        return found | {"text": f"{UNVERIFIED}: {found['text']}"} | counting.UNVERIFIED

    def _is_doubted(self, counted: Counting, event: Event) -> bool:
        return counted.is_doubted(event.id, event.kind, event.by) or not counted.counts(event)

    def _told(self, event: Event) -> dict[str, Any] | None:
        fact = kinds.fact_of(event.kind, event.data, event.by)
        if fact is None:
            return _unreadable(event)
        found = self._resolution(fact) if isinstance(fact, Resolved) else self._sentence(fact, event.by)
        if found is None:
            return None
        text, bead, others = found
        about = [event.by, *(other for other in others if other != event.by)]
        return {"at": event.ts, "by": event.by, "text": text, "bead_id": bead, "about": about, "event_id": event.id}

    def _sentence(self, fact: Any, by: str) -> Sentence | None:
        """What FACT says, the bead it is about, and who else."""
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
                return f"goes on as {adopted} ({show.name(reason)})", bead or None, [prior, adopted]
            case Sent(_, to, _, subject, bead=bead, cbcl=dict()):
                return f"said to {', '.join(to)}: {subject}", bead or None, list(to)
            case Sent(_, to, category, subject, bead=bead):
                return f"{VERBS.get(category, 'told')} {', '.join(to)}: {subject}", bead, list(to)
        return self._about_another(fact)

    def _resolution(self, fact: Resolved) -> Sentence | None:
        """What becomes of an incursion; None where it was not for this one to say."""
        state = self._store.index.state(notices.NAME, fact.event)
        met = notices.notice(state) if notices.is_known(state) else None
        if not isinstance(met, Incurred) or not notices.may_resolve(met, fact.agent, fact.state):
            return None
        what = {TRANSFERRED: f"{met.held} to {met.incoming}"}.get(fact.state, f"what {met.incoming} did in {met.where}")
        others = [met.owner, met.incoming]
        return f"{fact.state} {what}" + (f": {fact.note}" if fact.note else ""), met.bead, others

    def _holders(self, reservations: Sequence[str]) -> list[str]:
        states = [(name, self._store.index.state(holdings.NAME, name)) for name in reservations]
        made = [holdings.reservation(name, state) for name, state in states]
        return list(dict.fromkeys(each.agent for each in made if each))

    def _about_another(self, fact: Any) -> Sentence | None:
        """Facts that name reservations or a message made before."""
        if isinstance(fact, Overridden):
            text = f"went ahead with {_some(fact.paths)} although held: {fact.reason}"
            return text, None, self._holders(fact.reservations)
        if isinstance(fact, Read | Acked | Agreed):
            verb = "has seen" if isinstance(fact, Read) else "accepted"
            letter = self._store.index.state(messages.NAME, fact.message)
            if letter is None:
                return f"{verb}: a message", None, []
            sent = messages.sent(letter)
            return f"{verb}: {sent.subject}", sent.bead or None, [sent.sender]
        state = self._store.index.state(holdings.NAME, fact.reservation)
        made = holdings.reservation(fact.reservation, state)
        scope, bead, others = (made.scope, made.bead, [made.agent]) if made else ("a reservation", None, [])
        bead = None if made and made.is_freeze else bead
        match fact:
            case Renewed():
                return f"renewed {scope}", bead, others
            case Released():
                return ("thawed" if made and made.is_freeze else "released") + f" {scope}", bead, others
            case Transferred(by, _, to):
                given = ((each.given_by, each.agent) for each in holdings.tenures(fact.reservation, state))
                return (f"passed {scope} on to {to}", bead, [*others, to]) if (by, to) in given else None
            case Expired():
                return f"found {scope} to have expired", bead, others
            case TakenOver(_, _, owner, liveness):
                return f"took {scope} over from {owner}, who was {liveness}", bead, [owner]
        return type(fact).__name__, bead, others


def _unreadable(event: Event) -> dict[str, Any] | None:
    """That somebody has recorded what says nothing, and why not; nothing of what it wants to say."""
    why = kinds.unreadable(event)
    if why is None:
        return None
    text = f"recorded what cannot be read: {why}"
    return {"at": event.ts, "by": event.by, "text": text, "bead_id": None, "about": [event.by], "event_id": event.id}


def _reserved(fact: Reserved) -> Sentence:
    """That something is held; by the person, that it is frozen."""
    if fact.agent != ids.PERSON:
        return f"reserved {fact.scope} for {fact.ttl} minutes", fact.bead, []
    until = "" if fact.ttl >= holdings.FOREVER else f" for {fact.ttl} minutes"
    return f"froze {fact.scope}{until}" + (f": {fact.why}" if fact.why else ""), None, []


def _of_attention(fact: AttentionFact) -> Sentence | None:
    """Who answers for what, and what became of it. All else about chat is told where the chat is (`bb chat audit`)."""
    match fact:
        case Claiming(_, subject, action) if action in CLAIMS:
            return f"{CLAIMS[action]} {subject.removeprefix(EVENT)}", None, []
        case Moved(by, event, agent, to) if to in OUTCOMES and by == agent:
            return f"{OUTCOMES[to]} {event}", None, []
    return None


def _of_a_pause(fact: PauseFact) -> Sentence | None:
    """Whom the person has paused or let go on. What anybody else says of it counts for nothing, and is not told."""
    if fact.by != ids.PERSON:
        return None
    is_about_all = fact.agent == pauses.EVERYBODY
    whom, others = ("everybody", []) if is_about_all else (fact.agent, [fact.agent])
    if isinstance(fact, Paused):
        return f"paused {whom}" + (f": {fact.why}" if fact.why else ""), None, others
    return f"let {whom} go on", None, others


def _of_a_threshold(fact: Pinned) -> Sentence | None:
    """After how many minutes an agent is stale, in every clone. Only the person's word counts, and is told."""
    if fact.by != ids.PERSON:
        return None
    what = f"pinned the stale minutes at {fact.minutes}" if fact.minutes else "left the stale minutes to each clone"
    return what, None, []


def _of_cbcl(fact: Heard | Installed | Removed) -> Sentence | None:
    """Which dialects came and went. That a message was heard shows in its having been seen."""
    match fact:
        case Installed(_, dialect, author=author, source=source):
            return f"installed the dialect {dialect} of @{author}, from {show.name(source)}", None, []
        case Removed(_, dialect):
            return f"removed the dialect {dialect}", None, []
    return None


def _of_an_agent(fact: AgentFact, by: str) -> Sentence | None:
    """What became of an identity. That one is still at work is told to other clones, but is no news."""
    match fact:
        case Registered(agent, role):
            return f"started as {role}" if by == agent else f"added {agent} as {show.name(role)}", None, [agent]
        case Updated(agent, None, None, None):
            return "took up its work again", None, [agent]
        case Updated(agent, None, None):
            return f"changed how {agent} runs", None, [agent]
        case Updated(agent):
            return "changed its role or name", None, [agent]
        case Started(agent):
            return f"started {agent}", None, [agent]
        case Stopped(agent):
            return f"stopped {agent}", None, [agent]
        case Retired(agent):
            return f"retired {agent}", None, [agent]
        case Seen(agent, after):
            return None if after == liveness.ACTIVE else (f"is back, having been {after}", None, [agent])


def _of_the_group(fact: GroupFact | ContextChanged) -> Sentence | None:
    """What became of the group. That there is one is no news."""
    match fact:
        case Changed(_, title, topic):
            text = f"called the group {show.name(title)}" if title else f"said what the group is about: {topic or ''}"
        case ScopeAttached(_, key, title):
            text = f"attached {show.name(title or key)} to the group"
        case ScopeDetached(_, key):
            text = f"detached {key} from the group"
        case ScopeChosen(_, key):
            text = f"let the group work in {key}"
        case StateSet(_, state):
            text = f"set the group to {state}"
        case SettingsChanged(_, patch):
            text = f"changed {_some(list(patch))} of the group"
        case GroupStarted():
            text = "started the group"
        case GroupStopped():
            text = "stopped the group"
        case ContextChanged(_, ops):
            text = f"changed what the group shares: {_some(_names(ops))}"
        case _:
            return None
    return text, None, []


FAMILIES: tuple[tuple[Any, Callable[[Any], Sentence | None]], ...] = (
    (GroupFact | ContextChanged, _of_the_group),
    (AttentionFact, _of_attention),
    (PauseFact, _of_a_pause),
    (Pinned, _of_a_threshold),
    (Heard | Installed | Removed, _of_cbcl),
)


def _names(ops: Sequence[Any]) -> list[str]:
    return list(dict.fromkeys(str(op["op"]) for op in ops if op))


def _incursion(fact: Incurred, by: str) -> Sentence | None:
    """That somebody met, or touched, what another agent holds; and who found that, where it was somebody else."""
    if fact.outcome == TAKEN_OVER:
        return None  # the taking over tells it
    how = {REFUSED: "was refused", OVERLAPPING: "works in", CONTESTED: "reserved elsewhere", TOUCHED: "changed"}.get(
        fact.outcome, "met"
    )
    found = "" if by == fact.incoming else f"found that {fact.incoming} "
    return f"{found}{how} {fact.where}, held by {fact.owner}", fact.bead, [fact.owner, fact.incoming]


def _some(paths: Sequence[str]) -> str:
    """PATHS in few words."""
    return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
