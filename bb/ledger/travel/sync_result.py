"""The result of a sync, as its callers see it."""

from __future__ import annotations

from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.travel.quarantine import Stray


class SyncResult(Record):
    """The result of a sync."""

    remote: str
    tip: str | None
    generation: int
    events: int  # published on the remote
    came: int
    went: int
    kinds: dict[str, int]  # of the imported events
    heard: dict[str, int]  # agents with imported lines that count: milliseconds before the newest imported line
    unverified: tuple[str, ...]  # those of them with events that their key has not signed
    reserved: tuple[str, ...]  # imported reservations
    place: str  # of the ledger on the remote
    joined: str | None
    attempts: int
    archived: int | None  # lines archived with a snapshot, if one was made
    not_compacted: str | None  # why no snapshot was made although one was due
    begun_anew: dict[str, object] | None  # the new epoch: the agent that began it, why and when
    arbiter_moved: dict[str, object] | None  # the arbiter, if this clone learned of its move
    signatures: dict[str, object] | None  # the results for imported lines, and the state of our key
    quarantined: tuple[Stray, ...]  # commits on the branch that do not count
