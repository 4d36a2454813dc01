"""Keeps the ledger's branch small: one commit adds a snapshot of all published lines and archives their files.

It is due when there are many new lines or commits since the last snapshot, or when the newest snapshot must be
replaced: a faulty program made it, it shows events that were withdrawn since, or only earlier versions of bb can use
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from bb.coordination.holdings.admission import Admitted
from bb.ledger.git import git
from bb.ledger.index import database
from bb.ledger.published import layout
from bb.ledger.published.pins import SnapshotVerdict
from bb.ledger.published.tip import Compacted, Tip
from bb.ledger.records.store import Store
from bb.ledger.signing.keys import Key
from bb.ledger.travel import admitted, archive, numbering, snapshot
from bb.ledger.travel.archive import Archived
from bb.ledger.travel.commit_writer import CommitWriter
from bb.ledger.travel.snapshot import Place

MOST_ARCHIVED = 20_000  # files in one commit; the next one archives the rest


def check_newest_snapshot(
    store: Store, tip: Tip, results: Admitted | None
) -> tuple[SnapshotVerdict | None, Admitted | None]:
    """The verdict on the newest snapshot on TIP, or None if there is none; and the results of publication order in it,
    if it is right and this version of bb can use it. RESULTS are those on the whole branch, if they are known.

    If another version of bb made the snapshot, only its name is checked.
    """
    if not tip.compacted.snapshots:
        return None, None
    git_dir, name = store.place.common, tip.compacted.snapshots[-1]
    taken_back = len(store.caught_up().hidden())
    verdict = SnapshotVerdict(tip.compacted.commit, taken_back, is_right=False, state=database.VERSION)
    parts = snapshot.load(git_dir, layout.files_below(git_dir, tip.commit, f"snap/{name}/").values())
    header = snapshot.header_of(parts[0]) if parts else None
    if parts is None or header is None or snapshot.name_of(header.heads) != name:
        return verdict, None
    if not header.is_ours:
        return verdict.replace(is_right=True, is_outdated=header.state < database.VERSION), None
    if _is_right(store, tip, parts, header.heads, results):
        return verdict.replace(is_right=True), snapshot.settled_in(parts)
    return verdict, None


def _is_right(store: Store, tip: Tip, parts: list[bytes], heads: Mapping[str, int], results: Admitted | None) -> bool:
    """Whether a snapshot of HEADS equals the one made from our lines and commits."""
    git_dir, made_in = store.place.common, tip.compacted
    charter = layout.charter_at(git_dir, made_in.commit)
    arbiter = charter.arbiter if charter else None
    parent = git.run(["rev-parse", "--verify", "--quiet", f"{made_in.commit}^"], git_dir=git_dir).strip()
    if results is not None and made_in.generation and arbiter == tip.charter.arbiter:
        at = Place(parent, made_in.generation, results, arbiter)
        if parts == snapshot.make(store, heads, at, store.progress):
            return True
    # Our results may lack reservations that have ended since. The history up to that commit has them.
    results, known = admitted.of_history(git_dir, made_in.commit, arbiter)
    at = Place(parent, known.generation, results, arbiter)
    return parts == snapshot.make(store, heads, at, store.progress)


def commit(
    store: Store, tip: Tip, now: int, results: Admitted, key: Key | None = None
) -> tuple[Tip, SnapshotVerdict, int, Admitted]:
    """Make a commit on TIP with a snapshot of it in place of the earlier ones, archiving all files of lines. Returns
    the new tip, the verdict on the snapshot, the number of archived lines, and the results of publication order in the
    snapshot: RESULTS, without reservations that have ended."""
    numbers = numbering.after(numbering.of(tip), tip.charter, tip.charter, None, ())
    generation = numbers.generation
    at = Place(tip.commit, generation, results, tip.charter.arbiter)
    parts = snapshot.make(store, tip.last_lines, at, store.progress)
    taken_back = len(store.caught_up().hidden())
    name, before = snapshot.name_of(tip.last_lines), tip.compacted
    entries = list(islice(_files_of_lines(store, tip), MOST_ARCHIVED))
    message = f"bb: a snapshot, {len(entries)} files archived [skip ci]\n\n"
    message += numbering.trailers(tip.charter, generation, 0)
    writer = CommitWriter(store, message.encode(), tip.commit, now, key)
    for path in layout.files_below(store.place.common, tip.commit, "snap/"):
        writer.remove(path)
    for number, part in enumerate(parts, 1):
        writer.file(snapshot.path_of(name, number), part)
    for entry in entries:
        writer.remove(entry.path)
    if entries:
        writer.file(archive.path_of(before.manifests + 1), archive.manifest_bytes(entries))
    new_commit = writer.finish()
    archived = dict(before.archived) | {entry.writer: entry.last for entry in entries}
    after = Compacted(archived, before.manifests + bool(entries), (name,), tip.events, new_commit, generation)
    lines = sum(entry.last - entry.first + 1 for entry in entries)
    return (
        tip.replace(commit=new_commit, generation=generation, compacted=after, commits=0, digest=numbers.digest),
        SnapshotVerdict(new_commit, taken_back, is_right=True, state=database.VERSION),
        lines,
        snapshot.settled_in(parts),
    )


def _files_of_lines(store: Store, tip: Tip) -> Iterator[Archived]:
    """The files of lines in the tree, in the order of their paths."""
    git_dir = store.place.common
    files = list(layout.files_below(git_dir, tip.commit, "w/").items())
    with git.Conversation(["cat-file", "--batch"], git_dir=git_dir) as objects:
        for place, (path, blob) in enumerate(files):
            octets = layout.blob(objects, blob, layout.LARGEST)
            if store.progress:
                store.progress(place, len(files), "Archiving")
            yield archive.entry(path, blob, octets, tip.commit)
