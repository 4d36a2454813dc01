"""One ledger line: how an event and its place in the chain are written down, and how a line is checked.

    {"v":1,"id":"<writer>.<n>","l":7,"ts":"…","kind":"…","group_id":"…","scope_key":"","by":"…","k":"…",
     "p":"<32 hex>","dh":"<32 hex>","data":{"_":"<salt>",…}}

- The head is every byte before the first `,"data":`. No string can contain that text, its quotes would be escaped.
- `p` is the digest of the previous line's head, `dh` the digest of the exact data bytes. What is stored is hashed,
  so checking needs no canonical form. The chain covers `dh` and not the data: a payload can be blanked later (the
  same number of bytes, `null` and spaces) and every link still holds. The salt inside `data` keeps a small payload
  from being guessed back from its hash.
- `p` and `dh` stand at the end of the head at fixed distances, so a bulk reader checks a link without parsing.
"""

from __future__ import annotations

from bb.kernel import ids, json_text, validity
from bb.kernel.digest import HEX_LENGTH, NOTHING, digest
from bb.kernel.errors import Refused
from bb.kernel.event import SALT, Event
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MAX_LINE = 1 << 20
# How far Lamport time may rise from one line to the next: more than any clone has events to bring in, and so little
# that a forged line cannot push everybody's clock to where JSON readers lose digits.
LEAP = 1 << 32
DEEPEST = 500  # levels of brackets; decoders give up at different depths beyond that
BEFORE_ID = b'{"v":1,"id":"'
PREFIX_OF = BEFORE_ID + b'%s.%d",'
PREFIX = PREFIX_OF + b'"l":'
# Split at every quote, a head has the Lamport time in this part and the kind in that one.
LAMPORT_PART, KIND_PART = 8, 15
DATA = b',"data":'
NO_BRACKETS = bytes(octet for octet in range(256) if octet not in b"[]{}")
P_MARK, DH_MARK = b',"p":"', b'","dh":"'
SOUND: set[tuple[str, str, str, str]] = set()  # author, kind, group and scope of lines that were found to be sound
MOST_SOUND = 10_000
TAIL = len(P_MARK) + HEX_LENGTH + len(DH_MARK) + HEX_LENGTH + 1  # from P_MARK to the head's end
P_START = -TAIL + len(P_MARK)
P_END = P_START + HEX_LENGTH
DH_START = P_END + len(DH_MARK)


class LineTooLong(Refused):
    """An event must fit into a line of one mebibyte."""

    code = "EVENT_TOO_LARGE"
    hint = "put the large text into a file and refer to it"


class BadLine(Exception):
    """What is wrong with a line; the reader adds where it is."""


class Unreadable(Exception):
    """A line that is in its place in the chain, but says nothing that this version understands."""


class Link(Record):
    """A line's place in its writer's chain: what the next line needs to know."""

    n: int
    lamport: int
    head_digest: str


START = Link(0, 0, NOTHING)


def write(event: Event, previous: Link, salt: str) -> tuple[bytes, Link]:
    """The line for EVENT, which follows PREVIOUS, with its line feed, and the link it makes."""
    try:
        data = json_text.dumps({SALT: salt, **event.data}).encode()
        head = json_text.dumps(
            {
                "v": 1,
                "id": event.id,
                "l": event.lamport,
                "ts": event.ts,
                "kind": event.kind,
                "group_id": event.group_id,
                "scope_key": event.scope_key,
                "by": event.by,
                **({} if event.key is None else {"k": event.key}),
                "p": previous.head_digest,
                "dh": digest(data),
            }
        )[:-1].encode()
    except UnicodeEncodeError as error:
        raise json_text.InvalidText from error
    line = head + DATA + data + b"}\n"
    if len(line) > MAX_LINE:
        raise LineTooLong(f"the event takes {len(line):,} bytes, and {MAX_LINE:,} are allowed", bytes=len(line))
    return line, Link(previous.n + 1, event.lamport, digest(head))


def check(line: bytes, writer: str, previous: Link) -> Link:
    """The link that LINE (without its line feed) makes when it rightly follows PREVIOUS; else BadLine.

    This is about the line's place in the chain, and only looks at bytes. What the line says is read tolerantly, by
    whoever wants to know (`event`).
    """
    if len(line) >= MAX_LINE:
        raise BadLine("it is longer than a line may be")
    head, mark, data = line.partition(DATA)
    if not mark or not line.endswith(b"}"):
        raise BadLine("it is not a ledger line")
    if not head.startswith(PREFIX % (writer.encode(), previous.n + 1)):
        raise BadLine(f"it is not line {previous.n + 1} of writer {writer}")
    if head[P_START:P_END] != previous.head_digest.encode():
        raise BadLine("it does not follow from the line before it")
    data = data[:-1]
    if digest(data).encode() != head[DH_START:-1] and data.rstrip(b" ") != b"null":
        raise BadLine("its data is not what its head says")
    lamport, _ = clock_and_kind(head)
    if not previous.lamport < lamport <= previous.lamport + LEAP:
        raise BadLine("its Lamport time does not rise, or leaps")
    return Link(previous.n + 1, lamport, digest(head))


def clock_and_kind(head: bytes) -> tuple[int, bytes]:
    """The Lamport time and the kind, by their place among a head's quoted texts. BadLine when they are not there."""
    parts = head.split(b'"', KIND_PART + 1)
    number = parts[LAMPORT_PART][1:-1] if len(parts) > KIND_PART else b""
    try:
        time = int(number) if number.isdigit() else -1
    except ValueError:  # more digits than the interpreter is willing to read
        time = -1
    if time < 0:
        raise BadLine("it has no Lamport time or no kind")
    return time, parts[KIND_PART]


def link_alone(line: bytes, writer: str) -> Link:
    """The link that a line makes when nothing before it is known: sound in itself, or BadLine."""
    head, _, _ = line.partition(DATA)
    claimed = head.partition(b'","l":')[0].rpartition(b".")[2]
    if not (claimed.isdigit() and len(claimed) < 16 and int(claimed)):
        raise BadLine("it is not a ledger line")
    before = Link(int(claimed) - 1, clock_and_kind(head)[0] - 1, head[P_START:P_END].decode("ascii", "replace"))
    return check(line, writer, before)


def number_of(line: bytes) -> int:
    """The number that a checked line has in its chain."""
    return int(line[: line.index(b'",')].rpartition(b".")[2])


def blanked(line: bytes) -> bytes | None:
    """LINE with its payload taken out, as long as before; None where there is no room to say so."""
    head, mark, data = line.partition(DATA)
    return head + mark + b"null".ljust(len(data) - 1) + b"}" if len(data) > len(b"null") else None


def may_hold_blanks(octets: bytes) -> bool:
    """Whether any of several lines may be one whose payload has been taken out. Most hold none, and this is quick."""
    return DATA + b"null" in octets


def is_blank(line: bytes) -> bool:
    """Whether the payload of LINE has been taken out."""
    return line.partition(DATA)[2][:-1].rstrip(b" ") == b"null"


def is_same_event(one: bytes, other: bytes) -> bool:
    """Whether two lines record the same event: alike, but that the payload of either may have been blanked."""
    return one == other or one == blanked(other) or other == blanked(one)


def members(line: bytes, decoder: Callable[[bytes], Any] | None = None) -> dict[str, Any]:
    """What a line says, member by member; Unreadable when that is no event. A blanked payload reads as an empty one."""
    if line.count(b"[") + line.count(b"{") > DEEPEST and depth(line) > DEEPEST:
        raise Unreadable("it is nested too deeply")
    try:
        found: dict[str, Any] = (decoder or json_text.read)(line)
        if found["data"] is None:
            found["data"] = {}
        are_texts = str is type(found["id"]) is type(found["ts"]) is type(found["kind"]) is type(found["by"])
        are_texts = are_texts and str is type(found["group_id"]) is type(found["scope_key"]) is type(found.get("k", ""))
        is_event = are_texts and type(found["data"]) is dict and type(found["l"]) is int
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Unreadable(f"it is no event: {error}") from None
    if not is_event:
        raise Unreadable("a member is of the wrong kind")
    if wrong := _wrong_in_head(found):
        raise Unreadable(f"its `{wrong}` could not have been written")
    # A member given twice must not make the line another than the one its place in the chain is about.
    if not line.startswith(b'{"v":1,"id":"%s","l":%d,' % (found["id"].encode(), found["l"])):
        raise Unreadable("it gives itself two places")
    return found


def _wrong_in_head(found: dict[str, Any]) -> str | None:
    """The member of a line's head that no version of bb, and no client of it, could have written."""
    if not validity.is_time(found["ts"]):
        return "ts"
    who_and_what = found["by"], found["kind"], found["group_id"], found["scope_key"]
    if who_and_what in SOUND and "k" not in found:  # as with nearly all of a million lines
        return None
    if not ids.is_author(found["by"]):
        return "by"
    if not validity.is_kind(found["kind"]):
        return "kind"
    for name in ("group_id", "scope_key", "k"):
        if (value := found.get(name)) and not validity.is_line(value):
            return name
    if len(SOUND) < MOST_SOUND:
        SOUND.add(who_and_what)
    return None


def depth(line: bytes) -> int:
    """How deep the brackets outside of texts are nested."""
    outside = b"".join(line.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    depth = deepest = 0
    for bracket in outside.translate(None, delete=NO_BRACKETS):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


def event(line: bytes, decoder: Callable[[bytes], Any] | None = None) -> Event:
    """The event that a line says."""
    found = members(line, decoder)
    return Event(
        found["id"],
        found["l"],
        found["ts"],
        found["kind"],
        found["by"],
        found["data"],
        found["group_id"],
        found["scope_key"],
        found.get("k"),
        None,
    )


def place_of(line: bytes, reason: str) -> Event:
    """What can be shown of a checked line that is no event, for a REASON: where it stands, and nothing it says."""
    name = line[len(BEFORE_ID) :].partition(b'"')[0].decode("ascii", "replace")
    return Event(name, clock_and_kind(line)[0], "", "", "", {}, unreadable=reason)


def salt(octets: bytes) -> str:
    """Eight characters of salt from five random OCTETS."""
    number = int.from_bytes(octets, "big")
    return "".join(ids.BASE32[number >> 5 * place & 31] for place in range(8))
