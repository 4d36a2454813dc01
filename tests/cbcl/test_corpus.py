"""The corpus: texts that any implementation of CBCL must read, refuse, judge and expand like ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bb.cbcl.judge import verification
from bb.cbcl.judge.expansion import MAXIMUM_ROOM, Limits, expand
from bb.cbcl.read import canonical, exchange, grammar
from bb.cbcl.read.definition import Definition
from bb.cbcl.read.message import Call, Lang, Message, core_of
from bb.cbcl.read.reader import BOUNDS, Bounds
from bb.cbcl.read.tree import as_json, text_of
from bb.kernel.errors import BbError
from tests.cbcl.trees import CORPUS, REASONS, definition, place, read, refused

FOLDERS = {"valid": 2, "invalid": 2, "dialects": 2, "expansions": 1}  # how many files a case is
KEYS = {  # what each must tell, and what it may
    "valid": ({"note", "ast", "text", "canonical_hex"}, {"limits"}),
    "invalid": ({"note", "reason"}, {"offset", "limits"}),
    "dialects": ({"note", "installed", "violations", "warnings"}, set()),
    "expansions": ({"note", "dialects", "text"}, {"limits", "messages", "error"}),
}


def cases(folder: str) -> list[str]:
    """The names of a folder's cases."""
    return sorted(each.stem for each in (CORPUS / folder).glob("*.json"))


def told(folder: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CORPUS / folder / f"{name}.json").read_bytes())
    return found


def text(folder: str, name: str) -> bytes:
    return (CORPUS / folder / f"{name}.cbcl").read_bytes()


def bounds(case: dict[str, Any]) -> Bounds:
    limits = case.get("limits", {})
    return Bounds(limits.get("max_depth", BOUNDS.depth), limits.get("max_size", BOUNDS.size))


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_folder_of_the_corpus_is_empty_and_no_case_is_half_there(folder: str):
    found: dict[str, list[str]] = {}
    for each in (CORPUS / folder).glob("*"):
        found.setdefault(each.stem, []).append(each.suffix)

    assert found
    assert {name: kinds for name, kinds in found.items() if len(kinds) != FOLDERS[folder]} == {}
    assert {Path(f"x{kind}").suffix for kinds in found.values() for kind in kinds} <= {".json", ".cbcl"}


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_case_of_the_corpus_tells_what_it_must_and_nothing_unknown(folder: str):
    must, may = KEYS[folder]
    for name in cases(folder):
        keys = set(told(folder, name))
        assert must <= keys <= must | may, name
        assert folder != "expansions" or len(keys & {"messages", "error"}) == 1, name


@pytest.mark.parametrize("name", cases("valid"))
def test_a_valid_text_is_read_as_the_corpus_has_it(name: str):
    case = told("valid", name)
    message = read(text("valid", name), bounds(case))

    assert exchange.message_json(message) == case["ast"]
    assert text_of(message.node) == case["text"]
    assert canonical.octets(message.node).hex() == case["canonical_hex"]


@pytest.mark.parametrize("name", cases("valid"))
def test_the_canonical_text_of_a_valid_text_says_the_same(name: str):
    case = told("valid", name)
    again = read(case["text"], bounds(case))

    assert text_of(again.node) == case["text"]
    assert exchange.message_json(again) == case["ast"]
    assert as_json(again.node) == as_json(read(text("valid", name), bounds(case)).node)


@pytest.mark.parametrize("name", cases("invalid"))
def test_an_invalid_text_is_refused_for_its_reason_where_the_mistake_is(name: str):
    case = told("invalid", name)
    refusal = refused(text("invalid", name), bounds(case))

    reason, offset = place(refusal)
    assert reason in REASONS
    assert (reason, offset) == (case["reason"], case.get("offset", offset))


@pytest.mark.parametrize("name", cases("dialects"))
def test_a_dialect_is_judged_as_the_corpus_has_it(name: str):
    case = told("dialects", name)
    installed = {definition(text("dialects", each)).name for each in case["installed"]}
    verdict = verification.verify(definition(text("dialects", name)), installed)

    found = [{"rule": each.rule, "performative": each.performative} for each in verdict.violations]
    assert sorted(map(repr, found)) == sorted(map(repr, case["violations"]))
    assert len(verdict.warnings) == case["warnings"]


@pytest.mark.parametrize("name", cases("expansions"))
def test_a_call_comes_to_what_the_corpus_has(name: str):
    case = told("expansions", name)
    limits = case.get("limits", {})
    room = MAXIMUM_ROOM.within(limits.get("max_depth"), limits.get("max_expansion_size"))

    expected = case["error"] if "error" in case else case["messages"]
    assert outcome(case["text"], dict(_installed(case["dialects"])), room) == expected


def outcome(said: str, dialects: dict[str, Definition], room: Limits) -> list[str] | str:
    """The messages that a text comes to, or the code of the refusal."""
    message = grammar.message(said.encode())
    try:
        found = expand(message, dialects, room)
    except BbError as refusal:
        return refusal.code
    messages = found.messages if found else [_said_in(message)]
    return [text_of(each.node) for each in messages]


def _said_in(message: Message) -> Message:
    """What is said in a dialect that calls nothing: itself."""
    while isinstance(core := core_of(message), Lang):
        assert not isinstance(core.inner, Call)
        message = core.inner
    return message


def _installed(texts: list[str]) -> Iterator[tuple[str, Definition]]:
    known: set[str] = set()
    for each in map(definition, texts):
        assert verification.verify(each, known).is_sound, each.name
        known.add(each.name)
        yield each.name, each
