"""`context_get` and `presence_get`: the whole context, in the words of both vocabularies (IPC §8.7)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bb.groups.context import summary as context_summary
from bb.groups.context.summary import presence, summary
from bb.kernel import clock
from tests.groups.context.test_batch import furnished, refusal
from tests.groups.context.test_context import NOON, Clone, create

FIRST = ["version", "vision", "sketch", "milestones", "notes", "references", "tasks_summary", "active_task", "presence"]
THIRD = ["coordination", "agent_states", "board", "attention", "meta", "tasks_version", "actors_runtime"]
AT = "2026-01-05T12:{:02}:00.000Z"


def test_ipc_8_7_an_empty_context_has_every_part():
    shown = Clone().summary()
    assert set(FIRST + THIRD) <= set(shown)
    assert {name: shown[name] for name in FIRST} == {
        "version": "",
        "vision": None,
        "sketch": None,
        "milestones": [],
        "notes": [],
        "references": [],
        "tasks_summary": dict.fromkeys(shown["tasks_summary"], 0),
        "active_task": None,
        "presence": {"agents": []},
    }
    assert shown["coordination"]["brief"] == {
        "objective": "",
        "current_focus": "",
        "project_brief": "",
        "constraints": [],
        "project_brief_stale": False,
        "updated_by": None,
        "updated_at": None,
    }
    assert shown["board"] == {"planned": [], "active": [], "done": [], "archived": []}
    assert (shown["meta"], shown["agent_states"], shown["left_out"]) == ({}, [], {})


def test_ipc_8_7_vision_and_sketch_are_what_was_said_last():
    clone = Clone()
    clone.sync({"op": "vision.update", "vision": "loud"}, {"op": "sketch.update", "sketch": "boxes\nand arrows"})
    clone.sync({"op": "vision.update", "vision": "calm"})
    assert (clone.summary()["vision"], clone.summary()["sketch"]) == ("calm", "boxes\nand arrows")
    clone.sync({"op": "vision.update", "vision": None})
    assert clone.summary()["vision"] == ""


# -- milestones


def milestone(clone: Clone) -> dict[str, Any]:
    found = clone.summary()["milestones"]
    assert len(found) == 1
    return {name: found[0][name] for name in ("status", "archived_from", "started", "completed", "outcomes")}


def change(verb: str, **fields: Any) -> dict[str, Any]:
    return {"op": f"milestone.{verb}", "milestone_id": "M1", **fields}


def on(clone: Clone, day: int) -> None:
    clone.minutes = (day - 5) * 24 * 60


def test_a_milestone_as_the_first_vocabulary_shows_it():
    clone = Clone()
    clone.sync({"op": "milestone.create", "name": "First", "description": "d"})
    assert clone.summary()["milestones"] == [
        {
            "id": "M1",
            "name": "First",
            "description": "d",
            "status": "planned",
            "archived_from": None,
            "started": None,
            "completed": None,
            "outcomes": None,
            "created_at": AT.format(1),
            "updated_at": AT.format(1),
        }
    ]


def test_the_first_activation_of_a_milestone_is_dated_and_no_later_one():
    clone = Clone()
    clone.sync({"op": "milestone.create", "name": "First"})
    for day, status in ((6, "active"), (7, "planned"), (8, "active")):
        on(clone, day)
        clone.sync(change("update", status=status))
    assert milestone(clone)["started"] == "2026-01-06"


def test_a_milestone_that_is_created_active_has_started():
    clone = Clone()
    clone.sync({"op": "milestone.create", "name": "First", "status": "active"})
    assert milestone(clone)["started"] == "2026-01-05"


def test_of_two_first_activations_apart_the_earlier_is_the_first():
    one, other = Clone("a" * 12), Clone("b" * 12)
    one.sync({"op": "milestone.create", "name": "First"})
    other.hear(one)
    on(one, 7)
    one.sync(change("update", status="active"))
    on(other, 6)
    other.sync({"op": "vision.update", "vision": "v"})
    other.sync(change("update", status="active"))
    one.hear(other)
    assert milestone(one)["started"] == "2026-01-07", "the total order counts, not the clocks"


def test_a_milestone_is_completed_with_its_outcomes_and_reopened():
    clone = Clone()
    clone.sync({"op": "milestone.create", "name": "First"})
    on(clone, 9)
    clone.sync(change("complete", outcomes="a wall"))
    done = {"status": "done", "archived_from": None, "started": None, "completed": "2026-01-09", "outcomes": "a wall"}
    assert milestone(clone) == done
    on(clone, 10)
    clone.sync(change("update", status="archived"))
    assert milestone(clone) == done | {"status": "archived", "archived_from": "done"}
    clone.sync(change("restore"))
    assert milestone(clone) == done
    clone.sync(change("complete"))
    assert milestone(clone) == done | {"completed": "2026-01-10"}
    clone.sync(change("update", status="active"))
    assert milestone(clone) == done | {"status": "active", "started": "2026-01-10", "completed": None}


@pytest.mark.parametrize("status", ["planned", "active", "done"])
def test_a_milestone_goes_back_to_what_it_was_and_only_from_the_archive(status: str):
    clone = Clone()
    clone.sync({"op": "milestone.create", "name": "First", "status": status})
    before = milestone(clone)
    assert refusal(clone, change("restore")).details["path"] == "$.ops[0].milestone_id"
    clone.sync(change("update", status="archived"), change("update", status="archived"))
    assert clone.sync(change("restore")) == [f"restored M1 to {status}"]
    assert milestone(clone) == before


# -- notes, references, decisions


def test_notes_and_references_are_added_changed_and_removed():
    clone = Clone()
    clone.sync(
        *({"op": "note.add", "content": text} for text in "abc"), {"op": "reference.add", "url": "u", "note": "n"}
    )
    clone.sync({"op": "note.update", "note_id": "N002", "content": "B"}, {"op": "note.remove", "note_id": "N001"})
    clone.sync({"op": "reference.update", "reference_id": "R001", "url": "v"})
    shown = clone.summary()
    assert [(note["id"], note["content"]) for note in shown["notes"]] == [("N002", "B"), ("N003", "c")]
    reference = shown["references"][0]
    assert (reference["id"], reference["url"], reference["note"]) == ("R001", "v", "n")
    clone.sync({"op": "reference.remove", "reference_id": "R001"})
    assert clone.summary()["references"] == []


def test_what_was_removed_stays_away_although_it_was_changed_elsewhere():
    one, other = Clone("a" * 12), Clone("b" * 12)
    one.sync({"op": "note.add", "content": "n"})
    other.hear(one)
    one.sync({"op": "note.remove", "note_id": "N001"})
    other.sync({"op": "note.update", "note_id": "N001", "content": "m"})
    one.hear(other)
    assert one.summary()["notes"] == []


def test_the_newest_decisions_and_handoffs_are_shown_apart_from_the_notes():
    clone = Clone()
    clone.sync(create("Build"), {"op": "note.add", "content": "n"})
    note = {"op": "coordination.note.add", "kind": "decision"}
    clone.sync(*({**note, "summary": str(n)} for n in range(12)), by="ada")
    clone.sync({**note, "kind": "handoff", "summary": "yours", "task_id": "T001"}, by="bo")
    shown = clone.summary()

    assert [note["content"] for note in shown["notes"]] == ["n"]
    assert [said["summary"] for said in shown["coordination"]["recent_decisions"]] == [str(n) for n in range(11, 1, -1)]
    assert shown["coordination"]["recent_handoffs"] == [
        {"at": AT.format(3), "by": "bo", "summary": "yours", "task_id": "T001"}
    ]


def test_a_decision_is_no_note_that_could_be_changed():
    clone = Clone()
    clone.sync({"op": "coordination.note.add", "kind": "decision", "summary": "s"})
    assert clone.sync({"op": "note.add", "content": "n"}) == ["added N001"]


# -- brief, meta


def test_the_brief_is_changed_in_parts():
    clone = Clone()
    clone.sync({"op": "coordination.brief.update", "objective": "o", "constraints": ["c", " ", " d "]}, by="lead")
    clone.sync({"op": "coordination.brief.update", "project_brief_stale": True, "current_focus": "f"}, by="user")
    assert clone.summary()["coordination"]["brief"] == {
        "objective": "o",
        "current_focus": "f",
        "project_brief": "",
        "constraints": ["c", "d"],
        "project_brief_stale": True,
        "updated_by": "user",
        "updated_at": AT.format(2),
    }


def test_meta_keeps_the_projects_status_and_nothing_else():
    clone = Clone()
    merge = {"op": "meta.merge", "data": {"project_status": "green"}}
    clone.sync(merge)
    assert clone.summary()["meta"] == {"project_status": "green"}
    clone.sync({"op": "meta.merge", "data": {}})
    assert clone.summary()["meta"] == {"project_status": "green"}
    error = refusal(clone, {"op": "meta.merge", "data": {"project_status": "red", "colour": 1}})
    assert error.details["path"] == "$.ops[0].data.colour"
    assert refusal(clone, {"op": "meta.merge", "data": {"\ud800": 1}}).details["path"].encode()
    for strange in (7, [], "s" * 10_001):
        error = refusal(clone, {"op": "meta.merge", "data": {"project_status": strange}})
        assert error.details["path"] == "$.ops[0].data.project_status"
    clone.sync({"op": "meta.merge", "data": {"project_status": None}})
    assert clone.summary()["meta"] == {}


# -- actors


def test_ipc_8_7_presence_is_what_each_actor_said_last_and_when():
    clone = Clone()
    clone.sync(
        {"op": "presence.update", "agent_id": "Bo", "status": " painting \n the wall "},
        {"op": "presence.update", "actor_id": "ada", "status": "here"},
    )
    clone.sync({"op": "presence.clear", "agent_id": "ada"})
    agents = [
        {"id": "ada", "status": "", "updated_at": AT.format(2)},
        {"id": "bo", "status": "painting the wall", "updated_at": AT.format(1)},
    ]
    assert presence(clone.view, clone.now) == agents
    assert clone.summary()["presence"] == {"agents": agents}


def test_a_clock_that_is_ahead_counts_as_just_now():
    clone = Clone()
    clone.minutes = 600
    clone.sync({"op": "presence.update", "agent_id": "ada", "status": "here"})
    assert presence(clone.view, NOON)[0]["updated_at"] == clock.text(NOON)


def test_an_agents_state_is_what_it_is_at_and_what_it_carries_along():
    clone = Clone()
    update = {"op": "agent_state.update", "actor_id": "ada"}
    hot = {"active_task_id": "T001", "focus": "f", "blockers": ["b"], "next_action": "n"}
    warm = {
        "what_changed": "w",
        "open_loops": ["o"],
        "commitments": ["c"],
        "environment_summary": "e",
        "user_model": "u",
        "persona_notes": "p",
    }
    clone.sync(create(), {**update, **hot, **warm}, by="user")
    assert clone.summary()["agent_states"] == [{"id": "ada", "hot": hot, "warm": warm, "updated_at": AT.format(1)}]

    clone.sync({**update, "focus": "g", "environment": "E", "user_profile": "U", "notes": "P", "blockers": None})
    shown = clone.summary()["agent_states"][0]
    assert shown["hot"] == hot | {"focus": "g", "blockers": []}
    assert shown["warm"] == warm | {"environment_summary": "E", "user_model": "U", "persona_notes": "P"}

    clone.sync({"op": "agent_state.clear", "agent_id": "ada"}, by="ada")
    shown = clone.summary()["agent_states"][0]
    assert shown["hot"] == {"active_task_id": None, "focus": "", "blockers": [], "next_action": ""}
    assert not any(shown["warm"].values())
    assert shown["updated_at"] == AT.format(3)


@pytest.mark.parametrize(("said", "shown"), [("T001", "T001"), ("T999", "T999"), ("my own", "my own"), ("", None)])
def test_the_task_an_agent_is_at_is_a_memo(said: str, shown: str | None):
    clone = Clone()
    clone.sync(create(), {"op": "agent_state.update", "actor_id": "ada", "active_task_id": said})
    assert clone.summary()["agent_states"][0]["hot"]["active_task_id"] == shown


# -- tasks


def test_tasks_are_counted_and_the_active_one_is_shown():
    clone = Clone()
    clone.sync(
        create("a"),
        create("b", status="active", waiting_on="user"),
        create("c", status="active", parent_id="T001", blocked_by=["T001"]),
        create("d", status="done", assignee="ada"),
        create("e", status="archived"),
        create("f", handoff_to="ada"),
    )
    shown = clone.summary()
    assert shown["tasks_summary"] == {
        "total": 6,
        "planned": 2,
        "active": 2,
        "done": 1,
        "archived": 1,
        "blocked": 1,
        "waiting_user": 1,
        "pending_handoffs": 1,
        "unassigned": 4,
        "root_count": 4,
    }
    assert shown["active_task"] == clone.tasks(status="active")[0]
    assert {name: [task["title"] for task in tasks] for name, tasks in shown["board"].items()} == {
        "planned": ["f", "a"],
        "active": ["c", "b"],
        "done": ["d"],
        "archived": ["e"],
    }
    assert {name: [task["title"] for task in tasks] for name, tasks in shown["attention"].items()} == {
        "blocked": ["c"],
        "waiting_user": ["b"],
        "pending_handoffs": ["f"],
    }


def test_the_task_that_was_changed_last_comes_first():
    clone = Clone()
    clone.sync(create("a"), create("b"), create("c"))
    clone.sync({"op": "task.update", "task_id": "T002", "notes": "n"})
    assert [task["id"] for task in clone.summary()["coordination"]["tasks"]] == ["T002", "T003", "T001"]
    assert clone.summary()["coordination"]["tasks"][0] == clone.tasks()[1]


def test_less_detail_is_less():
    clone = furnished()
    full, brief, overview = (summary(clone.view, clone.now, detail) for detail in context_summary.DETAILS)
    assert set(full) - set(brief) == {"board"}
    assert [task["id"] for task in brief["coordination"]["tasks"]] == [
        task["id"] for task in full["coordination"]["tasks"]
    ]
    assert "notes" not in brief["coordination"]["tasks"][0]
    assert set(full) - set(overview) == {"board", "attention"}
    assert set(overview["coordination"]) == {"brief", "recent_decisions", "recent_handoffs"}


def test_a_summary_stays_below_what_clients_take_for_a_lost_answer_and_says_what_it_leaves_out():
    clone = Clone()
    many = [create("€" * 500, notes="€" * 20_000, checklist=[{"text": "€" * 500}] * 20)] * 5
    for _ in range(8):
        clone.sync(*many)
        clone.sync(*[{"op": "note.add", "content": "€" * 20_000}] * 8)
        clone.sync({"op": "reference.add", "url": "€" * 4_000, "note": "€" * 4_000})
    for _ in range(20):
        clone.sync(*[create("€" * 500)] * 30)
    shown = clone.summary()

    assert len(json.dumps(shown, ensure_ascii=False).encode()) < 4_000_000
    assert shown["left_out"]["notes"] == 64 - len(shown["notes"]) > 0
    assert shown["left_out"]["tasks"] == 640 - len(shown["coordination"]["tasks"]) > 0
    assert shown["notes"][-1]["id"] == "N064"
    assert shown["coordination"]["tasks"][0]["id"] == "T640"
    assert shown["tasks_summary"]["total"] == 640
