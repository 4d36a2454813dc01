"""Checks many lines at once, with the same result as `line.check` and several times as fast.

Each step handles a whole block in the interpreter's built-in loops. If any line is not as expected, the check returns
None, and the caller checks the block line by line to find the bad line and the reason.
"""

from __future__ import annotations

from hashlib import sha256
from operator import lt
from typing import Any

from bb.kernel import json_text
from bb.kernel.digest import HEX_LENGTH
from bb.ledger.journal import line as lines
from bb.ledger.journal.line import DH_START, KIND_PART, LAMPORT_PART, LEAP, P_END, P_START, Link

try:
    import orjson

    HAS_ORJSON = True
except ImportError:  # bb-ci.pyz has no packages; the standard library does the same more slowly
    HAS_ORJSON = False

BEFORE_N, _, AFTER_N = lines.PREFIX.partition(b"%d")
THREE_DIGITS = [b"%03d" % n for n in range(1000)]
BEHIND_KIND = KIND_PART - LAMPORT_PART + 1  # the number of quotes between a line's prefix and the end of its kind
HALF = HEX_LENGTH // 2  # bytes of a digest


def check(block: list[bytes], writer: str, previous: Link) -> tuple[list[bytes], Link] | None:
    """The kinds of the lines in BLOCK and the link of the last line; None unless each line follows the one before it.

    The lines come from one block of `Segment.blocks`, so none of them is too long.
    """
    own, first, last = writer.encode(), previous.n + 1, previous.n + len(block)
    prefix = len(lines.PREFIX % (own, first))
    if prefix != len(lines.PREFIX % (own, last)):  # the numbers get a digit longer within the block
        return _check_in_two(block, writer, previous, 10 ** len(str(first)) - first)
    pieces = [raw.partition(lines.DATA) for raw in block]
    heads = [piece[0] for piece in pieces]
    if [1 for piece in pieces if piece[2][-1:] != b"}"]:  # also if a line has no data
        return None
    digests = [sha256(head).digest()[:HALF] for head in heads]
    data_digests = [sha256(piece[2][:-1]).digest()[:HALF] for piece in pieces]
    if (
        b"".join([head[P_START:P_END] for head in heads]) != _hex(previous.head_digest, digests[:-1])
        or b"".join([head[DH_START:-1] for head in heads]) != _hex("", data_digests)
        or b"".join([head[:prefix] for head in heads]) != _prefixes(own, first, last)
    ):
        return None
    parts = [head[prefix:].split(b'"', BEHIND_KIND) for head in heads]
    try:
        numbers = [part[0][:-1] for part in parts]
        kinds = [part[BEHIND_KIND - 1] for part in parts]
        times = list(map(int, numbers))
    except (IndexError, ValueError):
        return None
    if not b"".join(numbers).isdigit() or times[-1] - previous.lamport > LEAP:
        return None
    if not all(map(lt, [previous.lamport, *times], times)):
        return None
    return kinds, Link(last, times[-1], digests[-1].hex())


def _check_in_two(block: list[bytes], writer: str, previous: Link, cut: int) -> tuple[list[bytes], Link] | None:
    before = check(block[:cut], writer, previous)
    after = before and check(block[cut:], writer, before[1])
    return (before[0] + after[0], after[1]) if before and after else None


def _prefixes(own: bytes, first: int, last: int) -> bytes:
    """The expected prefixes of the lines from FIRST to LAST, joined; built in steps of a thousand lines."""
    if first < 1000:
        return b"".join([lines.PREFIX % (own, n) for n in range(first, last + 1)])
    whole = []
    for thousand in range(first // 1000, last // 1000 + 1):
        start = BEFORE_N % own + b"%d" % thousand
        endings = THREE_DIGITS[max(first - thousand * 1000, 0) : last - thousand * 1000 + 1]
        whole.append(start + (AFTER_N + start).join(endings) + AFTER_N)
    return b"".join(whole)


def _hex(before: str, digests: list[bytes]) -> bytes:
    return (before + b"".join(digests).hex()).encode()


def decode(line: bytes) -> Any:
    """Decode a line by orjson, with the same result as `json_text.read`.

    orjson reads integers beyond 64 bits as floats. So if it finds a float or refuses the text, `json_text` decodes it.
    """
    if not HAS_ORJSON:
        return json_text.read(line)
    try:
        decoded = orjson.loads(line)
    except ValueError:
        return json_text.read(line)
    is_plain = type(decoded) in (dict, list) and not _has_fraction(decoded)
    return decoded if is_plain else json_text.read(line)


def _has_fraction(decoded: Any) -> bool:
    """Whether an array or object contains a float anywhere."""
    for value in decoded.values() if type(decoded) is dict else decoded:
        kind = type(value)
        if kind is float or ((kind is dict or kind is list) and _has_fraction(value)):
            return True
    return False


def encode(value: Any) -> str:
    """A value as JSON text, the same as `json_text.dumps`, which handles integers beyond 64 bits."""
    if not HAS_ORJSON:
        return json_text.dumps(value)
    try:
        return orjson.dumps(value).decode()
    except (TypeError, ValueError):
        return json_text.dumps(value)


def canonical(value: Any) -> bytes:
    """Canonical JSON: the same text for the same value, whatever the order of its members."""
    if not HAS_ORJSON:
        return json_text.canonical(value).encode()
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError):  # integers beyond 64 bits
        return json_text.canonical(value).encode()
