"""A batch of changes to the context is done in order, all of it or nothing (IPC §8.7)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.groups import context_forms
from bb.groups.context import agents, plans, tasks
from bb.groups.context import batch as context_batch
from bb.groups.context.batch import RULES
from bb.groups.context.request import ContextSyncError, InvalidOps, VersionConflict
from bb.groups.context_forms import AGENT, BRIEF, KINDS, MILESTONE, NOTE, REFERENCE, TASK
from bb.kernel.errors import BbError, PermissionDenied
from bb.kernel.escaping import harmless
from tests.examples import examples
from tests.groups.context.test_context import ACTORS, Clone, create


def refusal(clone: Clone, *ops: Any, by: str = "user", **more: Any) -> BbError:
    """How a request is refused; the context stays as it was."""
    view = clone.view
    before = json.dumps(view.entries, sort_keys=True), dict(view.names)
    with pytest.raises(BbError) as refused:
        clone.ask(*ops, by=by, view=view, **more)
    assert (json.dumps(view.entries, sort_keys=True), view.names) == before
    return refused.value


def furnished() -> Clone:
    """A context with something of everything."""
    clone = Clone()
    clone.sync(
        create("Build", assignee="ada", checklist=[{"id": "S1", "text": "one"}]),
        create("Test", handoff_to="ada", assignee="bo"),
        create("Ship"),
        {"op": "milestone.create", "name": "First"},
        {"op": "note.add", "content": "n"},
        {"op": "reference.add", "url": "u"},
    )
    clone.sync(
        {"op": "presence.update", "agent_id": "ada", "status": "here"},
        {"op": "agent_state.update", "actor_id": "ada", "focus": "f"},
        create("Old", assignee="ada", status="archived"),
        {"op": "milestone.create", "name": "Old", "status": "archived"},
    )
    return clone


# every op as it may be asked of `furnished`
GOOD: dict[str, dict[str, Any]] = {
    "vision.update": {"vision": "calm"},
    "sketch.update": {"sketch": "boxes"},
    "milestone.create": {"name": "Second", "description": "d", "status": "active"},
    "milestone.update": {"milestone_id": "M1", "name": "Prime", "status": "active"},
    "milestone.complete": {"milestone_id": "M1", "outcomes": "o"},
    "milestone.restore": {"milestone_id": "M2"},
    "task.create": {"title": "Paint", "outcome": "blue"},
    "task.update": {"task_id": "T001", "outcome": "solid"},
    "task.move": {"task_id": "T001", "status": "active"},
    "task.restore": {"task_id": "T004"},
    "task.delete": {"task_id": "T001"},
    "note.add": {"content": "n"},
    "note.update": {"note_id": "N001", "content": "m"},
    "note.remove": {"note_id": "N001"},
    "reference.add": {"url": "u", "note": "n"},
    "reference.update": {"reference_id": "R001", "note": "m"},
    "reference.remove": {"reference_id": "R001"},
    "presence.update": {"agent_id": "ada", "status": "busy"},
    "presence.clear": {"agent_id": "ada"},
    "coordination.brief.update": {"objective": "o", "constraints": ["c"]},
    "coordination.note.add": {"kind": "decision", "summary": "blue", "task_id": "T001"},
    "agent_state.update": {"actor_id": "ada", "focus": "paint", "blockers": ["b"]},
    "agent_state.clear": {"actor_id": "ada"},
    "meta.merge": {"data": {"project_status": "green"}},
}


def good(name: str) -> dict[str, Any]:
    return {"op": name, **GOOD[name]}


# -- one op


def test_every_op_of_both_vocabularies_has_a_rule_and_a_form():
    assert set(RULES) == set(KINDS) == set(GOOD)
    assert len(RULES) == 24


@pytest.mark.parametrize("by", ["user", "system"])
@pytest.mark.parametrize("name", sorted(GOOD))
def test_the_user_and_the_system_may_do_everything(name: str, by: str):
    clone = furnished()
    change = clone.ask(good(name), by=by).changes[0]
    assert (change["index"], change["op"], list(change)) == (0, name, ["index", "op", "detail"])
    assert clone.sync(good(name), by=by) == [change["detail"]]


@pytest.mark.parametrize("name", sorted(GOOD))
def test_unknown_fields_of_an_op_are_ignored(name: str):
    clone = furnished()
    assert clone.ask({**good(name), "colour": {"deep": [1]}, "x.more": None}).ops == clone.ask(good(name)).ops


@pytest.mark.parametrize("name", sorted(GOOD))
def test_what_is_recorded_says_all_that_a_fold_needs(name: str):
    clone = furnished()
    clone.sync(good(name))
    entries = clone.view.entries
    alone = Clone()
    alone.history = clone.history[::-1]
    assert alone.view.entries == entries


# what each op cannot do without, and the path that its refusal names
NEEDED = [
    ("vision.update", "vision"),
    ("sketch.update", "sketch"),
    ("milestone.create", "name"),
    ("milestone.update", "milestone_id"),
    ("milestone.complete", "milestone_id"),
    ("milestone.restore", "milestone_id"),
    ("task.create", "title"),
    ("task.update", "task_id"),
    ("task.move", "task_id"),
    ("task.move", "status"),
    ("task.restore", "task_id"),
    ("task.delete", "task_id"),
    ("note.add", "content"),
    ("note.update", "note_id"),
    ("note.remove", "note_id"),
    ("reference.add", "url"),
    ("reference.update", "reference_id"),
    ("reference.remove", "reference_id"),
    ("presence.update", "agent_id"),
    ("presence.update", "status"),
    ("presence.clear", "agent_id"),
    ("coordination.note.add", "kind"),
    ("coordination.note.add", "summary"),
    ("agent_state.update", "actor_id"),
    ("agent_state.clear", "actor_id"),
    ("meta.merge", "data"),
]


@pytest.mark.parametrize(("name", "field"), NEEDED)
def test_what_an_op_cannot_do_without_is_missed(name: str, field: str):
    op = good(name)
    del op[field]
    error = refusal(furnished(), op)
    assert (error.code, error.details) == ("CONTEXT_SYNC_ERROR", {"index": 0, "op": name, "path": f"$.ops[0].{field}"})
    assert "missing" in error.message


# values that do not fit, by the field they come for
TEXT_MUST = [7, True, ["t"], {"t": 1}, "half \ud800"]
NO_ID = [None, 7, "", "T999", "t001", "N", [], {}, "x" * 5000]
NO_LIST = [7, "a, b", {"a": 1}, [7], [None, ["a"]], ["x" * 20_000], ["a"] * 101]
BAD: list[tuple[str, str, list[Any]]] = [
    ("vision.update", "vision", [*TEXT_MUST, "v" * 20_001]),
    ("sketch.update", "sketch", [*TEXT_MUST, "s" * 100_001]),
    ("milestone.create", "name", [*TEXT_MUST, None, "", " ", "n" * 501]),
    ("milestone.create", "description", [*TEXT_MUST, "d" * 20_001]),
    ("milestone.create", "status", ["", "begun", 7, []]),
    ("milestone.update", "milestone_id", [*NO_ID, "T001", "M3"]),
    ("milestone.update", "status", [None, "begun", {}]),
    ("milestone.complete", "milestone_id", NO_ID),
    ("milestone.complete", "outcomes", [*TEXT_MUST, "o" * 20_001]),
    ("milestone.restore", "milestone_id", [*NO_ID, "M1"]),
    ("task.create", "title", [*TEXT_MUST, None, "", "\n", "t" * 501]),
    ("task.create", "outcome", [*TEXT_MUST, "o" * 10_001]),
    ("task.create", "notes", [*TEXT_MUST, "n" * 20_001]),
    ("task.create", "priority", [*TEXT_MUST, "p" * 41]),
    ("task.create", "status", ["", "begun", 7, {}]),
    ("task.create", "assignee", [7, "not an id", "x" * 65, "ада", []]),
    ("task.create", "handoff_to", [7, "not an id", {}]),
    ("task.create", "parent_id", [7, "T999", "M1", []]),
    ("task.create", "milestone_id", [7, "M9", "T001", {}]),
    ("task.create", "milestone", ["M9"]),
    ("task.create", "blocked_by", [7, "T001", {}, ["T001"] * 101]),
    ("task.create", "waiting_on", ["", "godot", 7]),
    ("task.create", "task_type", ["", "hard", 7, None]),
    ("task.create", "steps", [7, "a", {}, [{}] * 101]),
    ("task.create", "checklist", [7, "a", {}]),
    ("task.update", "task_id", [*NO_ID, "M1"]),
    ("task.update", "title", [*TEXT_MUST, None, ""]),
    ("task.update", "parent_id", ["T999", "T001"]),
    ("task.move", "task_id", NO_ID),
    ("task.move", "status", [None, "", "begun", 7, ["done"]]),
    ("task.restore", "task_id", [*NO_ID, "T001"]),
    ("task.delete", "task_id", NO_ID),
    ("note.add", "content", [*TEXT_MUST, None, "", "  ", "c" * 20_001]),
    ("note.update", "note_id", [*NO_ID, "R001"]),
    ("note.update", "content", [*TEXT_MUST, None, ""]),
    ("note.remove", "note_id", NO_ID),
    ("reference.add", "url", [*TEXT_MUST, None, "", "u" * 4_001]),
    ("reference.add", "note", [*TEXT_MUST, "n" * 4_001]),
    ("reference.update", "reference_id", [*NO_ID, "N001"]),
    ("reference.update", "url", [None, ""]),
    ("reference.remove", "reference_id", NO_ID),
    ("presence.update", "agent_id", [None, 7, "", "no id", "x" * 65, "-", []]),
    ("presence.update", "status", [*TEXT_MUST, "s" * 501]),
    ("presence.clear", "agent_id", [None, {}, "a\nb"]),
    ("coordination.brief.update", "objective", [*TEXT_MUST, "o" * 10_001]),
    ("coordination.brief.update", "current_focus", TEXT_MUST),
    ("coordination.brief.update", "project_brief", [*TEXT_MUST, "b" * 100_001]),
    ("coordination.brief.update", "project_brief_stale", [None, 0, 1, "yes", []]),
    ("coordination.note.add", "kind", [None, "", "note", "gossip", 7, []]),
    ("coordination.note.add", "summary", [*TEXT_MUST, None, "", "s" * 4_001]),
    ("coordination.note.add", "task_id", ["T999", 7, "M1"]),
    ("agent_state.update", "actor_id", [None, 7, "", "no id", {}]),
    ("agent_state.update", "active_task_id", [7, [], "x" * 101]),
    ("agent_state.update", "focus", [*TEXT_MUST, "f" * 10_001]),
    ("agent_state.clear", "actor_id", [None, 7, ""]),
    ("meta.merge", "data", [None, 7, "project_status", []]),
]


@pytest.mark.parametrize(("name", "field", "value"), [(name, field, v) for name, field, vs in BAD for v in vs])
def test_a_value_that_does_not_fit_is_refused_with_its_path(name: str, field: str, value: Any):
    error = refusal(furnished(), {**good(name), field: value})
    assert error.code == "CONTEXT_SYNC_ERROR"
    assert error.details["path"].startswith(f"$.ops[0].{field}")
    assert (error.details["index"], error.details["op"]) == (0, name)


LISTS = [("coordination.brief.update", "constraints"), ("agent_state.update", "blockers")]
LISTS += [("agent_state.update", "open_loops"), ("agent_state.update", "commitments")]


@pytest.mark.parametrize("value", NO_LIST)
@pytest.mark.parametrize(("name", "field"), LISTS)
def test_a_list_of_texts_is_that_and_not_too_long(name: str, field: str, value: Any):
    error = refusal(furnished(), {**good(name), field: value})
    assert error.details["path"].startswith(f"$.ops[0].{field}")


def test_a_value_in_a_list_is_named_by_its_place():
    error = refusal(furnished(), good("vision.update"), {**good("agent_state.update"), "blockers": ["a", 7]})
    assert error.details == {"index": 1, "op": "agent_state.update", "path": "$.ops[1].blockers[1]"}


def test_a_refusal_says_how_much_is_allowed_and_how_much_it_was():
    assert "the text has 501 characters; at most 500 are allowed" in refusal(Clone(), create("t" * 501)).message


# -- a batch


def test_ipc_8_7_an_empty_batch_changes_nothing():
    outcome = Clone().ask()
    assert (outcome.ops, outcome.changes) == ((), [])


@pytest.mark.parametrize("ops", [None, 7, "ops", {}, {"op": "vision.update", "vision": "v"}, True, ()])
def test_ops_must_be_a_list(ops: Any):
    clone = Clone()
    with pytest.raises(InvalidOps.error) as refused:
        context_batch.apply(clone.view, ops, by="user", role="user", actors={}, now_text="", if_version=None)
    assert (refused.value.code, refused.value.details) == ("INVALID_OPS", {"path": "$.ops"})


@pytest.mark.parametrize("op", [None, 7, "vision.update", [], [{"op": "vision.update"}], 1.5])
def test_every_op_must_be_an_object(op: Any):
    error = refusal(Clone(), good("vision.update"), op)
    assert (error.code, error.details) == ("INVALID_OPS", {"index": 1, "path": "$.ops[1]"})


@pytest.mark.parametrize("name", [None, 7, "", "  ", [], {"op": "op"}])
def test_every_op_must_name_itself(name: Any):
    error = refusal(Clone(), {"op": name, "vision": "v"})
    assert (error.code, error.details["path"]) == ("INVALID_OPS", "$.ops[0].op")
    assert refusal(Clone(), {"vision": "v"}).code == "INVALID_OPS"


@pytest.mark.parametrize(
    "name", ["task.explode", "VISION.UPDATE", "vision.update ", "vision", "x" * 9000, "__init__", "\ud800"]
)
def test_ipc_8_7_an_unknown_op_is_rejected(name: str):
    error = refusal(Clone(), good("vision.update"), {"op": name})
    assert error.code == "CONTEXT_SYNC_ERROR"
    assert error.details == {"index": 1, "op": harmless(name[:60]), "path": "$.ops[1].op"}


@pytest.mark.parametrize("name", sorted(GOOD))
def test_a_refusal_anywhere_leaves_nothing(name: str):
    assert refusal(furnished(), good(name), {"op": "vision.update", "vision": 7}).details["index"] == 1


def test_a_later_op_sees_what_the_earlier_ones_did():
    clone = Clone()
    clone.sync(
        create("Build"),
        create("Test", parent_id="T001"),
        {"op": "milestone.create", "name": "First"},
        {"op": "task.update", "task_id": "T002", "milestone_id": "M1", "blocked_by": ["T001"]},
        {"op": "task.move", "task_id": "T001", "status": "active"},
        {"op": "note.add", "content": "n"},
        {"op": "note.update", "note_id": "N001", "content": "m"},
        {"op": "coordination.note.add", "kind": "handoff", "summary": "s", "task_id": "T002"},
    )
    shown = clone.summary()
    assert [(task["id"], task["status"], task["milestone"]) for task in clone.tasks()] == [
        ("T001", "active", None),
        ("T002", "planned", "M1"),
    ]
    assert shown["notes"][0]["content"] == "m"
    assert shown["coordination"]["recent_handoffs"][0]["task_id"] == "T002"


def test_a_later_op_does_not_see_what_an_earlier_one_took_away():
    clone = furnished()
    gone = {"op": "task.delete", "task_id": "T003"}
    assert refusal(clone, gone, {"op": "task.update", "task_id": "T003"}).details["path"] == "$.ops[1].task_id"
    assert refusal(clone, gone, gone).details["index"] == 1


def test_to_ask_changes_nothing_however_often():
    clone = furnished()
    view = clone.view
    before = json.dumps(view.entries, sort_keys=True)
    batch = [good(name) for name in GOOD if name != "task.delete"]

    first = clone.ask(*batch, view=view)

    assert clone.ask(*batch, view=view) == first
    assert json.dumps(view.entries, sort_keys=True) == before
    assert view.version == clone.view.version


def test_what_was_asked_stays_as_it_was():
    batch = [good(name) for name in GOOD if name != "task.delete"]
    before = json.dumps(batch)
    furnished().sync(*batch)
    assert json.dumps(batch) == before


def test_an_id_that_was_given_once_is_not_given_again():
    clone = Clone()
    clone.sync(create(), {"op": "note.add", "content": "n"}, {"op": "reference.add", "url": "u"})
    clone.sync({"op": "task.delete", "task_id": "T001"}, {"op": "note.remove", "note_id": "N001"})
    assert clone.sync(create("Build"), {"op": "note.add", "content": "n"}) == ["created T002: Build", "added N002"]
    assert refusal(clone, {"op": "task.update", "task_id": "T001"}).details["path"] == "$.ops[0].task_id"


def test_the_ids_are_counted_apart_and_have_their_letters():
    clone = Clone()
    names = ("task.create", "milestone.create", "note.add", "reference.add")
    done = clone.sync(*({**good(name)} for name in names for _ in range(2)))
    assert [text.split(":")[0].split()[-1] for text in done] == [
        "T001",
        "T002",
        "M1",
        "M2",
        "N001",
        "N002",
        "R001",
        "R002",
    ]


def test_when_the_numbers_are_used_up_the_lowest_free_one_is_taken():
    clone = Clone()
    clone.sync(create())
    fact, at, ts = clone.history[0]
    clone.history[0] = (fact.replace(ops=({**fact.ops[0], "id": "T999999"},)), at, ts)
    assert clone.sync(create("Build")) == ["created T001: Build"]


# -- versions


def test_ipc_8_7_a_change_to_an_older_version_is_refused():
    clone = Clone()
    clone.sync(good("vision.update"))
    version = clone.view.version
    clone.sync(good("sketch.update"), if_version=version)

    error = refusal(clone, good("vision.update"), if_version=version)

    assert isinstance(error, VersionConflict.error)
    assert (error.code, error.details) == ("VERSION_CONFLICT", {"version": clone.view.version})


def test_before_the_first_change_the_version_is_empty():
    clone = Clone()
    clone.sync(good("vision.update"), if_version="")
    assert refusal(clone, good("vision.update"), if_version="").code == "VERSION_CONFLICT"


# -- bounds


def test_a_batch_has_at_most_500_operations():
    note = {"op": "coordination.note.add", "kind": "decision", "summary": "s"}
    assert len(Clone().ask(*[note] * 500).ops) == 500
    error = refusal(Clone(), *[note] * 501)
    assert (error.code, error.details) == ("INVALID_OPS", {"path": "$.ops"})
    assert "500" in error.message


def test_a_change_fits_on_a_line_of_the_ledger():
    batch = [{"op": "sketch.update", "sketch": "é" * 100_000}] * 3
    assert refusal(Clone(), *batch).code == "CONTEXT_SYNC_ERROR"
    assert len(json.dumps(Clone().ask(*batch[:2]).ops, ensure_ascii=False).encode()) < 1 << 20


def test_a_group_has_at_most_so_many_of_a_kind_and_what_is_archived_or_gone_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(context_batch, "MOST_OF_A_KIND", 2)
    clone = Clone()
    clone.sync(create(), create(), good("note.add"), good("note.add"), good("reference.add"), good("milestone.create"))
    assert refusal(clone, create()).details == {"index": 0, "op": "task.create", "path": "$.ops[0]"}
    assert refusal(clone, good("note.add")).code == "CONTEXT_SYNC_ERROR"
    clone.sync({"op": "task.move", "task_id": "T001", "status": "archived"}, create())
    clone.sync({"op": "note.remove", "note_id": "N001"}, good("note.add"))
    decision = {"op": "coordination.note.add", "kind": "decision", "summary": "s"}
    clone.sync(*[decision] * 3)
    assert refusal(clone, create()).code == "CONTEXT_SYNC_ERROR"


# -- who may do what: N nobody's task T003, A ada's T001, H bo's task T002 that is handed to ada; ada is a peer

LEADS = {"user", "system", "lead"}
EVERYBODY = {*LEADS, "ada", "bo"}
PERMITTED: list[tuple[dict[str, Any], set[str]]] = [
    (good("vision.update"), EVERYBODY),
    (good("sketch.update"), EVERYBODY),
    (good("milestone.create"), EVERYBODY),
    (good("milestone.update"), EVERYBODY),
    (good("milestone.complete"), EVERYBODY),
    (good("milestone.restore"), EVERYBODY),
    (good("note.add"), EVERYBODY),
    (good("note.update"), EVERYBODY),
    (good("note.remove"), EVERYBODY),
    (good("reference.add"), EVERYBODY),
    (good("reference.update"), EVERYBODY),
    (good("reference.remove"), EVERYBODY),
    (good("presence.update"), {*LEADS, "ada"}),
    (good("presence.clear"), {*LEADS, "ada"}),
    (good("coordination.brief.update"), LEADS),
    (good("meta.merge"), LEADS),
    (good("coordination.note.add"), EVERYBODY),
    (good("agent_state.update"), {"user", "system", "ada"}),
    (good("agent_state.clear"), {"user", "system", "ada"}),
    ({"op": "agent_state.update", "actor_id": "lead", "focus": "f"}, {"user", "system", "lead"}),
    (create(), EVERYBODY),
    (create(assignee="ada"), {*LEADS, "ada"}),
    (create(assignee="lead"), EVERYBODY),
    (create(assignee="user"), EVERYBODY),
    (create(assignee="stranger"), LEADS),
    ({"op": "task.create", "name": "Build", "assignee": "ada"}, {*LEADS, "ada"}),
    *(
        ({"op": name, "task_id": task, **more}, {*LEADS, *others})
        for name, more in (
            ("task.update", {"title": "t"}),
            ("task.update", {"name": "t", "notes": "third"}),
            ("task.move", {"status": "active"}),
            ("task.delete", {}),
        )
        for task, others in (("T001", {"ada"}), ("T002", {"ada", "bo"}), ("T003", set()))
    ),
    *(
        ({"op": "task.update", "task_id": task, "status": "active", "goal": "g"}, {*LEADS, *others})
        for task, others in (("T001", {"ada"}), ("T002", {"ada", "bo"}), ("T003", {"ada", "bo"}))
    ),
    (good("task.restore"), {*LEADS, "ada"}),
    ({"op": "task.update", "task_id": "T001", "assignee": "bo"}, LEADS),
    ({"op": "task.update", "task_id": "T001", "handoff_to": "bo"}, {*LEADS, "ada"}),
    ({"op": "task.update", "task_id": "T002", "assignee": "ada"}, {*LEADS, "ada"}),
    ({"op": "task.update", "task_id": "T003", "assignee": "ada"}, {*LEADS, "ada"}),
    ({"op": "task.update", "task_id": "T001", "assignee": None}, {*LEADS, "ada"}),
]


@pytest.mark.parametrize("by", ["user", "system", "lead", "ada", "bo"])
@pytest.mark.parametrize(("op", "permitted"), PERMITTED)
def test_who_may_do_what(op: dict[str, Any], permitted: set[str], by: str):
    clone = furnished()
    if by in permitted:
        assert clone.sync(op, by=by)
        return
    error = refusal(clone, good("vision.update"), op, by=by)
    assert isinstance(error, PermissionDenied.error)
    assert error.code == "PERMISSION_DENIED"
    assert (error.details["index"], error.details["op"]) == (1, op["op"])
    assert error.details["path"].startswith("$.ops[1]")


def test_whoever_has_no_role_that_is_known_has_that_of_a_peer():
    clone = furnished()
    with pytest.raises(PermissionDenied.error):
        context_batch.apply(
            clone.view, [good("meta.merge")], by="x", role="king", actors=ACTORS, now_text="", if_version=None
        )


def test_a_batch_that_gives_itself_a_task_may_then_change_it():
    clone = furnished()
    mine = {"op": "task.update", "task_id": "T003", "assignee": "ada"}
    clone.sync(mine, {"op": "task.move", "task_id": "T003", "status": "active"}, by="ada")
    assert clone.task("T003")["status"] == "active"


# -- hostile ops

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=10,
)
FIELDS = sorted({field for op in GOOD.values() for field in op} | {field for _, field, _ in BAD} | {"step_id", "steps"})
HOSTILE = st.builds(
    lambda name, ours, theirs: {"op": name, **ours, **theirs},
    st.sampled_from(sorted(RULES)),
    st.sampled_from(list(GOOD.values())),
    st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=3),
)


@examples(300)
@given(st.lists(HOSTILE | JSON, max_size=3), st.sampled_from(["user", "lead", "ada"]))
def test_hostile_ops_are_done_or_refused_and_change_nothing_by_themselves(ops: list[Any], by: str):
    clone = furnished()
    view = clone.view
    before = json.dumps(view.entries, sort_keys=True)
    error = outcome = None
    try:
        outcome = clone.ask(*ops, by=by, view=view)
    except BbError as refused:
        error = refused
    assert json.dumps(view.entries, sort_keys=True) == before
    if outcome and ops:
        assert len(outcome.ops) == len(outcome.changes) == len(ops)
        clone.sync(*ops, by=by)
        assert json.dumps(clone.summary(), allow_nan=False, ensure_ascii=False).encode()
    if error:
        assert error.code in ("CONTEXT_SYNC_ERROR", "INVALID_OPS", "PERMISSION_DENIED")
        assert "path" in error.details
        assert json.dumps([error.message, error.details], allow_nan=False, ensure_ascii=False).encode()


def test_an_op_nested_beyond_all_reason_is_no_harm():
    deep: Any = "x"
    for _ in range(50_000):
        deep = [deep]
    assert refusal(Clone(), create(blocked_by=[deep])).code == "CONTEXT_SYNC_ERROR"
    assert Clone().ask(create(colour=deep)).ops


def test_refusals_are_of_a_family_each():
    refusals = (InvalidOps, ContextSyncError, VersionConflict, PermissionDenied)
    assert [each.family.exit_status for each in refusals] == [2, 4, 7, 5]


@pytest.mark.parametrize(
    ("kind", "table"),
    [
        (BRIEF, plans.BRIEF_FIELDS),
        (MILESTONE, plans.MILESTONE_FIELDS),
        *((kind, fields) for kind, (fields, _) in plans.NOTES.items()),
        (TASK, tasks.FIELDS),
        (AGENT, agents.HOT + agents.WARM),
    ],
)
def test_whatever_a_request_may_set_may_also_be_recorded(kind: str, table: Any):
    assert {register for _, register, _ in table} <= context_forms.FIELDS[kind].keys()


def test_whatever_a_new_entry_begins_with_may_also_be_recorded():
    blanks = {MILESTONE: plans.BLANK, TASK: tasks.BLANK, AGENT: agents.BLANK}
    blanks |= {kind: blank for kind, (_, blank) in plans.NOTES.items()}
    assert {NOTE, REFERENCE} <= blanks.keys()
    for kind, blank in blanks.items():
        for register, value in blank.items():
            assert context_forms.FIELDS[kind][register](value), (kind, register)
