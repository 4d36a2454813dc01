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

from bb.kernel import ids, jsontext
from bb.kernel.digest import HEX_LENGTH, NOTHING, digest
from bb.kernel.errors import Refused
from bb.kernel.event import SALT, Event
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MAX_LINE = 1 << 20
DATA = b',"data":'
P_MARK, DH_MARK = b',"p":"', b'","dh":"'
TAIL = len(P_MARK) + HEX_LENGTH + len(DH_MARK) + HEX_LENGTH + 1  # from P_MARK to the head's end
P_START = -TAIL + len(P_MARK)
P_END = P_START + HEX_LENGTH
DH_START = P_END + len(DH_MARK)


class LineTooLong(Refused):
    """An event must fit into a line of one mebibyte."""

    code = "EVENT_TOO_LARGE"
    hint = "put the large text into a file and refer to it"


class TextNotUtf8(Refused):
    """The text cannot be written as UTF-8."""

    code = "INVALID_TEXT"
    hint = "pass valid UTF-8"


class BadLine(Exception):
    """What is wrong with a line; the reader adds where it is."""


class Link(Record):
    """A line's place in its writer's chain: what the next line needs to know."""

    n: int
    lamport: int
    head_digest: str


START = Link(0, 0, NOTHING)


def write(event: Event, previous: Link, salt: str) -> tuple[bytes, Link]:
    """The line for EVENT, which follows PREVIOUS, with its line feed, and the link it makes."""
    try:
        data = jsontext.dumps({SALT: salt, **event.data}).encode()
        head = jsontext.dumps(
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
        raise TextNotUtf8 from error
    line = head + DATA + data + b"}\n"
    if len(line) > MAX_LINE:
        raise LineTooLong(f"the event takes {len(line):,} bytes, and {MAX_LINE:,} are allowed", bytes=len(line))
    return line, Link(previous.n + 1, event.lamport, digest(head))


def check(
    line: bytes,
    writer: str,
    previous: Link,
    decode: Callable[[bytes], Any] | None = None,
    digest: Callable[[bytes], str] = digest,
) -> tuple[dict[str, Any], Link]:
    """The parsed LINE (without its line feed) and its link, when it rightly follows PREVIOUS; else BadLine."""
    n = previous.n + 1
    if len(line) >= MAX_LINE:
        raise BadLine("it is longer than a line may be")
    head, mark, data = line.partition(DATA)
    if not mark or not line.endswith(b"}") or head[-TAIL:P_START] != P_MARK or head[P_END:DH_START] != DH_MARK:
        raise BadLine("it is not a ledger line")
    if not head.startswith(b'{"v":1,"id":"%s.%d","l":' % (writer.encode(), n)):
        raise BadLine(f"it is not line {n} of writer {writer}")
    if head[P_START:P_END] != previous.head_digest.encode():
        raise BadLine("it does not follow from the line before it")
    data = data[:-1]
    if digest(data).encode() != head[DH_START:-1] and data.rstrip(b" ") != b"null":
        raise BadLine("its data is not what its head says")
    try:
        parsed = (decode or _decode)(line)
    except ValueError as error:
        raise BadLine(f"it is not JSON: {error}") from None
    if not _is_well_formed(parsed, previous.lamport):
        raise BadLine("a member is missing or of the wrong kind")
    return parsed, Link(n, parsed["l"], digest(head))


def link_alone(line: bytes, writer: str) -> Link:
    """The link that a line makes when nothing before it is known: sound in itself, or BadLine."""
    head, _, _ = line.partition(DATA)
    claimed = head.partition(b'","l":')[0].rpartition(b".")[2]
    if not (claimed.isdigit() and len(claimed) < 16):
        raise BadLine("it is not a ledger line")
    before = Link(int(claimed) - 1, 0, head[P_START:P_END].decode("ascii", "replace"))
    return check(line, writer, before)[1]


def event(parsed: dict[str, Any]) -> Event:
    """The event that a checked line says. A blanked payload reads as an empty one."""
    return Event(
        id=parsed["id"],
        lamport=parsed["l"],
        ts=parsed["ts"],
        kind=parsed["kind"],
        by=parsed["by"],
        data=parsed["data"] or {},
        group_id=parsed["group_id"],
        scope_key=parsed["scope_key"],
        key=parsed.get("k"),
    )


def salt(octets: bytes) -> str:
    """Eight characters of salt from five random OCTETS."""
    number = int.from_bytes(octets, "big")
    return "".join(ids.BASE32[number >> 5 * place & 31] for place in range(8))


def _decode(line: bytes) -> Any:
    return jsontext.loads(line.decode())


TEXTS = ("ts", "kind", "group_id", "scope_key", "by")


def _is_well_formed(parsed: Any, after: int) -> bool:
    if type(parsed) is not dict:
        return False
    data, lamport = parsed.get("data"), parsed.get("l")
    if type(lamport) is not int or not after < lamport < 1 << 53 or not (type(data) is dict or data is None):
        return False
    get = parsed.get
    return all(type(get(name)) is str for name in TEXTS) and type(get("k", "")) is str
