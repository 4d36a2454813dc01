"""A sync that nobody waits for: only where somebody has synced before, rarely, and never in anybody's way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bb.ledger.travel import background
from tests.stories.travel.travel_support import AMBER, Clone, clone, hub
from tests.support import environment
from tests.waiting import until


@pytest.fixture
def pair(pair: list[Clone]) -> list[Clone]:
    """Two clones in which syncs start by themselves, which others in these tests do not."""
    for each in pair:
        each.settings[background.SETTING] = "on"
    return pair


def long_ago(at: Clone) -> None:
    """Let the last attempt to sync be an hour old."""
    os.utime(at.store / "sync.json", (time.time() - 3600,) * 2)


def arrives(at: Clone, scope: str) -> bool:
    """Whether what is published comes to have a reservation of that scope."""

    def has_come() -> bool:
        at.sync(pull=True)
        return scope in {held for _, held, _ in at.holds()}

    return until(has_come, scope)


def test_a_command_that_records_something_starts_one_when_the_last_is_long_ago(pair: list[Clone]):
    here, there = pair
    long_ago(here)

    assert here.bb("agent", "reserve", "--agent", AMBER, "--scope", "src", "--bead", "bb-1").status == 0

    assert arrives(there, "src")
    # It is published a moment before that is noted here.
    last = until(lambda: (found := here.ask("status")["sync"])["unpublished"] == 0 and found, "the end of the sync")
    assert (last["in_background"], last["failed_with"], last["unpublished"]) == (True, None, 0)


@pytest.mark.parametrize("case", ["just-now", "switched-off", "only-read"])
def test_otherwise_none_is_started(pair: list[Clone], case: str):
    here, _ = pair
    if case == "just-now":
        os.utime(here.store / "sync.json")  # the clones are copies, perhaps of ones that were made long ago
    else:
        long_ago(here)
    before = os.stat(here.store / "sync.json").st_mtime_ns
    words = (
        ["agent", "list"]
        if case == "only-read"
        else ["agent", "reserve", "--agent", AMBER, "--scope", "s", "--bead", "b"]
    )

    assert here.bb(*words, **({"BB_SYNC": "off"} if case == "switched-off" else {})).status == 0

    assert os.stat(here.store / "sync.json").st_mtime_ns == before


def test_a_clone_that_has_never_published_starts_none(tmp_path: Path):
    alone = clone(hub(tmp_path / "hub.git"), "alone")
    alone.settings[background.SETTING] = "on"
    alone.ask("agent.register", name=AMBER, role="builder")

    assert alone.sync(background=True) == {"started": False}
    assert not (alone.store / "sync.json").exists()


def test_nothing_in_the_directory_of_the_caller_is_imported(pair: list[Clone], tmp_path: Path):
    """Anybody can commit a folder called `bb`, or a module called as one of Python's own."""
    here, there = pair
    mark = tmp_path / "ran"
    for name in ("bb/__init__.py", "bb/__main__.py", "runpy.py", "select.py", "orjson.py", "_json.py", "encodings.py"):
        planted = here.path / name
        planted.parent.mkdir(exist_ok=True)
        planted.write_text(f"open({str(mark)!r}, 'a').write(__file__)\n")
    here.settings["PYTHONPATH"] = ""
    long_ago(here)

    installed = [Path(sys.executable).parent / "bb", "agent", "reserve", "--agent", AMBER, "--scope", "src"]
    done = subprocess.run([*installed, "--bead", "bb-1"], cwd=here.path, env=environment(**here.settings))

    assert done.returncode == 0
    assert arrives(there, "src")
    assert not mark.exists()


def test_status_says_what_is_not_published_yet_and_what_went_wrong(tmp_path: Path, pair: list[Clone]):
    here, _ = pair
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    assert here.ask("status")["sync"]["unpublished"] == 2
    (tmp_path / "hub.git").rename(tmp_path / "away.git")
    here.refused("sync")

    shown = here.bb("status", BB_NOW="2026-01-05T12:10:00Z")

    assert 'Synced with origin 10m ago; 2 not published yet; the last attempt failed: "OFFLINE' in shown.out


def test_a_heartbeat_lets_other_clones_know_that_its_agent_is_alive(pair: list[Clone]):
    here, there = pair
    before = there.ask("ledger.status")["events"]
    long_ago(here)

    assert here.bb("agent", "heartbeat", "--agent", AMBER, BB_NOW="2026-01-05T12:09:00Z").status == 0

    def has_come() -> bool:
        there.sync(pull=True, now="2026-01-05T12:10:00Z")
        return bool(there.ask("ledger.status")["events"] > before)

    until(has_come, "the heartbeat")
    (amber,) = [each for each in there.ask("agent.list", now="2026-01-05T12:10:00Z") if each["agent_id"] == AMBER]
    assert amber["last_seen_at"] == "2026-01-05T12:10:00.000Z"


def test_the_sync_that_is_started_runs_this_package_whatever_is_installed(tmp_path: Path):
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", background.OURSELVES, "status"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
    )

    assert "Error: [NOT_A_REPOSITORY]" in ran.stderr
