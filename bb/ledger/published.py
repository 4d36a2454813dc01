"""The published ledger: one orphan branch that holds every writer's lines, and what a commit on it may change.

    bb.json   README.md   w/<2>/<writer>/<first n, 12 digits>.jsonl

Everybody who may push can put anything there, so nothing is believed: each commit has one parent and adds whole lines
behind those that are there, or begins a writer's next file. The one other change is the blanking of a line that was
redacted. So what is published once stays, a merge is a union, and a rewritten branch is found out.
"""

from __future__ import annotations

from bb.kernel import ids, jsontext
from bb.kernel.errors import Refused
from bb.kernel.record import Record
from bb.ledger import clone, git
from bb.ledger import line as lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

BRANCH = "refs/heads/bb-ledger"
LOCAL = "refs/bb/ledger"
CHARTER, README = "bb.json", "README.md"

MOST_LINES, FULL = 256, 64 << 10  # a file is full with so many lines, or so many bytes
LARGEST = FULL + lines.MAX_LINE  # so no file of ours is larger
SMALL = 64 << 10
DIGITS = 12  # of the number that a file is called by
NO_BLOB = frozenset("0")
PLAIN_FILE = b"100644"


class NotALedger(Refused):
    """That branch holds something else than a ledger, or more."""

    code = "NOT_A_LEDGER"
    hint = "nothing was taken over; look at the branch with `git log`, and ask who pushed to it"


class LedgerRewritten(Refused):
    """The published ledger is not what it was: lines have gone or changed."""

    code = "LEDGER_REWRITTEN"
    hint = "nothing was taken over, and your own copy is whole; have the branch put back: docs/sync.md says how"


class Charter(Record):
    """`bb.json`: whose ledger it is, and which programs may read and write it."""

    repo: str
    format: int = clone.FORMAT
    min_reader: int = clone.FORMAT
    min_writer: int = clone.FORMAT
    epoch: int = 1

    def text(self) -> str:
        return jsontext.dumps(self.as_dict()) + "\n"

    def may_read(self) -> None:
        if self.min_reader > clone.FORMAT:
            raise clone.LedgerTooNew(
                f"the published ledger is in format {self.format}, this bb reads up to {clone.FORMAT}"
            )

    def may_write(self) -> None:
        self.may_read()
        if self.min_writer > clone.FORMAT:
            raise clone.LedgerTooNew(
                f"the published ledger is in format {self.format}, this bb writes up to {clone.FORMAT}; "
                "`bb sync --pull` still works"
            )


class Head(Record):
    """How far a writer's lines are published: the last one's number, and the first one's in the last file."""

    n: int
    first: int


class Tip(Record):
    """A commit on the branch that has been verified with all before it."""

    commit: str
    generation: int
    charter: Charter
    heads: dict[str, Head]
    blanked: frozenset[str] = frozenset()  # events whose payload has been taken out since they were published


class Commit(Record):
    """What one commit brought: whole lines, and the lines whose payload it blanked."""

    id: str
    parent: str | None
    generation: int
    added: tuple[tuple[str, int, bytes], ...]  # writer, the first line's number, the lines
    blanked: tuple[str, ...]


class Change(Record):
    """One file that a commit adds or changes."""

    path: str
    old: str
    new: str


def path_of(writer: str, first: int) -> str:
    return f"w/{writer[:2]}/{writer}/{first:0{DIGITS}}.jsonl"


def is_full(count: int, size: int) -> bool:
    """Whether a file with so many lines and bytes gets no more: the next line begins a new one."""
    return count >= MOST_LINES or size >= FULL


class History:
    """The commits of a published ledger, verified one after the other. After the last, `tip` is what they came to."""

    def __init__(self, git_dir: str, known: Tip | None) -> None:
        self._git_dir = git_dir
        self._known = known
        self._heads: dict[str, Head] = dict(known.heads) if known else {}
        self._charter = known.charter if known else None
        self._generation = known.generation if known else 0
        self._last = known.commit if known else ""
        self._blanked = set(known.blanked) if known else set()
        self._files: dict[str, bytes] = {}  # the last file of each writer seen so far, as it is

    @property
    def tip(self) -> Tip:
        """The last commit that was verified."""
        if self._charter is None:
            raise NotALedger
        return Tip(self._last, self._generation, self._charter, dict(self._heads), frozenset(self._blanked))

    def upto(self, commit: str, progress: Callable[..., None] | None = None) -> Iterator[Commit]:
        """Every commit behind the known tip, oldest first, up to COMMIT. Refused at the first that is not right."""
        chain = self._chain(commit)
        with git.Conversation(["cat-file", "--batch"], git_dir=self._git_dir) as objects:
            for place, (name, parent, changes) in enumerate(self._changes(chain), 1):
                yield self._verified(name, parent, changes, objects)
                if progress:
                    progress(place, len(chain), "Verifying what is published")

    def _chain(self, commit: str) -> list[tuple[str, str | None]]:
        """The commits to go through, each with its parent. There is one line of them, and it goes on from the tip."""
        behind = [f"^{self._known.commit}"] if self._known else []
        done = git.ask(["rev-list", "--reverse", "--parents", commit, *behind], git_dir=self._git_dir)
        if done.status and self._known and not self._is_here(self._known.commit):
            # It was never fetched again, nor was anything that stands on it.
            raise LedgerRewritten("the published ledger does not go on from where it was")
        if done.status != 0:
            raise git.GitFailed(f"git rev-list failed: {done.err.strip()[-200:] or done.status}")
        chain: list[tuple[str, str | None]] = []
        before = self._known.commit if self._known else None
        for row in done.out.decode("ascii", "replace").splitlines():
            name, *parents = row.split()
            if parents != ([before] if before else []):
                raise LedgerRewritten(f"commit {name[:12]} does not follow from what was published before")
            chain.append((name, before))
            before = name
        if before != commit:
            kind = git.run(["cat-file", "-t", commit], git_dir=self._git_dir).strip()
            if kind != "commit":
                raise NotALedger(f"the branch is at a {kind} instead of a commit")
            raise LedgerRewritten("the published ledger is at an older commit than it was")
        return chain

    def _is_here(self, commit: str) -> bool:
        return git.ask(["cat-file", "-e", commit], git_dir=self._git_dir).status == 0

    def _changes(self, chain: list[tuple[str, str | None]]) -> Iterator[tuple[str, str | None, list[Change]]]:
        listed = git.output(
            ["diff-tree", "--stdin", "-r", "-z", "--root", "--no-renames", "--always"],
            git_dir=self._git_dir,
            given="".join(f"{name}\n" for name, _ in chain).encode(),
        )
        entries = iter(listed.split(b"\0"))
        changes: list[Change] = []
        commits = iter(chain)
        current: tuple[str, str | None] | None = None
        for entry in entries:
            if entry.startswith(b":"):
                changes.append(_change(entry, next(entries, b"")))
                continue
            if current:
                yield (*current, changes)
            changes, current = [], next(commits, None)

    def _verified(self, name: str, parent: str | None, changes: list[Change], objects: git.Conversation) -> Commit:
        added: list[tuple[str, int, bytes]] = []
        blanked: list[str] = []
        for change in sorted(changes, key=lambda change: change.path):
            if change.path in (CHARTER, README):
                self._read_charter(change, blob(objects, change.new, SMALL))
                continue
            writer, first = segment_of(change.path)
            now = blob(objects, change.new, LARGEST)
            before = self._before(change, objects)
            if len(now) < len(before):
                raise LedgerRewritten(f"{change.path} has lost lines")
            if not now.endswith(b"\n"):
                raise NotALedger(f"{change.path} does not end with a whole line")
            kept = now[: len(before)]
            if kept != before:
                blanked += _blanked(change.path, writer, first, before, kept)
            if more := now[len(before) :]:
                added.append((writer, self._grown(writer, first, bool(before), more, now), more))
        if self._charter is None:
            raise NotALedger(f"commit {name[:12]} has no {CHARTER}")
        self._generation += 1
        self._blanked.update(blanked)
        self._last = name
        return Commit(name, parent, self._generation, tuple(added), tuple(blanked))

    def _before(self, change: Change, objects: git.Conversation) -> bytes:
        if NO_BLOB.issuperset(change.old):
            return b""
        known = self._files.get(change.path)
        return blob(objects, change.old, LARGEST) if known is None else known

    def _grown(self, writer: str, first: int, has_begun: bool, more: bytes, now: bytes) -> int:
        """The number of the first of the lines that have come; a writer's last file grows, or a new one goes on."""
        head = self._heads.get(writer, Head(0, 0))
        if has_begun and first != head.first:
            raise LedgerRewritten(f"lines were added to a closed file of writer {writer}")
        if not has_begun:
            if first != head.n + 1:
                raise NotALedger(f"a file of writer {writer} begins with line {first} instead of {head.n + 1}")
            self._files.pop(path_of(writer, head.first), None)
        self._files[path_of(writer, first)] = now
        self._heads[writer] = Head(head.n + more.count(b"\n"), first)
        return head.n + 1

    def _read_charter(self, change: Change, octets: bytes) -> None:
        if change.path == README:
            return
        found = charter_of(octets)
        if self._charter and (found.repo, found.epoch) != (self._charter.repo, self._charter.epoch):
            raise LedgerRewritten(f"{CHARTER} names another ledger than before")
        self._charter = found


def file_with(git_dir: str, commit: str, event: str) -> tuple[str, int]:
    """The file that holds an event in a commit: its path, and the number of its first line."""
    writer, n = ids.split_event_id(event)
    folder = path_of(writer, 1).rpartition("/")[0]
    listed = git.output(["ls-tree", "-z", "--name-only", commit, f"{folder}/"], git_dir=git_dir)
    firsts = [segment_of(path.decode())[1] for path in listed.split(b"\0") if path]
    first = max(number for number in firsts if number <= n)
    return path_of(writer, first), first


def _change(entry: bytes, path: bytes) -> Change:
    """One entry of `diff-tree`; refused unless it adds or changes a plain file."""
    old_mode, mode, old, new, status = entry[1:].split(b" ")
    written = path.decode("utf-8", "backslashreplace")
    if status == b"D":
        raise LedgerRewritten(f"{written[:200]!r} is gone from the published ledger")
    if status not in (b"A", b"M") or mode != PLAIN_FILE or old_mode not in (PLAIN_FILE, b"000000"):
        raise NotALedger(f"{written[:200]!r} is no plain file")
    return Change(written, old.decode(), new.decode())


def segment_of(path: str) -> tuple[str, int]:
    """The writer and first number of a file of lines; refused when it has no place in a ledger."""
    writer, _, name = path[5:].partition("/")
    number = name.removesuffix(".jsonl")
    is_right = ids.is_writer_id(writer) and len(number) == DIGITS and number.isascii() and number.isdigit()
    if not is_right or not int(number) or path != path_of(writer, int(number)):
        raise NotALedger(f"{path[:200]!r} has no place in a ledger")
    return writer, int(number)


def blob(objects: git.Conversation, name: str, most: int) -> bytes:
    """The contents of a blob, unless there are too many."""
    objects.say(name.encode() + b"\n")
    header = objects.line().split()
    if len(header) != 3 or header[1] != b"blob":
        raise NotALedger(f"object {name[:12]} is missing, or no file")
    size = int(header[2])
    if size > most:
        raise NotALedger(f"a file of {size:,} bytes is more than a ledger has")
    octets = objects.read(size + 1)
    return octets[:-1]


def _blanked(path: str, writer: str, first: int, before: bytes, now: bytes) -> list[str]:
    """The events whose payload has been blanked; any other difference between the two is a rewriting."""
    found = []
    olds, news = before.split(b"\n"), now.split(b"\n")
    if len(olds) != len(news):
        raise LedgerRewritten(f"lines of {path} have changed")
    for n, (old, new) in enumerate(zip(olds, news, strict=True), first):
        if old != new:
            if new != lines.blanked(old):
                raise LedgerRewritten(f"line {n} of {path} has changed")
            found.append(ids.event_id(writer, n))
    return found


def charter_of(octets: bytes) -> Charter:
    try:
        found: Any = jsontext.read(octets)
        charter = Charter(**{name: found[name] for name in Charter.__match_args__})
    except (ValueError, TypeError, KeyError) as error:
        raise NotALedger(f"{CHARTER} cannot be read") from error
    numbers = (charter.format, charter.min_reader, charter.min_writer, charter.epoch)
    if not (clone.is_repo_id(charter.repo) and all(type(number) is int and number > 0 for number in numbers)):
        raise NotALedger(f"{CHARTER} says nothing that makes sense")
    charter.may_read()
    return charter
