"""What bb knows of a file survives the log, and a damaged line of the log is never taken for a state."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.lines import file_state
from bb.coordination.lines.file_state import ABSENT, CONVERTED, FOUND, LONGEST_EDIT, MODES, FileState, Version
from bb.coordination.lines.weave import ADDED, DELETED, KEPT, Run, unattributed, unchanged, woven
from bb.kernel import json_text
from tests.coordination.lines.lines_support import HARBOR, IGUANA, OTTER, PLAIN_FILE, PROGRAM, A, B, edits, state
from tests.examples import examples

AGENTS = st.sampled_from([OTTER, HARBOR, IGUANA])
OWNERS = st.lists(st.one_of(AGENTS, st.integers(0, 99).map(unattributed)), min_size=1, max_size=3, unique=True)
RUNS = st.one_of(
    st.integers(1, 9).map(lambda count: Run(KEPT, count)),
    st.builds(
        lambda kind, count, owners: Run(kind, count, tuple(sorted(owners))),
        st.sampled_from([ADDED, DELETED]),
        st.integers(1, 9),
        OWNERS,
    ),
)
IDS = st.sampled_from([A, B, "0" * 40, "f" * 64])
VERSIONS = st.one_of(st.just(ABSENT), st.builds(Version, IDS, st.sampled_from(sorted(MODES - {""}))))
COUNTS = st.dictionaries(AGENTS, st.integers(0, 1 << 50), max_size=3)
STATES = st.builds(
    FileState,
    path=st.text(st.characters(codec="utf-8", exclude_characters="/.\0"), min_size=1, max_size=20),
    n=st.integers(0, 1 << 40),
    at=st.integers(-1 << 50, 1 << 50),
    act=st.sampled_from(["begun", "ended", "cancelled", "claimed", "seen", "taken", "committed"]),
    by=st.one_of(st.just(""), AGENTS),
    head=st.one_of(st.just(""), IDS),
    base=VERSIONS,
    now=VERSIONS,
    weave=st.lists(RUNS, max_size=8).map(woven),
    mode_owner=st.one_of(st.just(""), AGENTS, st.just("?7")),
    form=st.sampled_from(["plain", CONVERTED]),
    is_whole=st.booleans(),
    editing=COUNTS,
    tools=st.dictionaries(AGENTS, st.one_of(st.just(FOUND), IDS), max_size=3),
    looked=COUNTS,
).filter(lambda one: one.base.blob != one.now.blob or not one.is_changed or not any(run.owners for run in one.weave))


@given(STATES)
@examples(200)
def test_a_state_is_read_as_it_was_written(one: FileState):
    line = json_text.dumps_ascii(file_state.as_json(one))

    assert "\n" not in line, "a state is one line of the log"
    assert file_state.from_json(json_text.loads(line)) == one


def test_a_path_that_is_not_utf_8_is_read_as_it_was_written():
    odd = state(path=b"caf\xe9.py".decode("utf-8", "surrogateescape"))

    line = json_text.dumps_ascii(file_state.as_json(odd))

    assert file_state.from_json(json_text.loads(line)) == odd


WEAVE, _ = edits("one two three", (OTTER, "one TWO three"), (HARBOR, "one TWO three four"))
WHOLE = file_state.as_json(state(WEAVE, n=3, at=5, by=OTTER, head=A, editing={HARBOR: 4}, looked={OTTER: 3}))


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_a_line_without_one_of_its_members_is_no_state(name: str):
    with pytest.raises((ValueError, TypeError, KeyError)):
        file_state.from_json({member: value for member, value in WHOLE.items() if member != name})


DAMAGED: list[tuple[str, Any]] = [
    *(
        ("path", value)
        for value in (None, 1, ["x"], "", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/", "a\0", "\ud800")
    ),
    *(("n", value) for value in (-1, 1.5, "3", None, True)),
    *(("at", value) for value in (1.5, "now", None, True)),
    *(("act", value) for value in (None, 4, [])),
    *(("by", value) for value in ("Two Words", "?x", 5, "-x", "a\nb")),
    *(("head", value) for value in ("abc", "g" * 40, "A" * 40, None, "a" * 41)),
    *((name, [blob, mode]) for name in ("base", "now") for blob, mode in ((A, ""), ("", PLAIN_FILE), (A, "160000"))),
    *((name, value) for name in ("base", "now") for value in (None, "", [A], [A, PLAIN_FILE, ""], ["x", PLAIN_FILE])),
    *(("now", [A, mode]) for mode in (100644, "100664", "120777", None)),
    ("now", [A, PLAIN_FILE]),  # the base has the same blob, so nothing can have changed
    *(("weave", value) for value in (None, 3, [[]], [["="]], [["x", 1]], [["=", 1, OTTER]], [["+", 1]], [["-", 1]])),
    *(("weave", [["+", count, OTTER]]) for count in (-1, "1", 1.5, None, True)),
    *(("weave", [["+", 1, owner]]) for owner in ("", "?x", "?-1", "Two Words", 3, None, "a/b", "\x1b[2J")),
    *(("mode_owner", value) for value in ("Two Words", "?x", 3)),
    *(("editing", value) for value in (None, [OTTER], {OTTER: 1.5}, {OTTER: "1"}, {"Two Words": 1}, {"": 1})),
    *(("looked", value) for value in (None, [OTTER], {OTTER: -1}, {OTTER: None}, {"\x07": 1})),
]


@pytest.mark.parametrize(("name", "value"), DAMAGED, ids=lambda value: ascii(value)[:30])
def test_a_line_with_a_damaged_member_is_no_state(name: str, value: Any):
    with pytest.raises((ValueError, TypeError, KeyError, AttributeError)):
        file_state.from_json(WHOLE | {name: value})


@pytest.mark.parametrize("found", [None, 1, "text", [], [WHOLE], True])
def test_a_line_that_is_no_object_is_no_state(found: object):
    with pytest.raises(TypeError):
        file_state.from_json(found)


def test_members_that_a_later_bb_has_added_are_ignored():
    assert file_state.from_json(WHOLE | {"later": 1}) == file_state.from_json(WHOLE)


def test_the_owners_of_a_file_are_those_of_its_lines_and_of_its_mode():
    assert state(WEAVE).owners == {OTTER, HARBOR}
    assert state(unchanged(3), mode_owner=OTTER).owners == {OTTER}
    assert state(unchanged(3)).owners == frozenset()


def test_a_file_is_changed_if_its_lines_or_its_mode_are():
    assert state(WEAVE).is_changed
    assert state(unchanged(3), now=A).replace(now=Version(A, PROGRAM)).is_changed
    assert not state(unchanged(3), now=A).is_changed


@pytest.mark.parametrize(("later", "editors"), [(0, (OTTER,)), (LONGEST_EDIT - 1, (OTTER,)), (LONGEST_EDIT, ())])
def test_an_edit_goes_on_for_ten_minutes_at_most(later: int, editors: tuple[str, ...]):
    assert state(editing={OTTER: 1000}).editors(1000 + later) == editors


def test_an_edit_that_began_while_its_reader_waited_for_the_lock_is_going_on():
    assert state(editing={OTTER: 1000}).editors(999) == (OTTER,)
    assert state(editing={OTTER: LONGEST_EDIT + 1000}).editors(1000) == (), "a clock was put back"
