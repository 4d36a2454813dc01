"""What the tests of the course of events share: clones of one ledger, whose lines travel when a test says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bb.kernel.event import Event
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal
from bb.ledger.records import creation, own_order
from bb.ledger.records import events as recorded
from bb.ledger.records.own_order import Course, Passed
from bb.ledger.views.chat import ChatIndex
from bb.messaging.facts import Said
from tests.ledger.ledger_support import NOW, forget_index, repository, store_at

REPO = "abcdefabcdef"


class Place:
    """One clone: its ledger, and short ways to say things in it."""

    def __init__(self, path: Path) -> None:
        self.path = repository(path)
        self.store = store_at(path)
        self.talk = ChatIndex(self.store)

    def say(self, text: str = "", by: str = "ada", to: Sequence[str] = (), at: int = NOW, **more: Any) -> Event:
        return self.record("chat.message", {"text": text, "to": list(to), **more}, by, at)

    def notice(self, text: str = "", target: Any = None, by: str = "system", at: int = NOW, **more: Any) -> Event:
        return self.record("system.notify", {"kind": "info", "message": text, "target_actor_id": target} | more, by, at)

    def read(self, actor: str, event: Event | str, by: str | None = None, at: int = NOW) -> Event:
        name = event if isinstance(event, str) else event.id
        return self.record("chat.read", {"actor_id": actor, "event_id": name}, by or actor, at)

    def record(self, kind: str, data: dict[str, Any], by: str = "ada", at: int = NOW) -> Event:
        return self.store.record(lambda _: [Said(kind, data)], by=by, now=at)[-1]

    def hear_of(self, *others: Place) -> None:
        """Get every line that OTHERS have, of whomever it is."""
        for other in others:
            for journal in other.store.journals():
                if journal.writer != self.store.writer:
                    self.receive(journal.writer, list(journal.lines_from(1)))

    def receive(self, writer: str, raws: Sequence[bytes]) -> None:
        """Get lines of another writer, those that are here already among them."""
        Path(self.store.path, "received").mkdir(exist_ok=True)
        journal = Journal(self.store.path, writer)
        Path(journal.folder).mkdir(exist_ok=True)
        new = raws[journal.tail().n :]
        if new:
            with journal.lock_to_change():
                journal.extend(b"".join(raw + b"\n" for raw in new))

    def course(self, after: int = 0) -> list[Passed]:
        """The course behind a place, read by somebody who begins there."""
        index = self.store.caught_up()
        return [
            each for each in Course(self.store, own_order.spot_before(index, after)).new_lines() if each.seq > after
        ]

    def inbox(self, actor: str, *tokens: str, **flags: int) -> list[str]:
        """The texts of what ACTOR has not read."""
        self.talk.catch_up()
        posts = self.talk.unread(actor, ["", "@all", actor, *tokens], **flags)
        return [shown(event) for event in self.talk.events(posts)]

    def unread(self, actor: str, *tokens: str) -> int:
        """How many messages that is said to be."""
        self.talk.catch_up()
        return self.talk.count_unread(actor, ["", "@all", actor, *tokens])

    def begin_anew(self) -> None:
        """Lose the index, and open the ledger again, as the next process does."""
        self.store.close()
        forget_index(self.path)
        self.store = store_at(self.path)
        self.talk = ChatIndex(self.store)

    def close(self) -> None:
        self.store.close()


@contextmanager
def another(place: Place) -> Iterator[Place]:
    """Another process at the same ledger."""
    other = object.__new__(Place)
    other.path, other.store = place.path, store_at(place.path)
    other.talk = ChatIndex(other.store)
    try:
        yield other
    finally:
        other.close()


def shown(event: Event) -> str:
    return str(event.data.get("text", event.data.get("message", "")))


@contextmanager
def clones(folder: Path, count: int = 1) -> Iterator[list[Place]]:
    """So many clones of one ledger. The first has made it; none has said anything."""
    places = [Place(folder / f"clone-{number}") for number in range(count)]
    creation.make(places[0].store, "test", "user", NOW, repo=REPO)
    for other in places[1:]:
        creation.join(other.store, REPO)
        other.receive(writer_of(places[0]), list(Journal(places[0].store.path, writer_of(places[0])).lines_from(1)))
    try:
        yield places
    finally:
        for place in places:
            place.close()


def writer_of(place: Place) -> str:
    assert place.store.writer is not None
    return place.store.writer


def texts(passed: Sequence[Passed]) -> list[str]:
    """What a course says, in short: a message's text, else its kind."""
    events = [lines.event(each.raw) for each in passed]
    return [shown(event) or event.kind for event in events]


def numbered(place: Place) -> dict[int, str]:
    """Every line that is here, by its place in the clone's order, as `Store.numbered` has it."""
    place.store.caught_up()
    everything = [lines.event(raw) for journal in place.store.journals() for raw in journal.lines_from(1)]
    return {event.seq: event.id for event in recorded.numbered(place.store, everything) if event.seq is not None}


def live(places: Sequence[Place], moves: Sequence[tuple[str, int, int]]) -> None:
    """Clones live through MOVES: one says something, or hears of another."""
    for count, (what, who, whom) in enumerate(moves):
        me, other = places[who % len(places)], places[whom % len(places)]
        if what == "say":
            me.say(f"{count}", by=f"a{who % len(places)}", to=[f"a{whom % len(places)}"] if whom % 2 else [])
        elif me is not other:
            me.hear_of(other)
