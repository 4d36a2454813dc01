"""The files of the published branch, and how to read them.

bb.json   README.md   w/<2>/<writer>/<first n, 12 digits>.jsonl
snap/<digest of the heads>/<part>.jsonl   archive/<number>.jsonl   settled.json   order
"""

from __future__ import annotations

from bb.kernel import ids
from bb.kernel.record import Record
from bb.ledger.git import git
from bb.ledger.journal import line as lines
from bb.ledger.published.charter import CHARTER, Charter, LedgerRewritten, NotALedger, charter_of

BRANCH = "refs/heads/bb-ledger"
HIDDEN = "refs/bb/published"  # outside refs/heads: plain clones do not fetch it, but some hosts do not allow it
PLACES = (BRANCH, HIDDEN)  # on a remote; a ledger is at one of them
LOCAL = "refs/bb/ledger"
README = "README.md"
SETTLED = "settled.json"
ORDER = "order"  # of the rows that the commit adds, while a fleet's engine orders the ledger (`order_file.py`)

MOST_LINES, FULL = 256, 64 << 10  # a file with this many lines or bytes is full
LARGEST = FULL + lines.MAX_LINE  # the largest possible file of lines
SMALL = 64 << 10
LONGEST_PATH = 1000  # bytes; the rest is ignored, and no path of a ledger is this long
DIGITS = 12  # of the number in a file name
NO_BLOB = frozenset("0")
PLAIN_FILE, NO_FILE = b"100644", b"000000"


class Change(Record):
    """One file that a commit adds, changes or removes."""

    path: str
    old: str
    new: str

    @property
    def is_new(self) -> bool:
        return NO_BLOB.issuperset(self.old)

    @property
    def is_removal(self) -> bool:
        return NO_BLOB.issuperset(self.new)


def path_of(writer: str, first: int) -> str:
    return f"w/{writer[:2]}/{writer}/{first:0{DIGITS}}.jsonl"


def is_full(count: int, size: int) -> bool:
    """Whether a file of COUNT lines and SIZE bytes is full: the next line begins a new file."""
    return count >= MOST_LINES or size >= FULL


def segment_of(path: str) -> tuple[str, int]:
    """The writer and the first line number of a file of lines. Refused if PATH does not belong in a ledger."""
    writer, _, name = path[5:].partition("/")
    number = name.removesuffix(".jsonl")
    is_right = ids.is_writer_id(writer) and is_number(number, DIGITS)
    if not is_right or path != path_of(writer, int(number)):
        raise NotALedger(f"{path[:200]!r} does not belong in a ledger")
    return writer, int(number)


def is_number(text: str, digits: int) -> bool:
    """Whether TEXT is a number of at least 1, written with exactly DIGITS digits."""
    return len(text) == digits and text.isascii() and text.isdigit() and int(text) > 0


def change_of(entry: bytes, path: bytes) -> Change:
    """One entry of `diff-tree`. Refused unless it describes a regular file."""
    old_mode, mode, old, new, status = entry[1:].split(b" ")
    change = Change(path[:LONGEST_PATH].decode("utf-8", "backslashreplace"), old.decode(), new.decode())
    is_plain = {old_mode, mode} <= {PLAIN_FILE, NO_FILE} and status in (b"A", b"M", b"D")
    if status == b"D" and not change.path.startswith(("w/", "snap/")):
        raise LedgerRewritten(f"{change.path[:200]!r} is missing from the published ledger")
    if not is_plain:
        raise NotALedger(f"{change.path[:200]!r} is not a regular file")
    return change


def blob(objects: git.Conversation, name: str, most: int) -> bytes:
    """The contents of a blob. Refused if it has more than MOST bytes."""
    objects.write(name.encode() + b"\n")
    header = objects.read_line().split()
    if len(header) != 3 or header[1] != b"blob":
        raise NotALedger(f"object {name[:12]} is missing, or is not a file")
    size = int(header[2])
    if size > most:
        raise NotALedger(f"a file has {size:,} bytes, more than a ledger file can have")
    octets = objects.read(size + 1)
    return octets[:-1]


def charter_at(git_dir: str, commit: str) -> Charter | None:
    """The charter in an unverified commit; None if there is no valid one."""
    with git.Conversation(["cat-file", "--batch"], git_dir=git_dir) as objects:
        try:
            return charter_of(blob(objects, f"{commit}:{CHARTER}", SMALL))
        except NotALedger:
            return None


def files_below(git_dir: str, commit: str, folder: str) -> dict[str, str]:
    """The files below a FOLDER of a verified commit, in order, each with its blob."""
    blobs = {}
    rows = git.output(["ls-tree", "-r", "-z", "--full-tree", commit, "--", folder], git_dir=git_dir).split(b"\0")
    for about, _, path in (row.decode("utf-8", "backslashreplace").partition("\t") for row in rows if row):
        blobs[path] = about.split(" ")[2]
    return blobs
