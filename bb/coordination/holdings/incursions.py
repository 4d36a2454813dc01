"""Incursions: changes inside another agent's reservation, how they are recorded, and how they are resolved.

A hook or CI may find the same change many times. It is recorded once for each owner, with the earliest reservation of
that owner. A commit is identified by its id. An uncommitted change is identified by its paths, and so is the first
commit of it, until the incursion is resolved as reverted: the next change of these paths is a new incursion.
"""

from __future__ import annotations

from bb.coordination.facts import REFUSED, REVERTED, TAKEN_OVER, TOUCHED, Incurred, Released, Resolved
from bb.coordination.holdings import reservations, scopes
from bb.coordination.holdings.reservations import Wanted
from bb.coordination.holdings.transfers import GlobalTransfer
from bb.coordination.protocol import notices
from bb.kernel import ids
from bb.kernel.digest import digest
from bb.kernel.errors import Conflict, Forbidden, NotFound, Refused, Usage
from bb.kernel.escaping import harmless
from bb.kernel.validation import NO_BEAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bb.coordination.facts import HoldingFact, NoticeFact
    from bb.coordination.holdings.held import Held, Overlap
    from bb.coordination.protocol.notices import Incident

MOST_PATHS = 20  # listed by name; the number of all paths is recorded too
NOTE_LENGTH = 500
THAW = "lift the freeze: `bb thaw`; or resolve this incursion with --as accepted"
HINT = "{owner} resolves it: `bb protocol incursions`, `bb protocol resolve ID`"

NotAnIncursion = NotFound.declare(
    "INCURSION_NOT_FOUND", "No incursion has that id", hint="list the ids: `bb protocol incursions`"
)
InvalidNote = Usage.declare(
    "INVALID_NOTE", "A note is one line of 1 to 500 characters", hint="shorten the note, or omit it"
)

ResolveForbidden = Forbidden.declare(
    "RESOLVE_FORBIDDEN",
    "Another agent must resolve that incursion",
    hint="ask the holder: `bb send HOLDER 'text'`; if you undid your change: `bb protocol resolve ID --as reverted`",
)

IncursionResolved = Conflict.declare(
    "INCURSION_RESOLVED",
    "That incursion is already resolved in another way",
    hint="see the resolution: `bb protocol show ID`; report later changes by mail: `bb send`",
)

IncursionClosed = Refused.declare(
    "INCURSION_CLOSED",
    "That incursion needs no resolution",
    hint="list the open incursions: `bb protocol incursions --state open`",
)

NothingToTransfer = Refused.declare(
    "NOTHING_TO_TRANSFER",
    "The reservation of that incursion has ended, so it cannot be transferred",
    hint="the agent that continues there reserves it: `bb reserve`; then resolve this with --as accepted",
)


def report(
    incoming: str,
    found_by: str,
    touched: Sequence[tuple[str, Held]],
    commit: str,
    known: Callable[[str], Incident | None],
) -> list[Incurred]:
    """The incursions by INCOMING into the paths TOUCHED, each path with its reservation. Known incursions are omitted.

    KNOWN finds an incident by its name.
    """
    by_owner: dict[str, list[tuple[str, Held]]] = {}
    for path, held in touched:
        if held.reservation.agent != incoming:
            by_owner.setdefault(held.reservation.agent, []).append((path, held))
    incursions = [_touched(incoming, found_by, meetings, commit) for meetings in by_owner.values()]
    return [new for fact, paths in incursions if (new := _news(fact, paths, known))]


def recorded(
    incoming: str,
    found_by: str,
    touched: Sequence[tuple[str, Held]],
    commit: str,
    known: Callable[[str], Incident | None],
) -> list[Incident]:
    """The incursions that are recorded for a change, one for each owner: those that `report` omits."""
    by_owner: dict[str, list[tuple[str, Held]]] = {}
    for path, held in touched:
        by_owner.setdefault(held.reservation.agent, []).append((path, held))
    found = (_touched(incoming, found_by, meetings, commit) for meetings in by_owner.values())
    return [incident for fact, paths in found if (incident := _known(fact, paths, known))]


def _touched(
    incoming: str, found_by: str, met: Sequence[tuple[str, Held]], commit: str
) -> tuple[Incurred, Sequence[str]]:
    first = min((held for _, held in met), key=lambda held: held.reservation.place)
    paths = sorted({harmless(path) for path, _ in met})
    fact = Incurred(
        incoming=incoming,
        owner=first.reservation.agent,
        reservation=first.reservation.id,
        kind=scopes.EXACT if paths == [first.scope.path] and first.scope.region is None else scopes.PARTIAL,
        scope=paths[0],
        held=first.reservation.scope,
        liveness=first.liveness,
        bead=first.reservation.bead or NO_BEAD,
        outcome=TOUCHED,
        hint=HINT.format(owner=first.reservation.agent),
        found_by=found_by,
        paths=tuple(paths[:MOST_PATHS]),
        count=len(paths),
        commit=commit,
    )
    return fact, paths


def _known(fact: Incurred, paths: Sequence[str], known: Callable[[str], Incident | None]) -> Incident | None:
    """The incursion for this commit, or for the change before it was committed."""
    if fact.commit and (same := known(fact.incident)):
        return same
    mark = digest("\n".join(paths).encode())
    while earlier := known(fact.replace(commit="", mark=mark).incident):
        if earlier.state != REVERTED:
            return earlier
        mark = digest(f"{mark} {earlier.id}".encode())
    return None


def _news(fact: Incurred, paths: Sequence[str], known: Callable[[str], Incident | None]) -> Incurred | None:
    """FACT, unless it is recorded already."""
    if _known(fact, paths, known):
        return None
    mark = digest("\n".join(paths).encode())
    while not fact.commit and (earlier := known(fact.replace(mark=mark).incident)):
        mark = digest(f"{mark} {earlier.id}".encode())
    return fact if fact.commit else fact.replace(mark=mark)


def note(text: str | None) -> str | None:
    """TEXT as a note on a resolution."""
    if text is None:
        return None
    if not 0 < len(text.strip()) <= NOTE_LENGTH or harmless(text) != text:
        raise InvalidNote(path="$.note")
    return text.strip()


def resolve(found: Incident, who: str, state: str, note: str | None) -> list[NoticeFact]:
    """Decide whether WHO may resolve the incursion FOUND as STATE. No facts if it is resolved so already."""
    fact = found.fact
    if not notices.may_resolve(fact, who, state):
        message = f"the incursion concerns {fact.owner}, the holder of {fact.held}, and {fact.incoming}"
        if who == fact.incoming:
            message = f"{fact.owner} holds {fact.held}; you may resolve this incursion only as {REVERTED}"
        raise ResolveForbidden(message, owner_agent=fact.owner, incoming_agent=fact.incoming)
    if resolution := found.resolution:
        if resolution.state == state:
            return []
        message = f"{resolution.by} has already resolved it as {resolution.state}"
        raise IncursionResolved(message, state=resolution.state, by=resolution.by, at=resolution.at)
    if not found.is_open:
        raise IncursionClosed(f"the incursion needs no resolution: {_why_closed(fact)}", outcome=fact.outcome)
    return [Resolved(who, found.id, state, note)]


def transfer(
    found: Incident, who: str, held: Held | None, met: Sequence[Overlap], is_recorded: Callable[[str], bool]
) -> list[HoldingFact | NoticeFact]:
    """Transfer the owner's reservation HELD to the incoming agent. A person needs no reservation.

    MET are the overlaps of that reservation. Agents that already overlap the owner keep their reservations and are
    notified.
    """
    fact = found.fact
    if held is None or held.is_over:
        raise NothingToTransfer(f"{fact.owner} no longer holds {fact.held}")
    reservation = held.reservation
    if reservation.is_freeze:
        raise NothingToTransfer(f"{fact.owner} has frozen {fact.held}; a freeze cannot be transferred", hint=THAW)
    if reservation.is_global:
        raise GlobalTransfer(
            f"{fact.owner} holds {fact.held} in every clone",
            hint="release it, and let the other agent reserve it: `bb reserve`",
        )
    released = Released(who, reservation.id)
    if fact.incoming == ids.PERSON:
        return [released]
    others = [
        other for other in met if other.held.reservation.id != reservation.id and not other.held.reservation.is_freeze
    ]
    request = Wanted(
        *(fact.incoming, (held.scope,), reservation.bead or NO_BEAD, reservation.ttl, reservation.shared),
        allow_overlap=True,
        is_open=reservation.is_open,
    )
    return [released, *reservations.reserve(request, others, is_recorded)]


def _why_closed(fact: Incurred) -> str:
    if fact.outcome == REFUSED:
        return f"{fact.incoming} was refused"
    if fact.outcome == TAKEN_OVER:
        return f"{fact.incoming} has taken over {fact.held}"
    return f"the reservations of {fact.owner} and {fact.incoming} no longer overlap"
