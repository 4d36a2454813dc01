"""A follower is told of what other processes append, at once, in order, and only of what it asked for."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from bb.kernel import clock
from bb.ledger.journal import journal as journals
from bb.ledger.records import event_filters
from bb.ledger.records.event_filters import Filter, Follower
from tests.ledger.ledger_support import (
    ADA,
    BO,
    NOW,
    OTHER_WRITER,
    append_one,
    child,
    finished,
    kept,
    make,
    note,
    only_segment,
    opened,
    register,
    repository,
    written,
)

EVERYTHING = Filter()


@pytest.fixture
def here(tmp_path: Path) -> Path:
    path = repository(tmp_path / "here")
    make(path, ADA, BO)
    return path


def others(path: Path, writer: str, *times: int) -> Path:
    folder = kept(path) / "j" / writer
    folder.mkdir(exist_ok=True)
    file = folder / "000000000001.jsonl"
    file.write_bytes(b"".join(written([(time, "chat.message", {"at": time}) for time in times], writer, by=BO)))
    return file


def test_what_was_there_before_is_not_told_again(here: Path):
    with opened(here) as store:
        assert Follower(store, EVERYTHING).new() == []


def test_another_process_is_heard_at_once(here: Path):
    """A tenth of a second is the aim; the test allows for a slow machine."""
    with opened(here) as store:
        following = Follower(store, EVERYTHING).forever()
        writer = child(append_one, here, ADA)
        assert writer.stdout is not None
        assert writer.stdin is not None
        assert writer.stdout.readline() == "ready\n"
        writer.stdin.write("go\n")
        writer.stdin.flush()

        event = next(following)

        heard_at = time.monotonic()
        event_id, appended_at = finished(writer).split()
        assert event.id == event_id
        assert heard_at - float(appended_at) < 2


def test_every_event_is_told_once_and_in_order(here: Path):
    with opened(here) as store, opened(here) as other:
        follower = Follower(store, EVERYTHING)
        told = []
        recorded = []
        for turn in range(6):
            recorded += [note(other, (ADA, BO)[turn % 2]).id for _ in range(turn)]
            told += [event.id for event in follower.new()]

        assert told == recorded
        assert follower.new() == []


def test_events_of_several_writers_come_in_the_total_order(here: Path):
    with opened(here) as store:
        follower = Follower(store, EVERYTHING)
        others(here, OTHER_WRITER, 10, 20, 40)
        others(here, "ggggggghhhhh", 15, 20, 30)

        told = [(event.lamport, event.id.partition(".")[0]) for event in follower.new()]

    assert told == sorted(told)
    assert [lamport for lamport, _ in told] == [10, 15, 20, 20, 30, 40]


def test_a_writer_that_appears_later_is_followed_too(here: Path):
    with opened(here) as store:
        follower = Follower(store, EVERYTHING)
        file = others(here, OTHER_WRITER, 10, 20)
        octets = file.read_bytes()
        assert len(follower.new()) == 2
        file.write_bytes(octets + b"".join(written([(1, "x", {})], OTHER_WRITER))[:30])

        assert follower.new() == []


def test_events_of_other_writers_have_a_place_once_a_line_of_ours_accounts_for_them(here: Path):
    with opened(here) as store:
        follower = Follower(store, EVERYTHING)
        others(here, OTHER_WRITER, 10)
        assert [event.seq for event in follower.new()] == [None]
        make(here, "quiet-heron")

        assert [event.seq for event in follower.new()] == [5, 6]


def test_the_change_to_a_new_segment_is_not_missed(here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(journals, "SEGMENT_SIZE", 1)
    with opened(here) as store, opened(here) as other:
        follower = Follower(store, EVERYTHING)
        ids = []
        for _ in range(3):
            ids.append(note(other, ADA).id)
            assert [event.id for event in follower.new()] == ids[-1:]
        ids = [note(other, ADA).id for _ in range(3)]

        assert [event.id for event in follower.new()] == ids


def test_a_line_that_is_still_being_written_is_told_when_it_is_whole(here: Path):
    with opened(here) as store, opened(here) as other:
        follower = Follower(store, EVERYTHING)
        whole = only_segment(here).read_bytes()
        event = note(other, ADA)
        longer = only_segment(here).read_bytes()
        only_segment(here).write_bytes(whole)
        told = []
        for end in range(len(whole), len(longer) + 1, 25):
            only_segment(here).write_bytes(longer[:end])
            told += follower.new()
        assert told == []
        only_segment(here).write_bytes(longer)

        assert [each.id for each in follower.new()] == [event.id]


FILTERS: list[tuple[Filter, list[str]]] = [
    (Filter(), ["actor.add quiet-heron", "actor.update amber-otter", "actor.update cobalt-harbor"]),
    (Filter(kinds=frozenset(["actor.add"])), ["actor.add quiet-heron"]),
    (Filter(kinds=frozenset(["actor.add", "x.none"]), agent=BO), []),
    (Filter(agent=BO), ["actor.update cobalt-harbor"]),
    (
        Filter(since=clock.text(NOW)),
        ["actor.add quiet-heron", "actor.update amber-otter", "actor.update cobalt-harbor"],
    ),
    (Filter(since=clock.text(NOW + 1)), []),
    (Filter(until=clock.text(NOW)), []),
]


@pytest.mark.parametrize(("wanted", "expected"), FILTERS)
def test_only_what_was_asked_for_is_told(here: Path, wanted: Filter, expected: list[str]):
    with opened(here) as store, opened(here) as other:
        before = len(list(event_filters.everything(store, wanted)))
        follower = Follower(store, wanted)
        register(other, "quiet-heron")
        note(other, ADA)
        note(other, BO)

        assert [f"{event.kind} {event.by}" for event in follower.new()] == expected
        everything = list(event_filters.everything(store, wanted))
        assert [f"{event.kind} {event.by}" for event in everything[before:]] == expected
        assert [_plain(event) for event in event_filters.latest(store, wanted, 50)] == [
            _plain(event) for event in everything
        ]


def test_the_latest_are_the_last_of_everything(here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(journals, "SEGMENT_SIZE", 800)
    others(here, OTHER_WRITER, 2, 4, 6, 8, 100)
    with opened(here) as store:
        for turn in range(10):
            note(store, (ADA, BO)[turn % 2])
        whole = [_plain(event) for event in event_filters.everything(store, EVERYTHING)]

        for limit in (1, 2, 7, len(whole), len(whole) + 5):
            assert [_plain(event) for event in event_filters.latest(store, EVERYTHING, limit)] == whole[-limit:]


def _plain(event: Any) -> tuple[Any, ...]:
    return event.id, event.lamport, event.seq, event.kind


def test_a_raw_copy_has_every_line_as_it_stands(here: Path):
    others(here, OTHER_WRITER, 2, 4)
    with opened(here) as store:
        copied = b"".join(raw + b"\n" for _, raw in event_filters.raw_lines(store))

    on_disk = [file.read_bytes() for file in sorted((kept(here) / "j").glob("*/*.jsonl"))]
    assert copied == b"".join(on_disk)
