"""Two clones and a hub: what is recorded in one is known in the other, and nothing of git's own is touched."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bb.ledger.git import small_packs
from bb.ledger.travel import background, remote, sync_runs
from bb.ledger.travel.sync import PUSH
from bb.ledger.travel.sync_lock import SyncLock
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, clone, hub, settle
from tests.waiting import until


def test_a_first_sync_is_refused_and_says_what_would_become_visible_to_whom(origin: Path):
    here = clone(origin, "here")
    here.ask("agent.register", name=AMBER, role="builder")

    refusal = here.refused("sync")

    assert refusal.code == "NOT_PUBLISHED"
    assert refusal.hint is not None
    assert "bb sync --publish" in refusal.hint
    assert refusal.details["events"] == 2
    assert refusal.details["agents"] == [AMBER]
    assert str(origin) in refusal.details["visible_to"]
    assert here.tip == "", "nothing was pushed"


def test_what_one_clone_records_the_other_knows(pair: list[Clone]):
    here, there = pair
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")

    went = here.sync()
    came = there.sync()

    assert (went["went"], came["came"]) == (2, 2), "the reservation, and that what came before was read"
    assert there.refused("agent.reserve", agent=COBALT, scope=["src/parser"], bead="bb-2").code == (
        "RESERVATION_CONFLICT"
    )
    settle(pair)
    assert here.digest == there.digest


def test_a_sync_with_nothing_to_say_makes_no_commit(pair: list[Clone]):
    here, _ = pair
    settle(pair)
    tip = here.tip

    again = here.sync()

    assert (again["came"], again["went"]) == (0, 0)
    assert here.tip == tip


def test_head_index_work_tree_and_branches_stay_as_they_are(pair: list[Clone]):
    here, there = pair
    (here.path / "mine.txt").write_text("staged")
    here.git("add", "mine.txt")
    (here.path / "mine.txt").write_text("changed since")
    before = [here.git("status", "--porcelain"), here.git("rev-parse", "HEAD"), here.git("branch", "--list")]
    index = (here.path / ".git" / "index").read_bytes()

    there.ask("agent.reserve", agent=COBALT, scope=["docs"], bead="bb-2")
    there.sync()
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    here.sync()

    assert [here.git("status", "--porcelain"), here.git("rev-parse", "HEAD"), here.git("branch", "--list")] == before
    assert (here.path / ".git" / "index").read_bytes() == index
    assert not (here.path / ".git" / "FETCH_HEAD").exists()


def test_no_hook_runs(pair: list[Clone]):
    here, _ = pair
    ran = here.path.parent / "a-hook-ran"
    for name in ("pre-push", "reference-transaction", "post-commit", "pre-auto-gc"):
        hook = here.path / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\necho {name} >> {ran}\n")
        hook.chmod(0o755)
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")

    here.sync()

    assert not ran.exists(), ran.read_text()


def test_small_packs_stay_so_few_that_git_does_not_set_about_packing_everything(
    pair: list[Clone], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(small_packs, "MOST_PACKS", 2)
    here, there = pair
    folder = there.path / ".git" / "objects" / "pack"
    before = list((here.path / ".git" / "objects" / "pack").glob("*.pack"))
    for turn in range(5):
        here.ask("agent.reserve", agent=AMBER, scope=[f"src/{turn}"], bead="bb-1")
        here.sync()
        there.sync()
        assert len(list(folder.glob("*.pack"))) <= 2
        assert len(list(folder.glob("*.idx"))) == len(list(folder.glob("*.pack")))

    assert list((here.path / ".git" / "objects" / "pack").glob("*.pack")) == before, "a publication leaves no pack"
    assert "error" not in there.git("fsck", "--full")
    settle(pair)


def test_a_pack_that_somebody_keeps_is_left_alone(pair: list[Clone], monkeypatch: pytest.MonkeyPatch):
    here, there = pair
    there.git("repack", "-a", "-d", "-q")
    folder = there.path / ".git" / "objects" / "pack"
    (pack,) = folder.glob("*.pack")
    pack.with_suffix(".keep").touch()
    monkeypatch.setattr(small_packs, "MOST_PACKS", 0)
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    settle(pair)

    assert pack.exists()
    assert pack.with_suffix(".idx").exists()


def test_a_ledger_can_be_pulled_by_whoever_has_none(origin: Path, pair: list[Clone]):
    here, _ = pair
    fresh = clone(origin, "fresh")

    answer = fresh.sync(pull=True)

    assert answer["came"] == 4
    assert {each["agent_id"] for each in fresh.ask("agent.list")} == {AMBER, COBALT}
    settle([here])
    assert fresh.refused("sync").code == "NOT_PUBLISHED", "to read is no promise to publish"


def test_the_ledger_is_published_to_the_local_ref_without_any_remote(tmp_path: Path):
    here = Clone(clone(tmp_path / "nowhere.git", "here").path)
    here.git("remote", "remove", "origin")
    here.ask("agent.register", name=AMBER, role="builder")

    first = here.ask("ledger.commit")
    again = here.ask("ledger.commit")
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    second = here.sync(local=True)

    assert (first["events"], again["events"], second["events"]) == (2, 0, 1)
    assert again["commit"] == first["commit"]
    assert here.git("rev-parse", "refs/bb/ledger^").strip() == first["commit"]
    published = here.git("ls-tree", "-r", "--name-only", "refs/bb/ledger").split()
    assert {"README.md", "bb.json"} < set(published)
    assert here.refused("sync").code == "NO_REMOTE"


def test_an_agent_heard_of_elsewhere_counts_as_seen_when_this_clone_learns_of_it(pair: list[Clone]):
    here, there = pair
    settle(pair)
    later, much_later = "2026-01-05T12:14:00Z", "2026-01-05T12:16:00Z"

    there.ask("agent.heartbeat", now=later, agent=COBALT)
    there.sync(now=later)
    here.sync(now=much_later)

    (cobalt,) = [each for each in here.ask("agent.list", now=much_later) if each["agent_id"] == COBALT]
    assert (cobalt["liveness"], cobalt["last_seen_at"]) == ("active", "2026-01-05T12:16:00.000Z")


def test_a_remote_that_cannot_be_reached_is_offline_and_nothing_is_lost(origin: Path, pair: list[Clone]):
    here, there = pair
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    origin.rename(origin.with_name("away.git"))

    assert here.refused("sync").code == "OFFLINE"

    origin.with_name("away.git").rename(origin)
    settle(pair)
    assert here.digest == there.digest
    assert (AMBER, "src", "active") in there.holds()


@pytest.mark.parametrize("answer_is_lost", [False, True])
def test_a_sync_carries_what_was_there_when_it_began_and_leaves_the_rest_to_the_next(
    pair: list[Clone], monkeypatch: pytest.MonkeyPatch, answer_is_lost: bool
):
    here, there = pair
    push, pushes = remote.push, [0]

    def while_agents_record(*given: object, **named: object) -> None:
        pushes[0] += 1
        here.ask("agent.reserve", agent=AMBER, scope=[f"during/{pushes[0]}"], bead="bb-1")
        push(*given, **named)  # type: ignore[arg-type]
        here.ask("agent.reserve", agent=AMBER, scope=[f"after/{pushes[0]}"], bead="bb-1")
        if answer_is_lost:
            raise remote.Offline("the line went dead")

    monkeypatch.setattr(remote, "push", while_agents_record)
    here.ask("agent.reserve", agent=AMBER, scope=["before"], bead="bb-1")
    here.sync()
    there.sync(pull=True)

    assert pushes == [1]
    assert {scope for _, scope, _ in there.holds()} == {"before"}
    monkeypatch.undo()
    settle(pair)
    assert {scope for _, scope, _ in there.holds()} == {"before", "during/1", "after/1"}


def test_a_second_sync_is_told_that_one_is_running(pair: list[Clone]):
    here, _ = pair
    with SyncLock(str(here.store)):
        assert here.sync(timeout=1) == {"already_running": True, "remote": "origin"}


def waiting_syncs(here: Clone, number: int, monkeypatch: pytest.MonkeyPatch, **given: Any) -> list[dict[str, Any]]:
    """The answers of some syncs of one clone that all wait for the same one."""
    enter, waiting = SyncLock.__enter__, []

    def noted(lock: SyncLock) -> SyncLock:
        waiting.append(lock)
        return enter(lock)

    with ThreadPoolExecutor(number) as pool:
        with SyncLock(str(here.store)):
            monkeypatch.setattr(SyncLock, "__enter__", noted)
            called = [pool.submit(here.sync, **given) for _ in range(number)]
            until(lambda: len(waiting) == number, "that all wait")
            here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
        answers = [each.result() for each in called]
    monkeypatch.undo()
    return answers


def test_syncs_that_wait_for_another_one_are_served_by_one_sync_together(
    pair: list[Clone], monkeypatch: pytest.MonkeyPatch
):
    here, there = pair
    settle(pair)
    before = there.sync()["generation"]

    answers = waiting_syncs(here, 8, monkeypatch)

    assert sorted(bool(answer.pop("shared", False)) for answer in answers) == [False] + [True] * 7
    assert {answer["went"] for answer in answers} == {2}, "the reservation, and that what came before was read"
    assert all(answer == answers[0] for answer in answers)
    assert there.sync()["generation"] == before + 1, "they made one commit"
    assert (AMBER, "src", "active") in there.holds()


def test_a_sync_is_not_served_by_one_in_another_direction(pair: list[Clone], monkeypatch: pytest.MonkeyPatch):
    here, there = pair
    there.ask("agent.reserve", agent=COBALT, scope=["docs"], bead="bb-1")
    there.sync()
    settled = sync_runs.SyncRun(1, "origin", PUSH, {"already_running": False})
    monkeypatch.setattr(sync_runs, "read", lambda _: settled.replace(number=settled.number + next(calls)))
    calls = iter(range(10))

    assert here.sync(pull=True)["came"] == 2, "the reservation, and that what came before was read"
    assert here.sync(push=True) == {"already_running": False, "shared": True}


def test_a_background_sync_does_not_wait_for_another_one(pair: list[Clone]):
    here, _ = pair
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    here.settings[background.SETTING] = "on"
    os.utime(here.store / "sync.json", (time.time() - 3600,) * 2)
    with SyncLock(str(here.store)):
        assert here.sync(background=True) == {"started": False}
        here.settings[background.MARK] = "1"
        assert here.sync() == {"already_running": True, "remote": "origin"}


def test_a_branch_that_is_gone_is_refused_and_can_be_put_back(pair: list[Clone]):
    here, there = pair
    settle(pair)
    before = here.digest
    here.git("push", "--quiet", "origin", ":refs/heads/bb-ledger")

    assert here.refused("sync").code == "LEDGER_REWRITTEN"
    here.sync(publish=True)
    there.sync()

    assert here.digest == there.digest == before


def test_a_branch_set_back_is_refused_and_our_own_lines_are_kept(pair: list[Clone]):
    here, there = pair
    settle(pair)
    earlier = here.git("rev-parse", f"{here.tip}^").strip()
    before = here.digest
    here.git("push", "--quiet", "--force", "origin", f"{earlier}:refs/heads/bb-ledger")

    for each in pair:
        assert each.refused("sync").code == "LEDGER_REWRITTEN"
        assert each.digest == before
    there.ask("agent.reserve", agent=COBALT, scope=["docs"], bead="bb-2")
    assert there.refused("sync").code == "LEDGER_REWRITTEN", "and nothing is published on top of it"


def test_a_remote_that_holds_another_projects_ledger_is_refused(tmp_path: Path, pair: list[Clone]):
    here, _ = pair
    other = clone(hub(tmp_path / "other.git"), "other")
    other.git("commit", "--quiet", "--amend", "--allow-empty", "-m", "Another beginning")
    other.ask("agent.register", name="coral-heron", role="builder")
    other.sync(publish=True)
    here.git("remote", "add", "other", str(tmp_path / "other.git"))
    before = here.digest

    refusal = here.refused("sync", remote="other", pull=True)

    assert refusal.code == "ANOTHER_LEDGER"
    assert here.digest == before
    assert here.ask("ledger.status")["repo"] != other.ask("ledger.status")["repo"]


def test_undoing_a_ledger_leaves_nothing_of_it_here_and_says_where_it_is_still_published(pair: list[Clone]):
    here, there = pair
    settle(pair)

    undone = here.ask("init", undo=True, delete_history=True)

    assert undone["left"] == []
    assert undone["published_on"] == ["origin"]
    assert not here.store.exists()
    assert here.git("for-each-ref", "refs/bb/") == ""
    here.sync(pull=True)
    assert here.digest == there.digest, "and it can be had again"


@pytest.mark.parametrize("address", ["ext::sh -c x", "fd::3"])
def test_an_address_that_is_a_program_or_an_open_file_is_refused_and_says_how_to_allow_it(
    pair: list[Clone], address: str
):
    here, _ = pair
    here.git("config", "remote.origin.url", address)

    refused = here.refused("sync", pull=True)

    assert refused.code == "TRANSPORT_NOT_ALLOWED"
    assert "GIT_ALLOW_PROTOCOL" in str(refused.hint)
