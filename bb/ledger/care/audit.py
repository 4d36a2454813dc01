"""A full check of a ledger: reads and checks every line of every journal again, into an index in memory."""

from __future__ import annotations

import os
from itertools import islice
from typing import Any

from bb.coordination.holdings import holdings
from bb.kernel import json_text
from bb.kernel.digest import digest
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.index.index import Index
from bb.ledger.index.reader import BULK, Progress
from bb.ledger.journal import unreadable
from bb.ledger.journal.cursors import Damage
from bb.ledger.journal.journal import Journal
from bb.ledger.published import pins
from bb.ledger.published.tip import Tip
from bb.ledger.records.events import events_with_unreadable
from bb.ledger.records.store import Store
from bb.ledger.travel import admitted, compacting, importing, quarantine


class Chain(Record):
    """One writer's chain, up to the first damage."""

    writer: str
    is_ours: bool
    lines: int
    segments: int
    bytes: int
    head: str
    is_torn: bool
    damage: Damage | None


class Audit(Record):
    """The result of a full check."""

    chains: tuple[Chain, ...]
    state: str
    is_index_right: bool
    put_aside: tuple[str, ...]


def audit(store: Store, progress: Progress | None = None) -> Audit:
    """Check every chain from its first line on, and compare the index with the state they fold to."""
    fresh = Index(":memory:", store.writer)
    try:
        journals = store.journals()
        store.look_at_everything()
        fresh.law = store.law
        fresh.rebuild(journals, progress)
        damages = {damage.writer: damage for damage in fresh.damages()}
        state = state_digest(fresh)
        index = store.caught_up()
        with index.consistent_read():
            chains = tuple(_chain(store, journal, fresh, index, damages.get(journal.writer)) for journal in journals)
            is_right = _is_right(fresh, index, set(damages), state)
    finally:
        fresh.close()
    return Audit(chains, state, is_right, tuple(disk.names(os.path.join(store.path, "torn"))))


class Unread(Record):
    """A line that no version of bb and none of its clients could have written. Folds and screens ignore it."""

    id: str
    reason: str


def unreadable_lines(store: Store) -> list[Unread]:
    """Every line that is valid in its chain, but has content that bb could not have written."""
    heads, decode = store.caught_up().heads(), None
    if sum(size for _, size in store.last_files()) >= BULK:
        from bb.ledger.journal import bulk_check  # noqa: PLC0415  (slow to import, so only for many lines)

        decode = bulk_check.decode
    unread: list[Unread] = []
    for journal in store.journals():
        raws = (raw for _, _, block in journal.read() for raw in block.lines())
        for event in events_with_unreadable(islice(raws, heads.get(journal.writer, 0)), decode):
            reason = unreadable.why(event)
            unread += [Unread(event.id, reason)] if reason else []
    return unread


class Checked(Record):
    """The published ledger on a remote, verified again from its first commit on."""

    remote: str
    tip: str
    generation: int
    epoch: int
    commits: int
    events: int
    archived: int
    is_snapshot_right: bool | None
    quarantined: tuple[dict[str, str], ...]  # commits that do not count, and why


def check_published(store: Store, progress: Progress | None = None) -> list[Checked]:
    """Verify every published commit, as a new clone would, and compare its lines with ours. The first invalid commit is
    a refusal."""
    remotes = pins.read(store.path).remotes
    return [_checked(store, name, pin.tip, progress) for name, pin in remotes.items() if pin.tip]


def _checked(store: Store, name: str, tip: Tip, progress: Progress | None) -> Checked:
    found = quarantine.read(store.path, store.place.common, None, tip.commit, progress)
    importing.check(store, found.commits, tip.last_lines)
    arbiter = found.tip.charter.arbiter
    results = admitted.admit_commits(found.settled, found.commits, arbiter.address if arbiter else "")
    judged, _ = compacting.check_newest_snapshot(store, found.tip, results)
    return Checked(
        remote=name,
        tip=tip.commit,
        generation=found.tip.generation,
        epoch=found.tip.charter.epoch,
        commits=len(found.commits),
        events=sum(found.tip.last_lines.values()),
        archived=sum(found.tip.compacted.archived.values()),
        is_snapshot_right=judged.is_right if judged else None,
        quarantined=tuple(stray.as_dict() for stray in found.strays),
    )


def _is_right(fresh: Index, known: Index, damaged: set[str], state: str) -> bool:
    """Whether the index matches the journals. If lines were added meanwhile, the states are not compared."""
    now, then = known.heads(), fresh.heads()
    if now == then:
        return state_digest(known) == state
    return not any(now.get(writer, 0) > then.get(writer, 0) for writer in damaged)


def _chain(store: Store, journal: Journal, fresh: Index, known: Index, damage: Damage | None) -> Chain:
    position, segments = fresh.position(journal.writer), journal.segments()
    last = known.position(journal.writer)
    if damage is None and last.link.n == position.link.n and last.link != position.link:
        # No later line confirms the head of the last line. But the index has the head that it read.
        start = journal.offset_of_last()
        damage = Damage(journal.writer, last.link.n, segments[-1].path, start, "its head has changed since it was read")
    return Chain(
        writer=journal.writer,
        is_ours=journal.writer == store.writer,
        lines=position.link.n,
        segments=len(segments),
        bytes=sum(segment.size() for segment in segments),
        head=position.link.head_digest,
        is_torn=journal.is_torn(),
        damage=damage,
    )


def settled(store: Store, index: Index) -> list[Any]:
    """The results of the arbiter's order that verdicts depend on, in a form that is equal in two clones that know the
    same. Generations of ended reservations are left out, because each clone removes them at another time."""
    known = pins.read(store.path)
    live = {name for name, _ in index.entries_by_term(holdings.NAME, "live")}
    results = known.in_force.keeping(sorted(live)).as_json()
    return [dict(sorted(results["grants"].items())), results["generations"], known.is_elsewhere]


def state_digest(index: Index) -> str:
    """One digest of all folded state. It is equal in two clones that know the same lines."""
    whole = [[fold, [[key, value] for key, value in index.states(fold)]] for fold in index.folds()]
    return digest(json_text.canonical(whole).encode())
