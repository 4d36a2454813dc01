"""Archiving: full files whose lines a snapshot covers leave the branch's tree, so that it stays small however long the
ledger gets. Nothing is lost: what they held lies in earlier commits, and a manifest says where.

    archive/<number, 6 digits>.jsonl   one line for each file that left with that commit:
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
    from collections.abc import Iterable, Iterator, Mapping

    from bb.ledger.published.layout import Change

FOLDER = "archive/"
DIGITS = 6
LARGEST_MANIFEST = 1 << 26


class Archived(Record):
    """One file that has left the tree: where it stood, what it held, and the last commit that has it."""

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
    """What the manifest says about a file that holds OCTETS and leaves with the next commit."""
    writer, first = layout.segment_of(path)
    try:
        end = lines.link_alone(octets[:-1].rpartition(b"\n")[2], writer).head_digest
    except BadLine as error:
        raise NotALedger(f"the last line of {path} cannot be right: {error}") from None
    last = first + octets.count(b"\n") - 1
    return Archived(path, blob, whole_digest(octets), first, last, end, commit)


def written(entries: Iterable[Archived]) -> bytes:
    return b"".join(json_text.dumps(each.as_dict()).encode() + b"\n" for each in entries)


def read(octets: bytes) -> list[Archived]:
    """What a manifest says."""
    bounds.must_be_lines(octets, "a manifest of archived files")
    try:
        entries = [Archived(**json_text.read(row)) for row in octets.split(b"\n")[:-1]]
    except (ValueError, TypeError) as error:
        raise NotALedger("a manifest of archived files cannot be read") from error
    if written(entries) != octets:
        raise NotALedger("a manifest of archived files says more than it should")
    return entries


def files(git_dir: str, commit: str, writer: str) -> dict[int, str]:
    """Every file of a writer's lines in a verified COMMIT or before it: by the number of its first line, its blob."""
    found: dict[int, str] = {}
    with git.Conversation(["cat-file", "--batch"], git_dir=git_dir) as objects:
        for manifest in layout.listed(git_dir, commit, FOLDER).values():
            entries = read(layout.blob(objects, manifest, LARGEST_MANIFEST))
            found |= {each.first: each.blob for each in entries if each.writer == writer}
    folder = layout.path_of(writer, 1).rpartition("/")[0] + "/"
    there = layout.listed(git_dir, commit, folder)
    return found | {layout.segment_of(path)[1]: blob for path, blob in there.items()}


class Compaction:
    """What one commit archives and which snapshots come and go with it; judged when all of it is known."""

    def __init__(self, before: Compacted, commit: str, parent: str | None) -> None:
        self._before = before
        self._commit = commit
        self._parent = parent or ""
        self._said: list[Archived] = []
        self._gone: list[tuple[Archived, bool]] = []  # each with whether it was full
        self._snapshots_come: set[str] = set()
        self._snapshots_gone: set[str] = set()

    def manifest(self, change: Change, octets: bytes) -> None:
        """A manifest that the commit brings."""
        if self._said or not change.is_new or change.path != path_of(self._before.manifests + 1):
            raise NotALedger(f"{change.path[:200]!r} has no place in a ledger")
        self._said = read(octets)

    def snapshot(self, change: Change) -> None:
        """A part of a snapshot that comes, changes or goes."""
        name = snapshot.name_in(change.path)
        if name is None:
            raise NotALedger(f"{change.path[:200]!r} has no place in a ledger")
        (self._snapshots_gone if change.is_removal else self._snapshots_come).add(name)

    def removed(self, change: Change, octets: bytes) -> None:
        """A file of lines that the commit takes out of the tree."""
        if all(change.path != each.path for each in self._said):
            raise LedgerRewritten(f"{change.path[:200]!r} is gone from the published ledger")
        about = entry(change.path, change.old, octets, self._parent)
        self._gone.append((about, layout.is_full(about.last - about.first + 1, len(octets))))

    def after(self, heads: Mapping[str, int]) -> Compacted:
        """What is compacted after the commit, which left writers at HEADS. Refused when anything is not as it must."""
        if self._said != [about for about, _ in self._gone]:
            raise NotALedger("a manifest does not say what was archived")
        if not (self._snapshots_come or self._snapshots_gone or self._said):
            return self._before
        after = self._before.but(
            archived=dict(self._archived_after(heads)),
            manifests=self._before.manifests + bool(self._said),
            snapshots=self._snapshots_after(heads),
        )
        return after.but(covered=sum(heads.values()), commit=self._commit) if self._snapshots_come else after

    def _archived_after(self, heads: Mapping[str, int]) -> Iterator[tuple[str, int]]:
        ends = dict(self._before.archived)
        for about, was_full in self._gone:
            is_sealed = was_full or about.last < heads[about.writer]
            if not is_sealed or about.first != ends.get(about.writer, 0) + 1:
                raise NotALedger(f"{about.path} was archived before its time")
            ends[about.writer] = about.last
        yield from ends.items()

    def _snapshots_after(self, heads: Mapping[str, int]) -> tuple[str, ...]:
        """A snapshot that comes must be of this very commit; nothing is archived without one."""
        here = snapshot.name_of(heads)
        come, gone, known = self._snapshots_come, self._snapshots_gone, self._before.snapshots
        if come - {here} or gone - {*known} or (self._said and not come):
            raise NotALedger("a snapshot has come or gone that had no reason to")
        kept = tuple(name for name in known if name not in gone | come) + tuple(come)
        if not kept or kept[-1] not in come | {*known[-1:]}:
            raise NotALedger("the newest snapshot is gone, and nothing stands for it")
        if len(kept) > snapshot.KEPT:
            raise NotALedger("there are more snapshots than a ledger has")
        return kept
