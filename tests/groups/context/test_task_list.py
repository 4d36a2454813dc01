"""What `task_list` shows, and of which tasks (IPC §8.7 and the filters of later clients)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.groups.context import task_view
from bb.groups.context.task_list import InvalidFilter, TaskNotFound, listing, tasks
from bb.groups.context.task_view import task
from bb.kernel.errors import BbError
from tests.examples import examples
from tests.groups.context.test_context import Clone, create


def board() -> Clone:
    clone = Clone()
    clone.sync(
        create("Build", assignee="ada", status="active", outcome="Ein Haus"),
        create("Paint", parent_id="T001", blocked_by=["T001"], assignee="bo"),
        create("Ship", waiting_on="user"),
        create("Sweep", status="done", assignee="bo", waiting_on="user", handoff_to="ada"),
        create("Old", status="archived", waiting_on="user"),
        create("Hand over", handoff_to="ada", notes="STRASSE", priority="urgent"),
        create("Wait", waiting_on="actor", assignee="lead"),
    )
    clone.sync({"op": "task.update", "task_id": "T003", "notes": "soon"})
    return clone


BOARD = board()
ALL = ["T001", "T002", "T003", "T004", "T005", "T006", "T007"]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ALL),
        ({"status": "active"}, ["T001"]),
        ({"status": "", "statuses": "", "query": "", "assignee": "", "attention": "", "task_ids": ""}, ALL),
        ({"statuses": "planned,done"}, ["T002", "T003", "T004", "T006", "T007"]),
        ({"statuses": ["done", "archived"]}, ["T004", "T005"]),
        ({"assignee": "bo"}, ["T002", "T004"]),
        ({"assignee": "__unassigned__"}, ["T003", "T005", "T006"]),
        ({"query": "EIN HAUS"}, ["T001"]),
        ({"query": "straße"}, ["T006"]),
        ({"query": "t00"}, ALL),
        ({"query": "urgent"}, ["T006"]),
        ({"query": "nothing"}, []),
        ({"attention": "blocked"}, ["T002", "T007"]),
        ({"attention": "waiting_user"}, ["T003"]),
        ({"attention": "handoff"}, ["T006"]),
        ({"attention": "unassigned"}, ["T003", "T006"]),
        ({"task_ids": "T004, T001,T004,T999"}, ["T004", "T001"]),
        ({"task_ids": ["T002"], "assignee": "ada"}, []),
        ({"status": "planned", "assignee": "bo", "attention": "blocked"}, ["T002"]),
        ({"limit": 100}, ["T003", "T007", "T006", "T005", "T004", "T002", "T001"]),
        ({"limit": "2"}, ["T003", "T007"]),
        ({"limit": 2, "offset": 2}, ["T006", "T005"]),
        ({"limit": 2, "offset": 99}, []),
        ({"limit": 10, "status": "planned"}, ["T007", "T006", "T003", "T002"]),
        ({"colour": "red", "group_id": 7}, ALL),
    ],
)
def test_tasks_are_chosen_by_filters(filters: dict[str, Any], expected: list[str]):
    assert [each["id"] for each in tasks(BOARD.view, **filters)] == expected


@pytest.mark.parametrize(
    ("filters", "path"),
    [
        ({"status": "begun"}, "$.status"),
        ({"status": 7}, "$.status"),
        ({"status": ["active"]}, "$.status"),
        ({"statuses": "planned,begun"}, "$.statuses"),
        ({"statuses": {}}, "$.statuses"),
        ({"statuses": [7]}, "$.statuses"),
        ({"status": "done", "statuses": "done"}, "$.statuses"),
        ({"attention": "please"}, "$.attention"),
        ({"query": []}, "$.query"),
        ({"assignee": 7}, "$.assignee"),
        ({"task_ids": 7}, "$.task_ids"),
        ({"task_ids": [str(n) for n in range(101)]}, "$.task_ids"),
        ({"offset": 1}, "$.offset"),
        ({"limit": 0}, "$.limit"),
        ({"limit": 101}, "$.limit"),
        ({"limit": -1}, "$.limit"),
        ({"limit": True}, "$.limit"),
        ({"limit": 1.5}, "$.limit"),
        ({"limit": "many"}, "$.limit"),
        ({"limit": 5, "offset": -1}, "$.offset"),
        ({"limit": 5, "offset": "²"}, "$.offset"),
    ],
)
def test_a_filter_that_does_not_fit_is_refused_with_its_path(filters: dict[str, Any], path: str):
    for ask in (tasks, listing):
        with pytest.raises(InvalidFilter.error) as refused:
            ask(BOARD.view, **filters)
        assert (refused.value.code, refused.value.details) == ("INVALID_ARGS", {"path": path})


def test_ipc_8_7_one_task_is_shown_with_those_right_below_it():
    shown = listing(BOARD.view, task_id=" T001 ")
    assert list(shown) == ["task"]
    assert shown["task"] == task(BOARD.view, "T001")
    assert [child["id"] for child in shown["task"]["children"]] == ["T002"]
    assert listing(BOARD.view, task_id="T002")["task"]["children"] == []


@pytest.mark.parametrize("name", ["T999", "M1", "t001", "\ud800", "x" * 5000])
def test_a_task_that_is_not_there_is_not_found(name: str):
    assert task(BOARD.view, name) is None
    with pytest.raises(TaskNotFound.error) as refused:
        listing(BOARD.view, task_id=name)
    assert refused.value.code == "TASK_NOT_FOUND"
    assert json.dumps([refused.value.message, refused.value.details], ensure_ascii=False).encode()


def test_ipc_8_7_without_a_task_id_all_are_listed():
    assert listing(BOARD.view) == {"tasks": tasks(BOARD.view)}
    assert listing(Clone().view) == {"tasks": []}


def test_a_page_says_where_it_is_and_what_there_is_besides():
    page = listing(BOARD.view, limit=3, offset=3, include_index=True)

    assert [each["id"] for each in page.pop("tasks")] == ["T005", "T004", "T002"]
    assert [each["id"] for each in page.pop("task_index")] == ["T007", "T006", "T004", "T003", "T002", "T001"]
    assert page == {
        "count": 3,
        "total_count": 7,
        "offset": 3,
        "limit": 3,
        "has_more": True,
        "tasks_version": BOARD.view.version,
        "facets": {
            "status_counts": {"planned": 4, "active": 1, "done": 1, "archived": 1},
            "blocked": 2,
            "waiting_user": 1,
            "pending_handoffs": 1,
            "unassigned": 2,
            "assignees": ["ada", "bo", "lead"],
        },
    }
    assert not listing(BOARD.view, limit=3, offset=6)["has_more"]
    assert "task_index" not in listing(BOARD.view, limit=3)


def test_several_statuses_have_a_page_each():
    found = listing(BOARD.view, statuses="active,planned", limit=2)
    assert {status: [each["id"] for each in page["tasks"]] for status, page in found["pages"].items()} == {
        "active": ["T001"],
        "planned": ["T007", "T006"],
    }
    assert found["pages"]["planned"]["total_count"] == 4
    assert listing(BOARD.view, statuses="done")["pages"]["done"]["limit"] == 30


def test_the_version_of_the_tasks_is_the_latest_change_to_one():
    clone = Clone()
    assert task_view.version(clone.view) == ""
    clone.sync(create())
    clone.sync({"op": "vision.update", "vision": "v"})
    assert (task_view.version(clone.view), clone.view.version) == ("a" * 12 + ".1", "a" * 12 + ".2")
    clone.sync({"op": "task.delete", "task_id": "T001"})
    assert task_view.version(clone.view) == clone.view.version


def test_an_answer_that_would_be_taken_for_a_lost_one_is_cut_and_says_by_how_much():
    clone = Clone()
    clone.sync(create("Root"))
    for _ in range(12):
        clone.sync(*[create(notes="€" * 15_000, outcome="€" * 9_000, parent_id="T001")] * 5)
    view = clone.view
    answers = [
        listing(view),
        listing(view, task_id="T001"),
        listing(view, limit=100),
        listing(view, statuses="planned,done", limit=100),
    ]

    sizes = [len(json.dumps(answer, ensure_ascii=False).encode()) for answer in answers]
    assert all(1_000_000 < size < 4_000_000 for size in sizes), sizes
    assert answers[0]["left_out"] == 61 - len(answers[0]["tasks"]) > 0
    assert answers[0]["tasks"][-1]["id"] == "T061"
    page = answers[2]
    assert (page["count"], page["total_count"], page["has_more"]) == (len(page["tasks"]), 61, True)
    assert page["tasks"][0]["id"] == "T061"
    following = listing(view, limit=100, offset=page["count"])
    assert following["tasks"][0]["id"] == f"T{61 - page['count']:03}"


@examples(200)
@given(
    st.dictionaries(
        st.sampled_from(
            ["status", "statuses", "query", "assignee", "attention", "task_ids", "task_id", "offset", "limit"]
        ),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.text(), max_size=2),
        max_size=3,
    )
)
def test_whatever_comes_as_a_filter_is_understood_or_refused(filters: dict[str, Any]):
    try:
        found = listing(BOARD.view, **filters)
    except BbError as error:
        found = {"refused": error.code}
    assert set(found) & {"task", "tasks", "pages", "refused"}
