"""Reads a published ledger by the newest snapshot in its last commit, and the commits since then.

The snapshot stands for all lines that it covers, and has the results of publication order up to its own commit. The
files in the last commit have the other lines. The commits after the snapshot's are verified (`since_snapshot`): that a
commit deletes or changes lines shows only in comparison with its parent, whatever its message says. They also show in
which order these lines were published.
"""

from __future__ import annotations

import os

from bb.coordination.holdings.admission import Admitted
from bb.kernel.escaping import harmless
from bb.kernel.record import Record
from bb.ledger.git import git
from bb.ledger.index.index import Index
from bb.ledger.published import bounds, layout, order_file
from bb.ledger.published.charter import CHARTER, LedgerRewritten, NotALedger, charter_of
from bb.ledger.published.tip import Compacted, Head, Tip
from bb.ledger.travel import admitted, archive, branch, numbering, snapshot
from bb.ledger.travel.snapshot import Snapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from bb.kernel.errors import BbError
    from bb.ledger.journal.line import Link
    from bb.ledger.published.arbiter import Arbiter

MOST_BYTES = 1 << 30
MOST_ABOUT = 1 << 20  # bytes of a commit, its message included
PLAIN = ("100644", "blob")
JOURNALS = "j"


class Latest(Record):
    """The last commit: an index that starts with its NEWEST snapshot, and the ARBITER that its charter names."""

    commit: str
    index: Index
    newest: Snapshot
    arbiter: Arbiter | None


def read(repository: str, commit: str, store: str) -> Latest | None:
    """Save the lines of the last COMMIT that the newest snapshot does not cover as journals in STORE. None without a
    snapshot that can be used: a ledger without one is young, or another version of bb made it."""
    files = _listed(repository, commit)
    with git.Conversation(["cat-file", "--batch"], git_dir=repository) as objects:
        charter = files.pop(CHARTER, None)
        if charter is None:
            raise NotALedger(f"commit {commit[:12]} has no {CHARTER}")
        arbiter = charter_of(layout.blob(objects, charter, layout.SMALL)).arbiter
        allowance = bounds.Allowance()
        segments = {layout.segment_of(path): blob for path, blob in files.items() if _holds_lines(path)}
        newest = _snapshot(repository, files)
        if newest is None:
            return None
        heads = newest.heads
        for (writer, first), blob in segments.items():
            last = heads[writer].n if writer in heads else 0
            octets = _whole(layout.path_of(writer, first), layout.blob(objects, blob, layout.LARGEST))
            allowance.take(octets)
            raws = octets.split(b"\n")[max(last - first + 1, 0) :]
            if len(raws) > 1:
                write_lines(store, writer, max(first, last + 1), b"\n".join(raws))
    index = None if _lacks_lines(segments, heads) else _begun(newest)
    return Latest(commit, index, newest, arbiter) if index else None


def since_snapshot(repository: str, latest: Latest) -> tuple[Admitted, int] | None:
    """The results of publication order in the last commit, and its generation, after every commit since the snapshot's
    was verified. None if REPOSITORY lacks one of them. Refused if one is invalid, or if nobody can tell from here."""
    newest = latest.newest
    name = snapshot.name_of(newest.last_lines)
    made_in = git.run(["rev-list", "--max-count=1", latest.commit, "--", f"snap/{name}"], git_dir=repository).strip()
    if not made_in or newest.at.parent != _parent(repository, made_in):
        return None  # git says of the first commit that it has that it changed every file
    base = _tip_at(repository, made_in, newest, name)
    if base is None or base.charter.arbiter != newest.at.arbiter:
        raise NotALedger("the newest snapshot does not fit its commit")
    if newest.at.arbiter not in (None, latest.arbiter):
        raise NotALedger("the newest snapshot has the results of another arbiter")
    address = latest.arbiter.address if latest.arbiter else ""
    history, order = branch.History(repository, base), admitted.PublicationOrder(newest.at.admitted, address)
    try:
        for one in history.upto(latest.commit) if latest.commit != made_in else ():
            order.take(one)
    except (NotALedger, LedgerRewritten.error) as refusal:
        return _without_strays(repository, base, latest, refusal)
    return order.admitted, history.tip.generation


def _without_strays(repository: str, base: Tip, latest: Latest, refusal: BbError) -> tuple[Admitted, int]:
    """The same, if some commit since the snapshot's does not count, but the ledger went on after it. Otherwise all
    commits must be read: they show what counts."""
    from bb.ledger.travel import quarantine  # noqa: PLC0415  (stray commits are rare)

    found = quarantine.sift_after(repository, base, latest.newest.heads, latest.commit, refusal)
    if found is None or found.tip.commit != latest.commit:
        raise refusal
    address = latest.arbiter.address if latest.arbiter else ""
    return admitted.admit_commits(latest.newest.at.admitted, found.commits, address), found.tip.generation


def _parent(repository: str, commit: str) -> str:
    """The parent of a commit by the commit itself, whether the parent is here or not."""
    head = git.output(["cat-file", "commit", commit], git_dir=repository, most=MOST_ABOUT).partition(b"\n\n")[0]
    parents = [row[7:] for row in head.split(b"\n") if row.startswith(b"parent ")]
    return parents[0].decode("ascii", "replace") if len(parents) == 1 else ""


def _tip_at(repository: str, commit: str, newest: Snapshot, name: str) -> Tip | None:
    """The state at the COMMIT that brought a snapshot, as the snapshot has it. None if its files have other lines."""
    files = _listed(repository, commit)
    heads = {writer: Head(n, n + 1) for writer, n in newest.last_lines.items()}
    archived, ends = newest.last_lines, dict[str, int]()
    with git.Conversation(["cat-file", "--batch"], git_dir=repository) as objects:
        charter = charter_of(layout.blob(objects, files[CHARTER], layout.SMALL)) if CHARTER in files else None
        order = layout.blob(objects, files[layout.ORDER], order_file.LARGEST) if layout.ORDER in files else b""
        for path, blob in files.items():  # in order, so the last file of a writer comes last
            if _holds_lines(path) and path != CHARTER:
                writer, first = layout.segment_of(path)
                ends[writer] = first + layout.blob(objects, blob, layout.LARGEST).count(b"\n") - 1
                archived[writer] = min(archived.get(writer, 0), first - 1)
                heads[writer] = Head(heads[writer].n if writer in heads else 0, first)
    if charter is None or any(heads[writer].n != last for writer, last in ends.items()):
        return None
    manifests = sum(path.startswith(archive.FOLDER) for path in files)
    names = {found for path in files if (found := snapshot.name_in(path))} - {name}
    covered = sum(newest.last_lines.values())
    compacted = Compacted(archived, manifests, (*sorted(names), name), covered, commit, newest.at.generation)
    numbers = numbering.at_snapshot(charter, newest.at.generation, order)
    return Tip(commit, numbers.generation, charter, heads, frozenset(), compacted, digest=numbers.digest)


def _begun(newest: Snapshot) -> Index | None:
    """An index that starts with a snapshot; None if the snapshot is invalid."""
    index = Index(":memory:", None)
    try:
        snapshot.fill(index, newest.heads, newest.rows)
    except Exception:  # folds may fail in any way on forged states
        index.close()
        return None
    return index


def _holds_lines(path: str) -> bool:
    """Whether the file at PATH is a file of lines."""
    if path in (layout.README, layout.SETTLED, layout.ORDER) or path.startswith(archive.FOLDER):
        return False
    return not (path.startswith("snap/") and snapshot.name_in(path))


def _lacks_lines(segments: Mapping[tuple[str, int], str], heads: Mapping[str, Link]) -> bool:
    """Whether lines are missing between the snapshot and a writer's first file."""
    firsts: dict[str, int] = {}
    for writer, first in segments:
        firsts[writer] = min(first, firsts.get(writer, first))
    return any(first > (heads[writer].n if writer in heads else 0) + 1 for writer, first in firsts.items())


def _snapshot(repository: str, files: Mapping[str, str]) -> Snapshot | None:
    """The newest snapshot in a commit; None if it cannot be used."""
    blobs: dict[str, list[str]] = {}
    for path, blob in files.items():
        if path.startswith("snap/") and (name := snapshot.name_in(path)):
            blobs.setdefault(name, []).append(blob)
    if len(blobs) > snapshot.MOST:
        raise NotALedger("there are more snapshots than a ledger can have")
    newest: tuple[int, str, list[bytes]] | None = None
    for name, names in blobs.items():
        parts = snapshot.load(repository, names)
        header = snapshot.header_of(parts[0]) if parts else None
        if parts is None or header is None or snapshot.name_of(header.heads) != name:
            return None
        if newest is None or sum(header.heads.values()) > newest[0]:
            newest = sum(header.heads.values()), name, parts
    return snapshot.read(b"".join(newest[2])) if newest else None


def journals(store: str) -> str:
    return os.path.join(store, JOURNALS)


def write_lines(store: str, writer: str, first: int, octets: bytes) -> None:
    folder = os.path.join(journals(store), writer)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"{first:012}.jsonl"), "wb") as file:
        file.write(octets)


def _whole(path: str, octets: bytes) -> bytes:
    """OCTETS, which must be complete lines. Unlike a journal in use, a published file may not end in a partial line."""
    if not octets.endswith(b"\n"):
        raise NotALedger(f"{harmless(path)} does not end with a complete line")
    bounds.must_be_lines(octets, harmless(path))
    return octets


def _listed(repository: str, commit: str) -> dict[str, str]:
    """The files of a commit, each with its blob. Refused if there is anything but regular files, or too much."""
    blobs: dict[str, str] = {}
    total = 0
    try:
        words = ["ls-tree", "-r", "-l", "-z", "--full-tree", commit]
        listed = git.output(words, git_dir=repository, most=bounds.MAX_GIT_OUTPUT)
    except git.TooMuchOutput.error as error:
        raise bounds.LedgerTooLarge() from error
    if listed.count(b"\0") > bounds.MOST_FILES:
        raise bounds.LedgerTooLarge()
    for entry in listed.split(b"\0"):
        if not entry:
            continue
        about, _, path = entry.decode("utf-8", "backslashreplace").partition("\t")
        mode, kind, blob, size = about.split()
        if (mode, kind) != PLAIN:
            raise NotALedger(f"{harmless(path[:200])} is not a regular file")
        total += int(size)
        blobs[path] = blob
        if total > MOST_BYTES:
            raise bounds.LedgerTooLarge()
    return blobs
