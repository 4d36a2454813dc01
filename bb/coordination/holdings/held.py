"""Live reservations at one moment, the overlaps with them, and contests; how a freeze is shown.

A freeze is a reservation of the person.

In a contest, two agents reserved overlapping scopes in two clones before either clone knew of the other. An admitted
global reservation wins. Otherwise the one published first wins, because other agents have known of it for longer. If
both were published together, or both are unpublished, the order in the ledger decides. So every clone comes to the same
result. The reservation that loses keeps others out, except the winner where that has a grant (`without_lost`).
"""

from __future__ import annotations

from bb.coordination.agents import liveness
from bb.coordination.holdings import holdings, scopes
from bb.kernel import clock, escaping, ids
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from bb.coordination.holdings.admission import Admitted
    from bb.coordination.holdings.holdings import Reservation
    from bb.coordination.holdings.scopes import Scope

    Known = Callable[[Reservation, Reservation], bool]  # whether one was made with --allow-overlap beside the other

FROZEN_HINT = "work on something else until the person lifts the freeze, or ask: `bb send user 'TEXT'`"

UNPUBLISHED = 1 << 62


class Held(Record):
    """A reservation that has not ended, with its holder's liveness and its expiry at one moment."""

    reservation: Reservation
    scope: Scope
    liveness: str  # of its holder
    expires_at: int
    is_over: bool
    is_of_rival: bool = False  # made by another agent of the holder's name (`name_claims`)

    @property
    def ends_at(self) -> str | None:
        """The time of expiry, or None if it does not expire."""
        return None if self.reservation.has_no_end else clock.text(self.expires_at)

    @property
    def is_protected(self) -> bool:
        return self.liveness == liveness.ACTIVE and not self.is_over

    @property
    def archived(self) -> str:
        """The state in which it ends if it is taken over."""
        is_stale = self.liveness == liveness.STALE and not self.is_over
        return holdings.TAKEN_OVER if is_stale else holdings.EXPIRED

    def as_json(self) -> dict[str, Any]:
        """The reservation as JSON, in a conflict."""
        return {
            "reservation_id": self.reservation.id,
            "agent_id": self.reservation.agent,
            "scope": self.reservation.scope,
            "bead_id": self.reservation.bead,
            "shared": self.reservation.shared,
            "kind": self.reservation.kind,
            **region_members(self.reservation),
            "liveness": self.liveness,
            "expires_at": self.ends_at,
            "is_expired": self.is_over,
            **freeze_members(self.reservation),
        }


class Overlap(Record):
    """A wanted scope that overlaps a reservation."""

    wanted: Scope
    held: Held
    kind: str

    def as_json(self) -> dict[str, Any]:
        return {"wanted": self.wanted.text, "class": self.kind, **self.held.as_json()}


def freeze_text(frozen: Held) -> str:
    """For example: `user has frozen src/core until 2026-11-03T10:00:00.000Z: "the release is being cut"`."""
    until = f" until {clock.text(frozen.expires_at)}" if frozen.ends_at else ""
    why = f": {escaping.quotation(frozen.reservation.why)}" if frozen.reservation.why else ""
    return f"{ids.PERSON} has frozen {escaping.name(frozen.reservation.scope)}{until}{why}"


def freeze_members(reservation: Reservation) -> dict[str, Any]:
    """The additional JSON members of a freeze."""
    return {"frozen": True, "why": reservation.why} if reservation.is_freeze else {}


def region_members(reservation: Reservation) -> dict[str, Any]:
    """The additional JSON member of a reservation with a region."""
    return {} if reservation.region is None else {"region": reservation.shown_region}


def were_made_apart(one: Reservation, other: Reservation) -> bool:
    """Whether different writers made the two reservations. Different writers share no lock."""
    return ids.split_event_id(one.id)[0] != ids.split_event_id(other.id)[0]


def may_contest(one: Reservation, other: Reservation) -> bool:
    """Whether the two cannot both hold what they share: different agents made them in different clones, exclusively. A
    freeze is never contested."""
    if one.is_freeze or other.is_freeze or one.agent == other.agent or (one.coexists and other.coexists):
        return False
    return were_made_apart(one, other)


def loses_to(one: Reservation, other: Reservation, settled: Admitted, know_each_other: Known) -> bool:
    """Whether ONE is not held as long as OTHER is, if the two share a path. Every guard asks this before a reservation
    excuses its holder."""
    return may_contest(one, other) and wins_over(other, one, settled) and not know_each_other(one, other)


def without_lost(agent: str, met: Sequence[Overlap], settled: Admitted, know_each_other: Known) -> list[Overlap]:
    """The overlaps MET with a global request of AGENT, without the reservations that have lost to a grant of the agent
    itself. All that such a reservation shares with the request is in the grant, so its holder holds nothing of it.

    Everything else of a contested reservation keeps others out, because its holder may be at work there. It also keeps
    out a request that is not global: the request would replace the grant, and then lose itself.
    """
    grants = [
        one.held
        for one in met
        if one.held.reservation.agent == agent and is_admitted(one.held.reservation, settled) and not one.held.is_over
    ]

    def has_lost(one: Overlap) -> bool:
        return any(
            (_covers(grant.scope, one.wanted) or _covers(grant.scope, one.held.scope))
            and loses_to(one.held.reservation, grant.reservation, settled, know_each_other)
            for grant in grants
        )

    return [one for one in met if not has_lost(one)] if grants else list(met)


def _covers(scope: Scope, other: Scope) -> bool:
    """Whether everything in OTHER is in SCOPE, as far as their texts tell."""
    if scope.region not in (None, other.region):
        return False
    is_same = (scope.where, scope.is_file) == (other.where, other.is_file)
    return is_same or scopes.covers(scope, other, ignore_case=False)


def wins_over(one: Reservation, other: Reservation, settled: Admitted) -> bool:
    """Whether ONE wins over OTHER."""
    return _rank(one, settled) < _rank(other, settled)


def is_admitted(reservation: Reservation, settled: Admitted) -> bool:
    """Whether this is a global reservation that was admitted, and its grant has not ended."""
    grant = settled.grants.get(reservation.id)
    return grant is not None and grant.ended is None


def _rank(reservation: Reservation, settled: Admitted) -> tuple[bool, int, str]:
    return (
        not is_admitted(reservation, settled),
        settled.generations.get(reservation.id, UNPUBLISHED),
        reservation.place,
    )
