"""A line may break between any two messages (C2A checklist 7, 12, 134, 135): nothing is lost, nothing comes twice
that was acknowledged."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from tests.grids import some
from tests.stories.attention.harness_support import AMBER, Child, Connection, Harness, World, dm

MESSAGES = [dm(str(n), f"question {n}?", conversation={"id": f"D{n}", "kind": "dm"}) for n in range(2)]
REPLY = {"target": {}, "visibility": "dm", "directedness": "to_me", "content": "all is well"}


def eof(line: Child) -> None:
    line.hang_up()


def kill(line: Child) -> None:
    os.kill(line.process.pid, signal.SIGKILL)
    line.process.wait()


def terminate(line: Child) -> None:
    os.kill(line.process.pid, signal.SIGTERM)
    line.process.wait()


class Story:
    """What a harness does with two messages, step by step."""

    def __init__(self, harness: Harness, events: tuple[str, str]) -> None:
        self.harness = harness
        self.first, self.second = events
        self.got: dict[str, dict[str, Any]] = {}
        self.taken: set[str] = set()
        self.steps: list[Callable[[], Any]] = [
            harness.initialize,
            lambda: harness.tell("notifications/initialized"),
            self._read,
            lambda: self._take(self.first),
            lambda: harness.tell("chat/turn", eventId=self.first, attempt=1, state="started"),
            lambda: self._take(self.second),
            lambda: harness.call("chat.send_message", inReplyTo=self.first, idempotencyKey=self.first, **REPLY),
            lambda: harness.tell("chat/turn", eventId=self.first, attempt=1, state="ended", outbound=True),
            lambda: harness.tell("chat/turn", eventId=self.second, attempt=1, state="started"),
            lambda: harness.ask("shutdown"),
        ]

    def _read(self) -> None:
        self.got = {each["params"]["eventId"]: each for each in self.harness.delivers()}
        assert self.got.keys() == {self.first, self.second}

    def _take(self, event: str) -> None:
        self.harness.answer(self.got[event])
        self.harness.ask("ping")  # so it was heard
        self.taken.add(event)


@pytest.mark.parametrize("break_", [eof, kill, terminate])
def test_c2a_007_012_135_a_line_may_break_after_any_message(world: World, break_: Callable[[Child], None]):
    """Whoever comes back is handed what it has not acknowledged, with the same key and a later attempt."""
    cuts = range(len(Story(Harness(Connection()), ("", "")).steps) + 1)
    for cut in some(cuts, 4):
        events = (f"{cut}a", f"{cut}b")
        world.says(*(dm(each, "well?", conversation={"id": f"D{each}", "kind": "dm"}) for each in events))
        world.wait(5)
        harness = world.connect()
        story = Story(harness, events)
        for step in story.steps[:cut]:
            step()
        assert isinstance(harness.line, Child)
        break_(harness.line)

        again = world.harness()
        found = {each["params"]["eventId"]: each for each in again.delivers()}

        assert found.keys() == set(events) - story.taken
        for event, deliver in found.items():
            reliability = deliver["params"]["reliability"]
            assert reliability["idempotencyKey"] == f"{event}:agent_amber_otter"
            assert reliability["attempt"] >= 1 + (event in story.got)
            again.answer(deliver)
        again.ask("shutdown")


def test_c2a_134_half_a_line_is_no_message(world: World):
    world.says(*MESSAGES)
    world.wait(5)
    answer = b'{"jsonrpc":"2.0","id":"deliver-1","result":{"status":"accepted"}}'
    for octets in range(0, len(answer) + 1, 13):
        harness = world.harness()
        first = harness.delivers()[0]
        assert first["id"] == "deliver-1"
        harness.line.write(answer[:octets])
        assert isinstance(harness.line, Child)
        harness.line.hang_up()
        assert world.show(first["params"]["eventId"])["phase"] == "offered"
        if first["params"]["reliability"]["attempt"] > 3:
            break


def test_c2a_134_what_was_acknowledged_is_recorded_before_the_next_word(world: World):
    """Killed at once after that, the host knows it all the same."""
    world.says(MESSAGES[0])
    harness = world.harness()
    world.wait(5, harness)
    harness.answer(harness.deliver())
    harness.ask("ping")
    assert isinstance(harness.line, Child)
    kill(harness.line)

    assert world.show("0")["phase"] == "accepted"
    assert world.harness().events() == []


def test_what_was_handed_over_is_recorded_before_it_is_said(world: World):
    world.says(MESSAGES[0])
    harness = world.harness()
    world.wait(5, harness)
    harness.deliver()
    assert isinstance(harness.line, Child)
    kill(harness.line)

    assert world.show("0")["attempt"] == 1
    assert world.bb("chat", "pending", "--agent", AMBER)["events"][0]["phase"] == "offered"
