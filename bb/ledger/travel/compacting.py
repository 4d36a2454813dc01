"""Keeps the ledger's branch small: one commit adds a snapshot of all published lines and archives full files.

It is due when there are many new lines since the last snapshot, or when the newest snapshot is wrong: a faulty program
made it, or it shows events that were withdrawn since.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from bb.ledger.git import git
from bb.ledger.published import layout
from bb.ledger.published.pins import SnapshotVerdict
from bb.ledger.published.tip import Compacted, Tip
from bb.ledger.records.store import Store
from bb.ledger.signing.keys import Key
from bb.ledger.travel import archive, publish, snapshot
from bb.ledger.travel.archive import Archived

MOST_ARCHIVED = 20_000  # files in one commit; the next one archives the rest


def check_newest_snapshot(store: Store, tip: Tip) -> SnapshotVerdict | None:
    """The verdict on the newest snapshot on TIP; None if there is none."""
    if not tip.compacted.snapshots:
        return None
    taken_back = len(store.caught_up().hidden())
    return SnapshotVerdict(tip.compacted.commit, taken_back, _is_right(store, tip, tip.compacted.snapshots[-1]))


def _is_right(store: Store, tip: Tip, name: str) -> bool:
    """Whether a snapshot equals the one made from our lines. If other folds made it, only its name is checked."""
    git_dir = store.place.common
    parts = snapshot.load(git_dir, layout.files_below(git_dir, tip.commit, f"snap/{name}/").values())
    header = snapshot.header_of(parts[0]) if parts else None
    if header is None:
        return False
    heads, is_ours = header
    is_named_so = snapshot.name_of(heads) == name
    return is_named_so and (not is_ours or parts == snapshot.make(store, heads, store.progress))


def commit(
    store: Store, tip: Tip, now: int, *, keeps: bool, key: Key | None = None
) -> tuple[Tip, SnapshotVerdict, int]:
    """Make a commit on TIP with a snapshot of it, archiving full files. Returns the new tip, the verdict on the
    snapshot, and the number of archived lines. KEEPS is false if the previous snapshot is wrong and must go."""
    parts = snapshot.make(store, tip.last_lines, store.progress)
    taken_back = len(store.caught_up().hidden())
    name, before = snapshot.name_of(tip.last_lines), tip.compacted
    entries = list(islice(_sealed(store, tip), MOST_ARCHIVED))
    generation = tip.generation + 1
    message = f"bb: a snapshot, {len(entries)} files archived [skip ci]\n\nBb-Generation: {generation}\n".encode()
    with publish.Importer(store.place.common, message, tip.commit, now, key) as importer:
        kept = [earlier for earlier in before.snapshots if keeps and earlier != name][-(snapshot.KEPT - 1) :]
        for path in layout.files_below(store.place.common, tip.commit, "snap/"):
            if snapshot.name_in(path) not in kept:
                importer.remove(path)
        for number, part in enumerate(parts, 1):
            importer.file(snapshot.path_of(name, number), part)
        for entry in entries:
            importer.remove(entry.path)
        if entries:
            importer.file(archive.path_of(before.manifests + 1), archive.manifest_bytes(entries))
        new_commit = importer.finish()
    archived = dict(before.archived) | {entry.writer: entry.last for entry in entries}
    after = Compacted(archived, before.manifests + bool(entries), (*kept, name), tip.events, new_commit)
    lines = sum(entry.last - entry.first + 1 for entry in entries)
    return (
        tip.replace(commit=new_commit, generation=generation, compacted=after),
        SnapshotVerdict(new_commit, taken_back, is_right=True),
        lines,
    )


def _sealed(store: Store, tip: Tip) -> Iterator[Archived]:
    """The files in the tree that will get no more lines, in the order of their paths."""
    git_dir = store.place.common
    files = list(layout.files_below(git_dir, tip.commit, "w/").items())
    with git.Conversation(["cat-file", "--batch"], git_dir=git_dir) as objects:
        for place, (path, blob) in enumerate(files):
            octets = layout.blob(objects, blob, layout.LARGEST)
            about = archive.entry(path, blob, octets, tip.commit)
            if store.progress:
                store.progress(place, len(files), "Archiving")
            if layout.is_full(about.last - about.first + 1, len(octets)) or about.last < tip.last_lines[about.writer]:
                yield about
