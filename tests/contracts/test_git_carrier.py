"""The git remote behind the door to an engine: what the contract of carriers says, with lines of a real ledger.

The other carriers take any lines, so `test_carriers.py` makes its own. A remote takes the lines of a clone's journal.
`git_carrier.CANNOT` names what else it cannot do, and every name there is tried here.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from bb.ledger.carrier import door
from bb.ledger.journal.journal import Journal
from bb.ledger.travel import git_carrier
from bb.ledger.travel.git_carrier import GitCarrier
from bb.ledger.travel.sync import Sync
from bb.ops.desk.desk import Desk
from tests.stories.travel import travel_support
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work
from tests.support import NOON, environment


class Behind:
    """A clone's remote behind the door, and the lines of that clone."""

    def __init__(self, clone: Clone, desk: Desk) -> None:
        self.clone, self.desk = clone, desk
        self.store = desk.store
        self.carrier = GitCarrier(Sync(desk.store, "origin", desk.now(), 30.0))

    @property
    def writer(self) -> str:
        return self.store.writer

    def lines(self) -> list[bytes]:
        """Every line of the clone's own journal."""
        return list(Journal(self.store.path, self.writer).lines_from(1))

    def record(self) -> int:
        """Record something. Returns the number of its line."""
        self.clone.ask("agent.reserve", agent=AMBER, scope=[f"src/{len(self.lines())}"], bead="bb-1")
        return len(self.lines())


@contextlib.contextmanager
def behind(clone: Clone) -> Iterator[Behind]:
    desk = Desk(str(clone.path), environment(BB_NOW=NOON))
    with contextlib.closing(desk), desk.store.git:
        yield Behind(clone, desk)


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    return travel_support.hub(tmp_path / "hub.git")


@pytest.fixture
def clones(hub: Path) -> list[Clone]:
    return agents_at_work(hub, AMBER, COBALT)


@pytest.fixture
def here(clones: list[Clone]) -> Iterator[Behind]:
    with behind(clones[0]) as made:
        yield made


@pytest.fixture
def there(clones: list[Clone]) -> Iterator[Behind]:
    with behind(clones[1]) as made:
        yield made


def test_rows_are_read_as_they_were_appended(here: Behind, there: Behind) -> None:
    before = there.carrier.head()
    there.carrier.read(before.place)
    n = here.record()
    lines = here.lines()

    place = here.carrier.append(here.writer, n, lines[n - 1 :])

    assert place == before.place + 1
    assert there.carrier.head().place == place
    (row,) = there.carrier.read(before.place)
    assert (row.place, row.writer) == (place, here.writer)
    assert lines[-1] in row.octets.splitlines(), "beside the signature of those before"
    assert row.digest == there.carrier.head().digest


def test_lines_that_are_known_are_not_appended_again(here: Behind) -> None:
    n = here.record()
    place = here.carrier.append(here.writer, n, here.lines()[n - 1 :])
    here.record()
    here.carrier.append(here.writer, n + 1, here.lines()[n:])

    assert here.carrier.append(here.writer, n, here.lines()[n - 1 : n]) == place
    assert here.carrier.append(here.writer, 1, here.lines()[:n]) == place


def test_lines_that_are_not_the_journals_are_refused(here: Behind) -> None:
    lines = here.lines()

    with pytest.raises(door.Forked.error):
        here.carrier.append(here.writer, 1, [b"{}"])
    with pytest.raises(door.Gap.error) as refusal:
        here.carrier.append(here.writer, len(lines) + 1, [b"{}"])
    assert refusal.value.details["next"] == len(lines) + 1


def test_of_two_that_append_at_once_both_get_a_place(here: Behind, there: Behind) -> None:
    here.carrier.head(), there.carrier.head()
    n = here.record()
    there.clone.ask("agent.reserve", agent=COBALT, scope=["docs"], bead="bb-1")
    m = len(there.lines())

    places = [
        there.carrier.append(there.writer, m, there.lines()[m - 1 :]),
        here.carrier.append(here.writer, n, here.lines()[n - 1 :]),
    ]

    assert places[0] < places[1]


def test_only_a_tip_that_was_looked_at_can_be_published_on(here: Behind, there: Behind) -> None:
    here.carrier.look(), there.carrier.look()
    here.record()
    there.clone.ask("agent.reserve", agent=COBALT, scope=["docs"], bead="bb-1")

    assert there.carrier.append_on_tip() is not None
    assert here.carrier.append_on_tip() is None
    here.carrier.look()
    assert here.carrier.append_on_tip() == there.carrier.head().place


def test_reading_goes_on_from_any_place(here: Behind) -> None:
    for _ in range(3):
        n = here.record()
        here.carrier.append(here.writer, n, here.lines()[n - 1 :])
    last = here.carrier.head().place

    every = here.carrier.read(0)

    assert [row.place for row in every if row.writer == here.writer][-3:] == [last - 2, last - 1, last]
    assert [row.place for row in here.carrier.read(last - 2)] == [last - 1, last]
    assert [row.place for row in here.carrier.read(last - 2, 1)] == [last - 1]
    assert here.carrier.read(last) == []
    lines = b"".join(row.octets for row in every if row.writer == here.writer).splitlines()
    assert lines == list(islice(here.lines(), len(lines)))


def test_a_reader_finds_what_came(here: Behind, there: Behind) -> None:
    since = there.carrier.head().place
    assert not there.carrier.wait(since, 0)
    n = here.record()
    here.carrier.append(here.writer, n, here.lines()[n - 1 :])

    assert there.carrier.wait(since, 600)


def test_a_wait_ends_when_a_file_can_be_read(here: Behind) -> None:
    reads, writes = os.pipe()
    try:
        os.write(writes, b"x")
        assert not here.carrier.wait(here.carrier.head().place, 600, [reads])
    finally:
        os.close(reads)
        os.close(writes)


def test_a_remote_that_is_not_there_is_unreachable(hub: Path, here: Behind) -> None:
    n = here.record()
    shutil.move(hub, hub.with_name("away"))

    for call in (here.carrier.head, lambda: here.carrier.append(here.writer, n, here.lines()[n - 1 :])):
        with pytest.raises(door.EngineUnreachable.error):
            call()
    shutil.move(hub.with_name("away"), hub)
    assert here.carrier.append(here.writer, n, here.lines()[n - 1 :]) == here.carrier.head().place


def test_an_answer_that_was_lost_means_that_nothing_is_known(hub: Path, here: Behind) -> None:
    """The push arrives; neither its answer nor a look does."""
    here.carrier.look()
    here.record()
    hook = hub / "hooks" / "post-receive"
    hook.write_text(f"#!/bin/sh\nmv {hub}/HEAD {hub}/HEAD.away\n")  # from now on it is no repository
    hook.chmod(0o755)

    with contextlib.suppress(door.AppendUnknown.error):
        here.carrier.append_on_tip()
        with pytest.raises(door.EngineUnreachable.error):
            here.carrier.head()
    hook.unlink()
    (hub / "HEAD.away").rename(hub / "HEAD")

    n = len(here.lines())
    assert here.carrier.append(here.writer, n, here.lines()[n - 1 :]) == here.carrier.head().place


def test_what_a_remote_cannot_do_is_named(here: Behind) -> None:
    machine = door.Machine("box", here.writer, 1)
    for call in (lambda: here.carrier.beat(machine), here.carrier.alive):
        with pytest.raises(git_carrier.NotOnGit.error) as refusal:
            call()
        assert git_carrier.CANNOT["beat"] in refusal.value.message
    assert here.carrier.health()["durable"] is None
    head = here.carrier.head()
    assert not head.is_closed
    assert here.carrier.lead(), "the lease of each push keeps two right"
    assert abs(head.now - time.time() * 1000) < 600_000
    assert len(head.digest) == 40, "the id of a commit"
