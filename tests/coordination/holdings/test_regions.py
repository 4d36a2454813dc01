"""Regions of a file: what their names mean, where they are, which overlap, and which of them a change touches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.facts import Queued, Reserved
from bb.coordination.holdings import holdings, places, regions, reservations, scopes
from bb.coordination.holdings.region_changes import FileChange
from bb.coordination.holdings.scopes import Scope
from bb.coordination.lines.symbol import FUNCTION, Symbol, named
from bb.coordination.lines.symbols import symbols
from bb.ledger.journal import kinds
from tests.examples import examples

OTTER, HARBOR = "amber-otter", "cobalt-harbor"


@dataclass
class Text:
    """A file of Python as it is now."""

    text: str
    lines: list[bytes] = field(init=False)
    symbols: list[Symbol] = field(init=False)

    def __post_init__(self) -> None:
        self.lines = self.text.encode().splitlines()
        self.symbols = symbols("a.py", self.text.encode())

    def named(self, name: str) -> list[Symbol]:
        return named(name, self.symbols)


NUMBER = Text("""import re


def roman(number):
    if number:
        return "I"
    return ""


class Number:
    def value(self):
        return 1

    def roman_value(self):
        return "I"


def last():
    return 9
""")


def refusal(region: str) -> Any:
    with pytest.raises(regions.SymbolNotFound.error) as refused:
        regions.anchored(region, NUMBER, OTTER)
    return refused.value


# -- names


@pytest.mark.parametrize(
    "written", ["roman", "Class.method", "From source", "new", "new:fresh", "40-60", "~Box", "a ~ b"]
)
def test_a_region_is_read_as_it_is_written(written: str) -> None:
    assert regions.read(written) == written
    assert regions.shown(written) == written


@pytest.mark.parametrize(
    "written", ["", "  ", "a\nb", "a\x1b[0m", "x" * 301, "new:", "new: ", "0-4", "9-4", "new~amber", "4-9~ff"]
)
def test_what_is_no_region_is_refused(written: str) -> None:
    with pytest.raises(scopes.InvalidScope.error):
        regions.read(written)


def test_a_symbol_that_is_not_there_is_refused_with_near_names() -> None:
    error = refusal("Number.valu")

    assert (error.code, error.exit_status) == ("SYMBOL_NOT_FOUND", 3)
    assert error.details["near"][0] == "Number.value"


def test_a_short_name_is_stored_in_full_and_one_of_two_is_refused() -> None:
    assert regions.anchored("value", NUMBER, OTTER) == "Number.value"
    two = Text("class A:\n    def f(self):\n        pass\n\n\nclass B:\n    def f(self):\n        pass\n")
    with pytest.raises(regions.SymbolNotFound.error, match="several symbols are called f"):
        regions.anchored("f", two, OTTER)


# -- the text of a scope


def test_the_text_of_a_scope_has_its_region_and_its_path_has_not() -> None:
    scope = scopes.in_region(Scope("src/number.py", is_file=True), "roman")

    assert (scope.text, scope.where, scope.path) == ("src/number.py::roman", "src/number.py", "src/number.py")
    assert scopes.lead(scope) == scopes.lead(Scope("src/number.py"))
    assert scopes.in_region(Scope("a.py"), "40-60~" + "0" * 32).text == "a.py::40-60"


def test_a_line_with_a_region_is_the_whole_file_for_code_that_ignores_it() -> None:
    fact = Reserved(OTTER, "src/number.py", "bb-1", 60, is_file=True, region="roman", is_open=True)
    kind, data = kinds.kind_and_data(fact)

    assert (data["scope"], data["region"], data["open"]) == ("src/number.py", "roman", True)
    assert kinds.fact_of(kind, data, OTTER) == fact
    older = {name: value for name, value in data.items() if name not in ("region", "open")}
    assert kinds.fact_of(kind, older, OTTER) == Reserved(OTTER, "src/number.py", "bb-1", 60, is_file=True)


def test_a_reservation_shows_its_region_and_its_kind() -> None:
    at = [1, "aaaaaaaaaaaa", 1]
    fact = Reserved(OTTER, "a.py", "bb-1", 60, is_file=True, region="new~amber-otter", is_open=True)
    held = holdings.reservation("aaaaaaaaaaaa.1", holdings.step(None, fact, at, "2026-01-05T12:00:00.000Z"))

    assert held is not None
    assert (held.scope, held.path, held.shown_region, held.kind) == ("a.py::new", "a.py", "new", "open")


def test_a_place_in_line_keeps_its_regions() -> None:
    wanted = reservations.Wanted(
        OTTER, (Scope("src"), scopes.in_region(Scope("a.py", is_file=True), "roman")), "bb-1", 60, is_open=True
    )
    fact = places.queued(wanted, 0, 3)
    kind, data = kinds.kind_and_data(fact)
    assert (data["scopes"], data["regions"]) == (["src", "a.py"], ["", "roman"])
    assert isinstance(kinds.fact_of(kind, data, OTTER), Queued)

    place = places.place("aaaaaaaaaaaa.1", places.step(None, fact, [1, "aaaaaaaaaaaa", 1], "2026-01-05T12:00:00.000Z"))

    assert place is not None
    assert place.wanted() == wanted


# -- where they are


def test_lines_move_with_their_content() -> None:
    region = regions.anchored("4-7", NUMBER, OTTER)
    assert regions.located(region, NUMBER) == ((3, 7),)

    moved = Text("# one\n# two\n" + NUMBER.text)
    assert regions.located(region, moved) == ((5, 9),)
    longer = Text(moved.text.replace('return "I"\n    return ""', 'return "I"\n    print()\n    return ""'))
    assert regions.located(region, longer) == ((5, 10),)
    assert regions.located(region, Text("nothing\nof it\n")) is None


def test_lines_that_the_file_does_not_have_are_refused() -> None:
    assert "19 lines" in refusal("10-900").message


# -- overlap


def overlap(one: str, other: str, file: Text | None = NUMBER) -> str:
    found = regions.overlap(one, other, file)
    assert regions.overlap(other, one, file) == found
    return found


def test_regions_overlap_if_they_share_a_line() -> None:
    assert overlap("roman", "roman") == "exact"
    assert overlap("roman", "Number") == "disjoint"
    assert overlap("Number", "Number.value") == "partial"
    assert overlap("Number.value", "Number.roman_value") == "disjoint"
    assert overlap("5-12", "roman") == overlap("5-12", "Number.value") == "partial"
    assert overlap("1-2", "roman") == "disjoint"


def test_what_is_gone_is_told_apart_by_its_name() -> None:
    assert overlap("gone", "roman") == "disjoint"
    assert overlap("Number.gone", "Number") == overlap("gone.a", "gone") == "partial"
    assert overlap("gone", "4-7") == "partial"  # by name they cannot be told apart


@pytest.mark.parametrize(
    ("path", "content", "one", "other", "by_lines"),
    [
        ("a.md", b"# Title\n\n## Install\n\nNot yet.\n", "Title", "Install", "partial"),
        ("a.toml", b"[project]\nname = 1\n\n[project.scripts]\nbb = 1\n", "project", "project.scripts", "disjoint"),
        ("a.go", b"type Stack struct{}\n\nfunc (s *Stack) Push() {\n}\n", "Stack", "Stack.Push", "disjoint"),
        ("a.json", b'{\n "a": 1, "b": 2\n}\n', "a", "a", "exact"),
    ],
)
def test_names_alone_would_give_other_answers_than_lines(
    path: str, content: bytes, one: str, other: str, by_lines: str
) -> None:
    file = Text(content.decode())
    file.symbols = symbols(path, content)

    assert overlap(one, other, file) == by_lines
    assert (regions.overlap_by_name(one, other) == by_lines) is (one == other)


def test_additions_of_two_agents_never_overlap() -> None:
    mine, theirs = (regions.anchored("new", NUMBER, who) for who in (OTTER, HARBOR))

    assert overlap(mine, theirs) == overlap(mine, "roman") == "disjoint"
    assert overlap(mine, mine) == overlap(mine, "new") == "exact"


def test_an_addition_with_a_name_is_that_symbol_once_it_is_there() -> None:
    assert overlap("new:fresh", "new:fresh") == "exact"
    assert (
        overlap("new:fresh", "new:other") == overlap("new:fresh", "roman") == overlap("new:fresh", "1-3") == "disjoint"
    )
    assert overlap("new:Number.fresh", "Number") == "partial"
    assert overlap("new:roman", "roman") == "partial"
    assert overlap("new:roman", "5-5") == "partial"


def test_in_a_file_that_cannot_be_read_every_region_overlaps() -> None:
    assert overlap("roman", "last", None) == "partial"


@st.composite
def layouts(draw: st.DrawFn) -> Text:
    """A file of 12 lines with symbols that lie in it in whatever way."""
    file = Text("\n".join(f"line {at}" for at in range(12)))
    spans = draw(st.lists(st.tuples(st.integers(0, 10), st.integers(1, 12)), min_size=1, max_size=5))
    file.symbols = [Symbol(f"s{at % 3}", FUNCTION, first, max(end, first + 1)) for at, (first, end) in enumerate(spans)]
    return file


SOME = st.sampled_from(["s0", "s1", "s2"]) | st.tuples(st.integers(1, 12), st.integers(1, 12)).map(
    lambda pair: f"{min(pair)}-{max(pair)}"
)


def covered(region: str, file: Text) -> set[int]:
    if region[0] == "s":
        return {line for one in file.symbols if one.name == region for line in range(one.first, one.end)}
    first, _, last = region.partition("-")
    return set(range(int(first) - 1, int(last)))


@examples(300)
@given(layouts(), SOME, SOME)
def test_overlap_is_symmetric_and_equal_to_comparing_every_line(file: Text, one: str, other: str) -> None:
    ours, theirs = covered(one, file), covered(other, file)
    found = overlap(one, other, file)
    if ours and theirs:
        assert (found != "disjoint") == bool(ours & theirs)
    ranges = regions.located(other, file)
    if ranges and ours:
        touched = [(line, line + 1) for line in sorted(ours)]
        assert regions.touches(touched, ranges) == bool(ours & theirs)


# -- changes


def change(old: str, new: str) -> FileChange:
    return FileChange(Text(old), Text(new))


def test_a_commit_touches_the_regions_whose_lines_it_changes() -> None:
    inside = change(NUMBER.text, NUMBER.text.replace("return 9", "return 10"))
    assert inside.touches("last")
    assert not any(map(inside.touches, ("roman", "Number", "new", "new:fresh", "4-7")))
    assert inside.stays_in(["last"])
    assert not inside.stays_in(["roman"])

    gone = change(NUMBER.text, NUMBER.text.replace("\n\ndef last():\n    return 9\n", ""))
    assert gone.touches("last")
    assert not gone.touches("Number")

    renamed = change(NUMBER.text, NUMBER.text.replace("def roman(", "def latin("))
    assert renamed.touches("roman")
    assert renamed.touches("latin")


def test_a_function_that_is_inserted_between_two_others_touches_neither() -> None:
    base = "@cache\ndef a():\n    return 1\n\n\n@cache\ndef c():\n    return 3\n"
    new = base.replace("@cache\ndef c", "@cache\ndef b():\n    return 2\n\n\n@cache\ndef c")
    added = change(base, new)

    assert not any(map(added.touches, ("a", "c", "new")))
    assert added.touches("new:b")
    assert added.touches("b")


def test_a_region_that_is_in_no_version_counts_as_the_whole_file() -> None:
    edit = change(NUMBER.text, NUMBER.text.replace("return 9", "return 10"))
    assert edit.touches("fresh")

    now = Text(NUMBER.text + "\n\ndef fresh():\n    return 1\n")
    assert not FileChange(NUMBER, NUMBER, now).touches("fresh")  # it is only in the work tree
