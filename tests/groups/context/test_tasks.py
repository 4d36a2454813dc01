"""Tasks in both vocabularies: one kind of task, two ways to talk of it (IPC §8.7)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tests.groups.context.test_batch import refusal
from tests.groups.context.test_context import Clone, create


def update(task_id: str = "T001", /, **fields: Any) -> dict[str, Any]:
    return {"op": "task.update", "task_id": task_id, **fields}


def move(status: str, name: str = "T001") -> dict[str, Any]:
    return {"op": "task.move", "task_id": name, "status": status}


def restore(name: str = "T001") -> dict[str, Any]:
    return {"op": "task.restore", "task_id": name}


def delete(name: str = "T001") -> dict[str, Any]:
    return {"op": "task.delete", "task_id": name}


def first(**fields: Any) -> dict[str, Any]:
    """A task as the first vocabulary creates it."""
    steps = [{"name": "lay bricks", "acceptance": "it stands"}, {"name": "paint"}]
    return {"op": "task.create", "name": "Build", "goal": "a wall", "steps": steps, **fields}


def made(*ops: dict[str, Any], by: str = "user") -> Clone:
    clone = Clone()
    clone.sync(*ops, by=by)
    return clone


# -- two vocabularies


def test_a_task_of_the_first_vocabulary_reads_in_the_third():
    shown = made({"op": "milestone.create", "name": "M"}, first(milestone_id="M1", assignee="ada")).task()

    assert (shown["id"], shown["title"], shown["outcome"], shown["status"]) == ("T001", "Build", "a wall", "planned")
    assert shown["checklist"] == [
        {"id": "S1", "text": "lay bricks", "status": "pending"},
        {"id": "S2", "text": "paint", "status": "pending"},
    ]
    assert shown["current_checklist_item"] == shown["checklist"][0]
    assert (shown["parent_id"], shown["is_root"], shown["milestone"]) == (None, True, "M1")
    assert (shown["waiting_on"], shown["task_type"], shown["blocked_by"], shown["notes"]) == (
        "none",
        "standard",
        [],
        "",
    )


def test_a_task_of_the_third_vocabulary_reads_in_the_first():
    checklist = [{"id": "a", "text": "lay bricks", "status": "done"}, {"text": "paint", "status": "in_progress"}]
    shown = made(create("Build", outcome="a wall", status="active", checklist=checklist)).task()

    assert (shown["name"], shown["goal"], shown["status"]) == ("Build", "a wall", "active")
    assert shown["steps"] == [
        {"id": "a", "name": "lay bricks", "acceptance": "", "status": "done"},
        {"id": "S2", "name": "paint", "acceptance": "", "status": "in_progress"},
    ]
    assert (shown["current_step"], shown["progress"]) == ("S2", 0.5)


def test_everything_that_the_published_clients_send_for_a_task_is_kept():
    fields = {
        "outcome": "o",
        "status": "planned",
        "parent_id": "T001",
        "assignee": "bo",
        "priority": "high",
        "blocked_by": ["T001", "the weather"],
        "waiting_on": "external",
        "handoff_to": "ada",
        "task_type": "optimization",
        "notes": "n",
        "checklist": [{"id": "C1", "text": "c", "status": "pending"}],
    }
    shown = made(create("Root"), create("Child", **fields)).task("T002")
    assert {name: shown[name] for name in fields} == fields


def test_title_comes_before_name_and_a_name_alone_will_do():
    shown = made(create("Title", name="Name"), {"op": "task.create", "title": None, "name": "Name"}).tasks()
    assert [task["title"] for task in shown] == ["Title", "Name"]


def test_a_task_of_one_vocabulary_is_changed_in_the_other():
    clone = made(first(), create("Third", checklist=[{"text": "one"}]))
    clone.sync(update(title="Wall", checklist=[{"id": "S1", "text": "lay stones"}]))
    clone.sync(update("T002", name="First", goal="g", step_id="S1", step_status="done", status="active"))

    assert (clone.task()["name"], clone.task()["goal"]) == ("Wall", "a wall")
    step = {"id": "S1", "name": "lay stones", "acceptance": "it stands", "status": "pending"}
    assert clone.task()["steps"] == [step], "an item that stays keeps what it had to be accepted by"
    other = clone.task("T002")
    assert (other["title"], other["outcome"], other["status"], other["progress"]) == ("First", "g", "active", 1.0)


def test_a_task_type_that_is_left_out_is_standard_for_a_root_and_free_below():
    clone = made(create(), create(parent_id="T001"), create(parent_id="T001", task_type="standard"))
    assert [task["task_type"] for task in clone.tasks()] == ["standard", "free", "standard"]


def test_a_title_is_one_line():
    assert made(create("  Build \n the\twall ")).task()["title"] == "Build the wall"


@pytest.mark.parametrize("nobody", [None, "", " "])
@pytest.mark.parametrize("field", ["assignee", "handoff_to", "parent_id", "milestone_id"])
def test_what_a_task_hangs_on_is_taken_away_by_null_or_nothing(field: str, nobody: Any):
    clone = made({"op": "milestone.create", "name": "M"}, create())
    clone.sync(create("Child", assignee="ada", handoff_to="bo", parent_id="T001", milestone_id="M1"))
    assert clone.task("T002")[field]
    clone.sync(update("T002", **{field: nobody}))
    assert clone.task("T002")[field] is None


def test_either_name_of_the_milestone_counts_and_the_one_with_a_value_first():
    clone = made({"op": "milestone.create", "name": "M"}, first(milestone="M1", milestone_id=None))
    assert clone.task()["milestone"] == "M1"


def test_a_subtask_belongs_to_the_milestone_of_the_nearest_task_above_it():
    milestones = [{"op": "milestone.create", "name": name} for name in "ab"]
    clone = made(*milestones, create(milestone_id="M1"), create(parent_id="T001"), create(parent_id="T002"))
    assert [task["milestone"] for task in clone.tasks()] == ["M1", "M1", "M1"]
    clone.sync(update("T002", milestone_id="M2"))
    assert [task["milestone"] for task in clone.tasks()] == ["M1", "M2", "M2"]


def test_an_actor_is_spelled_as_in_the_group():
    assert made(create(assignee="ADA")).task()["assignee"] == "ada"


@pytest.mark.parametrize("text", ["T002", "T9", "T1-abcd"])
def test_what_looks_like_a_task_must_be_one_to_block(text: str):
    error = refusal(made(create()), update(blocked_by=["T001 is late", text]))
    assert error.details["path"] == "$.ops[0].blocked_by[1]"


@pytest.mark.parametrize("text", ["Tom", "the weather", "T-shirts", "t002"])
def test_what_else_blocks_is_said_in_words(text: str):
    assert made(create(blocked_by=[f" {text} "])).task()["blocked_by"] == [text]


# -- status

STATUSES = ["planned", "active", "done", "archived"]


@pytest.mark.parametrize("to", STATUSES)
@pytest.mark.parametrize("before", STATUSES)
@pytest.mark.parametrize("change", [move, lambda to: update(status=to), lambda to: update(status=to, name="n")])
def test_any_status_may_become_any_other_and_what_is_archived_remembers_where_from(change: Any, before: str, to: str):
    clone = made(create(status=before))
    clone.sync(change(to))
    was = "planned" if before == "archived" else before
    assert (clone.task()["status"], clone.task()["archived_from"]) == (to, was if to == "archived" else None)


@pytest.mark.parametrize("before", ["planned", "active", "done"])
def test_what_is_archived_goes_back_to_what_it_was(before: str):
    clone = made(create(status=before))
    clone.sync(move("archived"), move("archived"))
    assert clone.sync(restore()) == [f"restored T001 to {before}"]
    assert (clone.task()["status"], clone.task()["archived_from"]) == (before, None)


@pytest.mark.parametrize("status", ["planned", "active", "done"])
def test_only_what_is_archived_is_restored(status: str):
    error = refusal(made(create(status=status)), restore())
    assert error.details["path"] == "$.ops[0].task_id"
    assert "not archived" in error.message


def test_pending_is_an_old_word_for_planned():
    clone = made(create(status="Pending"), create(status=" ACTIVE "))
    assert [task["status"] for task in clone.tasks()] == ["planned", "active"]


THIRD = {
    "title": "t",
    "outcome": "o",
    "parent_id": None,
    "priority": "p",
    "blocked_by": [],
    "waiting_on": "user",
    "handoff_to": "ada",
    "task_type": "free",
    "notes": "n",
    "checklist": [],
}


@pytest.mark.parametrize("field", sorted(THIRD))
def test_in_the_third_vocabulary_an_update_never_changes_the_status_and_says_so(field: str):
    clone = made(create())
    assert "its status is unchanged" in clone.sync(update(status="done", **{field: THIRD[field]}))[0]
    assert clone.task()["status"] == "planned"


@pytest.mark.parametrize("field", sorted({*THIRD, "name", "goal", "assignee", "milestone", "step_id"}))
def test_a_move_takes_nothing_but_a_status(field: str):
    error = refusal(made(create()), {**move("done"), field: "x"})
    assert error.details["path"] == f"$.ops[0].{field}"


# -- steps


def test_steps_are_numbered_and_the_current_one_is_the_first_that_is_not_done():
    clone = made(first())
    seen = []
    for step, mark in (("S1", "in_progress"), ("S2", "done"), ("S1", "done"), ("S2", "pending")):
        clone.sync(update(step_id=step, step_status=mark))
        seen.append((clone.task()["current_step"], clone.task()["progress"]))
    assert seen == [("S1", 0.0), ("S1", 0.5), (None, 1.0), ("S2", 0.5)]


def test_several_steps_are_marked_in_one_batch():
    clone = made(first())
    clone.sync(update(step_id="S1", step_status="done"), update(step_id="S2", step_status="done"))
    assert clone.task()["progress"] == 1.0


@pytest.mark.parametrize(("status", "progress"), [("planned", 0.0), ("active", 0.0), ("done", 1.0)])
def test_a_task_without_steps_is_done_or_not(status: str, progress: float):
    clone = made(create(status=status))
    assert (clone.task()["progress"], clone.task()["current_step"], clone.task()["steps"]) == (progress, None, [])
    clone.sync(move("archived"))
    assert clone.task()["progress"] == progress


@pytest.mark.parametrize("fields", [{"step_id": "S1"}, {"step_status": "done"}])
def test_a_step_and_its_status_come_together(fields: dict[str, str]):
    missing = ({"step_id", "step_status"} - set(fields)).pop()
    assert refusal(made(first()), update(**fields)).details["path"] == f"$.ops[0].{missing}"


@pytest.mark.parametrize("step", ["S3", "s1", "", None, 1, [], "mark S1"])
def test_a_step_must_be_there(step: Any):
    assert refusal(made(first()), update(step_id=step, step_status="done")).details["path"] == "$.ops[0].step_id"


@pytest.mark.parametrize("mark", ["finished", "", None, 1, []])
def test_a_step_is_pending_in_progress_or_done(mark: Any):
    error = refusal(made(first()), update(step_id="S1", step_status=mark))
    assert error.details["path"] == "$.ops[0].step_status"


@pytest.mark.parametrize(
    ("checklist", "path"),
    [
        (["a"], "checklist[0]"),
        ([{"text": "a"}, {"text": " "}], "checklist[1].text"),
        ([{}], "checklist[0].text"),
        ([{"text": 7}], "checklist[0].text"),
        ([{"text": "a" * 501}], "checklist[0].text"),
        ([{"text": "a", "id": 7}], "checklist[0].id"),
        ([{"text": "a", "id": "x" * 65}], "checklist[0].id"),
        ([{"text": "a", "id": "S2"}, {"text": "b"}], "checklist[1].id"),
        ([{"text": "a", "status": "half"}], "checklist[0].status"),
        ([{"text": "a", "status": []}], "checklist[0].status"),
        ([{"text": "a"}] * 101, "checklist"),
    ],
)
def test_an_item_that_does_not_fit_is_refused_with_its_path(checklist: Any, path: str):
    assert refusal(Clone(), create(checklist=checklist)).details["path"] == f"$.ops[0].{path}"
    assert refusal(made(create()), update(checklist=checklist)).details["path"] == f"$.ops[0].{path}"


@pytest.mark.parametrize(("steps", "path"), [(["a"], "steps[0]"), ([{"name": 7}], "steps[0].name")])
def test_a_step_that_does_not_fit_is_refused_with_its_path(steps: Any, path: str):
    assert refusal(Clone(), first(steps=steps)).details["path"] == f"$.ops[0].{path}"


def test_a_checklist_takes_the_place_of_the_one_before():
    clone = made(create(checklist=[{"text": "a", "status": "done"}, {"text": "b", "status": "done"}]))
    clone.sync(update(checklist=[{"text": "c"}]))
    assert clone.task()["checklist"] == [{"id": "S1", "text": "c", "status": "pending"}]
    clone.sync(update(checklist=None))
    assert clone.task()["checklist"] == []


def test_a_step_is_marked_on_the_checklist_that_comes_with_it():
    clone = made(create(checklist=[{"text": "a"}]))
    clone.sync(update(checklist=[{"id": "x", "text": "b"}], step_id="x", step_status="done"))
    assert clone.task()["checklist"] == [{"id": "x", "text": "b", "status": "done"}]
    assert refusal(clone, update(checklist=[], step_id="x", step_status="done")).details["path"] == "$.ops[0].step_id"


# -- circles


def chain(length: int) -> Clone:
    """Tasks, each below the one before and waiting for it."""
    ops = [
        create("1"),
        *(create(str(n), parent_id=f"T{n - 1:03}", blocked_by=[f"T{n - 1:03}"]) for n in range(2, length + 1)),
    ]
    return made(*ops)


@pytest.mark.parametrize("field", ["parent_id", "blocked_by"])
@pytest.mark.parametrize("last", [1, 2, 5])
def test_no_task_leads_back_to_itself(last: int, field: str):
    value = f"T{last:03}" if field == "parent_id" else ["the weather", f"T{last:03}"]
    error = refusal(chain(5), update(**{field: value}))
    assert error.details["path"] == f"$.ops[0].{field}"


def test_a_circle_is_not_closed_within_one_batch_either():
    ops = [create("a"), create("b"), update("T001", parent_id="T002"), update("T002", parent_id="T001")]
    assert refusal(Clone(), *ops).details["index"] == 3


def test_to_wait_for_the_task_above_or_below_is_no_circle():
    clone = chain(3)
    clone.sync(update("T003", parent_id="T001", blocked_by=[]), update("T001", blocked_by=["T003"]))
    assert clone.task("T001")["blocked_by"] == ["T003"]


def test_a_long_chain_is_walked_without_end_or_depth():
    assert refusal(chain(400), update(parent_id="T400")).code == "CONTEXT_SYNC_ERROR"


# -- deletion


@pytest.mark.parametrize("archived", [False, True])
def test_work_that_never_began_is_deleted_with_all_below_it(archived: bool):
    clone = chain(4)
    clone.sync(create("Other", blocked_by=["T002"]))
    if archived:
        clone.sync(move("archived", "T003"))
    assert clone.sync(delete("T002")) == ["deleted T002 and 2 below it"]
    assert [(task["id"], task["blocked_by"]) for task in clone.tasks()] == [("T001", []), ("T005", [])]


@pytest.mark.parametrize("began", ["T002", "T003", "T004"])
@pytest.mark.parametrize("way", [["active"], ["done"], ["active", "archived"], ["active", "planned"]])
def test_work_that_began_is_not_deleted_nor_what_is_above_it(way: list[str], began: str):
    clone = chain(4)
    for status in way:
        clone.sync(move(status, began))
    error = refusal(clone, delete("T002"))
    assert (error.code, error.details["path"]) == ("CONTEXT_SYNC_ERROR", "$.ops[0].task_id")
    assert began in error.message


def test_a_task_that_was_created_active_has_begun():
    assert refusal(made(create(status="active")), delete()).code == "CONTEXT_SYNC_ERROR"


def test_a_peer_deletes_only_what_is_all_its_own():
    clone = made(
        create(assignee="ada"), create(parent_id="T001", handoff_to="ada"), create(parent_id="T002", assignee="bo")
    )
    assert refusal(clone, delete("T001"), by="ada").code == "PERMISSION_DENIED"
    clone.sync(update("T003", handoff_to="ada"))
    assert clone.sync(delete("T001"), by="ada") == ["deleted T001 and 2 below it"]


def test_what_an_agent_says_of_a_task_that_was_deleted_stays_its_own():
    clone = made(create(), {"op": "agent_state.update", "actor_id": "ada", "active_task_id": "T001", "focus": "f"})
    clone.sync(delete())
    assert clone.summary()["agent_states"][0]["hot"] | {"blockers": []} == {
        "active_task_id": None,
        "focus": "f",
        "blockers": [],
        "next_action": "",
    }


# -- what is left out stays


@pytest.mark.parametrize("vocabulary", [{"name": "n"}, {"title": "n"}])
def test_an_update_changes_what_it_names_and_nothing_else(vocabulary: dict[str, str]):
    clone = made(
        create("Build", outcome="o", assignee="ada", notes="n", checklist=[{"text": "a"}], blocked_by=["rain"])
    )
    before = clone.task()
    clone.sync(update(**vocabulary))
    after = clone.task()
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"name", "title", "updated_at"}


def test_an_update_of_nothing_is_a_sign_of_life():
    clone = made(create())
    before = clone.task()
    assert clone.sync(update()) == ["updated T001"]
    assert {name for name, value in clone.task().items() if before[name] != value} == {"updated_at"}


def test_ids_are_given_in_order():
    clone = chain(12)
    names = [task["id"] for task in clone.tasks()]
    assert all(one < other for one, other in pairwise(names))
