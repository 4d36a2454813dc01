"""What two clones reserved at once: whoever does not hold it after all is told, by the clone it works in."""

from __future__ import annotations

import os

from bb.coordination.facts import CONTESTED, Incurred
from bb.coordination.holdings import scopes
from bb.coordination.protocol import notices
from bb.kernel import ids
from bb.ledger.journal import writers
from bb.ledger.local import presence
from bb.messaging.mail import mail
from bb.ops.desk import signs_of_life

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bb.coordination.holdings.reservations import Held
    from bb.ledger.index.index import Index
    from bb.ledger.journal.kinds import Fact
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk

HINT = (
    "{owner} reserved {held} in another clone and published it first; leave it alone, release yours, or agree by mail"
)


def tell(desk: Desk, came: Sequence[str]) -> list[dict[str, str]]:
    """Record, and tell the losers here, where reservations that CAME from elsewhere stand before ours."""
    if not came:
        return []

    def decide(index: Index, held: Holdings) -> list[Fact]:
        facts = [fact for fact in _lost(desk, held, came) if not index.count(notices.NAME, fact.incident)]
        return [*facts, *mail.about(facts)]

    signs_of_life.act(desk, ids.PERSON, decide, by=signs_of_life.principal(desk))
    held = desk.holdings(desk.store.caught_up(), desk.now())
    lost = _lost(desk, held, came)
    for agent in {fact.incoming for fact in lost}:
        _flag(desk, agent)
    return [{"agent_id": fact.incoming, "scope": fact.scope, "stands": fact.owner, "held": fact.held} for fact in lost]


def _lost(desk: Desk, held: Holdings, came: Sequence[str]) -> list[Incurred]:
    """What is held here, and met by a reservation that came, which stands before it."""
    found: dict[str, Incurred] = {}
    for name in came:
        theirs = held.live(name)
        for overlap in held.met_by([theirs.scope], in_any_clone=True) if theirs else []:
            ours = overlap.held
            if ours.is_over or not _is_of_this_clone(desk, ours):
                continue
            stands = held.contested_by(ours)
            if stands and stands.reservation.id == name:
                found[ours.reservation.id] = _incursion(ours, stands)
    return list(found.values())


def _incursion(ours: Held, stands: Held) -> Incurred:
    owner, place = stands.reservation, stands.reservation.scope
    return Incurred(
        incoming=ours.reservation.agent,
        owner=owner.agent,
        reservation=owner.id,
        kind=scopes.compare(ours.scope, stands.scope, ignore_case=True),
        scope=ours.reservation.scope,
        held=place,
        liveness=stands.liveness,
        bead=ours.reservation.bead,
        outcome=CONTESTED,
        hint=HINT.format(owner=owner.agent, held=place),
    )


def _is_of_this_clone(desk: Desk, held: Held) -> bool:
    """Whether it was made here; of what was made elsewhere, that clone tells."""
    writer, _ = ids.split_event_id(held.reservation.id)
    return writers.read_owner(os.path.join(desk.store.path, "j"), writer) is not None


def _flag(desk: Desk, agent: str) -> None:
    """Let the agent's next heartbeat say so too, which does not open the ledger."""
    now = desk.now()
    last = presence.read(desk.store.path, agent, now)
    if last:
        presence.write(desk.store.path, last.but(contested=signs_of_life.contested(desk, agent)))
