"""A ledger that joins another: every line is there as it was, and whatever refers to it still finds it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bb.coordination.facts import Registered
from bb.ledger.git import place
from bb.ledger.journal.journal import Journal
from bb.ledger.local import bare_repositories, blobs
from bb.ledger.records import creation, own_order
from bb.ledger.records.store import Store
from bb.ledger.travel import ledger_merge
from bb.ledger.views.chat import ChatIndex
from bb.ledger.views.chat_tables import ACK
from tests.ledger.course_support import Place, clones, texts, writer_of
from tests.ledger.ledger_support import NOW, agents, audited, chained, problems


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Place]:
    """The repository that a group moves into; somebody has worked there."""
    with clones(tmp_path / "repo") as (there,):
        there.say("said there")
        yield there


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Place]:
    """A group with a ledger of its own, in which something was said, read and acknowledged."""
    common = str(tmp_path / "own.git")
    bare_repositories.make(common)
    found = object.__new__(Place)
    found.path = Path(common)
    found.store = Store(place.Place(common, None))
    creation.make(found.store, "Release", "user", NOW, repo="0123456789ab", topic="what is left")
    found.talk = ChatIndex(found.store)
    found.store.record(lambda _: [Registered("bob", "actor", "Bob", {"runner": "headless"})], by="user", now=NOW)
    first = found.say("one", priority="attention", to=["bob"])
    found.record("chat.ack", {"actor_id": "bob", "event_id": first.id}, by="bob")
    found.read("bob", found.say("two"))
    found.say("three")
    yield found
    found.close()


def raws(place: Place) -> dict[str, list[bytes]]:
    return {journal.writer: list(journal.lines_from(1)) for journal in place.store.journals()}


def test_every_line_is_there_as_it_was(own: Place, repo: Place):
    before = raws(own)
    there = raws(repo)

    assert ledger_merge.merge_into(own.store, repo.store) == sum(map(len, before.values()))

    assert raws(repo) == there | before
    assert problems(audited(repo.path)) == []
    assert agents(repo.path) == ["bob"]


def test_what_was_said_read_and_acknowledged_is_so_there(own: Place, repo: Place):
    own.talk.catch_up()
    posts = {event.data["text"]: event.id for event in own.talk.events(own.talk.before(None, None))}
    ledger_merge.merge_into(own.store, repo.store)
    repo.say("go on", by="bob")

    repo.talk.catch_up()
    for text, name in posts.items():
        event = repo.talk.event(name)
        assert event is not None
        assert event.data["text"] == text
    assert [who for who, _ in repo.talk.entries_about(posts["one"], ACK)] == ["bob"]
    assert repo.inbox("bob") == ["said there", "three"], "what was said there it could not have read"
    assert repo.inbox("ada") == ["go on"], "the rest she said herself"


def test_the_course_goes_on_where_it_was(own: Place, repo: Place):
    before = [(each.seq, each.writer, each.n) for each in repo.course()]
    ledger_merge.merge_into(own.store, repo.store)
    repo.say("go on")

    after = repo.course()
    assert [(each.seq, each.writer, each.n) for each in after][: len(before)] == before
    assert [each.seq for each in after] == list(range(1, own_order.length(repo.store.index) + 1))
    assert texts(after)[-1] == "go on"


def test_a_move_that_is_repeated_moves_nothing_twice(own: Place, repo: Place):
    count = ledger_merge.merge_into(own.store, repo.store)
    before = raws(repo)

    assert ledger_merge.merge_into(own.store, repo.store) == 0
    assert raws(repo) == before
    assert count == 7


@pytest.mark.parametrize("cut", [1, 50, 400, 700, 1000])
def test_a_move_that_was_cut_short_is_finished_by_the_next(own: Place, repo: Place, cut: int):
    (journal,) = own.store.journals()
    octets = b"".join(raw + b"\n" for raw in journal.lines_from(1))
    into = Path(repo.store.path) / "j" / journal.writer
    into.mkdir()
    (into / "000000000001.jsonl").write_bytes(octets[:cut])

    ledger_merge.merge_into(own.store, repo.store)

    assert raws(repo)[journal.writer] == list(journal.lines_from(1))
    assert len(chained(into)) == 7
    assert problems(audited(repo.path)) == []


def test_what_has_come_since_an_interrupted_move_comes_too(own: Place, repo: Place):
    ledger_merge.merge_into(own.store, repo.store)
    own.say("four")

    assert ledger_merge.merge_into(own.store, repo.store) == 1
    assert raws(repo)[writer_of(own)] == raws(own)[writer_of(own)]


def test_a_line_that_was_being_written_is_put_aside_first(own: Place, repo: Place):
    (journal,) = own.store.journals()
    with open(journal.segments()[-1].path, "ab") as file:
        file.write(b'{"v":1,"id":"torn')

    assert ledger_merge.merge_into(own.store, repo.store) == 7
    assert problems(audited(repo.path)) == []


def test_the_writer_of_the_repository_goes_on_writing(own: Place, repo: Place):
    ours = writer_of(repo)
    ledger_merge.merge_into(own.store, repo.store)
    event = repo.say("go on")

    assert event.id.startswith(ours)
    assert writer_of(repo) == ours
    again = Store(repo.store.place)
    assert again.writer == ours
    again.close()


def test_attachments_come_too(own: Place, repo: Place):
    kept = [blobs.keep(own.store.path, octets, "a.txt") for octets in (b"one", b"two")]
    blobs.keep(repo.store.path, b"two", "a.txt")

    for _ in range(2):
        ledger_merge.merge_into(own.store, repo.store)
        assert [blobs.read(repo.store.path, each["path"]) for each in kept] == [b"one", b"two"]


def test_a_ledger_that_had_heard_of_others_brings_them_all(own: Place, repo: Place, tmp_path: Path):
    with clones(tmp_path / "third") as (third,):
        own.receive(writer_of(third), list(Journal(third.store.path, writer_of(third)).lines_from(1)))
        own.say("four")
        ledger_merge.merge_into(own.store, repo.store)
        assert set(raws(repo)) == {writer_of(repo), writer_of(own), writer_of(third)}
