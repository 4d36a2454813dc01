"""Requests about CBCL texts from a program through a pipe: one request per line, one answer per request.

    {"do": "parse", "text": "(tell @bob \\"hi\\")", "id": 1}

A request names the action (`do`) and has a `text`, or `bytes_hex` for octets that may not be valid text. An unknown
member is refused, with its path. A known member that the action does not use is ignored. No file, key or ledger is
read: the request contains everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bb.cbcl.judge import signatures, trust
from bb.cbcl.judge.expansion import MAXIMUM_ROOM, Limits
from bb.cbcl.judge.library import Overlay
from bb.cbcl.read import canonical, exchange, grammar, names
from bb.cbcl.read.definition import Definition
from bb.cbcl.read.fuel import for_text
from bb.cbcl.read.reader import BOUNDS, DEPTH_MOST, MAXIMUM_BOUNDS, SIZE_MOST, Bounds
from bb.cbcl.read.tree import text_of
from bb.kernel.errors import BbError, Usage
from bb.ledger.journal.clone import is_repo_id
from bb.ops.cbcl import answers

Request = Mapping[str, Any]

MOST_DIALECTS = 1000
MOST_KEPT = 64  # cached lists of dialects; most requests repeat the same list
LIMITS = {"max_depth": DEPTH_MOST, "max_size": SIZE_MOST, "max_expansion_size": trust.MOST["max_expansion_size"]}
MEMBERS = frozenset(
    [
        "do",
        "id",
        "text",
        "bytes_hex",
        "dialects",
        "seed",
        "teach",
        "signature",
        "public_key",
        "author",
        "ledger",
        *LIMITS,
    ]
)

InvalidRequest = Usage.declare(
    "INVALID_REQUEST",
    "The request is not valid",
    hint="""for example {"do": "parse", "text": "(hello @bob)"}; `bb cbcl batch --help` lists all requests""",
)


class BatchClient:
    """One client. It caches the dialects of earlier requests."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, ...], Overlay] = {}

    def answer(self, request: Any) -> dict[str, Any]:
        """Answer one request."""
        if type(request) is not dict:
            raise InvalidRequest("a request must be a JSON object", path="$")
        if isinstance(request.get("id"), dict | list):
            raise InvalidRequest("`id` must be a text or a number", path="$.id")
        do = request.get("do")
        if type(do) is not str or do not in ANSWERS:
            raise InvalidRequest(f"`do` must be one of {', '.join(ANSWERS)}", path="$.do")
        if not request.keys() <= MEMBERS:
            unknown = min(request.keys() - MEMBERS)[:40]
            raise InvalidRequest(f"unknown member {unknown!a}", path=f"$.{ascii(unknown)[1:-1]}")
        return ANSWERS[do](self, request, _octets(request))

    def dialects(self, request: Request) -> Overlay:
        """The dialects that count as installed, in the order of the request."""
        texts = request.get("dialects", [])
        is_list = type(texts) is list and len(texts) <= MOST_DIALECTS
        if not is_list or not all(type(text) is str for text in texts):
            raise InvalidRequest(f"`dialects` must be a list of at most {MOST_DIALECTS} texts", path="$.dialects")
        key = tuple(texts)
        if key not in self._kept:
            definitions = [_definition(text, f"$.dialects[{place}]") for place, text in enumerate(texts)]
            dialects = Overlay({})
            answers.add_definitions(definitions, dialects)
            if len(self._kept) == MOST_KEPT:
                self._kept.clear()
            self._kept[key] = dialects
        return self._kept[key]


def _definition(text: str, path: str) -> Definition:
    """Read the definition in a TEXT of the request. A refusal has the path of the text."""
    try:
        return answers.defined(_encoded(text), MAXIMUM_BOUNDS)[1]
    except BbError as error:
        error.details["path"] = path
        raise


def _parse(_: BatchClient, request: Request, octets: bytes) -> dict[str, Any]:
    message = grammar.message(octets, _bounds(request))
    node = message.node
    canonical_octets = canonical.octets(node)
    return {
        "ast": exchange.message_json(message),
        "text": text_of(node),
        "canonical_hex": canonical_octets.hex(),
        "hash": canonical.digest_of_octets(canonical_octets),
        "id": names.id_of(message),
    }


def _format(_: BatchClient, request: Request, octets: bytes) -> dict[str, Any]:
    bounds = _bounds(request)
    fuel = for_text(bounds.size)
    return answers.formatted(answers.parse_text(octets, bounds, fuel).node, fuel)


def _canonical(_: BatchClient, request: Request, octets: bytes) -> dict[str, Any]:
    node = answers.parse_text(octets, _bounds(request)).node
    canonical_octets = canonical.octets(node)
    return {
        "text": text_of(node),
        "canonical_hex": canonical_octets.hex(),
        "octets": len(canonical_octets),
        "hash": canonical.digest_of_octets(canonical_octets),
    }


def _verify(desk: BatchClient, request: Request, octets: bytes) -> dict[str, Any]:
    return answers.verified(octets, desk.dialects(request), _bounds(request))


def _expand(desk: BatchClient, request: Request, octets: bytes) -> dict[str, Any]:
    message = grammar.message(octets, _bounds(request))
    room = Limits(
        _limit(request, "max_depth") or MAXIMUM_ROOM.depth,
        _limit(request, "max_expansion_size") or MAXIMUM_ROOM.size,
    )
    answer = answers.expanded(message, desk.dialects(request), room)
    return {**answer, "messages": [part["text"] for part in answer["messages"]]}


def _sign(_: BatchClient, request: Request, octets: bytes) -> dict[str, Any]:
    seed = signatures.seed_of(_text(request, "seed"))
    teach = _text(request, "teach").removeprefix("@") if "teach" in request else None
    what = answers.parse_text(octets, _bounds(request))
    author, ledger = _said_by(request), _said_in(request)
    answer = answers.signed(what, seed, teach and trust.identifier(teach), author=author, ledger=ledger)
    return {**answer, "public_key": signatures.key_text(signatures.public_key(seed))}


def _check(_: BatchClient, request: Request, octets: bytes) -> dict[str, Any]:
    key = signatures.key_of(_text(request, "public_key"))
    signature = _text(request, "signature") if "signature" in request else None
    what = answers.parse_text(octets, _bounds(request))
    author, ledger = _said_by(request), _said_in(request)
    checked = answers.check_signature(what, signature, [key], [author], [ledger] if ledger is not None else [])
    return {"valid": True, **checked.shown(), "fingerprint": signatures.fingerprint(key)}


ANSWERS: dict[str, Callable[[BatchClient, Request, bytes], dict[str, Any]]] = {
    "parse": _parse,
    "format": _format,
    "canonical": _canonical,
    "hash": _canonical,
    "verify": _verify,
    "expand": _expand,
    "sign": _sign,
    "check": _check,
}


def _said_in(request: Request) -> str | None:
    """The ledger that a signature covers, or None."""
    ledger = _text(request, "ledger") if "ledger" in request else None
    if ledger is not None and not (is_repo_id(ledger) and "author" in request):
        raise InvalidRequest("`ledger` must be the id of a ledger, and it requires `author`", path="$.ledger")
    return ledger


def _said_by(request: Request) -> str:
    """The author that a signature covers; empty if it covers no ledger."""
    return trust.identifier(_text(request, "author").removeprefix("@")) if "author" in request else ""


def _octets(request: Request) -> bytes:
    """The octets of a request."""
    text, written = request.get("text"), request.get("bytes_hex")
    if (text is None) == (written is None):
        raise InvalidRequest("a request must have either `text` or `bytes_hex`", path="$.text")
    if type(text) is str:
        return _encoded(text)
    if type(written) is not str:
        raise InvalidRequest(
            "`text` and `bytes_hex` must be texts", path="$.text" if written is None else "$.bytes_hex"
        )
    try:
        return bytes.fromhex(written)
    except ValueError:
        raise InvalidRequest("`bytes_hex` is not valid hexadecimal", path="$.bytes_hex") from None


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # the reader refuses half a surrogate pair, with its place


def _bounds(request: Request) -> Bounds:
    if "max_depth" not in request and "max_size" not in request:
        return BOUNDS
    return Bounds(_limit(request, "max_depth") or BOUNDS.depth, _limit(request, "max_size") or BOUNDS.size)


def _limit(request: Request, name: str) -> int | None:
    value = request.get(name)
    if value is not None and (type(value) is not int or not 1 <= value <= LIMITS[name]):
        raise InvalidRequest(f"`{name}` must be a whole number from 1 to {LIMITS[name]:,}", path=f"$.{name}")
    return value


def _text(request: Request, name: str) -> str:
    value = request.get(name)
    if type(value) is not str:
        raise InvalidRequest(f"`{name}` is missing, or not a text", path=f"$.{name}")
    return value
