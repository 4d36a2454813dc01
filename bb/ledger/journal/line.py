"""The format of a ledger line: how an event and its place in the chain are written, and how a line is checked.

    {"v":1,"id":"<writer>.<n>","l":7,"ts":"…","kind":"…","group_id":"…","scope_key":"","by":"…","k":"…",
     "p":"<32 hex>","dh":"<32 hex>","data":{"_":"<salt>",…}}

- The head is every byte before the first `,"data":`. No string can contain that text: its quotes would be escaped.
- `p` is the digest of the previous line's head, `dh` the digest of the exact data bytes. The stored bytes are hashed,
  so checking needs no canonical form. The chain covers `dh`, not the data: a payload can be blanked later (replaced by
  `null` and spaces of the same length), and every link is still valid. The salt in `data` keeps a short payload from
  being guessed from its hash.
- `p` and `dh` are at the end of the head at fixed distances, so a bulk reader checks a link without parsing.
"""

from __future__ import annotations

from bb.kernel import ids, json_text, validation
from bb.kernel.digest import HEX_LENGTH, NOTHING, digest
from bb.kernel.errors import Refused
from bb.kernel.event import SALT, Event
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MAX_LINE = 1 << 20
# The most that Lamport time may rise from one line to the next. No clone has so many events, and a forged line cannot
# push the clocks to values at which JSON readers lose precision.
LEAP = 1 << 32
DEEPEST = 500  # levels of nesting; beyond that, decoders fail at different depths
BEFORE_ID = b'{"v":1,"id":"'
PREFIX_OF = BEFORE_ID + b'%s.%d",'
PREFIX = PREFIX_OF + b'"l":'
# The parts that contain the Lamport time and the kind, if a head is split at every quote.
LAMPORT_PART, KIND_PART = 8, 15
DATA = b',"data":'
NO_BRACKETS = bytes(octet for octet in range(256) if octet not in b"[]{}")
P_MARK, DH_MARK = b',"p":"', b'","dh":"'
VALID_HEADS: set[tuple[str, str, str, str]] = (
    set()
)  # author, kind, group and scope of lines that were checked and valid
MOST_SOUND = 10_000
TAIL = len(P_MARK) + HEX_LENGTH + len(DH_MARK) + HEX_LENGTH + 1  # from P_MARK to the head's end
P_START = -TAIL + len(P_MARK)
P_END = P_START + HEX_LENGTH
DH_START = P_END + len(DH_MARK)

LineTooLong = Refused.declare(
    "EVENT_TOO_LARGE",
    "The event is larger than a ledger line may be (1 MiB)",
    hint="put the large text into a file and refer to that file",
)


class BadLine(Exception):
    """A line that breaks its chain. The message says why; the reader adds its place."""


class Unreadable(Exception):
    """A line that is valid in its chain, but whose content this version cannot read."""


class Link(Record):
    """A line's place in its writer's chain, which the next line refers to."""

    n: int
    lamport: int
    head_digest: str


START = Link(0, 0, NOTHING)


def write(event: Event, previous: Link, salt: str) -> tuple[bytes, Link]:
    """The line for EVENT after PREVIOUS, with its line feed, and the link of that line."""
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
        raise json_text.InvalidText() from error
    line = head + DATA + data + b"}\n"
    if len(line) > MAX_LINE:
        raise LineTooLong(f"the event takes {len(line):,} bytes; at most {MAX_LINE:,} are allowed", bytes=len(line))
    return line, Link(previous.n + 1, event.lamport, digest(head))


def check(line: bytes, writer: str, previous: Link) -> Link:
    """The link of LINE (without its line feed), if it follows PREVIOUS; else BadLine.

    This checks only the line's place in the chain, by its bytes. Its content is read tolerantly by `event`.
    """
    if len(line) >= MAX_LINE:
        raise BadLine("the line is longer than the limit")
    head, mark, data = line.partition(DATA)
    if not mark or not line.endswith(b"}"):
        raise BadLine("it is not a ledger line")
    if not head.startswith(PREFIX % (writer.encode(), previous.n + 1)):
        raise BadLine(f"it is not line {previous.n + 1} of writer {writer}")
    if head[P_START:P_END] != previous.head_digest.encode():
        raise BadLine("it does not follow the line before it: its `p` is another line's digest")
    data = data[:-1]
    if digest(data).encode() != head[DH_START:-1] and data.rstrip(b" ") != b"null":
        raise BadLine("its data does not match the digest in its head")
    lamport, _ = clock_and_kind(head)
    if not previous.lamport < lamport <= previous.lamport + LEAP:
        raise BadLine("its Lamport time does not rise, or rises by too much")
    return Link(previous.n + 1, lamport, digest(head))


def clock_and_kind(head: bytes) -> tuple[int, bytes]:
    """The Lamport time and the kind, found by their place among the quotes of a head; BadLine if they are missing."""
    parts = head.split(b'"', KIND_PART + 1)
    number = parts[LAMPORT_PART][1:-1] if len(parts) > KIND_PART else b""
    try:
        time = int(number) if number.isdigit() else -1
    except ValueError:  # more digits than the interpreter accepts
        time = -1
    if time < 0:
        raise BadLine("its Lamport time or its kind is missing")
    return time, parts[KIND_PART]


def link_without_previous(line: bytes, writer: str) -> Link:
    """The link of a line, checked without the line before it; BadLine if the line is not valid by itself."""
    head, _, _ = line.partition(DATA)
    claimed = head.partition(b'","l":')[0].rpartition(b".")[2]
    if not (claimed.isdigit() and len(claimed) < 16 and int(claimed)):
        raise BadLine("it is not a ledger line")
    before = Link(int(claimed) - 1, clock_and_kind(head)[0] - 1, head[P_START:P_END].decode("ascii", "replace"))
    return check(line, writer, before)


def number_of(line: bytes) -> int:
    """The number of a checked line in its chain."""
    return int(line[: line.index(b'",')].rpartition(b".")[2])


def blanked(line: bytes) -> bytes | None:
    """LINE with its payload blanked, in the same length; None if the payload is too short for `null`."""
    head, mark, data = line.partition(DATA)
    return head + mark + b"null".ljust(len(data) - 1) + b"}" if len(data) > len(b"null") else None


def may_hold_blanks(octets: bytes) -> bool:
    """Whether any of several lines may be blanked. A quick test: most ledgers have no blanked lines."""
    return DATA + b"null" in octets


def is_blank(line: bytes) -> bool:
    """Whether the payload of LINE was blanked."""
    return line.partition(DATA)[2][:-1].rstrip(b" ") == b"null"


def is_same_event(one: bytes, other: bytes) -> bool:
    """Whether two lines record the same event: they are equal, or one is the other with its payload blanked."""
    return one == other or one == blanked(other) or other == blanked(one)


def members(line: bytes, decoder: Callable[[bytes], Any] | None = None) -> dict[str, Any]:
    """The members of a line; Unreadable if it is not an event. A blanked payload is read as an empty one."""
    if line.count(b"[") + line.count(b"{") > DEEPEST and depth(line) > DEEPEST:
        raise Unreadable("it is nested too deeply")
    try:
        content: dict[str, Any] = (decoder or json_text.read)(line)
        if content["data"] is None:
            content["data"] = {}
        are_texts = str is type(content["id"]) is type(content["ts"]) is type(content["kind"]) is type(content["by"])
        are_texts = are_texts and str is type(content["group_id"]) is type(content["scope_key"]) is type(
            content.get("k", "")
        )
        is_event = are_texts and type(content["data"]) is dict and type(content["l"]) is int
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Unreadable(f"it is not an event: {error}") from None
    if not is_event:
        raise Unreadable("a member has the wrong type")
    if invalid := _invalid_in_head(content):
        raise Unreadable(f"its `{invalid}` is not valid")
    # JSON allows a member twice; the id and the Lamport time must be the ones that the chain covers.
    if not line.startswith(b'{"v":1,"id":"%s","l":%d,' % (content["id"].encode(), content["l"])):
        raise Unreadable("its `id` or `l` occurs twice")
    return content


def _invalid_in_head(found: dict[str, Any]) -> str | None:
    """The member of a line's head that neither bb nor a client of bb could have written; None if there is none."""
    if not validation.is_time(found["ts"]):
        return "ts"
    who_and_what = found["by"], found["kind"], found["group_id"], found["scope_key"]
    if who_and_what in VALID_HEADS and "k" not in found:  # true for nearly every line
        return None
    if not ids.is_author(found["by"]):
        return "by"
    if not validation.is_kind(found["kind"]):
        return "kind"
    for name in ("group_id", "scope_key", "k"):
        if (value := found.get(name)) and not validation.is_line(value):
            return name
    if len(VALID_HEADS) < MOST_SOUND:
        VALID_HEADS.add(who_and_what)
    return None


def depth(line: bytes) -> int:
    """The nesting depth of the brackets outside of strings."""
    outside = b"".join(line.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    depth = deepest = 0
    for bracket in outside.translate(None, delete=NO_BRACKETS):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


def event(line: bytes, decoder: Callable[[bytes], Any] | None = None) -> Event:
    """The event that a line records."""
    content = members(line, decoder)
    return Event(
        content["id"],
        content["l"],
        content["ts"],
        content["kind"],
        content["by"],
        content["data"],
        content["group_id"],
        content["scope_key"],
        content.get("k"),
        None,
    )


def unreadable_event(line: bytes, reason: str) -> Event:
    """A stand-in for a checked line that is unreadable for a REASON: its id and Lamport time, without its content."""
    name = line[len(BEFORE_ID) :].partition(b'"')[0].decode("ascii", "replace")
    return Event(name, clock_and_kind(line)[0], "", "", "", {}, unreadable=reason)


def salt(octets: bytes) -> str:
    """Eight characters of salt from five random OCTETS."""
    number = int.from_bytes(octets, "big")
    return "".join(ids.BASE32[number >> 5 * place & 31] for place in range(8))
