"""The course of events is this clone's own order: what was once passed stays passed, whatever is fetched later."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.ledger.journal import journal, line
from bb.ledger.journal.journal import Journal
from bb.ledger.records import events as recorded
from bb.ledger.records import own_order
from bb.ledger.records.own_order import START, Course, Lines, Passed
from tests.examples import examples
from tests.ledger.course_support import Place, another, clones, live, numbered, texts, writer_of
from tests.ledger.ledger_support import only_segment


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Place]:
    with clones(tmp_path) as (only,):
        yield only


@pytest.fixture
def three(tmp_path: Path) -> Iterator[list[Place]]:
    with clones(tmp_path, 3) as places:
        yield places


def names(passed: list[Passed]) -> list[tuple[int, str]]:
    return [(each.seq, f"{each.writer}.{each.n}") for each in passed]


# -- one writer


def test_the_course_of_one_writer_is_its_journal(here: Place):
    for text in ("one", "two", "three"):
        here.say(text)

    passed = here.course()

    assert texts(passed) == ["group.create", "one", "two", "three"]
    assert names(passed) == [(n, f"{writer_of(here)}.{n}") for n in (1, 2, 3, 4)]


def test_each_line_is_passed_with_where_it_is_written(here: Place):
    for text in ("one", "two", "three"):
        here.say(text)

    for each in here.course():
        with Lines(here.store.path) as found:
            assert found.at(each.writer, each.n, each.segment, each.offset) == each.raw


def test_a_course_goes_on_where_it_stopped(here: Place):
    on = Course(here.store)
    here.store.caught_up()
    assert texts(list(on.new_lines())) == ["group.create"]
    assert list(on.new_lines()) == []
    here.say("one")
    assert texts(list(on.new_lines())) == ["one"]
    assert on.seq == 2


def test_whoever_stops_half_way_is_told_the_rest_later(here: Place):
    for text in ("one", "two", "three"):
        here.say(text)
    on = Course(here.store)

    for each in on.new_lines():
        if each.seq == 3:
            break

    assert on.seq == 3
    assert texts(list(on.new_lines())) == ["three"]


def test_what_another_process_has_recorded_and_read_is_passed_too(here: Place):
    here.say("one")
    on = Course(here.store)
    list(on.new_lines())

    with another(here) as other:
        other.say("two")

    assert texts(list(on.new_lines())) == ["two"]


def test_what_the_index_has_not_read_is_not_passed_yet(here: Place):
    on = Course(here.store)
    list(on.new_lines())
    segment = only_segment(here.path)
    before = segment.read_bytes()
    here.say("one")
    after = segment.read_bytes()
    segment.write_bytes(before)
    here.begin_anew()
    here.store.caught_up()
    on = Course(here.store)
    assert texts(list(on.new_lines())) == ["group.create"]
    segment.write_bytes(after)

    assert list(on.new_lines()) == []
    here.store.caught_up()
    assert texts(list(on.new_lines())) == ["one"]


def test_a_ledger_without_a_writer_has_no_course(tmp_path: Path):
    empty = Place(tmp_path / "empty")
    assert list(Course(empty.store).new_lines()) == []
    empty.close()


def test_segments_follow_one_another(here: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(journal, "SEGMENT_SIZE", 600)
    on = Course(here.store)
    found = []
    for number in range(12):
        here.say(str(number))
        found += texts(list(on.new_lines()))

    assert len(Journal(here.store.path, writer_of(here)).segments()) > 3
    assert found == ["group.create", *map(str, range(12))]
    assert texts(here.course()) == found
    for after in range(14):
        assert texts(here.course(after)) == found[after:]


# -- lines of others


def test_lines_of_others_come_before_the_line_that_accounts_for_them(three: list[Place]):
    a, b, _ = three
    a.say("mine")
    b.say("theirs")
    a.hear_of(b)

    assert texts(a.course()) == ["group.create", "mine"], "nothing accounts for them yet"

    a.say("answer")
    # Their first line was a marker of their own, since they had heard of us.
    assert texts(a.course()) == ["group.create", "mine", "x.bb.merged", "theirs", "x.bb.merged", "answer"]
    assert [each.writer == writer_of(b) for each in a.course()] == [False, False, True, True, False, False]


def test_what_is_brought_in_together_stands_in_the_total_order(three: list[Place]):
    a, b, c = three
    b.say("b1")
    c.hear_of(b)
    c.say("c1")
    b.hear_of(c)
    b.say("b2")
    a.hear_of(b, c)
    a.say("a1")

    said = [text for text in texts(a.course()) if not text.startswith(("x.", "group"))]
    assert said == ["b1", "c1", "b2", "a1"]


def test_what_arrives_later_stands_later_though_it_was_said_before(three: list[Place]):
    a, b, _ = three
    b.say("said first")
    for text in ("one", "two", "three"):
        a.say(text)
    before = names(a.course())
    a.hear_of(b)
    a.say("four")

    assert names(a.course())[: len(before)] == before
    assert [text for text in texts(a.course()) if text in ("three", "said first", "four")] == [
        "three",
        "said first",
        "four",
    ]


def test_the_places_are_those_that_events_are_shown_with(three: list[Place]):
    a, b, c = three
    live(three, [("say", 0, 1), ("say", 1, 2), ("hear", 2, 1), ("say", 2, 0), ("hear", 0, 2), ("hear", 1, 2)])
    live(three, [("say", 0, 1), ("say", 1, 2), ("hear", 0, 1), ("say", 0, 2)])
    for place in (a, b, c):
        assert dict(names(place.course())) == numbered(place)


def test_an_index_that_is_made_anew_changes_no_place(three: list[Place]):
    a, b, _ = three
    b.say("b1")
    a.hear_of(b)
    a.say("a1")
    b.say("b2")
    a.hear_of(b)
    a.say("a2")
    before = a.course()

    a.begin_anew()

    assert a.course() == before


def test_a_line_that_only_looks_like_a_marker_brings_nothing_in(three: list[Place]):
    a, b, _ = three
    b.say("b1")
    a.hear_of(b)
    a.say('"kind":"x.bb.merged"', note={"kind": "x.bb.merged"})

    marks = [each for each in a.course() if b'"kind":"x.bb.merged"' in each.raw and each.writer == writer_of(a)]
    assert len(marks) == 2
    assert [each.seq for each in a.course()] == list(range(1, len(a.course()) + 1))


def test_an_event_has_a_place_once_a_line_of_ours_accounts_for_it(three: list[Place]):
    a, b, _ = three
    event = b.say("b1")
    a.hear_of(b)
    a.store.caught_up()
    assert recorded.sequence_numbers(a.store).of(event) is None

    a.say("a1")

    place = recorded.sequence_numbers(a.store).of(event)
    assert place is not None
    assert own_order.event_at(a.store, place).id == event.id


SOME_LIFE = [("say", 1, 0), ("say", 2, 0), ("say", 1, 0), ("hear", 0, 1), ("hear", 0, 2), ("say", 0, 0), ("say", 2, 0)]


def test_an_event_has_the_same_place_whichever_events_are_asked_for_with_it(three: list[Place]):
    a, _, _ = three
    live(three, [*SOME_LIFE, ("hear", 0, 2), ("say", 0, 0), ("say", 0, 0)])
    course = a.course()
    events = [line.event(passed.raw) for passed in course]

    for first in range(len(events)):
        assert [event.seq for event in recorded.numbered(a.store, events[first:])] == list(
            range(first + 1, len(course) + 1)
        )


def test_the_place_of_a_new_event_needs_no_line_of_a_writer_that_only_has_older_ones(
    three: list[Place], monkeypatch: pytest.MonkeyPatch
):
    a, b, c = three
    for each in (b, b, c):
        each.say("old")
    c.hear_of(b)
    new = c.say("new")
    a.hear_of(c)
    a.hear_of(b)
    a.say("mine")
    opened: list[str] = []
    monkeypatch.setattr(recorded, "Journal", lambda path, writer: opened.append(writer) or Journal(path, writer))

    (numbered_event,) = recorded.numbered(a.store, [new])

    assert opened == [writer_of(c)]
    assert numbered_event.seq is not None
    assert own_order.event_at(a.store, numbered_event.seq).id == new.id


def test_every_place_has_its_event_and_there_is_nothing_beyond(three: list[Place]):
    a, _, _ = three
    live(three, [("say", 1, 0), ("say", 2, 0), ("hear", 0, 1), ("say", 0, 0), ("hear", 0, 2), ("say", 0, 0)])
    index = a.store.caught_up()

    for seq, name in names(a.course()):
        event = own_order.event_at(a.store, seq)
        assert (event.id, event.seq) == (name, seq)
    assert own_order.length(index) == len(a.course())
    for beyond in (0, own_order.length(index) + 1):
        with pytest.raises(ValueError, match=f"there is no event with the sequence number {beyond}$"):
            own_order.event_at(a.store, beyond)


def test_from_every_place_on_the_rest_is_told(three: list[Place]):
    a, _, _ = three
    live(three, [("say", 1, 0), ("say", 2, 0), ("hear", 0, 1), ("say", 0, 0), ("hear", 0, 2), ("say", 0, 0)])
    whole = a.course()

    for after in range(len(whole) + 3):
        spot = own_order.spot_before(a.store.caught_up(), after)
        assert spot.n + spot.foreign_before <= after
        assert a.course(after) == whole[after:]


# -- lines that were taken back


def test_a_line_that_was_taken_back_and_another_in_its_place(here: Place):
    for text in ("one", "two"):
        here.say(text)
    on = Course(here.store)
    list(on.new_lines())
    segment = only_segment(here.path)
    whole = segment.read_bytes()
    segment.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))  # as a sync that failed leaves it

    here.say("a much longer line than the one before, and no other")
    here.say("three")

    assert texts(list(on.new_lines())) == ["three"], "its place was passed; numbers are what one goes by"
    assert texts(here.course())[1:] == ["one", "a much longer line than the one before, and no other", "three"]


def test_another_process_took_a_line_back_and_went_on(here: Place):
    for text in ("one", "two"):
        here.say(text)
    on = Course(here.store)
    list(on.new_lines())
    segment = only_segment(here.path)
    segment.write_bytes(b"".join(segment.read_bytes().splitlines(keepends=True)[:-1]))
    with another(here) as other:
        for text in ("instead of two, and longer", "three", "four"):
            other.say(text)

    found = texts(list(on.new_lines())) + texts(list(on.new_lines()))

    assert found == ["three", "four"]


# -- lines by where they stand


def test_what_is_not_there_any_more_is_no_line(here: Place, tmp_path: Path):
    here.say("one")
    first, second = here.course()
    with Lines(here.store.path) as found:
        assert found.at(second.writer, second.n, second.segment, second.offset) == second.raw
        assert found.at(first.writer, first.n, first.segment, first.offset) == first.raw
        assert found.at(second.writer, second.n + 1, second.segment, second.offset) is None
        assert found.at(second.writer, second.n, second.segment, second.offset + 1) is None
        assert found.at(second.writer, second.n, second.segment, 1 << 40) is None
        assert found.at(second.writer, second.n, second.segment + 7, second.offset) is None
        assert found.at("a" * 12, 1, 1, 0) is None


def test_a_line_without_its_end_is_none(here: Place):
    here.say("one")
    _, second = here.course()
    segment = only_segment(here.path)
    segment.write_bytes(segment.read_bytes()[:-1])
    with Lines(here.store.path) as found:
        assert found.at(second.writer, second.n, second.segment, second.offset) is None


def test_a_long_line_is_read_whole(here: Place):
    here.say("x" * 300_000)
    here.say("short")
    *_, long, short = here.course()
    with Lines(here.store.path) as found:
        for each in (short, long, short):
            assert found.at(each.writer, each.n, each.segment, each.offset) == each.raw


# -- any history, read in any portions

moves = st.lists(
    st.tuples(st.sampled_from(["say", "say", "hear"]), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=25
)


@examples(25)
@given(moves, moves, st.lists(st.integers(0, 7), max_size=12))
def test_any_portions_make_the_same_course(before: list, after: list, portions: list[int]):
    with tempfile.TemporaryDirectory() as folder, clones(Path(folder), 3) as places:
        me = places[0]
        me.store.caught_up()
        on, found = Course(me.store), []
        for step, move in enumerate(before + after):
            live(places, [move])
            me.store.caught_up()
            most = portions[step % len(portions)] if portions else 99
            for taken, each in enumerate(on.new_lines() if most else (), 1):
                found.append(each)
                # It may be left behind a line of one's own; lines of others come in one go with the line after them.
                if taken >= most and each.writer == me.store.writer:
                    break
        found += on.new_lines()

        whole = me.course()
        assert found == whole
        assert [each.seq for each in whole] == list(range(1, own_order.length(me.store.index) + 1))
        assert dict(names(whole)) == numbered(me)
        for place in (0, len(whole) // 3, len(whole) // 2, len(whole) - 1):
            assert me.course(place) == whole[place:]
        me.begin_anew()
        assert me.course() == whole


def test_the_beginning_is_before_everything():
    assert (START.n, START.foreign_before) == (0, 0)
