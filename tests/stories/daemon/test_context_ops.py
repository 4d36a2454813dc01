"""The shared context and its tasks, asked of a daemon that runs (IPC §8.7)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.grids import some
from tests.stories.daemon.ipc_support import Daemon, running
from tests.stories.travel.travel_support import Clone, agents_at_work, hub
from tests.support import Scratch

PLAN = [
    {"op": "vision.update", "vision": "Dates are parsed."},
    {"op": "milestone.create", "name": "First light", "description": "It parses.", "status": "active"},
    {"op": "task.create", "name": "Parse dates", "steps": [{"name": "Read", "acceptance": "All forms"}]},
    {"op": "task.create", "title": "Say so", "outcome": "People know", "assignee": "bo", "status": "active"},
    {"op": "note.add", "content": "Weeks are hard."},
    {"op": "reference.add", "url": "https://example.invalid/iso", "note": "the standard"},
    {"op": "presence.update", "agent_id": "bo", "status": "reading"},
]
TOKEN = "ghp_" + "aZ09" * 9


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One for all stories here, which work in a group each."""
    with running(tmp_path_factory.mktemp("context") / "home") as made:
        yield made


class Group:
    """A group with a foreman, `ada`, and two peers."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self.id = str(daemon.call("group_create", title="Dates")["group_id"])
        for name in ("ada", "bo", "cy"):
            daemon.call("actor_add", group_id=self.id, actor_id=name, runner="headless")

    def ask(self, op: str, **args: Any) -> dict[str, Any]:
        return self._daemon.call(op, group_id=self.id, **args)

    def refused(self, op: str, **args: Any) -> dict[str, Any]:
        return self._daemon.refusal(op, group_id=self.id, **args)

    def sync(self, *ops: dict[str, Any], **args: Any) -> dict[str, Any]:
        return self.ask("context_sync", ops=list(ops), **args)

    def tasks(self) -> dict[str, str]:
        return {task["id"]: task["title"] for task in self.ask("task_list")["tasks"]}


@pytest.fixture
def group(daemon: Daemon) -> Group:
    return Group(daemon)


# -- what is asked and what is answered


def test_ipc_8_7_context_get_has_everything_in_one_answer(group: Group):
    group.sync(*PLAN)

    found = group.ask("context_get")

    assert (found["vision"], found["sketch"]) == ("Dates are parsed.", None)
    assert [each["name"] for each in found["milestones"]] == ["First light"]
    assert [each["content"] for each in found["notes"]] == ["Weeks are hard."]
    assert [each["url"] for each in found["references"]] == ["https://example.invalid/iso"]
    assert (found["tasks_summary"]["total"], found["active_task"]["id"]) == (2, "T002")
    assert [(each["id"], each["status"]) for each in found["presence"]["agents"]] == [("bo", "reading")]


@pytest.mark.parametrize(("detail", "has_board", "has_tasks"), [("full", 1, 1), ("summary", 0, 1), ("overview", 0, 0)])
def test_how_much_of_the_context_is_wanted_may_be_said(group: Group, detail: str, has_board: int, has_tasks: int):
    group.sync(*PLAN)

    found = group.ask("context_get", detail=detail)

    assert ("board" in found, "tasks" in found["coordination"]) == (bool(has_board), bool(has_tasks))


def test_ipc_8_7_a_sync_says_what_it_changed_and_to_which_version(group: Group):
    before = group.ask("context_get")["version"]

    done = group.sync(*PLAN)

    assert (done["success"], done["dry_run"]) == (True, False)
    assert [(each["index"], each["op"]) for each in done["changes"]] == [(n, op["op"]) for n, op in enumerate(PLAN)]
    assert all(each["detail"] for each in done["changes"])
    assert before == ""
    assert done["version"] == group.ask("context_get")["version"] != ""


def test_ipc_8_7_a_sync_is_one_event_of_the_ledger(group: Group):
    done = group.sync(*PLAN, by="ada")

    last = group.ask("ledger_snapshot")["snapshot"]["last_event"]

    assert (last["kind"], last["by"], last["id"]) == ("context.sync", "ada", done["version"])


def test_a_sync_without_operations_changes_nothing(group: Group):
    first = group.sync(PLAN[0])
    assert group.sync() == {"success": True, "dry_run": False, "changes": [], "version": first["version"]}


def test_who_does_not_say_who_asks_is_the_system(group: Group):
    group.sync({"op": "task.create", "title": "One"})
    group.sync({"op": "task.create", "title": "Two"}, by="bo")
    group.sync({"op": "task.create", "title": "Three"}, by="")

    assert [task["created_by"] for task in group.ask("task_list")["tasks"]] == ["system", "bo", "system"]


def test_ipc_8_7_tasks_are_listed_or_one_of_them_is_shown(group: Group):
    group.sync(*PLAN)

    assert group.tasks() == {"T001": "Parse dates", "T002": "Say so"}
    one = group.ask("task_list", task_id="T001")
    assert list(one) == ["task"]
    assert (one["task"]["name"], one["task"]["steps"][0]["acceptance"]) == ("Parse dates", "All forms")
    assert group.refused("task_list", task_id="T009")["code"] == "task_not_found"


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"status": "active"}, ["T002"]),
        ({"statuses": "planned,active", "limit": 1}, ["T001", "T002"]),
        ({"assignee": "bo"}, ["T002"]),
        ({"assignee": "__unassigned__"}, ["T001"]),
        ({"query": "PARSE"}, ["T001"]),
        ({"task_ids": "T002,T009"}, ["T002"]),
        ({"attention": "unassigned"}, ["T001"]),
        ({"limit": 1, "offset": 1, "include_index": True}, ["T001"]),
    ],
)
def test_tasks_are_chosen_as_later_clients_ask_for_them(group: Group, filters: dict[str, Any], found: list[str]):
    group.sync(*PLAN)

    answer = group.ask("task_list", **filters)

    pages = answer["pages"].values() if "pages" in answer else [answer]
    assert [task["id"] for page in pages for task in page["tasks"]] == found
    assert ("task_index" in answer) is ("include_index" in filters)


def test_ipc_8_7_presence_is_what_actors_said_last(group: Group):
    group.sync({"op": "presence.update", "agent_id": "bo", "status": "reading"}, by="bo")
    group.sync({"op": "presence.update", "agent_id": "bo", "status": "writing"}, by="bo")

    found = group.ask("presence_get")

    assert found["heartbeat_timeout_seconds"] > 0
    assert [(each["id"], each["status"]) for each in found["agents"]] == [("bo", "writing")]
    assert found["agents"][0]["updated_at"].endswith("Z")


# -- all or nothing


def test_ipc_8_7_one_operation_that_cannot_be_done_leaves_nothing_of_the_others(group: Group):
    group.sync(PLAN[0])
    before = group.ask("context_get")

    error = group.refused("context_sync", ops=[*PLAN[1:], {"op": "task.update", "task_id": "T077", "name": "x"}])

    assert (error["code"], error["details"]["index"]) == ("context_sync_error", 6)
    assert group.ask("context_get") == before


def test_ipc_8_7_an_operation_nobody_knows_is_refused(group: Group):
    error = group.refused("context_sync", ops=[{"op": "vision.erase"}])
    assert (error["code"], error["details"]["path"]) == ("context_sync_error", "$.ops[0].op")


@pytest.mark.parametrize("ops", [None, "x", {}, [1], [{}], [{"op": 7}]])
def test_ipc_8_7_operations_are_a_list_of_objects_that_name_themselves(group: Group, ops: Any):
    assert group.refused("context_sync", ops=ops)["code"] == "invalid_ops"


def test_ipc_8_7_a_dry_run_answers_the_same_and_keeps_nothing(group: Group):
    group.sync(PLAN[0])
    before = group.ask("context_get"), group.ask("ledger_snapshot")["snapshot"]["last_event"]

    tried = group.sync(*PLAN, dry_run=True)

    assert (group.ask("context_get"), group.ask("ledger_snapshot")["snapshot"]["last_event"]) == before
    assert (tried["dry_run"], tried["version"]) == (True, before[0]["version"])
    done = group.sync(*PLAN)
    assert tried["changes"] == done["changes"]


@pytest.mark.parametrize(
    ("ops", "more", "code"),
    [
        ([{"op": "task.create", "title": f"Use {TOKEN}"}], {}, "secret_found"),
        ([{"op": "nothing"}], {}, "context_sync_error"),
        ([PLAN[0]], {"if_version": "another"}, "version_conflict"),
        ([{"op": "meta.merge", "project_status": "x"}], {"by": "bo"}, "permission_denied"),
        ([PLAN[0]], {"by": "svc:build"}, "permission_denied"),
        ([PLAN[0]], {"by": "nobody-here"}, "permission_denied"),
    ],
)
def test_a_dry_run_is_refused_as_the_real_thing_is(group: Group, ops: list[Any], more: dict[str, str], code: str):
    refusals = [group.refused("context_sync", ops=ops, dry_run=dry_run, **more) for dry_run in (True, False)]

    assert refusals[0] == refusals[1]
    assert refusals[0]["code"] == code
    assert group.ask("context_get")["version"] == ""


# -- two at once


def test_who_has_seen_an_older_version_is_told_the_newer_one(group: Group):
    seen = group.sync(PLAN[0])["version"]
    now = group.sync(PLAN[4], if_version=seen)["version"]

    error = group.refused("context_sync", ops=[PLAN[5]], if_version=seen)

    assert (error["code"], error["details"]["version"]) == ("version_conflict", now)


# -- who may


def test_a_peer_does_not_assign_work_to_another_peer(group: Group):
    theirs = {"op": "task.create", "title": "One", "assignee": "cy"}

    error = group.refused("context_sync", ops=[theirs], by="bo")
    assert (error["code"], error["details"]["path"]) == ("permission_denied", "$.ops[0].assignee")

    assert group.sync(theirs, by="ada")["success"], "who is the foreman"


def test_what_the_group_shares_is_shown_to_all_of_it_and_to_nobody_else(group: Group):
    for op in ("context_get", "task_list", "presence_get"):
        for who in ("user", "ada", "bo", "svc:build", "system"):
            group.ask(op, by=who)
        assert group.refused(op, by="nobody-here")["code"] == "permission_denied"


# -- whatever is sent

JUNK: list[Any] = [0, -1, 1.5, True, "", "x" * 300, "\x1b[2J", [], [[]], ["x", 1], {}, {"a": {"b": [None]}}, "\ud800"]
ASKED = {
    "context_get": ("group_id", "detail", "by"),
    "context_sync": ("group_id", "ops", "dry_run", "if_version", "by"),
    "task_list": (
        *("group_id", "task_id", "task_ids", "status", "statuses", "query", "assignee", "attention", "offset", "limit"),
        *("include_index", "by"),
    ),
    "presence_get": ("group_id", "by"),
}


@pytest.mark.parametrize(("op", "name"), [(op, name) for op, names in ASKED.items() for name in names])
def test_whatever_is_sent_is_answered_or_refused_and_no_bug(daemon: Daemon, group: Group, op: str, name: str):
    for junk in some(JUNK, 5):
        answer = daemon.ask(op, **{"group_id": group.id, "ops": [PLAN[0]], name: junk})
        assert answer["ok"] or answer["error"]["code"] not in ("internal_error", ""), (junk, answer)


def test_arguments_that_nobody_here_knows_are_let_be(group: Group):
    group.sync(*PLAN, idempotency="x", later=[1])
    assert group.ask("context_get", include_archived=True)["vision"] == "Dates are parsed."


def test_without_a_group_nothing_is_answered(daemon: Daemon):
    for op in ASKED:
        assert daemon.refusal(op)["code"] == "missing_group_id"
        assert daemon.refusal(op, group_id="g_nowhere")["code"] == "group_not_found"


# -- one truth


def test_what_was_shared_is_there_when_the_daemon_comes_back(tmp_path: Path):
    with running(tmp_path / "home") as daemon:
        group = Group(daemon)
        group.sync(*PLAN)
        before = group.ask("context_get")
        assert daemon.stop() == 0
        daemon.start()
        assert group.ask("context_get") == before


def test_commands_in_the_repository_and_clients_of_the_daemon_see_one_context(daemon: Daemon, repo: Scratch):
    group_id = daemon.call("attach", path=str(repo.path))["group_id"]
    repo.settings |= daemon.env

    def typed(op: str, **given: Any) -> Any:
        return repo.json("call", op, "--args", json.dumps(given)).data

    typed("context_sync", ops=PLAN[:4])
    sent = daemon.call("context_sync", group_id=group_id, ops=[{"op": "task.create", "title": "Third"}])

    assert typed("context_get") == daemon.call("context_get", group_id=group_id)
    assert typed("context_get")["version"] == sent["version"]
    assert [task["id"] for task in typed("task_list")["tasks"]] == ["T001", "T002", "T003"]


def test_two_clones_that_meet_keep_what_each_has_begun(tmp_path: Path):
    pair = agents_at_work(hub(tmp_path / "hub.git"), "amber-otter", "cobalt-harbor")
    for clone, title in zip(pair, ("Parse dates", "Say so"), strict=True):
        clone.settings["CCCC_HOME"] = str(tmp_path / "home")
        clone.ask("context_sync", ops=[{"op": "task.create", "title": title}])

    for clone in (*pair, *pair):
        clone.sync()

    here, there = (clone.ask("context_get") for clone in pair)
    assert here == there
    assert sorted(task["title"] for task in here["coordination"]["tasks"]) == ["Parse dates", "Say so"]
    assert len({task["id"] for task in here["coordination"]["tasks"]}) == 2


def test_a_change_that_is_taken_back_was_never_made(tmp_path: Path):
    (clone,) = agents_at_work(hub(tmp_path / "hub.git"), "amber-otter")
    clone.settings["CCCC_HOME"] = str(tmp_path / "home")
    clone.ask("context_sync", ops=[PLAN[0]])
    slip = clone.ask("context_sync", ops=[{"op": "vision.update", "vision": "A password."}])["version"]

    clone.ask("ledger.redact", event=slip, reason="a slip", agent="user")

    assert _vision(clone) == "Dates are parsed."
    clone.ask("ledger.rebuild")
    assert _vision(clone) == "Dates are parsed."


def _vision(clone: Clone) -> Any:
    return clone.ask("context_get")["vision"]
