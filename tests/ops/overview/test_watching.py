"""Whether anything may have changed, and what there is to be seen: for whoever looks again and again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bb.kernel import clock
from bb.ledger.local import last_sync
from bb.ops.desk.desk import Desk
from bb.ops.overview.changes import Alarms, Watched
from bb.ops.overview.news import News
from bb.ops.overview.screen_view import ScreenData
from tests.near import Near, near

AMBER, COBALT = "amber-otter", "cobalt-harbor"
NOON = clock.parse("2026-01-05T12:00:00.000Z")


@pytest.fixture
def here(tmp_path: Path) -> Near:
    repo = near(tmp_path / "repo", BB_NOW=clock.text(NOON))
    for name in (AMBER, COBALT):
        assert repo.bb("agent", "register", "--name", name, "--role", "builder").status == 0
    return repo


class Looking:
    """A desk whose clock is moved by hand."""

    def __init__(self, repo: Near) -> None:
        self._env = dict(repo.settings)
        self.desk = Desk(str(repo.path), self._env)

    def later(self, minutes: float) -> None:
        self._env["BB_NOW"] = clock.text(NOON + int(minutes * clock.MINUTE))


@pytest.fixture
def looking(here: Near) -> Iterator[Looking]:
    found = Looking(here)
    yield found
    found.desk.close()


def reserve(repo: Near, agent: str, scope: str, *more: str) -> str:
    words = ["--agent", agent, "--scope", scope, "--bead", "bb-1", *more]
    return str(repo.json("agent", "reserve", *words).data["reservations"][0]["reservation_id"])


def hand_over(repo: Near) -> None:
    words = ["--bead", "bb-1", "--subject", "Parser", "--summary", "Done.", "--next-action", "Test it."]
    assert repo.bb("protocol", "handoff", "--from", AMBER, "--to", COBALT, *words).status == 0


def test_nothing_has_changed_until_something_has(here: Near, looking: Looking):
    watched = Watched(looking.desk)
    assert [watched.has_changed() for _ in range(3)] == [False] * 3

    reserve(here, AMBER, "src")
    assert [watched.has_changed() for _ in range(2)] == [True, False]
    here.bb("agent", "heartbeat", "--agent", AMBER)
    assert [watched.has_changed() for _ in range(2)] == [True, False]


def test_a_sync_is_a_change_although_it_brings_nothing(here: Near, looking: Looking):
    watched = Watched(looking.desk)

    last_sync.write(str(here.store), last_sync.LastSync("origin", NOON, NOON, None, None))

    assert [watched.has_changed() for _ in range(2)] == [True, False]


def test_time_alone_is_a_change_once_somebody_has_been_silent_for_long(here: Near, looking: Looking):
    watched = Watched(looking.desk)
    found = []
    for minutes in (14.9, 15, 16, 29.9, 30, 31, 500):
        looking.later(minutes)
        found.append(watched.has_changed())

    assert found == [False, True, False, False, True, False, False]


def test_what_happens_is_told_once_and_in_order(here: Near, looking: Looking):
    happenings = News(looking.desk)
    assert happenings.new() == []

    reserve(here, AMBER, "src")
    reserve(here, COBALT, "docs")

    told = happenings.new()
    assert [(each["kind"], each["by"], each["text"]) for each in told] == [
        ("recorded", AMBER, "reserved src for 120 minutes"),
        ("recorded", COBALT, "reserved docs for 120 minutes"),
    ]
    assert happenings.new() == []


def test_what_was_asked_for_as_having_happened_before_is_not_told_again(here: Near, looking: Looking):
    happenings = News(looking.desk)
    reserve(here, AMBER, "src")

    before = happenings.before(NOON - clock.HOUR)

    assert [each["text"] for each in before] == ["started as builder"] * 2 + ["reserved src for 120 minutes"]
    assert happenings.new() == []
    assert happenings.before(NOON + 1) == []


def test_what_time_does_is_told_when_it_does_it(here: Near, looking: Looking):
    reserve(here, AMBER, "src", "--ttl", "20")
    happenings = News(looking.desk)
    told: list[tuple[int, str, str, str]] = []
    for minutes in (1, 15, 20, 21, 30, 31):
        looking.later(minutes)
        told += [(minutes, each["kind"], each["by"], each["text"]) for each in happenings.new()]

    assert told == [
        (15, "liveness", AMBER, "is stale now"),
        (15, "liveness", COBALT, "is stale now"),
        (20, "lapsed", AMBER, "no longer holds src: the reservation expired"),
        (30, "liveness", AMBER, "is evicted now"),
        (30, "liveness", COBALT, "is evicted now"),
    ]


def test_who_is_back_is_told_once(here: Near, looking: Looking):
    """A heartbeat after a long silence is recorded; after a short one, only its file tells of it."""
    happenings = News(looking.desk)
    looking.later(16)
    happenings.new()

    here.bb("agent", "heartbeat", "--agent", AMBER, BB_NOW=clock.text(NOON + 16 * clock.MINUTE))
    reserve(here, AMBER, "src")

    told = happenings.new()
    assert [each["by"] for each in told] == [AMBER] * len(told)
    assert [each["text"] for each in told if "stale" in each["text"] or "active" in each["text"]] == (
        ["is back; it was stale"]
    )


def test_a_picture_is_what_the_commands_answer(here: Near, looking: Looking):
    reserve(here, AMBER, "src")
    hand_over(here)
    viewing = ScreenData(looking.desk)
    looking.later(40)
    at = clock.text(NOON + 40 * clock.MINUTE)

    picture = viewing.picture()

    assert picture.status == here.json("status", BB_NOW=at).data
    assert picture.problems == here.json("problems", BB_NOW=at).envelope["error"]["details"]["problems"]
    assert picture.recent[::-1] == here.json("timeline", BB_NOW=at).data
    assert len(picture.problems) == 2


def test_pictures_grow_with_what_happens_and_are_the_same_as_one_taken_afresh(here: Near, looking: Looking):
    viewing = ScreenData(looking.desk)
    ours, of_amber = ScreenData(looking.desk, bead="bb-1"), ScreenData(looking.desk, agent=AMBER, since=NOON + 1)
    for number in range(4):
        at = clock.text(NOON + number)
        reserve(here, (AMBER, COBALT)[number % 2], f"src/{number}")
        here.bb("agent", "reserve", "--agent", AMBER, "--scope", f"docs/{number}", "--bead", "bb-2", BB_NOW=at)
        for each, afresh in (
            (viewing, ScreenData(looking.desk)),
            (ours, ScreenData(looking.desk, bead="bb-1")),
            (of_amber, ScreenData(looking.desk, agent=AMBER, since=NOON + 1)),
        ):
            assert each.picture() == afresh.picture()

    assert len(viewing.picture().recent) == 10
    assert len(ours.picture().recent) == 4
    assert len(of_amber.picture().recent) == 3


def test_a_picture_forgets_what_was_redacted(here: Near, looking: Looking):
    viewing = ScreenData(looking.desk)
    words = ["--bead", "bb-1", "--category", "INFO", "--subject", "our-secret-plan", "--body", "Soon."]
    sent = here.json("agent", "send", "--from", AMBER, "--to", COBALT, *words).data
    assert "our-secret-plan" in str(viewing.picture().recent)

    here.json("ledger", "redact", sent["message_id"].partition("_")[0], "--reason", "secret").data  # noqa: B018

    assert "our-secret-plan" not in str(viewing.picture())


def test_problems_come_and_go_by_time_too(here: Near, looking: Looking):
    name = reserve(here, AMBER, "src")
    alarms = Alarms(looking.desk)
    assert alarms.changes() == ([], [])

    looking.later(31)
    come, settled = alarms.changes()
    assert [each["id"] for each in come] == [f"holder_gone:{name}"]
    assert settled == []
    assert alarms.changes() == ([], [])

    here.bb("agent", "retire", "--agent", AMBER, BB_NOW=clock.text(NOON + 31 * clock.MINUTE))
    come, settled = alarms.changes()
    assert (come, [each["id"] for each in settled]) == ([], [f"holder_gone:{name}"])
