"""One sync for many records: nobody is told before it, and when it fails nothing was recorded."""

from __future__ import annotations

import errno
import os
import random
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bb.kernel.errors import BbError
from bb.ledger.files.lock import Lock
from bb.ledger.journal import journal, writers
from bb.ledger.journal.journal import Journal
from bb.ledger.records import events as recorded
from bb.ledger.records.newest_first import newest_first
from bb.ledger.records.store import KeyReused
from bb.messaging.facts import Said
from tests.ledger.course_support import Place, another, clones, writer_of
from tests.ledger.ledger_support import (
    ADA,
    BO,
    NOW,
    FaultyDisk,
    agents,
    audited,
    chained,
    child,
    finished,
    problems,
    refusal_of,
    register,
    segments,
    take_turns,
)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Place]:
    with clones(tmp_path) as (only,):
        yield only


def folder(place: Place) -> Path:
    return Path(place.store.path) / "j" / writer_of(place)


def said(place: Place) -> list[str]:
    """The texts that whoever opens the ledger now finds in it."""
    with another(place) as other:
        events = newest_first(other.store, lambda raw: b'"text":' in raw)
        return [event.data["text"] for event in events][::-1]


def calls(disk: FaultyDisk, name: str) -> int:
    return sum(call == name and path.endswith(".jsonl") for call, path in disk.log)


def failing(
    place: Place,
    within: Callable[[], object],
    number: int = errno.EIO,
    on: Callable[[], str] = lambda: ".jsonl",
) -> BbError:
    """The refusal of a batch that cannot be synced."""
    disk = FaultyDisk()

    def batch() -> None:
        with place.store.batch():
            within()
            disk.fail("fdatasync", number, on=on())

    with disk.patched(), pytest.raises(BbError) as refusal:
        batch()
    return refusal.value


def broken_off(place: Place) -> None:
    """A batch that ends with a bug."""
    with place.store.batch():
        place.say("one")
        raise ZeroDivisionError


# -- one sync


def test_many_records_wait_for_the_disk_once(here: Place):
    disk = FaultyDisk()
    with disk.patched(), here.store.batch():
        for number in range(20):
            here.say(str(number))
        assert calls(disk, "fdatasync") == 0
    assert calls(disk, "fdatasync") == 1

    assert said(here) == [str(number) for number in range(20)]
    assert problems(audited(here.path)) == []


def test_a_batch_in_which_nothing_is_recorded_waits_for_nothing(here: Place):
    here.say("one")
    disk = FaultyDisk()
    with disk.patched():
        with here.store.batch():
            here.store.caught_up()
        with here.store.batch():
            assert here.store.record(lambda _: [], by=ADA, now=NOW) == []
    assert calls(disk, "fdatasync") == 0


def test_after_a_batch_every_record_is_synced_by_itself_again(here: Place):
    with here.store.batch():
        here.say("one")
    disk = FaultyDisk()
    with disk.patched():
        here.say("two")
        here.say("three")
    assert calls(disk, "fdatasync") == 2


def test_batches_follow_one_another(here: Place):
    for turn in range(5):
        with here.store.batch():
            for number in range(3):
                here.say(f"{turn}.{number}")
    assert len(said(here)) == 15
    assert len(chained(folder(here))) == 16


def test_decisions_within_a_batch_see_each_other(here: Place):
    with here.store.batch():
        register(here.store, ADA)
        assert refusal_of(lambda: register(here.store, ADA)) == "DUPLICATE_AGENT_ID"
        register(here.store, BO)
        seen: list[Any] = []
        here.store.record(lambda index: seen.extend(index.states("agent")) or [], by=ADA, now=NOW)

    assert [agent for agent, _ in seen] == [ADA, BO]
    assert agents(here.path) == [ADA, BO]


def test_what_is_said_within_a_batch_is_in_the_inbox_within_it(here: Place):
    with here.store.batch():
        here.say("one")
        assert here.inbox("bob") == ["one"]
        here.say("two")
        assert here.inbox("bob") == ["one", "two"]
    assert here.inbox("bob") == ["one", "two"]


def test_a_refusal_within_a_batch_takes_nothing_with_it(here: Place):
    def refuse(_: Any) -> list[Any]:
        raise BbError("no")

    with here.store.batch():
        here.say("one")
        with pytest.raises(BbError):
            here.store.record(refuse, by=ADA, now=NOW)
        here.say("two")

    assert said(here) == ["one", "two"]


def test_a_bug_within_a_batch_leaves_what_was_recorded_before_it_whole(here: Place):
    with pytest.raises(ZeroDivisionError):
        broken_off(here)

    assert said(here) == ["one"]
    here.say("two")
    assert said(here) == ["one", "two"]


# -- a key within a batch


def test_a_key_means_the_same_within_a_batch(here: Place):
    def ask(request: str = "r") -> Any:
        facts = lambda _: [Said("chat.message", {"text": "once"})]  # noqa: E731
        return here.store.record(facts, by=ADA, now=NOW, key="k", request=request)[0]

    with here.store.batch():
        first = ask()
        assert ask().id == first.id
        with pytest.raises(KeyReused.error) as refusal:
            ask("another")
        assert refusal.value.details == {"event_id": first.id}
    assert ask().id == first.id
    assert said(here) == ["once"]


# -- segments that are full within a batch


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "SEGMENT_SIZE", 700)


@pytest.mark.usefixtures("small")
def test_segments_that_are_begun_within_a_batch_are_synced_too(here: Place):
    here.say("before")
    disk = FaultyDisk()
    with disk.patched(), here.store.batch():
        for number in range(12):
            here.say(str(number))
    synced = {path for call, path in disk.log if call == "fdatasync"}

    assert len(segments(folder(here))) >= 4
    assert {str(path) for path in segments(folder(here))} == synced
    assert len(chained(folder(here))) == 14
    assert problems(audited(here.path)) == []


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("which", [0, 1, 2, 3])
def test_segments_that_cannot_be_synced_are_taken_back(here: Place, which: int):
    here.say("before")
    before = len(segments(folder(here)))
    failing(
        here, lambda: [here.say(str(number)) for number in range(12)], on=lambda: segments(folder(here))[which].name
    )

    assert len(segments(folder(here))) == before
    assert said(here) == ["before"]
    here.say("after")
    assert said(here) == ["before", "after"]
    assert len(chained(folder(here))) == 3


# -- a disk that fails


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_what_cannot_be_synced_was_never_recorded(here: Place, number: int):
    here.say("before")
    register(here.store, ADA)
    size = folder(here).joinpath(segments(folder(here))[0].name).stat().st_size

    def within() -> None:
        for text in range(5):
            here.say(str(text))
        register(here.store, BO)
        assert here.inbox("bob") == ["before", "0", "1", "2", "3", "4"]

    assert failing(here, within, number).code in ("DISK_FULL", "DISK_FAILED")
    assert segments(folder(here))[0].stat().st_size == size
    assert said(here) == ["before"]
    assert here.inbox("bob") == ["before"]
    assert here.unread("bob") == 1
    assert agents(here.path) == [ADA]
    assert problems(audited(here.path)) == []


def test_after_a_failed_batch_the_next_one_is_right(here: Place):
    failing(here, lambda: here.say("gone"))
    with here.store.batch():
        event = here.say("stays")
        here.say("stays too")

    assert said(here) == ["stays", "stays too"]
    assert here.inbox("bob") == ["stays", "stays too"]
    assert recorded.event(here.store, event.id).data["text"] == "stays"
    assert [line["id"].rpartition(".")[2] for line in chained(folder(here))] == ["1", "2", "3"]
    assert problems(audited(here.path)) == []


def test_a_key_of_a_batch_that_failed_is_free_again(here: Place):
    def ask() -> Any:
        facts = lambda _: [Said("chat.message", {"text": "once"})]  # noqa: E731
        return here.store.record(facts, by=ADA, now=NOW, key="k")

    failing(here, ask)

    ask()
    assert said(here) == ["once"]


def test_a_line_that_cannot_be_written_leaves_the_others_of_the_batch(here: Place):
    disk = FaultyDisk()
    with disk.patched(), here.store.batch():
        here.say("one")
        disk.fail("write", errno.ENOSPC, after=20)
        with pytest.raises(BbError):
            here.say("no room for this")
        here.say("two")

    assert said(here) == ["one", "two"]
    assert len(chained(folder(here))) == 3


def test_whoever_has_seen_what_was_taken_back_sees_that_it_was(here: Place):
    """Another process may read lines before they are synced; nobody has been told of them yet."""
    with another(here) as other:

        def within() -> None:
            here.say("gone")
            assert other.inbox("bob") == ["gone"]

        failing(here, within)
        assert other.inbox("bob") == []
        here.say("stays")
        assert other.inbox("bob") == ["stays"]


# -- other processes


def test_nobody_else_records_anything_in_between(here: Place):
    with another(here) as other, here.store.batch():
        here.say("one")
        assert refusal_of(lambda: Lock(str(folder(here) / "lock"), 0.2).__enter__()) == "LEDGER_BUSY"
        here.say("two")
        assert other.store.writer == here.store.writer
    here.say("three")

    assert said(here) == ["one", "two", "three"]


def test_a_batch_that_could_not_begin_takes_nothing_back(here: Place, monkeypatch: pytest.MonkeyPatch):
    """What was there before it is nobody's to remove, whatever goes wrong on a sick disk."""
    here.say("one")
    here.store.close()

    def begin() -> None:
        with here.store.batch():
            here.say("gone")

    def sick(_: object) -> tuple[int, int]:
        raise OSError(errno.EIO, "sick")

    with monkeypatch.context() as patched, FaultyDisk().patched() as disk:
        patched.setattr(Journal, "end", sick)
        disk.fail("fsync", errno.EIO, on="", times=9)
        disk.fail("fdatasync", errno.EIO, times=9)
        with pytest.raises(OSError, match="sick"):
            begin()
    with Lock(str(folder(here) / "lock"), 0.2):
        pass
    here.say("two")

    assert said(here) == ["one", "two"]
    assert problems(audited(here.path)) == []


def test_what_is_taken_back_is_gone_even_where_no_open_file_can_be_removed(
    here: Place, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(journal, "SEGMENT_SIZE", 300)
    here.say("one")
    removed: list[str] = []
    real = journal.disk.remove_if_there

    def remove(path: str) -> None:
        removed.append(path)
        if os.path.isdir("/proc/self/fd"):
            assert path not in {os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")}
        real(path)

    monkeypatch.setattr(journal.disk, "remove_if_there", remove)
    failing(here, lambda: [here.say("gone" * 100), here.say("too")])
    here.say("two")

    assert len(removed) == 2
    assert said(here) == ["one", "two"]
    assert problems(audited(here.path)) == []


def test_a_batch_writes_nothing_into_an_index_that_another_version_has_taken_over(here: Place):
    here.say("one")
    with here.store.batch():
        here.store.caught_up()
        other = sqlite3.connect(Path(here.store.path) / "index.sqlite")
        other.executescript("pragma user_version = 9999")
        before = other.execute("select * from cursor").fetchall()
        register(here.store, ADA)
        here.store.caught_up()
        assert ADA in dict(here.store.index.states("agent"))
    assert other.execute("select * from cursor").fetchall() == before
    other.close()


def test_whoever_has_the_store_open_writes_no_more_under_a_writer_that_was_retired(here: Place):
    """As `bb doctor --fix` does it to a damaged journal, while a daemon runs."""
    with here.store.batch():
        here.say("one")
    retired = writer_of(here)
    writers.retire(str(Path(here.store.path) / "j"), retired, "damaged", None)

    with here.store.batch():
        event = here.say("two")
    assert not event.id.startswith(retired)
    assert sorted(said(here)) == ["one", "two"]


def test_a_store_that_is_closed_within_a_batch_lets_nobody_in_before_its_end(here: Place):
    with another(here) as other, here.store.batch():
        here.say("one")
        here.store.close()
        assert refusal_of(lambda: Lock(str(folder(here) / "lock"), 0.2).__enter__()) == "LEDGER_BUSY"
        here.say("two")
        assert other.store.writer == here.store.writer
    with Lock(str(folder(here) / "lock"), 0.2):
        pass

    assert said(here) == ["one", "two"]


def test_a_lock_file_that_was_made_anew_is_the_one_that_is_taken(here: Place):
    """Or two processes would hold two files of the same name, and both write."""
    with here.store.batch():
        here.say("one")
    lock = folder(here) / "lock"
    lock.rename(lock.with_name("old"))
    lock.touch()

    with here.store.batch():
        here.say("two")
        lock = folder(here) / "lock"
        assert refusal_of(lambda: Lock(str(lock), 0.2).__enter__()) == "LEDGER_BUSY"
    assert said(here) == ["one", "two"]


def test_another_process_waits_until_a_batch_has_reached_the_disk(here: Place):
    writer = child(take_turns, here.path, ADA, 5)
    assert writer.stdout is not None
    assert writer.stdin is not None
    writer.stdout.readline()
    with here.store.batch():
        here.say("0")
        writer.stdin.write("go\n")
        writer.stdin.flush()
        for number in range(1, 300):
            here.say(str(number))
    finished(writer)

    lines = chained(folder(here))
    order = [line["kind"] for line in lines]
    ours = [place for place, kind in enumerate(order) if kind == "chat.message"]
    assert ours == list(range(ours[0], ours[0] + 300)), "in one piece"
    assert order.count("actor.add") == 5


def test_what_others_have_recorded_meanwhile_is_known_to_whoever_decides(here: Place):
    with another(here) as other, here.store.batch():
        here.store.caught_up()
        register(other.store, ADA)
        assert refusal_of(lambda: register(here.store, ADA)) == "DUPLICATE_AGENT_ID"

    assert agents(here.path) == [ADA]


# -- what is remembered from one batch to the next


def test_what_says_nothing_that_is_folded_is_passed_over_and_read_when_that_is_wanted(here: Place):
    here.say("zero")
    with here.store.batch():
        here.say("one")
    with here.store.batch():
        here.say("two")
        heads = here.store.caught_up().heads()
    index = here.store.index

    assert index.cursors.is_ahead
    assert index.ask("select n from cursor") == [(2,)], "nothing was written down for them"
    assert heads == index.heads() == {writer_of(here): 4}
    assert index.lamport() == 4
    with another(here) as other:
        assert other.inbox("bob") == ["zero", "one", "two"]
    assert here.inbox("bob") == ["zero", "one", "two"]
    assert not index.cursors.is_ahead


def test_what_was_passed_over_is_in_the_inbox_of_the_next_batch(here: Place):
    with here.store.batch():
        here.say("one")
    with here.store.batch():
        here.store.caught_up()
        assert here.inbox("bob") == ["one"]


def test_what_is_folded_is_known_although_messages_were_passed_over_before_it(here: Place):
    with here.store.batch():
        here.say("one")
        register(here.store, ADA)
        here.say("two")
        assert refusal_of(lambda: register(here.store, ADA)) == "DUPLICATE_AGENT_ID"
    with here.store.batch():
        here.say("three")
        assert refusal_of(lambda: register(here.store, ADA)) == "DUPLICATE_AGENT_ID"

    assert agents(here.path) == [ADA]
    assert said(here) == ["one", "two", "three"]


def test_what_was_passed_over_and_taken_back_was_never_there(here: Place):
    here.say("before")
    rebuilt = here.store.index.rebuilt
    failing(here, lambda: here.say("gone"))
    with here.store.batch():
        here.say("after")

    assert here.store.caught_up().heads() == {writer_of(here): 3}
    assert here.inbox("bob") == ["before", "after"]
    assert here.store.index.rebuilt == rebuilt


def _append(place: Place, _: pytest.MonkeyPatch) -> None:
    with another(place) as other:
        other.say("theirs")


def _replace(place: Place, _: pytest.MonkeyPatch) -> None:
    path = segments(folder(place))[-1]
    octets = path.read_bytes()
    path.unlink()
    path.write_bytes(octets)


def _tear(place: Place, _: pytest.MonkeyPatch) -> None:
    with segments(folder(place))[-1].open("ab") as file:
        file.write(b'{"v":1,"id":"torn')


def _begin_a_file(place: Place, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(journal, "SEGMENT_SIZE", 1)
    _append(place, patch)


def _take_one_back(place: Place, _: pytest.MonkeyPatch) -> None:
    with another(place) as other:
        failing(other, lambda: other.say("theirs, which is gone"))


def _forget_the_index(place: Place, _: pytest.MonkeyPatch) -> None:
    with another(place) as other:
        other.begin_anew()
        other.say("theirs")
        other.close()


@pytest.mark.parametrize("do", [_append, _replace, _tear, _begin_a_file, _take_one_back, _forget_the_index])
@pytest.mark.parametrize("is_folded", [False, True])
def test_what_happens_between_two_batches_is_seen_by_the_second(
    here: Place, monkeypatch: pytest.MonkeyPatch, do: Callable[[Place, pytest.MonkeyPatch], None], is_folded: bool
):
    for turn in range(3):
        with here.store.batch():
            if is_folded:
                register(here.store, [ADA, BO, "calm-crane"][turn])
            here.say(str(turn))
        do(here, monkeypatch)
    with here.store.batch():
        here.say("last")
        assert here.inbox("bob") == said(here)

    theirs = [text for text in said(here) if not text.startswith("theirs")]
    assert theirs == ["0", "1", "2", "last"]
    assert here.inbox("bob") == said(here)
    assert problems(audited(here.path)) == []


class Play:
    """What processes do at one ledger, by chance."""

    def __init__(self, here: Place, other: Place, seed: int) -> None:
        self.here, self.other = here, other
        self.chance = random.Random(seed)
        self.names = iter(f"{first}-{second}" for first in ("calm", "tidy", "amber") for second in ("crane", "otter"))

    def record(self, place: Place) -> None:
        kind = self.chance.choice(("plain", "plain", "plain", "keyed", "agent", "read"))
        if kind == "agent" and (name := next(self.names, None)):
            register(place.store, name)
        elif kind == "keyed":
            fact = Said("chat.message", {"text": "keyed"})
            place.store.record(lambda _: [fact], by=ADA, now=NOW, key=str(self.chance.randrange(4)))
        elif kind == "read":
            place.read("bob", place.say("to be read"))
        else:
            place.say(kind)

    def batch(self) -> None:
        with self.here.store.batch():
            for _ in range(self.chance.randint(1, 4)):
                self.record(self.here)

    def failing(self) -> None:
        failing(self.here, lambda: [self.record(self.here), self.here.say("gone")])

    def elsewhere(self) -> None:
        self.record(self.other)

    def look(self) -> None:
        self.here.inbox("bob")

    def go_along(self) -> None:
        assert len(self.here.course()) == sum(self.here.store.index.heads().values())

    def go_on(self) -> None:
        self.chance.choice([*[self.batch] * 3, self.failing, self.elsewhere, self.look, self.go_along])()


@pytest.mark.parametrize("seed", range(12))
def test_whatever_comes_in_between_the_index_is_as_one_that_is_made_anew(here: Place, seed: int):
    def seen() -> Any:
        return here.inbox("bob"), here.store.index.heads(), here.store.index.states("agent")

    with another(here) as other:
        play = Play(here, other, seed)
        for _ in range(15):
            play.go_on()
        before = seen()
        here.begin_anew()
        assert seen() == before
    assert problems(audited(here.path)) == []


def test_the_lock_is_let_go_whatever_happens(here: Place):
    failing(here, lambda: here.say("gone"))
    with another(here) as other:
        other.say("somebody else")
    with pytest.raises(ZeroDivisionError):
        broken_off(here)
    with another(here) as other:
        other.say("and again")

    assert said(here) == ["somebody else", "one", "and again"]


def test_a_torn_line_is_put_aside_before_a_batch(here: Place):
    here.say("one")
    with segments(folder(here))[0].open("ab") as file:
        file.write(b'{"v":1,"id":"torn')
    with here.store.batch():
        here.say("two")

    assert said(here) == ["one", "two"]
    assert len(list((Path(here.store.path) / "torn").iterdir())) == 1
    assert Journal(here.store.path, writer_of(here)).is_torn() is False
