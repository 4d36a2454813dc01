"""Listeners that go away at any moment take nobody with them; parts of the daemon go where a group's ledger goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bb.ledger.records import own_order
from bb.ops.desk import directories
from tests.daemon.automation_support import World
from tests.support import scratch


class Client:
    """A connection whose client goes away after so many items."""

    def __init__(self, most: int = 1000) -> None:
        self.items: list[bytes] = []
        self.most = most
        self.is_open = True
        self.ended: Callable[[], None] = lambda: None

    def send(self, item: bytes) -> int:
        self.items.append(item)
        if len(self.items) >= self.most and self.is_open:
            self.close()
        return 0

    def close(self) -> None:
        self.is_open = False
        self.ended()

    end = close


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.desk.close()


def listening(world: World, client: Any, after: int = 0) -> None:
    wanted = {"after": after, "kinds": frozenset(["chat.message"]), "who": "user", "limit": None}
    world.streams.subscribe(world.group, client, wanted)


@pytest.mark.parametrize("most", [1, 2, 299, 300, 301])
def test_who_goes_away_while_it_is_told_what_came_before_takes_nobody_with_it(world: World, most: int):
    for number in range(300):
        world.send(str(number))
    gone, stays = Client(most), Client()
    listening(world, gone)
    listening(world, stays)
    world.wait(1)
    world.send("and on")
    world.wait(1)

    assert len(stays.items) == 301
    assert len(gone.items) == most
    assert world.streams.channel(world.group).is_needed


@pytest.mark.parametrize("most", [1, 2])
def test_who_goes_away_while_it_is_told_what_comes_takes_nobody_with_it(world: World, most: int):
    gone, stays = Client(most), Client()
    for client in (gone, stays):
        listening(world, client, after=own_order.length(world.group.index()))
    for number in range(5):
        world.send(str(number))
    world.wait(1)

    assert len(gone.items) == most
    assert len(stays.items) == 5


def test_parts_of_the_daemon_hear_on_where_a_group_has_moved(world: World, tmp_path: Path):
    heard: list[str] = []

    def hear(told: Any) -> None:
        if told.event is not None and told.event.kind == "chat.message":
            heard.append(told.event.data["text"])

    world.streams.channel(world.group).add_callback(hear)
    world.send("before")
    repo = scratch(tmp_path / "site")
    directories.attach(world.desk, str(repo.path), world.id, None)
    world.wait(1)
    world.send("after")
    world.wait(1)

    assert heard == ["before", "after"]


def test_nobody_waits_for_a_group_that_is_gone(world: World):
    heard: list[Any] = []
    world.streams.channel(world.group).add_callback(heard.append)
    client = Client()
    listening(world, client)
    world.wait(1)
    directories.forget(world.desk, world.group)
    world.wait(1)

    assert client.is_open is False
    assert [timer for *_, timer in world.time._timers if timer.do] == []
