"""`bb events`: what happens in a group, in this clone's order, from any place on, and as it happens."""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bb.ops.chat import events
from tests.faces.faces_support import Forger
from tests.stories.daemon.cli_support import served, spawned, station, stopped
from tests.support import NOON, Scratch
from tests.waiting import PATIENCE, until


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    """A group in which twelve messages were said, one a minute from noon on. No test says more."""
    made = station(tmp_path_factory.mktemp("told"), BB_NOW=NOON)
    for n in range(12):
        assert made.bb("chat", "send", f"Message {n}", BB_NOW=f"2026-01-05T12:{n:02}:00.000Z").status == 0
    return made


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    return station(tmp_path)


def seen(repo: Scratch, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = repo.json("events", *words).data
    return found


def texts(found: list[dict[str, Any]]) -> list[str]:
    return [event["data"]["text"] for event in found if event["kind"] == "chat.message"]


# -- what is shown


def test_every_event_is_there_in_the_envelope_of_cccs_with_its_place(told: Scratch):
    found = seen(told, "--since-seq", "0")

    assert [event["seq"] for event in found] == list(range(1, len(found) + 1))
    assert [event["kind"] for event in found[:2]] == ["group.create", "group.attach"]
    assert texts(found) == [f"Message {n}" for n in range(12)]
    for event in found:
        assert list(event) == ["v", "id", "ts", "seq", "kind", "group_id", "scope_key", "by", "data"]


def test_without_a_place_the_latest_are_shown_oldest_first(told: Scratch):
    assert texts(seen(told, "--limit", "3")) == ["Message 9", "Message 10", "Message 11"]
    assert len(seen(told)) == 14


def test_the_latest_of_a_kind_are_found_however_far_back(tmp_path: Path):
    repo = station(tmp_path)
    assert repo.bb("chat", "send", "Early").status == 0
    forger = Forger(repo)
    for number in range(500):
        forger.add("x.filler", "user", {"number": number})

    assert texts(seen(repo, "--kind", "chat.message", "--limit", "2")) == ["Early"]
    assert [event["data"]["number"] for event in seen(repo, "--limit", "2")] == [498, 499]
    assert len(seen(repo)) == events.USUAL


def test_a_limit_behind_a_place_ends_it_there(told: Scratch):
    assert texts(seen(told, "--since-seq", "4", "--limit", "3")) == ["Message 2", "Message 3", "Message 4"]


@pytest.mark.parametrize("place", range(15))
def test_what_is_seen_so_far_is_not_seen_again(told: Scratch, place: int):
    everything = seen(told, "--since-seq", "0")

    assert seen(told, "--since-seq", str(place)) == everything[place:]
    if place:
        assert seen(told, "--since-event-id", everything[place - 1]["id"]) == everything[place:]


def test_a_time_is_strictly_after_too(told: Scratch):
    assert texts(seen(told, "--since-ts", "2026-01-05T12:09:00.000Z")) == ["Message 10", "Message 11"]
    assert texts(seen(told, "--since-ts", "2026-01-05T12:08:59.999Z")) == ["Message 9", "Message 10", "Message 11"]
    assert texts(seen(told, "--since-ts", "2026-01-05T13:10:00+01:00")) == ["Message 11"]
    assert seen(told, "--since-ts", "2026-01-05T12:11:00Z") == []


def test_an_age_is_a_time(told: Scratch):
    found = told.json("events", "--since-ts", "2m", BB_NOW="2026-01-05T12:12:00.000Z").data

    assert texts(found) == ["Message 11"]


def test_several_places_hold_together(told: Scratch):
    assert texts(seen(told, "--since-seq", "12", "--since-ts", "2026-01-05T12:01:00Z")) == ["Message 10", "Message 11"]
    assert texts(seen(told, "--since-seq", "3", "--since-ts", "2026-01-05T12:10:00Z")) == ["Message 11"]


def test_kinds_are_named_one_by_one(told: Scratch):
    assert {event["kind"] for event in seen(told, "--kind", "chat.message")} == {"chat.message"}
    both = seen(told, "--kind", "chat.message", "--kind", "group.create")
    assert [event["seq"] for event in both] == [1, *range(3, 15)]
    assert seen(told, "--kind", "chat") == []


def test_a_message_that_only_names_a_kind_is_not_of_it(repo: Scratch):
    assert repo.bb("chat", "send", '{"kind":"group.delete"} and "kind":"x.y","data":1').status == 0

    assert seen(repo, "--kind", "group.delete", "--kind", "x.y") == []


def test_a_group_may_be_named_from_anywhere(told: Scratch, tmp_path: Path):
    (group,) = told.json("group", "list").data["groups"]
    nowhere = Scratch(tmp_path, told.settings | {"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)})

    assert nowhere.json("events").code == "NOT_A_REPOSITORY"
    assert seen(nowhere, "--group-id", group["group_id"]) == seen(told)


def test_a_group_without_a_directory_has_events_too(repo: Scratch):
    made = repo.json("group", "create", "--title", "Elsewhere").data

    assert [event["kind"] for event in seen(repo, "--group-id", made["group_id"])] == ["group.create"]


def test_looking_changes_nothing(told: Scratch):
    before = told.journal().read_bytes()

    seen(told)
    told.bb("events")

    assert told.journal().read_bytes() == before


@pytest.fixture
def two(tmp_path: Path) -> tuple[Scratch, Scratch]:
    """A group in two clones, which publish."""
    one, other = station(tmp_path / "one"), Scratch(tmp_path / "other", {"CCCC_HOME": str(tmp_path / "home")})
    one.git("init", "--quiet", "--bare", str(tmp_path / "hub.git"))
    one.git("remote", "add", "origin", str(tmp_path / "hub.git"))
    assert one.bb("sync", "--publish").status == 0
    one.git("clone", "--quiet", str(tmp_path / "hub.git"), str(other.path))
    assert other.bb("init").status == 0
    assert other.bb("sync", "--publish").status == 0
    return one, other


def test_what_came_from_elsewhere_stands_where_it_was_accounted_for(two: tuple[Scratch, Scratch]):
    one, other = two
    for n in range(3):
        assert one.bb("chat", "send", f"Here {n}").status == 0
        assert other.bb("chat", "send", f"There {n}").status == 0
    assert other.bb("sync").status == one.bb("sync").status == 0
    assert one.bb("chat", "send", "Last").status == 0

    found = seen(one, "--since-seq", "0")

    assert [event["seq"] for event in found] == list(range(1, len(found) + 1))
    said = texts(found)
    assert [text for text in said if text.startswith("Here")] == ["Here 0", "Here 1", "Here 2"]
    assert [text for text in said if text.startswith("There")] == ["There 0", "There 1", "There 2"]
    assert said[-1] == "Last"
    assert {event["group_id"] for event in found} == {found[0]["group_id"]}
    for place, event in enumerate(found, 1):
        assert seen(one, "--since-event-id", event["id"]) == found[place:]


def test_what_nothing_here_accounts_for_yet_comes_last_and_has_no_place(two: tuple[Scratch, Scratch]):
    one, other = two
    for n in range(3):
        assert other.bb("chat", "send", f"There {n}").status == 0
    assert one.bb("chat", "send", "Here").status == 0
    assert other.bb("sync").status == one.bb("sync").status == 0
    before = {path: path.read_bytes() for path in one.store.glob("j/*/*.jsonl")}

    found = seen(one, "--since-seq", "0", "--kind", "chat.message")

    assert texts(found) == ["Here", "There 0", "There 1", "There 2"]
    assert ["seq" in event for event in found] == [True, False, False, False]
    assert texts(seen(one, "--limit", "2", "--kind", "chat.message")) == ["There 1", "There 2"]
    for place, event in enumerate(found, 1):
        assert texts(seen(one, "--since-event-id", event["id"], "--kind", "chat.message")) == texts(found)[place:]
    assert {path: path.read_bytes() for path in one.store.glob("j/*/*.jsonl")} == before


def test_who_follows_sees_what_is_brought_in(two: tuple[Scratch, Scratch]):
    one, other = two
    assert other.bb("chat", "send", "There 0").status == 0
    assert other.bb("sync").status == one.bb("sync").status == 0
    follower = Follower(one, "--since-seq", "0", "--kind", "chat.message", "--limit", "3")
    assert follower.texts(1) == ["There 0"]

    for n in (1, 2):
        assert other.bb("chat", "send", f"There {n}").status == 0
        assert other.bb("sync").status == one.bb("sync").status == 0
        event = follower.heard()
        assert event["data"]["text"] == f"There {n}"
        assert event["seq"]

    assert follower.child.communicate(timeout=PATIENCE) == ("", "")


# -- as it happens


class Follower:
    """`bb events --follow --json`, line by line."""

    def __init__(self, repo: Scratch, *words: str) -> None:
        self._repo = repo
        self._rest = b""
        self.child = spawned(repo, ["events", "--follow", "--json", *words])
        assert self.child.stdout is not None
        self._fd = self.child.stdout.fileno()

    def begun(self) -> Follower:
        """It, once it follows, which shows by what it says of what is said again and again."""

        def is_heard() -> bool:
            self._repo.bb("chat", "send", "Is anybody there?")
            return bool(select.select([self._fd], [], [], 0.2)[0])

        until(is_heard, "the follower")
        while select.select([self._fd], [], [], 0.3)[0]:
            os.read(self._fd, 65536)
        return self

    def heard(self) -> dict[str, Any]:
        while b"\n" not in self._rest:
            assert select.select([self._fd], [], [], PATIENCE)[0], "nothing is shown"
            self._rest += os.read(self._fd, 65536)
        line, _, self._rest = self._rest.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    def texts(self, count: int) -> list[str]:
        return [self.heard()["data"]["text"] for _ in range(count)]


@pytest.fixture
def following(repo: Scratch) -> Iterator[Any]:
    """Starts followers, which end with the test."""
    started: list[Follower] = []

    def start(*words: str) -> Follower:
        started.append(Follower(repo, *words))
        return started[-1]

    yield start
    for each in started:
        stopped(each.child)


def test_what_is_recorded_is_shown_within_a_tenth_of_a_second(repo: Scratch, following: Any):
    follower = following().begun()
    late = []
    for n in range(5):
        event = repo.json("chat", "send", f"Message {n}").data["event"]
        said = time.monotonic()
        assert follower.heard() == event
        late.append(time.monotonic() - said)

    assert min(late) < 0.1, late  # how busy the machine is says nothing about bb


def test_a_follower_without_a_place_shows_only_what_comes(repo: Scratch, following: Any):
    repo.bb("chat", "send", "Before")
    follower = following().begun()

    repo.bb("chat", "send", "After")

    assert follower.texts(1) == ["After"]


def test_a_follower_with_a_place_misses_nothing(repo: Scratch, following: Any):
    for n in range(3):
        repo.bb("chat", "send", f"Message {n}")
    follower = following("--since-seq", "3")
    assert follower.texts(2) == ["Message 1", "Message 2"]

    for n in range(3, 6):
        repo.bb("chat", "send", f"Message {n}")

    assert follower.texts(3) == ["Message 3", "Message 4", "Message 5"]


def test_a_follower_ends_after_as_many_as_were_wanted(repo: Scratch, following: Any):
    child = following("--since-seq", "2", "--limit", "2", "--kind", "chat.message").child
    repo.bb("actor", "add", "peer-1")
    for n in range(3):
        repo.bb("chat", "send", f"Message {n}")

    out, err = child.communicate(timeout=PATIENCE)

    assert [json.loads(line)["data"]["text"] for line in out.splitlines()] == ["Message 0", "Message 1"]
    assert (child.returncode, err) == (0, "")


def test_an_interrupted_follower_ends_quietly(repo: Scratch, following: Any):
    follower = following("--since-seq", "0")
    follower.heard()

    _, err = stopped(follower.child)

    assert (follower.child.returncode, err) == (130, "")


def test_what_a_daemon_records_is_followed_too(tmp_path: Path):
    with served(tmp_path) as repo:
        repo.bb("actor", "add", "peer-1", "--runtime", "custom", "--command", "true")
        (last,) = seen(repo, "--limit", "1")
        child = spawned(repo, ["events", "--follow", "--json", "--since-event-id", last["id"], "--limit", "2"])

        assert repo.bb("actor", "start", "peer-1").status == 0

        kinds = [json.loads(line)["kind"] for line in child.communicate(timeout=PATIENCE)[0].splitlines()]
        assert kinds == ["actor.start", "x.bb.exited"]


# -- what cannot be


@pytest.mark.parametrize(
    ("words", "code", "status"),
    [
        (["--since-event-id", "abcdefghijkl.1"], "EVENT_NOT_FOUND", 3),
        (["--since-event-id", "nonsense"], "EVENT_NOT_FOUND", 3),
        (["--since-event-id", "\x1b[2J"], "EVENT_NOT_FOUND", 3),
        (["--since-seq", "-1"], "INVALID_VALUE", 2),
        (["--since-seq", "x"], "INVALID_VALUE", 2),
        (["--since-ts", "yesterday"], "INVALID_TIME", 2),
        (["--limit", "0"], "INVALID_VALUE", 2),
        (["--kind", " "], "INVALID_VALUE", 2),
        (["--group-id", "g_none"], "GROUP_NOT_FOUND", 3),
        (["stray"], "UNEXPECTED_ARGUMENT", 2),
    ],
    ids=str,
)
def test_a_mistake_is_refused(told: Scratch, words: list[str], code: str, status: int):
    for more in ([], ["--follow"]):
        asked, said = told.json("events", *words, *more), told.bb("events", *words, *more)
        assert (asked.code, asked.status, said.status) == (code, status, status)
        assert "\x1b" not in said.err


def test_a_place_beyond_the_end_has_nothing_behind_it_yet(told: Scratch):
    assert seen(told, "--since-seq", "999999999999999") == []


def test_what_others_said_is_shown_harmless_and_on_one_line(repo: Scratch):
    forger = Forger(repo)
    forger.add("x.\x1b[2J", "e\u202evil", {"text": "one\ntwo\x1b]0;t\x07" + "x" * 500, "a\x1b": [1, {"b": "\x9b"}]})
    forger.add("chat.message", "user", {"text": ["no", {"text": "\x1b"}], "to": 7})
    forger.add_octets(b"null" + b" " * 50)  # taken out

    told = repo.bb("events", "--since-seq", "2")

    assert told.status == 0
    assert len(told.out.splitlines()) == 1, "what has no possible author is no event for a client of CCCS"
    assert not set("\x1b\x07\x9b\u202e") & set(told.out)
    assert [event["seq"] for event in seen(repo, "--since-seq", "2")] == [4]
    assert "unreadable" in repo.bb("ledger", "log").out
