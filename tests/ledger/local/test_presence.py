"""A presence file is replaced whole, and losing or spoiling one loses no more than the time of a beat."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from bb.ledger.care import repair
from bb.ledger.files import disk_refusals
from bb.ledger.local import presence
from tests.ledger.ledger_support import ADA, BO, NOW, beat_for, child, finished, kept, make, repository
from tests.support import NOON, Scratch

RECORD = {"agent_id": ADA, "display_name": ADA, "role": "r", "status": "idle", "created_at": NOON, "changes": 1}
WHOLE = {"seen_at": NOON, "beats": 3, "record": RECORD}


@pytest.fixture
def here(tmp_path: Path) -> Scratch:
    """A repository in which two agents are registered."""
    path = repository(tmp_path / "here")
    made = Scratch(path, {"BB_NOW": NOON})
    for agent in (ADA, BO):
        assert made.bb("agent", "register", "--name", agent, "--role", "builder").status == 0
    return made


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "presence").mkdir()
    return tmp_path


def put(store: Path, content: bytes, name: str = f"{ADA}.json") -> Path:
    file = store / "presence" / name
    file.write_bytes(content)
    return file


def test_what_is_written_is_read_back(store: Path):
    beat = presence.Presence(ADA, NOW, 3, RECORD)

    presence.write(str(store), beat)

    assert presence.read(str(store), ADA) == beat
    assert presence.all_presences(str(store)) == {ADA: beat}
    assert [file.name for file in (store / "presence").iterdir()] == [f"{ADA}.json"]


def test_the_end_of_a_session_is_read_back_and_an_unreadable_one_counts_as_none(store: Path):
    over = presence.Presence(ADA, NOW, 3, RECORD, ended_at=NOW + 5)
    presence.write(str(store), over)

    assert presence.read(str(store), ADA) == over
    assert over.has_ended
    assert not over.replace(seen_at=NOW + 6).has_ended
    put(store, json.dumps(WHOLE | {"ended_at": "yesterday"}).encode())
    assert presence.read(str(store), ADA) == over.replace(ended_at=0, seen_at=NOW, beats=WHOLE["beats"])


DAY = 24 * 3600 * 1000


@pytest.mark.parametrize("ahead", [-1, 0, DAY])
def test_a_time_that_may_be_right_is_believed(store: Path, ahead: int):
    presence.write(str(store), presence.Presence(ADA, NOW + ahead, 3, RECORD))

    found = presence.read(str(store), ADA, NOW)

    assert found
    assert found.seen_at == NOW + ahead


def test_of_a_time_far_ahead_the_time_of_the_file_is_believed_instead(store: Path):
    presence.write(str(store), presence.Presence(ADA, NOW + DAY + 1, 3, RECORD))
    file = store / "presence" / f"{ADA}.json"

    for written in (NOW - 5000, NOW + 30 * DAY):  # the second is no better: then it is our clock that is behind
        os.utime(file, (written / 1000, written / 1000))
        found = presence.read(str(store), ADA, NOW)
        assert found
        assert found.seen_at == min(written, NOW + DAY + 1)


# -- names with capitals, which some file systems do not tell from small letters

NAMES = ["ada", "Ada", "ADA", "aDa", "ada_l", "Ada_L", "a", "A", "a-", "7", "B-7", "x" * 48, "X" * 48]


def of(name: str, beats: int = 1) -> presence.Presence:
    return presence.Presence(name, NOW, beats, RECORD | {"agent_id": name})


def test_names_that_differ_in_case_only_have_files_that_differ_in_more(store: Path):
    for beats, name in enumerate(NAMES):
        presence.write(str(store), of(name, beats))

    files = [file.name for file in (store / "presence").iterdir()]
    assert len({file.lower() for file in files}) == len(NAMES)
    assert all(file == file.lower() for file in files)
    assert presence.all_presences(str(store)) == {name: of(name, beats) for beats, name in enumerate(NAMES)}
    assert [presence.read(str(store), name) for name in NAMES] == [of(name, beats) for beats, name in enumerate(NAMES)]


def test_an_agent_keeps_the_file_that_it_has_always_had(store: Path):
    presence.write(str(store), of("amber-otter7"))

    assert [file.name for file in (store / "presence").iterdir()] == ["amber-otter7.json"]


def test_who_is_forgotten_is_forgotten_alone(store: Path):
    for name in ("ada", "Ada"):
        presence.write(str(store), of(name))

    presence.remove(str(store), "Ada")

    assert presence.all_presences(str(store)) == {"ada": of("ada")}


@pytest.mark.parametrize(
    "stem", ["Ada", "=", "==a", "=A", "=-a", "=7", "a=", "=user", "=../x", "ada.json", "user", "-a"]
)
def test_a_file_with_any_other_name_is_nobodys(store: Path, stem: str):
    assert presence.agent_of_file(stem) is None


def test_a_file_cannot_claim_to_be_of_somebody_with_another_name(store: Path):
    put(store, json.dumps(WHOLE | {"record": RECORD | {"agent_id": "Ada"}}).encode(), "ada.json")

    assert presence.read(str(store), "ada") is None
    assert presence.all_presences(str(store)) == {}


def test_a_reader_never_sees_half_a_beat(store: Path):
    writer = child(beat_for, store, ADA, 1.5)
    assert writer.stdout is not None
    assert writer.stdin is not None
    writer.stdout.readline()
    presence.write(str(store), presence.Presence(ADA, NOW, 0, RECORD))
    writer.stdin.write("go\n")
    writer.stdin.flush()
    seen = []

    while writer.poll() is None:
        beat = presence.read(str(store), ADA)
        assert beat is not None
        assert beat.seen_at == NOW + beat.beats
        seen.append(beat.beats)

    assert int(finished(writer)) > 1
    assert seen == sorted(seen)
    assert len(set(seen)) > 1


DAMAGED: list[bytes] = [
    b"",
    b"\0" * 300,
    b"{",
    b"[]",
    b"null",
    b"7",
    b"\xff\xfe",
    json.dumps(WHOLE).encode()[:-5],
    json.dumps(WHOLE | {"seen_at": 7}).encode(),
    json.dumps(WHOLE | {"seen_at": "yesterday"}).encode(),
    json.dumps(WHOLE | {"seen_at": None}).encode(),
    json.dumps(WHOLE | {"beats": "3"}).encode(),
    json.dumps(WHOLE | {"beats": True}).encode(),
    json.dumps(WHOLE | {"record": None}).encode(),
    json.dumps(WHOLE | {"record": {}}).encode(),
    json.dumps(WHOLE | {"record": RECORD | {"role": 7}}).encode(),
    json.dumps(WHOLE | {"record": RECORD | {"agent_id": BO}}).encode(),
    json.dumps(WHOLE | {"record": RECORD | {"more": 1}}).encode(),
    json.dumps(WHOLE | {"record": RECORD | {"role": "\ud800"}}).encode(),
    json.dumps({"beats": 3, "record": RECORD}).encode(),
    b"[" * 50_000,
    json.dumps(WHOLE | {"padding": "x" * 100_000}).encode(),
]


@pytest.mark.parametrize("content", DAMAGED, ids=[str(n) for n in range(len(DAMAGED))])
def test_a_damaged_presence_counts_as_none(store: Path, content: bytes):
    put(store, content)

    assert presence.read(str(store), ADA) is None
    assert presence.all_presences(str(store)) == {}


@pytest.mark.parametrize("content", [b"", b"\0" * 300, DAMAGED[18]], ids=["empty", "zeros", "half a character"])
def test_a_damaged_presence_is_made_anew_by_the_next_beat(here: Scratch, content: bytes):
    (here.store / "presence" / f"{ADA}.json").write_bytes(content)

    assert [agent["agent_id"] for agent in here.json("agent", "list").data] == [ADA, BO]
    assert here.json("agent", "heartbeat", "--agent", ADA).data["liveness"] == "active"
    assert presence.read(str(here.store), ADA) is not None


def test_a_presence_that_is_a_directory_stops_nobody_else(here: Scratch):
    file = here.store / "presence" / f"{ADA}.json"
    file.unlink()
    file.mkdir()

    assert [agent["agent_id"] for agent in here.json("agent", "list").data] == [ADA, BO]
    assert here.json("agent", "heartbeat", "--agent", BO).status == 0


def test_what_a_killed_heartbeat_left_behind_is_no_agent(here: Scratch):
    folder = here.store / "presence"
    whole = (folder / f"{ADA}.json").read_bytes()
    (folder / f".{ADA}.json.4242.0badcafe.tmp").write_bytes(whole[:20])
    (folder / ".quiet-heron.json.4242.0badcafe.tmp").write_bytes(whole)
    (folder / "quiet-heron.json.tmp").write_bytes(whole)
    (folder / "No Agent.json").write_bytes(whole)
    (folder / "..json").write_bytes(whole)

    assert sorted(presence.all_presences(str(here.store))) == [ADA, BO]
    assert [agent["agent_id"] for agent in here.json("agent", "list").data] == [ADA, BO]


def test_an_agent_without_a_presence_file_still_heartbeats(here: Scratch):
    (here.store / "presence" / f"{ADA}.json").unlink()

    answer = here.json("agent", "heartbeat", "--agent", ADA).data

    assert (answer["agent_id"], answer["role"], answer["liveness"]) == (ADA, "builder", "active")


def test_agents_still_heartbeat_when_the_whole_folder_is_lost(here: Scratch):
    for file in (here.store / "presence").iterdir():
        file.unlink()
    (here.store / "presence").rmdir()

    assert [agent["agent_id"] for agent in here.json("agent", "list").data] == [ADA, BO]
    assert here.json("agent", "heartbeat", "--agent", ADA).status == 0
    assert here.json("agent", "register", "--name", "quiet-heron", "--role", "builder").status == 0


def test_an_unknown_agent_does_not_heartbeat_by_a_presence_file_of_its_own_making(here: Scratch):
    """The file is a cache; who is registered, the ledger says."""
    assert here.json("agent", "heartbeat", "--agent", "quiet-heron").code == "AGENT_NOT_FOUND"
    assert not (here.store / "presence" / "quiet-heron.json").exists()


def test_a_heartbeat_leaves_the_ledger_alone(here: Scratch):
    before = here.journal().read_bytes()

    for _ in range(3):
        assert here.json("agent", "heartbeat", "--agent", ADA).status == 0

    assert here.journal().read_bytes() == before


def test_sweeping_up_does_not_take_a_beat_that_is_being_written(store: Path, monkeypatch: pytest.MonkeyPatch):
    """`bb doctor --fix` runs while agents are at work."""
    replace = os.replace

    def replace_after_a_sweep(source: Any, target: Any) -> None:
        repair.remove_leftovers(str(store))
        replace(source, target)

    monkeypatch.setattr(os, "replace", replace_after_a_sweep)

    presence.write(str(store), presence.Presence(ADA, NOW, 1, RECORD))

    assert presence.read(str(store), ADA) is not None


def test_what_the_dead_left_behind_is_swept_up(tmp_path: Path):
    path = repository(tmp_path / "here")
    make(path, ADA)
    writer = next((kept(path) / "j").iterdir())
    (kept(path) / "torn").mkdir()
    dead = child(beat_for, kept(path), ADA, 0)
    dead.communicate("go\n")
    left = [
        folder / f".some.json.{dead.pid}.0badcafe.tmp"
        for folder in (kept(path), kept(path) / "presence", writer, kept(path) / "torn")
    ]
    for file in left:
        file.write_bytes(b"half")
        os.utime(file, (1, 1))

    repair.remove_leftovers(str(kept(path)))

    assert [file for file in left if file.exists()] == []


def test_a_file_that_cannot_be_replaced_leaves_the_old_one_and_nothing_else(
    store: Path, monkeypatch: pytest.MonkeyPatch
):
    presence.write(str(store), presence.Presence(ADA, NOW, 1, RECORD))

    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(disk_refusals.DiskFull.error):
        presence.write(str(store), presence.Presence(ADA, NOW, 2, RECORD))

    assert [file.name for file in (store / "presence").iterdir()] == [f"{ADA}.json"]
    found = presence.read(str(store), ADA)
    assert found is not None
    assert found.beats == 1


# -- agents of other clones


def seen_elsewhere(agent: str, at: int = NOW) -> presence.Presence:
    return presence.Presence(agent, at, 0, RECORD | {"agent_id": agent}, is_remote=True)


def test_an_agent_that_was_only_seen_elsewhere_has_its_file_apart(store: Path):
    presence.write(str(store), seen_elsewhere(ADA))

    assert os.listdir(store / "presence") == ["remote"]
    apart = seen_elsewhere(ADA).replace(is_apart=True)
    assert presence.read(str(store), ADA) == apart
    assert presence.all_presences(str(store)) == {ADA: apart}
    assert presence.of_this_clone(str(store)) == {}


def test_an_agent_that_comes_here_has_one_file_and_keeps_it_here(store: Path):
    presence.write(str(store), seen_elsewhere(ADA))
    known = presence.read(str(store), ADA)
    assert known

    presence.write(str(store), known.replace(seen_at=NOW + 1, is_remote=False))
    presence.write(str(store), seen_elsewhere(ADA, NOW + 2))
    assert presence.read(str(store), ADA) == seen_elsewhere(ADA, NOW + 2)

    assert os.listdir(store / "presence" / "remote") == []
    assert list(presence.of_this_clone(str(store))) == [ADA]


def test_forgetting_an_agent_forgets_it_wherever_it_was_seen(store: Path):
    presence.write(str(store), seen_elsewhere(ADA))

    presence.remove(str(store), ADA)

    assert presence.read(str(store), ADA) is None


@pytest.mark.parametrize("few", [0, 300])
def test_the_agents_seen_last_are_found_with_few_files_and_with_many(
    store: Path, monkeypatch: pytest.MonkeyPatch, few: int
):
    monkeypatch.setattr(presence, "FEW", few)
    now = int(time.time() * 1000)
    for number in range(4):
        name = f"{'abcd'[number]}-fox"
        presence.write(str(store), presence.Presence(name, now - number * 60_000, 1, RECORD | {"agent_id": name}))
        os.utime(store / "presence" / f"{name}.json", (now / 1000 - number * 60, now / 1000 - number * 60))
    presence.write(str(store), seen_elsewhere("e-fox", now))

    assert presence.latest_agents(str(store), now, 2) == ["a-fox", "b-fox"]
    assert {"a-fox", "b-fox"} <= set(presence.seen_here(str(store), now, 90_000))
    # Of few files, all are named.
    assert ("d-fox" in presence.seen_here(str(store), now, 90_000)) is (few == 300)


def test_when_an_agent_was_seen_elsewhere_is_known_from_the_time_of_its_file(store: Path):
    now = int(time.time() * 1000)
    for name, seconds in (("a-fox", 50), ("b-fox", 10), ("c-fox", 70)):
        presence.write(str(store), seen_elsewhere(name, now - seconds * 1000))
    (store / "presence" / "remote" / ".d-fox.json.4242.0badcafe.tmp").touch()

    assert presence.seen_elsewhere(str(store), now, 60_000) == {"b-fox": now - 10_000, "a-fox": now - 50_000}
    assert list(presence.seen_elsewhere(str(store), now + 40_000, 60_000)) == ["b-fox"]


def test_a_folder_in_which_nothing_was_written_for_long_is_not_searched(store: Path, monkeypatch: pytest.MonkeyPatch):
    now = int(time.time() * 1000)
    presence.write(str(store), seen_elsewhere(ADA, now - 600_000))
    os.utime(store / "presence" / "remote", (now / 1000 - 300, now / 1000 - 300))
    monkeypatch.setattr(os, "scandir", lambda path: pytest.fail(f"it searched {path}"))

    assert presence.seen_elsewhere(str(store), now, 60_000) == {}


def test_under_a_clock_of_its_own_the_times_of_files_tell_nothing(store: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(presence, "FEW", 0)
    presence.write(str(store), presence.Presence(ADA, NOW, 1, RECORD))
    os.utime(store / "presence" / f"{ADA}.json", (0, 0))

    presence.write(str(store), seen_elsewhere(BO))

    assert presence.seen_here(str(store), NOW, 1000) == [ADA]
    assert list(presence.seen_elsewhere(str(store), NOW, 1000)) == [BO]


# -- a wall clock that is set, and a machine that sleeps

HOUR, MINUTE = 3600 * 1000, 60 * 1000


class Clocks:
    """The two clocks of a machine, in milliseconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall, self.steady, self.boot = NOW, 500 * MINUTE, b"0b1c2d3e-1111-4222-8333-444455556666\n"
        monkeypatch.setattr(time, "time", lambda: self.wall / 1000)
        monkeypatch.setattr(time, "monotonic_ns", lambda: self.steady * 1_000_000)
        monkeypatch.setattr(presence, "_started", [])
        monkeypatch.setattr(presence.disk, "read_small", self._read)
        self._plain = disk_read

    def _read(self, path: str, *more: Any) -> bytes | None:
        return self.boot if path == presence.BOOT_ID else self._plain(path, *more)

    def pass_by(self, milliseconds: int) -> None:
        self.wall += milliseconds
        self.steady += milliseconds

    def start_again(self, uptime: int) -> None:
        self.steady, self.boot = uptime, b"ffffffff-1111-4222-8333-444455556666\n"
        presence._started.clear()


disk_read = presence.disk.read_small


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    return Clocks(monkeypatch)


def beat_now(store: Path, clocks: Clocks) -> None:
    presence.write(str(store), presence.Presence(ADA, 0, 3, RECORD).seen(clocks.wall))


def silence(store: Path, clocks: Clocks) -> int:
    found = presence.read(str(store), ADA, clocks.wall)
    assert found
    return clocks.wall - found.seen_at


@pytest.mark.parametrize("jump", [HOUR, 20 * HOUR, 20 * MINUTE])
def test_a_clock_that_is_put_forward_is_nobodys_silence(store: Path, clocks: Clocks, jump: int):
    beat_now(store, clocks)
    clocks.pass_by(2 * MINUTE)

    clocks.wall += jump

    assert silence(store, clocks) == 2 * MINUTE
    clocks.pass_by(40 * MINUTE)
    assert silence(store, clocks) == 42 * MINUTE, "a silent agent is found as soon as before"


def test_a_clock_that_is_put_back_is_nobodys_silence(store: Path, clocks: Clocks):
    beat_now(store, clocks)
    clocks.wall -= HOUR
    clocks.pass_by(2 * MINUTE)

    assert silence(store, clocks) < 0


def test_a_change_that_is_no_sign_of_life_keeps_the_time(store: Path, clocks: Clocks):
    beat_now(store, clocks)
    clocks.wall += HOUR
    clocks.pass_by(MINUTE)
    last = presence.read(str(store), ADA, clocks.wall)
    assert last
    presence.write(str(store), last.replace(contested=("src",)))
    clocks.wall += HOUR

    assert silence(store, clocks) == MINUTE


def test_a_session_that_ended_is_still_over_after_the_clock_was_set(store: Path, clocks: Clocks):
    beat_now(store, clocks)
    last = presence.read(str(store), ADA, clocks.wall)
    assert last
    presence.write(str(store), last.replace(ended_at=clocks.wall))
    clocks.wall += HOUR

    after = presence.read(str(store), ADA, clocks.wall)
    assert after
    assert after.has_ended
    assert not after.seen(clocks.wall).has_ended


@pytest.mark.parametrize("uptime", [MINUTE, 501 * MINUTE])
def test_after_a_start_of_the_machine_the_wall_clock_counts(store: Path, clocks: Clocks, uptime: int):
    beat_now(store, clocks)
    clocks.wall += HOUR
    clocks.start_again(uptime)

    assert silence(store, clocks) == HOUR


def test_where_no_start_is_named_the_wall_clock_counts(store: Path, clocks: Clocks):
    clocks.boot = b""
    beat_now(store, clocks)
    clocks.wall += HOUR

    assert silence(store, clocks) == HOUR


def test_a_time_that_was_given_is_not_compared_with_the_machines(store: Path, clocks: Clocks):
    """`BB_NOW` is neither that of the beat nor that of the reader."""
    beat_now(store, clocks)
    given = NOW + HOUR
    found = presence.read(str(store), ADA, given)
    assert found
    assert given - found.seen_at == HOUR
    presence.write(str(store), found.seen(given))
    clocks.wall += 2 * HOUR

    assert silence(store, clocks) == HOUR


@pytest.mark.parametrize("steady", ["7", None, -5, 1.5, True])
def test_a_steady_time_that_is_none_counts_for_nothing(store: Path, clocks: Clocks, steady: object):
    put(store, json.dumps(WHOLE | {"steady": steady, "boot": "0b1c2d3e-1111"}).encode())
    clocks.wall += HOUR

    assert silence(store, clocks) == HOUR


def test_a_given_time_of_half_a_minute_ago_is_half_a_minute_of_silence(store: Path, clocks: Clocks):
    """`BB_NOW` may be near the machine's time. The steady clock's time is that of the same moment."""
    presence.write(str(store), presence.Presence(ADA, 0, 3, RECORD).seen(clocks.wall - MINUTE // 2))

    assert silence(store, clocks) == MINUTE // 2
    clocks.pass_by(MINUTE)
    clocks.wall += HOUR
    assert silence(store, clocks) == MINUTE + MINUTE // 2
