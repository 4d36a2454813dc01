"""Clocks that disagree, and places that must not: one clone has one set of agents, wherever it is asked from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.faces.faces_support import Forger
from tests.forks import Call
from tests.near import Near, near, run_all
from tests.support import NOON, Scratch, environment

AT = "2026-01-05T12:{:02}:00.000Z".format
BEFORE, AHEAD = "2020-01-01T00:00:00.000Z", "2030-01-01T00:00:00.000Z"
AMBER = ["--agent", "amber-otter"]


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    return near(tmp_path / "repo")


def register(now: str, name: str = "amber-otter") -> Call:
    return Call(["agent", "register", "--name", name, "--role", "builder", "--json"], {"BB_NOW": now})


def beat(now: str) -> Call:
    return Call(["agent", "heartbeat", *AMBER, "--json"], {"BB_NOW": now})


def show(now: str) -> Call:
    return Call(["agent", "show", *AMBER, "--json"], {"BB_NOW": now})


def answers(repo: Scratch, *calls: Call) -> list[Any]:
    return [ran.data for ran in run_all(repo, calls)]


# -- clocks


def test_a_clock_behind_that_of_the_last_heartbeat_sees_an_active_agent(repo: Scratch):
    """Somebody else's clock is wrong, or ours is; no agent loses anything for that."""
    *_, shown = answers(repo, register(NOON), beat(AHEAD), show(AT(1)))

    assert (shown["liveness"], shown["last_seen_at"]) == ("active", AHEAD)


def test_an_agent_whose_clock_jumps_back_goes_on(repo: Scratch):
    _, before, after, shown = answers(repo, register(NOON), beat(AHEAD), beat(AT(1)), show(AT(2)))

    assert (before["last_seen_at"], after["last_seen_at"]) == (AHEAD, AT(1))
    assert (after["liveness"], after["version"]) == ("active", 3)
    assert shown == after
    assert repo.json("ledger", "verify").status == 0


def test_an_agent_whose_clock_was_ahead_is_not_alive_for_ever_after(repo: Scratch):
    """The next heartbeat by the right clock is what counts; if it then falls silent, it is silent."""
    *_, shown = answers(repo, register(NOON), beat(AHEAD), beat(AT(1)), show(AT(46)))

    assert (shown["liveness"], shown["last_seen_at"]) == ("evicted", AT(1))


def test_an_agent_that_registered_by_a_clock_that_was_ahead_is_not_alive_for_ever_after(repo: Scratch):
    """Its line says 2030; its heartbeats say today."""
    _, beaten, shown, later = answers(repo, register(AHEAD), beat(AT(1)), show(AT(2)), show(AT(46)))

    assert beaten["last_seen_at"] == AT(1)
    assert shown["last_seen_at"] == AT(1), "show says what the heartbeat was told"
    assert (later["liveness"], later["last_seen_at"]) == ("evicted", AT(1))


def test_what_a_heartbeat_answers_is_what_is_shown_whatever_the_clocks_did(repo: Scratch):
    moments = [AHEAD, NOON, BEFORE, AT(20), AHEAD, AT(50), BEFORE]
    calls = [call for now in moments for call in (beat(now), show(now))]

    said = answers(repo, register(NOON), *calls)[1:]

    assert said[0::2] == said[1::2]


@pytest.mark.parametrize("first", [BEFORE, NOON, AHEAD])
def test_a_change_by_another_clock_is_still_the_later_one(repo: Scratch, first: str):
    """Which change counts is the ledger's order, never the wall clock."""
    change = ["agent", "register", "--name", "amber-otter", "--force-update", "--json", "--role"]
    changes = [
        call
        for role, now in (("tester", AHEAD), ("last", NOON))
        for call in (beat(now), Call([*change, role], {"BB_NOW": now}))
    ]
    run_all(repo, [register(first), *changes])

    assert repo.json("agent", "show", *AMBER).data["role"] == "last"
    assert repo.json("ledger", "rebuild").status == 0
    assert repo.json("agent", "show", *AMBER).data["role"] == "last"
    log = repo.json("ledger", "log", "--agent", "amber-otter", "--kind", "actor.add", "--kind", "actor.update").data
    assert [event["data"]["role"] for event in log] == [
        "builder",
        "tester",
        "last",
    ]


@pytest.mark.parametrize("now", ["0001-01-01T00:00:00Z", "1969-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"])
def test_the_ends_of_time_are_times(repo: Scratch, now: str):
    registered, beaten, shown = answers(repo, register(now), beat(now), show(now))

    assert registered["created_at"] == beaten["last_seen_at"] == now.replace("00Z", "00.000Z")
    assert shown["liveness"] == "active"
    assert repo.json("ledger", "log", BB_NOW=now).status == 0
    assert repo.json("ledger", "log", "--since", "1s", BB_NOW=now).status in (0, 2)
    assert repo.json("doctor", BB_NOW=now).status == 0


def test_a_line_with_a_time_that_is_none_is_unreadable_and_hides_nobody(repo: Scratch):
    forger = Forger(run_all(repo, [register(NOON)]) and repo)
    odd = forger.add("actor.add", "odd-ibis", {"actor_id": "odd-ibis", "role": "x", "title": "y"}, ts="around noon")
    forger.add("actor.add", "shy-lynx", {"actor_id": "shy-lynx", "role": "x", "title": "y"})

    listed = repo.json("agent", "list", BB_NOW=AT(1)).data

    assert [agent["agent_id"] for agent in listed] == ["amber-otter", "shy-lynx"]
    assert [each["id"] for each in repo.json("ledger", "verify").data["unreadable"]] == [odd]


# -- places


@pytest.fixture
def places(repo: Scratch, tmp_path: Path) -> dict[str, Scratch]:
    """One clone from everywhere: its work tree, folders in it, linked worktrees, its git directory, through a link."""
    repo.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side tree"))
    repo.git("worktree", "add", "--quiet", "--detach", str(repo.path / "inside"))
    (repo.path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "side tree" / "deep").mkdir()
    (tmp_path / "link").symlink_to(repo.path)
    found = {
        "work tree": repo.path,
        "folder": repo.path / "deep" / "er",
        "worktree": tmp_path / "side tree",
        "folder of a worktree": tmp_path / "side tree" / "deep",
        "worktree inside": repo.path / "inside",
        "git directory": repo.path / ".git",
        "link": tmp_path / "link",
    }
    return {name: Near(path, {"BB_NOW": NOON}) for name, path in found.items()}


def test_every_worktree_and_folder_of_a_clone_has_the_same_agents(places: dict[str, Scratch], repo: Scratch):
    for number, place in enumerate(places.values()):
        assert place.json("agent", "register", "--name", f"agent-{number}", "--role", "builder").status == 0

    seen = [place.json("agent", "list").out for place in places.values()]

    assert len(set(seen)) == 1
    assert seen[0].count('"agent_id"') == len(places)
    assert len(list((repo.store / "j").iterdir())) == 1, "one clone on one machine is one writer"
    assert repo.json("ledger", "verify").data["events"] == len(places) + 1


def test_a_heartbeat_in_one_worktree_is_seen_in_all(places: dict[str, Scratch]):
    run_all(places["work tree"], [register(NOON)])
    run_all(places["folder of a worktree"], [beat(AT(1))])

    assert {run_all(place, [show(AT(2))])[0].data["last_seen_at"] for place in places.values()} == {AT(1)}


def test_a_name_taken_in_one_worktree_is_taken_in_all(places: dict[str, Scratch]):
    run_all(places["worktree"], [register(NOON)])

    assert {run_all(place, [register(NOON)])[0].code for place in places.values()} == {"DUPLICATE_AGENT_ID"}


def test_no_worktree_is_dirtied_and_removing_one_takes_nobody_away(
    places: dict[str, Scratch], repo: Scratch, tmp_path: Path
):
    run_all(places["worktree"], [register(NOON), beat(AT(1))])

    assert places["worktree"].git("status", "--porcelain", "--ignored") == ""
    repo.git("worktree", "remove", "--force", str(tmp_path / "side tree"))

    assert [agent["agent_id"] for agent in repo.json("agent", "list").data] == ["amber-otter"]


def test_another_branch_has_the_same_agents(repo: Scratch):
    run_all(repo, [register(NOON)])

    repo.git("checkout", "--quiet", "--orphan", "other")
    repo.git("commit", "--quiet", "--allow-empty", "-m", "Other")
    repo.git("checkout", "--quiet", "--detach")

    assert [agent["agent_id"] for agent in repo.json("agent", "list").data] == ["amber-otter"]


def test_two_clones_have_agents_of_their_own_until_they_share(repo: Scratch, tmp_path: Path):
    repo.git("clone", "--quiet", str(repo.path), str(tmp_path / "clone"))
    clone = Near(tmp_path / "clone")

    run_all(repo, [register(NOON)])
    answer = run_all(clone, [register(NOON)])[0]

    assert answer.status == 0
    assert repo.json("init").data["group_id"] == clone.json("init").data["group_id"]


def test_a_submodule_is_a_repository_of_its_own(repo: Scratch, tmp_path: Path):
    other = near(tmp_path / "other")
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.path), "sub")
    sub = Near(repo.path / "sub")

    run_all(sub, [register(NOON)])

    assert [agent["agent_id"] for agent in sub.json("agent", "list").data] == ["amber-otter"]
    assert repo.json("agent", "list").data == []
    assert sub.git("status", "--porcelain") == ""


@pytest.mark.skipif(os.name == "nt", reason="needs a directory that is removed while somebody is in it")
def test_an_agent_whose_directory_is_gone_is_told_so(repo: Scratch):
    run_all(repo, [register(NOON)])
    for words in (["agent", "heartbeat", *AMBER], ["agent", "list"], ["ledger", "log"], ["init"]):
        (repo.path / "gone").mkdir()
        done = subprocess.run(
            ["sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", sys.executable, "-m", "bb", *words],
            cwd=repo.path / "gone",
            env=environment(),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 3, words
        assert done.stderr.startswith("Error: [NOT_A_REPOSITORY] the current directory is gone\n"), words
