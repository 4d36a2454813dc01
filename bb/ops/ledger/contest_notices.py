"""Notices about scopes that two clones reserved at the same time. The loser's own clone notifies the loser."""

from __future__ import annotations

import os
from collections.abc import Sequence

from bb.coordination.facts import CONTESTED, Incurred
from bb.coordination.holdings import scopes
from bb.coordination.holdings.held import Held
from bb.coordination.protocol import notices
from bb.kernel import ids
from bb.kernel.validation import NO_BEAD
from bb.ledger.index.index import Index
from bb.ledger.journal import writers
from bb.ledger.journal.kinds import Fact
from bb.ledger.local import presence
from bb.ledger.views.holdings import Holdings
from bb.messaging.mail import mail
from bb.ops.desk import signs_of_life
from bb.ops.desk.after_recording import AfterRecording
from bb.ops.desk.desk import Desk

HINT = "{owner} reserved {held} in another clone and published it first; do not edit it: release yours or agree by mail"


def notify_losers(desk: Desk, came: Sequence[str] | None) -> list[dict[str, str]]:
    """Record an INCURSION for each reservation here that loses to one that CAME from another clone, and notify its
    holder. None stands for all that have ever come."""
    if came is not None and not came:
        return []
    if came is None and not _lost(desk, desk.holdings(desk.store.caught_up(), desk.now()), came):
        return []

    def decide(index: Index, held: Holdings) -> list[Fact]:
        facts = [fact for fact in _lost(desk, held, came) if not index.count(notices.NAME, fact.incident)]
        return [*facts, *mail.incursion_notifications(facts)]

    signs_of_life.act(desk, ids.PERSON, decide, by=signs_of_life.principal(desk))
    held = desk.holdings(desk.store.caught_up(), desk.now())
    lost = _lost(desk, held, came)
    for agent in {fact.incoming for fact in lost}:
        _flag(desk, agent)
    return [{"agent_id": fact.incoming, "scope": fact.scope, "stands": fact.owner, "held": fact.held} for fact in lost]


def _lost(desk: Desk, held: Holdings, came: Sequence[str] | None) -> list[Incurred]:
    """The reservations of this clone that lose to a reservation that CAME, as INCURSIONs."""
    news, lost = None if came is None else set(came), []
    for ours in held.of_writers(writers_of_this_clone(desk)):
        winner = None if ours.is_over else held.contested_by(ours)
        if winner and (news is None or winner.reservation.id in news):
            lost.append(_incursion(ours, winner))
    return lost


def _incursion(ours: Held, winner: Held) -> Incurred:
    owner, place = winner.reservation, winner.reservation.scope
    return Incurred(
        incoming=ours.reservation.agent,
        owner=owner.agent,
        reservation=owner.id,
        kind=scopes.compare_by_name(ours.scope, winner.scope, ignore_case=True),
        scope=ours.reservation.scope,
        held=place,
        liveness=winner.liveness,
        bead=ours.reservation.bead or NO_BEAD,
        outcome=CONTESTED,
        hint=HINT.format(owner=owner.agent, held=place),
    )


def writers_of_this_clone(desk: Desk) -> set[str]:
    """The writers whose reservations were made in this clone. Other clones notify the holders of theirs."""
    journals = os.path.join(desk.store.path, writers.JOURNALS)
    return {writer for writer in writers.all_in(journals) if writers.read_owner(journals, writer) is not None}


def _flag(desk: Desk, agent: str) -> None:
    """Write the contested scopes into the agent's presence file, so that its next heartbeat reports them."""
    now = desk.now()
    last = presence.read(desk.store.path, agent, now)
    if last:
        with AfterRecording(desk):
            presence.write(desk.store.path, last.replace(contested=signs_of_life.contested(desk, agent)))
