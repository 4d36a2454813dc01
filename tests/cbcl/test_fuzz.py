"""Every way into the room that takes text, fed with what nobody would write: a value comes back, or a refusal that says
why and where, and neither after more work than the length of the text allows."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from bb.cbcl.judge import verification
from bb.cbcl.judge.expansion import expand
from bb.cbcl.read import canonical, exchange, grammar, reader
from bb.cbcl.read.reader import Bounds, Malformed, Text
from bb.cbcl.read.tree import as_json, depth, equal, text_of
from bb.kernel.errors import BbError
from bb.kernel.escaping import has_control
from tests.cbcl.test_draft import CONVERSATION, EXAMPLES, LOGISTICS, PLANNING, TEACHING
from tests.cbcl.trees import CORPUS, REASONS, ROOM, definition, dialect

SHORT, LONG = 0.4, 30.0  # seconds
LONGEST = 4096  # octets
STEPS = 400  # lines of the room for each octet of a text, and as many thousand for what is fixed
CODES = {
    *("SYNTAX_ERROR", "UNKNOWN_DIALECT", "UNKNOWN_PERFORMATIVE", "INVALID_ARGUMENTS", "RESOURCE_LIMIT"),
    "EXPANSION_FAILED",
}
BOUNDS = (Bounds(), Bounds(depth=64), Bounds(depth=3), Bounds(size=200))

MANY = """
  (extend p (a &optional b &rest c &key k)
    (tell @b (x a (or b (y c)) (cond ((= a k) b) ((member a (1 x)) c) (else k)))))
  (extend q (a b)
    ((tell a b) (cond ((type? a list) a) ((type? b agent) (ok b)) (else ((ok @c) (bye @d)))) (tell @e (b))))
  (extend r (a) a) (extend s (a b) (envelope :from a (with-limits :timeout b (tell a (or b "none")))))
  (extend t (&rest a) (tell @b a))"""
DIALECTS = (
    LOGISTICS,
    PLANNING,
    dialect(MANY),
    dialect(
        "(extend u (a) (tell @b (z a a a)))",
        name="e",
        more=":extends d",
        limits=":max-depth 4 :max-expansion 80 :max-verify-time 1",
    ),
)
KNOWN = {each.name: each for each in map(definition, DIALECTS)}
CALLS = [
    *(
        "(lang d (p 1 2 3 :k 1))",
        '(lang d (q @a "x"))',
        "(lang d (r (ok @b)))",
        "(lang e (s @a 5))",
        "(lang e (t a b (c)))",
    ),
    *("(lang e (u (1 (2))))", "(lang d (p (list 1 (list 2)) :k ()))", "(with-limits :max-depth 5 (lang d (p x)))"),
    *('(lang planning-dialect (query-plan "g" ()))', '(lang logistics-dialect (track-shipment "P" :route "R"))'),
    *("(lang cbcl (p))", "(lang x (p))", "(lang d (signed s (lang e (u 1))))"),
]
SPELLED = r"""
( ) (( )) () " \ \" \n ; : @ ' # #t #f = & &key &rest &optional speak? type? 0 -1 1.5 007 1e9 -0.0 99999999999999999999
tell ask ok meta lang envelope signed with-limits define query teach extend or cond else member list cbcl d e p q a b
:extends :author :resources :max-depth :max-expansion-size :max-expansion :max-verify-time :timeout :from :to :k
:timestamp @a @b "x" "é" 2025-01-15T14:30:00Z aGk= (tell @b "x") (cond ((= a 1) b) (else k)) (or a b) (list 1 2) 'a 漢
"""
ODD = (" ", "\n", "\r", "\t", "\r\n", ";x\n", "\x00", "\x1b", "\x7f", "\u00a0", "\ufeff", "\u202e", "\ud7ff", "😀")
WORDS = [*SPELLED.split(), *ODD]
OCTETS = [
    b"\x80",
    b"\xff",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xef\xbb\xbf",
    b"\xe2\x82",
    b"\xf0\x9f",
]


def corpus(*folders: str) -> list[bytes]:
    """Texts to begin with."""
    found = [each.read_bytes() for folder in folders for each in sorted((CORPUS / folder).glob("*.cbcl"))]
    return [each for each in found if len(each) <= LONGEST]


Edit = Callable[[random.Random, bytes, bytes], bytes]  # what takes the place of a piece of a text, given another text
EDITS: tuple[Edit, ...] = (
    lambda chance, piece, other: b"",
    lambda chance, piece, other: piece[1:],
    lambda chance, piece, other: piece[:400] * 2,
    lambda chance, piece, other: bytes([chance.randrange(256)]) + piece[1:],
    lambda chance, piece, other: chance.choice(WORDS).encode() + piece,
    lambda chance, piece, other: b" " + chance.choice(WORDS).encode() + b" " + piece,
    lambda chance, piece, other: chance.choice(WORDS).encode(),
    lambda chance, piece, other: chance.choice(OCTETS) + piece,
    lambda chance, piece, other: other[chance.randint(0, len(other)) :][:400],
    lambda chance, piece, other: (
        chance.choice((b"(", b")", b'"', b"(list ", b"\\", b"9")) * chance.randint(1, 90) + piece
    ),
)


def mutated(chance: random.Random, text: bytes, others: list[bytes]) -> bytes:
    """A text with a few things done to it."""
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        at, end = sorted(chance.randint(0, len(text)) for _ in range(2))
        end = chance.choice((end, at + 1, at + 6))
        text = text[:at] + chance.choice(EDITS)(chance, text[at:end], chance.choice(others)) + text[end:]
    return text[:LONGEST]


def texts(seed: str, seconds: float, seeds: list[bytes]) -> Iterator[bytes]:
    """Texts without end, or rather for so many seconds, and at least some."""
    chance = random.Random(seed)
    until = time.monotonic() + seconds
    count = 0
    while count < 100 or time.monotonic() < until:
        count += 1
        match chance.randrange(8):
            case 0:
                yield chance.randbytes(chance.randint(0, 60))
            case 1:
                yield "".join(chance.choices(WORDS, k=chance.randint(1, 40))).encode()
            case 2:
                yield " ".join(chance.choices(WORDS, k=chance.randint(1, 60))).encode()
            case _:
                yield mutated(chance, chance.choice(seeds), seeds)


def bounded(act: Callable[[bytes], Any], text: bytes) -> Any:
    """What comes of a text: a value, or a refusal as one must be; and not after more work than there may be."""
    left = STEPS * (len(text) + 1000)
    before = sys.gettrace()

    def line(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal left
        left -= event == "line"
        assert left > 0, f"too much work for {len(text)} octets"
        return line

    def entered(frame: FrameType, event: str, arg: Any) -> Any:
        return line if frame.f_code.co_filename.startswith(str(ROOM)) else None

    sys.settrace(entered)
    try:
        return act(text)
    except BbError as refusal:
        sys.settrace(before)
        is_sound(refusal, text)
        return refusal
    finally:
        sys.settrace(before)


def is_sound(refusal: BbError, text: bytes) -> None:
    """Whether a refusal is one that somebody can make something of, and that does no harm to who reads it."""
    assert refusal.code in CODES
    assert not has_control(refusal.message)
    assert len(refusal.message) < 400
    if isinstance(refusal, Malformed.error):
        told = refusal.details
        assert told["reason"] in REASONS
        assert 0 <= told["offset"] <= len(text)
        assert 1 <= told["line"] <= text.count(b"\n") + 1
        assert 1 <= told["column"] <= len(text) + 1


SHORT_OR_LONG = pytest.mark.parametrize("seconds", [SHORT, pytest.param(LONG, marks=pytest.mark.long)])


def run(name: str, seconds: float, seeds: list[bytes], act: Callable[[bytes], Any]) -> None:
    """Feed an entry with texts; each of its refusals and each value must come from some of them."""
    found = [isinstance(bounded(act, text), BbError) for text in texts(name, seconds, seeds)]
    assert any(found)
    assert not all(found)


MESSAGES = [each.encode() for each in (*EXAMPLES.values(), *CALLS)]


@SHORT_OR_LONG
def test_fuzz_one_tree(seconds: float):
    def act(text: bytes) -> None:
        for bounds in BOUNDS[: 1 + len(text) % 4]:
            try:
                found = reader.single_tree(Text(text, bounds))
            except Malformed.error:
                if bounds is BOUNDS[0]:
                    raise
            else:
                assert depth(found) <= bounds.depth
                assert len(as_json(found)) == 2

    run("one", seconds, MESSAGES + corpus("valid", "invalid"), act)


@SHORT_OR_LONG
def test_fuzz_trees(seconds: float):
    run("trees", seconds, [CONVERSATION.encode(), *corpus("valid", "invalid")], lambda text: list(Text(text).trees()))


@SHORT_OR_LONG
def test_fuzz_message(seconds: float):
    def act(text: bytes) -> None:
        message = grammar.message(text)
        again = grammar.message(text_of(message.node).encode())
        assert equal(message.node, again.node)
        assert exchange.message_json(message) == exchange.message_json(again)

    run("message", seconds, MESSAGES + corpus("valid", "invalid"), act)


@SHORT_OR_LONG
def test_fuzz_messages(seconds: float):
    run("messages", seconds, [CONVERSATION.encode(), *MESSAGES], lambda text: list(grammar.messages(text)))


@SHORT_OR_LONG
def test_fuzz_definition(seconds: float):
    seeds = [each.encode() for each in (*DIALECTS, TEACHING)] + corpus("dialects")

    run("definition", seconds, seeds, lambda text: exchange.definition_json(grammar.definition_in(text)[1]))


@SHORT_OR_LONG
def test_fuzz_verify(seconds: float):
    def act(text: bytes) -> None:
        found = grammar.definition_in(text)[1]
        verdict = verification.verify(found, KNOWN)
        for each in (*verdict.violations, *verdict.warnings):
            assert not has_control(each.why)
            assert len(each.why) < 200
            assert 0 <= each.at < len(text)

    run("verify", seconds, [each.encode() for each in DIALECTS] + corpus("dialects"), act)


@SHORT_OR_LONG
def test_fuzz_expand(seconds: float):
    def act(text: bytes) -> None:
        found = expand(grammar.message(text), KNOWN)
        if found is not None:
            assert found.size <= found.room.size
            assert found.depth <= found.room.depth
            assert all(
                equal(grammar.message(text_of(each.node).encode(), BOUNDS[1]).node, each.node)
                for each in found.messages
            )

    run("expand", seconds, [each.encode() for each in CALLS], act)


@SHORT_OR_LONG
def test_fuzz_dialect_that_is_verified_and_called(seconds: float):
    """Whatever is sound by our own rules can be called: it never breaks, and keeps its limits."""

    def act(text: bytes) -> None:
        found = grammar.definition_in(text)[1]
        if not verification.verify(found, KNOWN).is_sound:
            return
        for performative in found.performatives:
            for arguments in ("", " 1", ' @a "x"', " (ok @b) () (list a)", " or a b c"):
                call = f"(lang {found.name} ({performative.name}{arguments}))".encode()
                made = bounded(lambda call: expand(grammar.message(call), KNOWN | {found.name: found}), call + text)
                assert made is not None

    run("called", seconds, [each.encode() for each in DIALECTS] + corpus("dialects"), act)


@SHORT_OR_LONG
def test_fuzz_shown(seconds: float):
    run("shown", seconds, MESSAGES + corpus("valid"), lambda text: exchange.message_json(grammar.message(text)))


@SHORT_OR_LONG
def test_fuzz_canonical(seconds: float):
    def act(text: bytes) -> None:
        message = grammar.message(text)
        assert canonical.octets(grammar.message(text_of(message.node).encode()).node) == canonical.octets(message.node)

    run("canonical", seconds, MESSAGES + corpus("valid"), act)
