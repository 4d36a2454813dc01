"""The symbols of ordinary files, found by the simple rules and by tree-sitter: both give the same answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bb.coordination.lines import symbols as rules
from bb.coordination.lines.symbol import Symbol
from bb.ledger.lines import grammars

SAMPLES = Path(__file__).parent.parent / "data" / "symbols"
FILES = sorted(path.name.removesuffix(".sample") for path in SAMPLES.glob("*.sample"))
Finder = Callable[[str, bytes], list[Symbol]]
IMPLEMENTATIONS: dict[str, Finder] = {"simple rules": rules.symbols, "tree-sitter": grammars.symbols}


@pytest.fixture(params=IMPLEMENTATIONS)
def find(request: pytest.FixtureRequest) -> Finder:
    if request.param == "tree-sitter" and not grammars.has_grammar("python"):
        pytest.skip("the extra `lines` is not installed")
    return IMPLEMENTATIONS[request.param]


def content(name: str) -> bytes:
    return (SAMPLES / f"{name}.sample").read_bytes()


def shown(found: list[Symbol]) -> list[str]:
    return [f"{one.first + 1}-{one.end} {one.kind} {one.name}" for one in found]


@pytest.mark.parametrize("name", FILES)
def test_an_ordinary_file_has_the_symbols_that_a_person_would_name(find: Finder, name: str) -> None:
    expected = (SAMPLES / f"{name}.symbols").read_text().splitlines()

    assert shown(find(name, content(name))) == expected


@pytest.mark.parametrize("name", FILES)
def test_the_ends_of_lines_change_no_symbol(find: Finder, name: str) -> None:
    of_windows = content(name).replace(b"\n", b"\r\n")

    assert shown(find(name, of_windows)) == shown(find(name, content(name)))


def test_a_file_of_an_unknown_kind_and_a_binary_one_have_no_symbols(find: Finder) -> None:
    assert find("a.unknown", b"def f():\n    pass\n") == []
    assert find("a.py", b"def f():\0\n") == []
    assert find("LICENSE", b"MIT\n") == []


@pytest.mark.parametrize("name", FILES)
def test_every_symbol_lies_in_the_file_whatever_is_cut_off(find: Finder, name: str) -> None:
    whole = content(name)
    for length in range(0, len(whole), 7):
        part = whole[:length]
        for one in find(name, part):
            assert 0 <= one.first < one.end <= part.count(b"\n") + 1
