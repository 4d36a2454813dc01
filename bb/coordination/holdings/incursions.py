"""What was done in a place that another agent holds: who is told of it, and who settles it.

A hook or CI can come upon the same thing many times. It is recorded once: for each owner, as touching the earliest of
its reservations that were met. A commit is the same wherever it is found. Without one, the paths stand for what was
done, and for a commit of it, until it is taken back: to touch them again then is new.
"""

from __future__ import annotations

from bb.coordination.facts import REFUSED, REVERTED, TAKEN_OVER, TOUCHED, Incurred, Released, Resolved
from bb.coordination.holdings import reservations, scopes
from bb.coordination.holdings.reservations import Wanted
from bb.coordination.protocol import notices
from bb.kernel import ids
from bb.kernel.digest import digest
from bb.kernel.errors import Conflict, Forbidden, NotFound, Refused, Usage
from bb.kernel.show import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bb.coordination.facts import HoldingFact, NoticeFact
    from bb.coordination.holdings.reservations import Held, Overlap
    from bb.coordination.protocol.notices import Incident

MOST_PATHS = 20  # that are named; how many there are is said, too
NOTE_LENGTH = 500
THAW = "`bb thaw` lifts it; or settle this with --as accepted"
HINT = "{owner} says what becomes of it: `bb protocol incursions`, `bb protocol resolve ID`"


class NotAnIncursion(NotFound):
    """There is no such incursion."""

    code = "INCURSION_NOT_FOUND"
    hint = "`bb protocol incursions` shows the ids"


class InvalidNote(Usage):
    """A note is one line of 1 to 500 characters."""

    code = "INVALID_NOTE"
    hint = "leave it out when there is nothing to add"


class ResolveForbidden(Forbidden):
    """That is not yours to settle."""

    code = "RESOLVE_FORBIDDEN"
    hint = "its owner settles it, or the person: `--agent user`"


class IncursionResolved(Conflict):
    """Somebody has settled it already, in another way."""

    code = "INCURSION_RESOLVED"
    hint = "`bb protocol show ID` tells who did; what has changed since is said by mail: `bb agent send`"


class IncursionClosed(Refused):
    """There is nothing left to settle."""

    code = "INCURSION_CLOSED"
    hint = "`bb protocol incursions --state open` shows what there is"


class NothingToTransfer(Refused):
    """What was held there is held no more."""

    code = "NOTHING_TO_TRANSFER"
    hint = "whoever goes on there reserves it: `bb agent reserve`; then settle this with --as accepted"


def report(
    incoming: str,
    found_by: str,
    touched: Sequence[tuple[str, Held]],
    commit: str,
    known: Callable[[str], Incident | None],
) -> list[Incurred]:
    """That INCOMING has touched these paths, each with what is held there; what is on record already is left out.

    KNOWN finds an incident by its name.
    """
    by_owner: dict[str, list[tuple[str, Held]]] = {}
    for path, held in touched:
        if held.reservation.agent != incoming:
            by_owner.setdefault(held.reservation.agent, []).append((path, held))
    each = [_touched(incoming, found_by, meetings, commit) for meetings in by_owner.values()]
    return [new for fact, paths in each if (new := _news(fact, paths, known))]


def _touched(
    incoming: str, found_by: str, met: Sequence[tuple[str, Held]], commit: str
) -> tuple[Incurred, Sequence[str]]:
    first = min((held for _, held in met), key=lambda held: held.reservation.place)
    paths = sorted({harmless(path) for path, _ in met})
    fact = Incurred(
        incoming=incoming,
        owner=first.reservation.agent,
        reservation=first.reservation.id,
        kind=scopes.EXACT if paths == [first.scope.path] else scopes.PARTIAL,
        scope=paths[0],
        held=first.reservation.scope,
        liveness=first.liveness,
        bead=first.reservation.bead,
        outcome=TOUCHED,
        hint=HINT.format(owner=first.reservation.agent),
        found_by=found_by,
        paths=tuple(paths[:MOST_PATHS]),
        count=len(paths),
        commit=commit,
    )
    return fact, paths


def _news(fact: Incurred, paths: Sequence[str], known: Callable[[str], Incident | None]) -> Incurred | None:
    """FACT, unless it is on record, as this commit or from before there was one."""
    if fact.commit and known(fact.incident):
        return None
    mark = digest("\n".join(paths).encode())
    while earlier := known(fact.but(commit="", mark=mark).incident):
        if earlier.state != REVERTED:
            return None
        mark = digest(f"{mark} {earlier.id}".encode())
    return fact if fact.commit else fact.but(mark=mark)


def note(text: str | None) -> str | None:
    """TEXT as a note to what becomes of something."""
    if text is None:
        return None
    if not 0 < len(text.strip()) <= NOTE_LENGTH or harmless(text) != text:
        raise InvalidNote(path="$.note")
    return text.strip()


def resolve(found: Incident, who: str, state: str, note: str | None) -> list[NoticeFact]:
    """Decide whether WHO may say that this becomes of what was FOUND; nothing, when it has become of it already."""
    fact = found.fact
    if not notices.may_resolve(fact, who, state):
        message = f"it is between {fact.owner}, who holds {fact.held}, and {fact.incoming}"
        if who == fact.incoming:
            message = f"{fact.owner} holds {fact.held}; you may say only that what you did there is {REVERTED}"
        raise ResolveForbidden(message, owner_agent=fact.owner, incoming_agent=fact.incoming)
    if found.resolution is not None:
        if found.resolution.state == state:
            return []
        said = found.resolution
        raise IncursionResolved(f"{said.by} has settled it: {said.state}", state=said.state, by=said.by, at=said.at)
    if not found.is_open:
        raise IncursionClosed(f"there is nothing to settle: {_why_closed(fact)}", outcome=fact.outcome)
    return [Resolved(who, found.id, state, note)]


def transfer(
    found: Incident, who: str, held: Held | None, met: Sequence[Overlap], is_recorded: Callable[[str], bool]
) -> list[HoldingFact | NoticeFact]:
    """Pass on what the owner has HELD, as it is, to who came in. A person holds nothing, and needs no reservation.

    MET is everything that meets it. Who works beside the owner stays there, beside another, and is told.
    """
    fact = found.fact
    if held is None or held.is_over:
        raise NothingToTransfer(f"{fact.owner} no longer holds {fact.held}")
    given = held.reservation
    if given.is_freeze:
        raise NothingToTransfer(f"{fact.owner} has frozen {fact.held}, which is lifted and not passed on", hint=THAW)
    given_back = Released(who, given.id)
    if fact.incoming == ids.PERSON:
        return [given_back]
    others = [each for each in met if each.held.reservation.id != given.id and not each.held.reservation.is_freeze]
    wanted = Wanted(fact.incoming, (held.scope,), given.bead, given.ttl, given.shared, allow_overlap=True)
    return [given_back, *reservations.reserve(wanted, others, is_recorded)]


def _why_closed(fact: Incurred) -> str:
    if fact.outcome == REFUSED:
        return f"{fact.incoming} was refused"
    if fact.outcome == TAKEN_OVER:
        return f"{fact.incoming} has taken over {fact.held}"
    return f"{fact.owner} and {fact.incoming} are no longer in each other's way"
