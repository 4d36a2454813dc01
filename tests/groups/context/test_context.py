"""The shared context is a fold: what is created is known by its birth, and every field is a register."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.groups.context import context
from bb.groups.context.batch import Outcome, apply
from bb.groups.context.summary import summary
from bb.groups.context.task_list import tasks
from bb.groups.context.task_view import task
from bb.groups.context.view import ContextView
from bb.groups.facts import ContextChanged
from bb.kernel import clock
from bb.kernel.errors import BbError
from bb.kernel.total_order import sortable
from bb.ledger.journal.cccs_forms import data_of
from tests.examples import examples

A, B = "a" * 12, "b" * 12
NOON = clock.parse("2026-01-05T12:00:00.000Z")
ACTORS = {"lead": "foreman", "ada": "peer", "bo": "peer"}

Said = tuple[ContextChanged, list[Any], str]  # a fact, its place in the total order, and when it was written


def fold(*history: Said) -> dict[str, Any]:
    """All entries after a history; between any two facts they go through JSON, as they do when they are kept."""
    entries: dict[str, Any] = {}
    for fact, at, ts in history:
        for key, part in context.parts(fact, list(at)):
            entries[key] = json.loads(json.dumps(context.step(entries.get(key), part, list(at), ts)))
    return entries


class Clone:
    """One clone of a repository: what it has recorded and heard of a group's context."""

    def __init__(self, writer: str = A) -> None:
        self.writer, self.history = writer, []
        self.minutes = 0

    @property
    def view(self) -> ContextView:
        return ContextView.of(list(fold(*self.history).items()))

    @property
    def now(self) -> int:
        return NOON + self.minutes * clock.MINUTE

    def ask(
        self, *ops: Any, by: str = "user", if_version: str | None = None, view: ContextView | None = None
    ) -> Outcome:
        role = ACTORS.get(by, by)
        now = clock.text(self.now)
        return apply(view or self.view, list(ops), by=by, role=role, actors=ACTORS, now_text=now, if_version=if_version)

    def sync(self, *ops: Any, by: str = "user", if_version: str | None = None) -> list[str]:
        """Change the context; what was changed, in words. What is recorded is what can be read again."""
        self.minutes += 1
        outcome = self.ask(*ops, by=by, if_version=if_version)
        data = json.loads(json.dumps(data_of(ContextChanged(by, outcome.ops))))
        fact = context.fact_of(data, by)
        assert fact == ContextChanged(by, outcome.ops)
        self.history.append((fact, self._place(), clock.text(self.now)))
        return [change["detail"] for change in outcome.changes]

    def _place(self) -> list[Any]:
        lamport = max((at[0] for _, at, _ in self.history), default=0) + 1
        return [lamport, self.writer, 1 + sum(at[1] == self.writer for _, at, _ in self.history)]

    def hear(self, other: Clone) -> None:
        self.history += [said for said in other.history if said not in self.history]

    def summary(self) -> dict[str, Any]:
        return summary(self.view, self.now)

    def tasks(self, **filters: Any) -> list[dict[str, Any]]:
        return tasks(self.view, **filters)

    def task(self, name: str = "T001") -> dict[str, Any]:
        found = task(self.view, name)
        assert found is not None
        return found


def meet(*clones: Clone) -> None:
    for one in clones:
        for other in clones:
            one.hear(other)


def create(title: str = "Build", **fields: Any) -> dict[str, Any]:
    return {"op": "task.create", "title": title, **fields}


# -- the line


def test_a_change_is_written_as_its_ops_and_read_again():
    ops = Clone().ask(create(), {"op": "vision.update", "vision": "calm"}).ops
    fact = ContextChanged("ada", ops)

    assert data_of(fact) == {"ops": list(ops)}
    assert context.fact_of(data_of(fact), "ada") == fact


def test_a_later_op_names_the_birth_it_was_resolved_to_beside_the_id():
    clone = Clone()
    clone.sync(create(), create("Test"))
    op = clone.ask({"op": "task.update", "task_id": "T002", "outcome": "green", "parent_id": "T001"}).ops[0]

    assert (op["id"], op["birth"]) == ("T002", f"{A}.1#1")
    assert op["set"] == {"outcome": "green", "parent": {"id": "T001", "birth": f"{A}.1#0"}}


def test_within_one_change_a_birth_is_the_place_of_the_op():
    ops = Clone().ask(create(), {"op": "task.move", "task_id": "T001", "status": "active"}).ops
    assert ops[1]["birth"] == "#0"


NEW = {"op": "task.create", "id": "T001", "set": {"title": "Build"}}
OLD = {"op": "task.update", "id": "T001", "birth": f"{A}.1#0", "set": {"title": "Test"}}


@pytest.mark.parametrize(
    "strange",
    [
        None,
        7,
        [],
        {},
        {"op": 7},
        {"op": "task.explode"},
        {"op": ["task.create"]},
        {"op": "task.create"},
        NEW | {"id": "T1"},
        NEW | {"id": "T001-k7q2"},
        NEW | {"id": "M1"},
        NEW | {"id": "T²"},
        NEW | {"id": "T9999999"},
        NEW | {"id": ["T001"]},
        NEW | {"birth": f"{A}.1#0"},
        NEW | {"set": []},
        NEW | {"set": {"title": 7}},
        NEW | {"set": {"status": "pending"}},
        NEW | {"set": {"status": []}},
        NEW | {"set": {"blocked_by": [{"id": "T001"}]}},
        NEW | {"set": {"parent": "T001"}},
        NEW | {"set": {"items": [{"id": "S1"}]}},
        NEW | {"set": {"marks": {"S1": "half"}}},
        OLD | {"birth": "T001"},
        OLD | {"birth": f"{A}#0"},
        OLD | {"birth": f"{A}.1#00"},
        OLD | {"birth": f"{A}.1#"},
        OLD | {"birth": f"{A}.1#" + "9" * 5000},
        {"op": "presence.update", "set": {"status": "here"}},
        {"op": "presence.update", "actor": "ada bo", "set": {"status": "here"}},
        {"op": "agent_state.update", "actor": "ada", "set": {"blockers": "none"}},
        {"op": "vision.update", "id": "T001", "set": {"text": "calm"}},
        {"op": "coordination.note.add", "set": {"kind": "gossip"}},
        {"op": "coordination.brief.update", "set": {"project_brief_stale": 1}},
    ],
)
def test_an_op_in_history_that_does_not_fit_is_passed_over_and_the_others_keep_their_births(strange: Any):
    assert context.fact_of({"ops": [strange]}, "ada") is None

    fact = context.fact_of({"ops": [strange, NEW]}, "ada")

    assert fact is not None
    assert [key for key, _ in context.parts(fact, [1, A, 1])] == [f"task {A}.1#1", "version"]


@pytest.mark.parametrize(
    "data", [None, 7, [], {}, {"ops": {}}, {"ops": []}, {"version": "v", "changes": [{"index": 0}]}]
)
def test_a_line_of_another_daemon_is_no_change_that_is_known_here(data: Any):
    assert context.fact_of(data, "ada") is None


def test_what_a_later_version_adds_to_an_op_is_passed_over():
    deep: Any = 0
    for _ in range(500):
        deep = [deep]
    step = {"id": "S1", "text": "a", "acceptance": "b"}
    parent = {"id": "T002", "birth": f"{A}.1#3"}
    op = NEW | {"more": deep, "set": {"title": "Build", "more": deep, "items": [step | {"more": deep}]}}
    op["set"]["parent"] = parent | {"more": deep}

    fact = context.fact_of({"ops": [op]}, "ada")

    assert fact is not None
    assert fact.ops == (NEW | {"set": {"title": "Build", "parent": parent, "items": [step]}},)


# -- entries


def test_a_change_touches_each_entry_once_and_the_version():
    fact = ContextChanged("user", Clone().ask(create(), {"op": "task.move", "task_id": "T001", "status": "done"}).ops)
    told = dict(context.parts(fact, [3, A, 9]))

    assert list(told) == [f"task {A}.9#0", "version"]
    assert told[f"task {A}.9#0"]["set"]["status"] == "done"


def test_of_two_values_in_one_change_the_later_one_counts():
    clone = Clone()
    clone.sync({"op": "vision.update", "vision": "loud"}, {"op": "vision.update", "vision": "calm"})
    assert clone.summary()["vision"] == "calm"


def test_the_version_is_the_event_of_the_latest_change():
    clone = Clone()
    assert clone.view.version == ""

    clone.sync(create())
    clone.sync({"op": "presence.update", "agent_id": "ada", "status": "here"})

    assert clone.view.version == f"{A}.2"
    assert fold(*clone.history)["version"]["updated"][:3] == [2, A, 2]


def test_when_it_was_created_and_changed_and_by_whom_is_told():
    clone = Clone()
    clone.sync(create())
    clone.sync({"op": "task.update", "task_id": "T001", "notes": "soon"}, by="lead")

    shown = clone.task()
    assert (shown["created_at"], shown["created_by"]) == ("2026-01-05T12:01:00.000Z", "user")
    assert (shown["updated_at"], shown["updated_by"]) == ("2026-01-05T12:02:00.000Z", "lead")


def test_things_are_found_by_their_kind_in_the_order_of_birth_and_actors_by_theirs():
    clone = Clone()
    note = {"op": "note.add", "content": "n"}
    clone.sync(create(), note, create("Test"), {"op": "presence.update", "agent_id": "ada", "status": "here"})
    clone.sync({"op": "presence.clear", "agent_id": "ada"}, {"op": "agent_state.clear", "actor_id": "bo"})
    clone.sync({"op": "note.remove", "note_id": "N001"}, {"op": "vision.update", "vision": "calm"})

    found = {key: context.terms(key, state) for key, state in fold(*clone.history).items()}

    first, second = sortable([1, A, 1]), sortable([2, A, 2])
    assert found == {
        f"task {A}.1#0": [("task", f"{first} 000000")],
        f"note {A}.1#1": [("note", f"{first} 000001")],
        f"task {A}.1#2": [("task", f"{first} 000002")],
        "presence ada": [("presence", first)],
        "agent bo": [("agent", second)],
        "vision": [],
        "version": [],
    }


def test_a_change_to_what_is_not_known_to_be_created_yet_is_found_nowhere_and_shown_nowhere():
    fact = context.fact_of({"ops": [OLD]}, "ada")
    assert fact is not None
    entries = fold((fact, [5, B, 1], "2026-01-05T12:00:00.000Z"))

    assert context.terms(f"task {A}.1#0", entries[f"task {A}.1#0"]) == []
    assert tasks(ContextView.of(entries.items())) == []


def test_a_step_leaves_the_state_before_it_as_it_was():
    clone = Clone()
    clone.sync(create(checklist=[{"text": "one"}]))
    state = fold(*clone.history)[f"task {A}.1#0"]
    kept = json.dumps(state)

    context.step(state, {"by": "ada", "set": {"title": "x", "marks": {"S1": "done"}}, "gone": True}, [9, B, 1], "")

    assert json.dumps(state) == kept


# -- two clones


def two() -> tuple[Clone, Clone]:
    return Clone(A), Clone(B)


def test_two_tasks_that_were_created_apart_as_t001_stay_two_and_the_earlier_keeps_the_plain_id():
    one, other = two()
    one.sync(create("Build"))
    other.sync(create("Paint"))
    meet(one, other)

    shown = [(each["id"], each["title"]) for each in one.tasks()]

    assert shown == [(each["id"], each["title"]) for each in other.tasks()]
    assert shown[0] == ("T001", "Build")
    assert shown[1][1] == "Paint"
    assert shown[1][0].startswith("T001-")
    assert len(shown[1][0]) == len("T001-k7q2")


def test_the_suffix_is_made_of_the_birth_alone():
    one, other = two()
    one.sync(create("Build"))
    other.sync(create("Paint"))
    third = Clone("c" * 12)
    third.sync(create("Sweep"))
    meet(one, other)
    suffixed = one.tasks()[1]["id"]
    meet(one, other, third)

    assert [each["id"] for each in third.tasks()][:2] == ["T001", suffixed]
    assert len({each["id"] for each in third.tasks()}) == 3


def test_both_names_lead_to_their_task_and_so_does_a_birth():
    one, other = two()
    one.sync(create("Build"))
    other.sync(create("Paint"))
    meet(one, other)
    suffixed = one.tasks()[1]["id"]
    one.sync({"op": "task.update", "task_id": suffixed, "outcome": "blue"})
    one.sync({"op": "task.update", "task_id": f"{A}.1#0", "outcome": "solid"})

    assert [each["outcome"] for each in one.tasks()] == ["solid", "blue"]


def test_what_names_a_task_follows_it_when_it_is_called_otherwise():
    one, other = two()
    other.sync(create("Paint"), create("Dry", blocked_by=["T001"], parent_id="T001"))
    other.sync(
        {"op": "agent_state.update", "actor_id": "ada", "active_task_id": "T001"},
        {"op": "coordination.note.add", "kind": "decision", "summary": "blue", "task_id": "T001"},
        {"op": "task.update", "task_id": "T001", "outcome": "blue"},
    )
    one.sync(create("Build"))
    meet(one, other)
    name = next(each["id"] for each in one.tasks() if each["title"] == "Paint")

    assert name != "T001"
    dry = next(each for each in one.tasks() if each["title"] == "Dry")
    assert (dry["parent_id"], dry["blocked_by"]) == (name, [name])
    assert one.summary()["agent_states"][0]["hot"]["active_task_id"] == name
    assert one.summary()["coordination"]["recent_decisions"][0]["task_id"] == name
    assert one.task(name)["outcome"] == "blue"
    assert one.task("T001")["outcome"] == ""


def test_a_name_whose_bearer_has_not_come_here_yet_is_never_that_of_another():
    one, other = two()
    one.sync(create("Build"))
    other.sync(create("Paint"))
    other.sync(create("Dry", parent_id="T001"))
    one.history.append(other.history[1])

    assert one.task("T002")["parent_id"].startswith("T001-")


def test_after_clones_have_met_the_next_id_is_free_in_both():
    one, other = two()
    one.sync(create(), create(), create())
    other.sync(create())
    meet(one, other)
    assert other.sync(create("Test")) == ["created T004: Test"]


def test_fields_that_clones_change_apart_are_both_changed_and_of_one_field_the_later_value_counts():
    one, other = two()
    one.sync(create())
    meet(one, other)
    one.sync({"op": "task.update", "task_id": "T001", "notes": "n", "priority": "low"})
    other.sync({"op": "vision.update", "vision": "calm"})
    other.sync({"op": "task.update", "task_id": "T001", "outcome": "o", "priority": "high"})
    meet(one, other)

    for clone in (one, other):
        shown = clone.task()
        assert (shown["notes"], shown["outcome"], shown["priority"]) == ("n", "o", "high")


def test_steps_that_clones_finish_apart_are_both_finished():
    one, other = two()
    one.sync({"op": "task.create", "name": "Build", "steps": [{"name": "a"}, {"name": "b"}, {"name": "c"}]})
    meet(one, other)
    for clone, step in ((one, "S1"), (other, "S3")):
        clone.sync({"op": "task.update", "task_id": "T001", "step_id": step, "step_status": "done"})
    meet(one, other)

    assert [step["status"] for step in one.task()["steps"]] == ["done", "pending", "done"]


@pytest.mark.parametrize("status", ["active", "done"])
def test_work_that_began_elsewhere_meanwhile_is_not_deleted(status: str):
    one, other = two()
    one.sync(create())
    meet(one, other)
    one.sync({"op": "task.delete", "task_id": "T001"})
    other.sync({"op": "task.move", "task_id": "T001", "status": status})
    assert one.tasks() == []
    meet(one, other)

    assert [each["status"] for each in one.tasks()] == [status]


def test_a_task_below_one_that_was_deleted_elsewhere_is_there_and_a_root():
    one, other = two()
    one.sync(create())
    meet(one, other)
    one.sync({"op": "task.delete", "task_id": "T001"})
    other.sync(create("Test", parent_id="T001"))
    meet(one, other)

    assert [(each["title"], each["parent_id"], each["is_root"]) for each in one.tasks()] == [("Test", None, True)]


def test_a_circle_that_two_clones_close_together_hangs_nobody():
    one, other = two()
    one.sync(create("a"), create("b"))
    meet(one, other)
    one.sync({"op": "task.update", "task_id": "T001", "parent_id": "T002", "blocked_by": ["T002"]})
    other.sync({"op": "task.update", "task_id": "T002", "parent_id": "T001", "blocked_by": ["T001"]})
    meet(one, other)

    assert [each["parent_id"] for each in one.tasks()] == ["T002", "T001"]
    assert one.summary() == other.summary()
    one.sync({"op": "task.update", "task_id": "T001", "notes": "n"})
    one.sync({"op": "task.update", "task_id": "T001", "parent_id": None, "blocked_by": []})
    assert one.task("T002")["parent_id"] == "T001"
    assert one.sync({"op": "task.delete", "task_id": "T001"}) == ["deleted T001 and 1 below it"]
    assert one.tasks() == []


def test_what_is_below_itself_is_deleted_once():
    one, other = two()
    one.sync(create("a"), create("b"))
    meet(one, other)
    one.sync({"op": "task.update", "task_id": "T001", "parent_id": "T002"})
    other.sync({"op": "task.update", "task_id": "T002", "parent_id": "T001"})
    meet(one, other)
    assert one.sync({"op": "task.delete", "task_id": "T002"}) == ["deleted T002 and 1 below it"]


# -- any order

TEXTS = st.sampled_from(["", "Build", "Test it"])
NAMES = st.sampled_from(["T001", "T002", "M1", "N001", "R001", "#", None])
STATUSES = st.sampled_from(["planned", "active", "done", "archived"])
OPS = st.one_of(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["task.create", "milestone.create", "note.add", "reference.add"])},
        optional={
            "title": TEXTS,
            "name": TEXTS,
            "content": TEXTS,
            "url": TEXTS,
            "status": STATUSES,
            "parent_id": NAMES,
        },
    ),
    st.fixed_dictionaries(
        {"op": st.sampled_from(["task.update", "task.move", "task.restore", "task.delete"]), "task_id": NAMES},
        optional={
            "status": STATUSES,
            "outcome": TEXTS,
            "parent_id": NAMES,
            "blocked_by": st.lists(NAMES, max_size=2),
            "assignee": st.sampled_from(["ada", "bo", None]),
            "checklist": st.lists(st.fixed_dictionaries({"text": TEXTS}), max_size=2),
            "step_id": st.sampled_from(["S1", "S2"]),
            "step_status": st.sampled_from(["pending", "done"]),
        },
    ),
    st.fixed_dictionaries(
        {"op": st.sampled_from(["milestone.update", "milestone.complete", "milestone.restore"]), "milestone_id": NAMES},
        optional={"status": STATUSES, "outcomes": TEXTS},
    ),
    st.fixed_dictionaries({"op": st.just("note.remove"), "note_id": NAMES}),
    st.fixed_dictionaries(
        {"op": st.just("presence.update"), "agent_id": st.sampled_from(["ada", "bo"]), "status": TEXTS}
    ),
    st.fixed_dictionaries({"op": st.just("coordination.brief.update")}, optional={"objective": TEXTS}),
)


@st.composite
def meetings(draw: Any) -> list[Said]:
    """What two clones recorded, who met now and then; ops that are refused are left out."""
    clones = two()
    for _ in range(draw(st.integers(1, 6))):
        clone = draw(st.sampled_from(clones))
        for op in draw(st.lists(OPS, min_size=1, max_size=3)):
            try:
                clone.ask(op)
            except BbError:
                continue
            clone.sync(op)
        if draw(st.booleans()):
            meet(*clones)
    meet(*clones)
    return clones[0].history


@examples(60)
@given(meetings(), st.randoms(use_true_random=False))
def test_the_same_changes_in_any_order_and_heard_twice_make_the_same_context(history: list[Said], random: Any):
    shuffled = list(history)
    random.shuffle(shuffled)
    states = fold(*history)

    assert fold(*shuffled) == states
    assert fold(*shuffled, *history) == states
    expected = ContextView.of(states.items())
    found = ContextView.of(list(fold(*shuffled).items())[::-1])
    assert summary(found, NOON) == summary(expected, NOON)
    assert tasks(found) == tasks(expected)
    assert found.version == expected.version


@examples(60)
@given(meetings())
def test_no_two_things_have_one_name_and_nothing_that_began_is_lost(history: list[Said]):
    view = ContextView.of(fold(*history).items())
    for kind in ("task", "milestone", "note", "reference"):
        names = [view.name(key) for key in view.order[kind]]
        assert len(set(names)) == len(names)
        assert all(view.find(kind, view.name(key)) == key for key in view.keys(kind))
    begun = [key for key in view.order["task"] if view.value(key, "begun")]
    assert set(begun) <= set(view.keys("task"))


def test_all_orders_of_a_small_history_agree():
    one, other = two()
    one.sync(create("Build"))
    other.sync(create("Paint"))
    meet(one, other)
    one.sync({"op": "task.delete", "task_id": "T001"})
    other.sync({"op": "task.move", "task_id": "T001", "status": "active"})
    meet(one, other)
    assert len({json.dumps(fold(*order), sort_keys=True) for order in permutations(one.history)}) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**20) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
MEMBERS = ["op", "id", "birth", "actor", "set", "with"]
FIELDS = [
    "title",
    "status",
    "parent",
    "items",
    "marks",
    "blocked_by",
    "text",
    "kind",
    "active_task",
    "begun",
    "created",
]
WRITTEN = st.fixed_dictionaries(
    {"op": st.sampled_from(sorted(context.KINDS)), "set": st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=3)},
    optional={
        "id": st.sampled_from(["T001", "M1", "N001", "R001", "T02"]) | JSON,
        "birth": st.sampled_from([f"{A}.1#0", "#0", "#1"]) | JSON,
        "actor": st.just("ada") | JSON,
        "with": st.lists(st.just({"id": "T001", "birth": "#0"}) | JSON, max_size=2),
    },
)


@examples(200)
@given(st.lists(WRITTEN | JSON, max_size=5))
def test_whatever_stands_on_a_line_can_be_read_folded_and_shown(ops: list[Any]):
    fact = context.fact_of({"ops": ops}, "ada")
    if fact is None:
        return
    view = ContextView.of(fold((fact, [1, A, 1], "long ago"), (fact, [2, B, 1], "")).items())
    shown = summary(view, NOON)
    assert json.loads(json.dumps(shown)) == shown
    assert [each["id"] for each in tasks(view)] == [view.name(key) for key in view.keys("task")]
