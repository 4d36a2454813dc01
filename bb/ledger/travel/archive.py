"""Archiving: files whose lines a snapshot covers are removed from the branch's tree, so the tree stays small, however
many writers there were. Nothing is lost: earlier commits still have the files, and a manifest lists them.

    archive/<number, 6 digits>.jsonl   one line for each file that the commit removed:
    {"path":"w/…","blob":"…","sha256":"…","first":1,"last":256,"end":"<head of the last line>","commit":"…"}
"""

from __future__ import annotations

from bb.kernel import json_text
from bb.kernel.digest import whole_digest
from bb.kernel.record import Record
from bb.ledger.git import git
from bb.ledger.journal import line as lines
from bb.ledger.journal.line import BadLine
from bb.ledger.published import bounds, layout
from bb.ledger.published.charter import LedgerRewritten, NotALedger
from bb.ledger.published.tip import Compacted
from bb.ledger.travel import snapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bb.ledger.published.layout import Change

FOLDER = "archive/"
DIGITS = 6
LARGEST_MANIFEST = 1 << 26


class Archived(Record):
    """One archived file: its path, its contents by hash, its range of lines, and the last commit that has it."""

    path: str
    blob: str
    sha256: str
    first: int
    last: int
    end: str
    commit: str

    @property
    def writer(self) -> str:
        return layout.segment_of(self.path)[0]


def path_of(number: int) -> str:
    return f"{FOLDER}{number:0{DIGITS}}.jsonl"


def entry(path: str, blob: str, octets: bytes, commit: str) -> Archived:
    """The manifest's entry for a file with contents OCTETS that the next commit archives."""
    writer, first = layout.segment_of(path)
    try:
        end = lines.link_without_previous(octets[:-1].rpartition(b"\n")[2], writer).head_digest
    except BadLine as error:
        raise NotALedger(f"the last line of {path} is invalid: {error}") from None
    last = first + octets.count(b"\n") - 1
    return Archived(path, blob, whole_digest(octets), first, last, end, commit)


def manifest_bytes(entries: Iterable[Archived]) -> bytes:
    return b"".join(json_text.dumps(archived.as_dict()).encode() + b"\n" for archived in entries)


def read_manifest(octets: bytes) -> list[Archived]:
    """Parse a manifest."""
    bounds.must_be_lines(octets, "a manifest of archived files")
    try:
        entries = [Archived(**json_text.read(row)) for row in octets.split(b"\n")[:-1]]
    except (ValueError, TypeError) as error:
        raise NotALedger("a manifest of archived files cannot be read") from error
    if manifest_bytes(entries) != octets:
        raise NotALedger("a manifest of archived files has unexpected content")
    return entries


def files(git_dir: str, commit: str, writer: str) -> dict[int, str]:
    """The blobs of all files of a writer's lines in a verified COMMIT or before it, by the number of the first line."""
    blobs: dict[int, str] = {}
    with git.Conversation(["cat-file", "--batch"], git_dir=git_dir) as objects:
        for manifest in layout.files_below(git_dir, commit, FOLDER).values():
            entries = read_manifest(layout.blob(objects, manifest, LARGEST_MANIFEST))
            blobs |= {archived.first: archived.blob for archived in entries if archived.writer == writer}
    folder = layout.path_of(writer, 1).rpartition("/")[0] + "/"
    in_tree = layout.files_below(git_dir, commit, folder)
    return blobs | {layout.segment_of(path)[1]: blob for path, blob in in_tree.items()}


class Compaction:
    """The archived files and the changed snapshots of one commit. They are checked together at the end (`after`)."""

    def __init__(self, before: Compacted, commit: str, parent: str | None) -> None:
        self._before = before
        self._commit = commit
        self._parent = parent or ""
        self._listed: list[Archived] = []  # by the manifest
        self._paths: set[str] = set()  # of these files
        self._removed: list[Archived] = []
        self._added_snapshots: set[str] = set()
        self._removed_snapshots: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._added_snapshots or self._removed_snapshots or self._listed or self._removed)

    def manifest(self, change: Change, octets: bytes) -> None:
        """Read a manifest that the commit adds."""
        if self._listed or not change.is_new or change.path != path_of(self._before.manifests + 1):
            raise NotALedger(f"{change.path[:200]!r} does not belong in a ledger")
        self._listed = read_manifest(octets)
        self._paths = {archived.path for archived in self._listed}

    def snapshot(self, change: Change) -> None:
        """Note a part of a snapshot that the commit adds, changes or removes."""
        name = snapshot.name_in(change.path)
        if name is None:
            raise NotALedger(f"{change.path[:200]!r} does not belong in a ledger")
        (self._removed_snapshots if change.is_removal else self._added_snapshots).add(name)

    def removed(self, change: Change, octets: bytes) -> None:
        """Note a file of lines that the commit removes from the tree."""
        if change.path not in self._paths:
            raise LedgerRewritten(f"{change.path[:200]!r} is missing from the published ledger")
        self._removed.append(entry(change.path, change.old, octets, self._parent))

    def after(self, heads: Mapping[str, int], generation: int) -> Compacted:
        """The compacted state after the commit of a GENERATION, in which writers are at HEADS. Refused if anything is
        invalid."""
        if self._listed != self._removed:
            raise NotALedger("a manifest does not match the archived files")
        after = self._before.replace(
            archived=self._archived_after(),
            manifests=self._before.manifests + bool(self._listed),
            snapshots=self._snapshots_after(heads),
        )
        if not self._added_snapshots:
            return after
        return after.replace(covered=sum(heads.values()), commit=self._commit, generation=generation)

    def _archived_after(self) -> dict[str, int]:
        """The last archived line of each writer. A file may be archived whether it is full or not: the snapshot in the
        same commit covers it, and the writer's next line begins a new file."""
        ends = dict(self._before.archived)
        for archived in self._removed:
            if archived.first != ends.get(archived.writer, 0) + 1:
                raise NotALedger(f"{archived.path} was archived before an earlier file")
            ends[archived.writer] = archived.last
        return ends

    def _snapshots_after(self, heads: Mapping[str, int]) -> tuple[str, ...]:
        """The snapshots after the commit. A new one must be of this commit's heads, and archiving needs a new one."""
        here = snapshot.name_of(heads)
        added, removed, earlier = self._added_snapshots, self._removed_snapshots, self._before.snapshots
        if added - {here} or removed - {*earlier} or (self._listed and not added):
            raise NotALedger("a snapshot was added or removed without reason")
        kept = tuple(name for name in earlier if name not in removed | added) + tuple(added)
        if not kept or kept[-1] not in added | {*earlier[-1:]}:
            raise NotALedger("the newest snapshot is missing, and no other replaces it")
        if len(kept) > snapshot.MOST:
            raise NotALedger("there are more snapshots than a ledger can have")
        return kept
