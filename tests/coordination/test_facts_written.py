"""Facts as events: writing is exact, reading is tolerant. A line that fits nothing is no fact and never an error."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.attention.facts import (
    Arranged,
    Bound,
    Claiming,
    Confirming,
    Deleted,
    Digested,
    Edited,
    Moved,
    Posting,
    Progressed,
    Refusal,
    Tuned,
    Typing,
)
from bb.cbcl.facts import Heard
from bb.coordination.facts import (
    Expired,
    LeftLine,
    NameSettled,
    Paused,
    Pinned,
    Queued,
    Redacted,
    Registered,
    Released,
    Renewed,
    Reserved,
    Resolved,
    Retired,
    Seen,
    Started,
    Stopped,
    TakenOver,
    Transferred,
    Unpaused,
    Updated,
)
from bb.groups.facts import (
    Changed,
    Created,
    GroupStarted,
    GroupStopped,
    ScopeAttached,
    ScopeChosen,
    ScopeDetached,
    SettingsChanged,
    StateSet,
)
from bb.kernel import ids
from bb.ledger.journal import folds, kinds

HELD = "a" * 12 + ".7"
HOW = {"runtime": "claude", "runner": "pty", "command": ["claude", "--continue"], "submit": "enter", "enabled": True}

EXAMPLES = [
    (
        Registered("ada-l", "builder", "Ada"),
        "actor.add",
        {"actor_id": "ada-l", "role": "builder", "title": "Ada"},
    ),
    (
        Registered("Ada_L", "actor", "Ada", HOW),
        "actor.add",
        {"actor_id": "Ada_L", "role": "actor", "title": "Ada", "actor": HOW},
    ),
    (
        Updated("ada-l", "tester", "Countess"),
        "actor.update",
        {"actor_id": "ada-l", "role": "tester", "title": "Countess"},
    ),
    (Updated("ada-l", role="tester"), "actor.update", {"actor_id": "ada-l", "role": "tester"}),
    (Updated("ada-l", title="Countess"), "actor.update", {"actor_id": "ada-l", "title": "Countess"}),
    (Updated("ada-l"), "actor.update", {"actor_id": "ada-l"}),
    (
        Registered("ada-l", "builder", "Ada", session="0123456789abcdef"),
        "actor.add",
        {"actor_id": "ada-l", "role": "builder", "title": "Ada", "session": "0123456789abcdef"},
    ),
    (
        Updated("ada-l", session="?0123456789abcdef"),
        "actor.update",
        {"actor_id": "ada-l", "session": "?0123456789abcdef"},
    ),
    (
        Updated("x", profile={"enabled": False}),
        "actor.update",
        {"actor_id": "x", "actor": {"enabled": False}},
    ),
    (Retired("ada-l"), "actor.remove", {"actor_id": "ada-l"}),
    (NameSettled("ada-l", HELD), "x.bb.name_settled", {"actor_id": "ada-l", "registration": HELD}),
    (
        NameSettled("ada-l", "aaaaaaaaaaaa.1", "bo-k"),
        "x.bb.name_settled",
        {"actor_id": "ada-l", "registration": "aaaaaaaaaaaa.1", "renamed_to": "bo-k"},
    ),
    (Started("ada-l"), "actor.start", {"actor_id": "ada-l"}),
    (Stopped("ada-l"), "actor.stop", {"actor_id": "ada-l"}),
    (Seen("ada-l", "evicted"), "x.bb.seen", {"actor_id": "ada-l", "after": "evicted"}),
    (
        Seen("ada-l", "active", "0123456789abcdef"),
        "x.bb.seen",
        {"actor_id": "ada-l", "after": "active", "session": "0123456789abcdef"},
    ),
]
EACH = pytest.mark.parametrize(("fact", "kind", "data"), EXAMPLES)
PROFILED = ("actor.add", "actor.update")
NEEDED = [
    (kind, data, member)
    for fact, kind, data in EXAMPLES
    for member in data
    if not isinstance(fact, Updated) and member not in ("actor", "session", "renamed_to")
] + [("actor.update", {"actor_id": "ada-l", "role": "tester"}, "actor_id")]


@EACH
def test_a_fact_is_written_as_its_kind_with_its_members(fact: Any, kind: str, data: dict[str, Any]):
    assert kinds.kind_and_data(fact) == (kind, data)


@EACH
def test_a_fact_is_read_back_from_what_was_written(fact: Any, kind: str, data: dict[str, Any]):
    assert kinds.fact_of(kind, data) == fact


@EACH
def test_members_that_this_version_does_not_know_are_skipped(fact: Any, kind: str, data: dict[str, Any]):
    assert kinds.fact_of(kind, {"_": "saltsalt", "later": {"x": [1]}, **data}) == fact


def test_a_member_that_is_null_stays_as_it_was():
    data = {"actor_id": "ada-l", "role": None, "title": "Countess"}
    assert kinds.fact_of("actor.update", data) == Updated("ada-l", title="Countess")


@pytest.mark.parametrize(
    "kind", ["", "actor", "actor.added", "ACTOR.ADD", "actor.add ", "chat.message", "group.create", "actor.restart"]
)
def test_an_event_of_another_kind_is_no_fact(kind: str):
    assert kinds.fact_of(kind, {"actor_id": "ada-l", "role": "builder", "title": "Ada"}) is None


@pytest.mark.parametrize(("kind", "data", "member"), NEEDED)
def test_an_event_that_lacks_a_member_is_no_fact(kind: str, data: dict[str, Any], member: str):
    assert kinds.fact_of(kind, {name: value for name, value in data.items() if name != member}) is None
    assert kinds.fact_of(kind, data | {member: None}) is None


@EACH
@pytest.mark.parametrize("wrong", [1, 1.5, True, False, [], ["ada-l"], {}, {"ada-l": 1}])
def test_an_event_with_a_member_of_the_wrong_type_is_no_fact(fact: Any, kind: str, data: dict[str, Any], wrong: object):
    for member in data.keys() - {"actor"}:
        assert kinds.fact_of(kind, data | {member: wrong}) is None


@pytest.mark.parametrize("wrong", [1, 1.5, True, False, "", "pty", [], [HOW]])
@pytest.mark.parametrize(("kind", "data"), [(kind, data) for _, kind, data in EXAMPLES if kind in PROFILED])
def test_how_an_actor_runs_is_an_object_or_the_event_is_no_fact(kind: str, data: dict[str, Any], wrong: object):
    assert kinds.fact_of(kind, data | {"actor": wrong}) is None


@pytest.mark.parametrize("how", [{}, {"later": {"x": [1]}}, {"runner": 7, "command": "sh"}])
def test_a_profile_is_read_as_it_was_written_and_what_it_means_is_the_rosters_business(how: dict[str, Any]):
    assert kinds.fact_of("actor.add", EXAMPLES[1][2] | {"actor": how}) == Registered("Ada_L", "actor", "Ada", how)


@EACH
@pytest.mark.parametrize("name", ["ab", "Ada", "ada_l", "x", "7", "a--b", "ada-", "x" * 48])
def test_an_actor_of_cccc_may_have_a_name_that_no_agent_may_take(fact: Any, kind: str, data: dict[str, Any], name: str):
    assert kinds.fact_of(kind, data | {"actor_id": name}) == fact.replace(agent=name)


NOBODY = ["", "-a", "_a", "a b", "a.b", "../x", "ada\n", "user", "User", "system", "x" * 49, "ada\x1b[2J", "adä", "CON"]


@EACH
@pytest.mark.parametrize("name", NOBODY)
def test_an_event_about_what_is_no_actor_id_is_no_fact(fact: Any, kind: str, data: dict[str, Any], name: str):
    assert kinds.fact_of(kind, data | {"actor_id": name}) is None


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.just("ada-l"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
members = st.sampled_from(["actor_id", "role", "title", "after", "actor", "_"])


@given(st.sampled_from(sorted(kinds.NAMED)), st.dictionaries(members, anything))
def test_whatever_data_an_event_has_it_is_a_fact_of_texts_and_a_profile_or_none(kind: str, data: dict[str, Any]):
    fact: Any = kinds.fact_of(kind, data)
    if fact is not None:
        assert type(fact).__name__ == kinds.NAMED[kind][1]
        assert fact.agent == data["actor_id"]
        texts = {name: value for name, value in fact.as_dict().items() if name != "profile"}
        assert all(type(value) is str or value is None for value in texts.values())
        assert type(getattr(fact, "profile", None)) in (dict, type(None))


def test_every_fact_has_a_form_and_a_fold():
    facts = [name for rows in kinds.WRITTEN.values() for name, _, _ in rows]
    assert len(kinds.NAMED) == len(facts) == len(set(facts) - kinds.WITH_OWN_FORMAT.keys())
    folded = {fact for _, its_facts in folds.FOLDED.values() for fact in its_facts}
    assert {*facts, *kinds.WITH_OWN_FORMAT} - folded == {"Overridden"}, "which is told and changes nothing"
    assert folded <= {*facts, *kinds.WITH_OWN_FORMAT}


def test_each_fold_is_listed_with_the_facts_that_it_folds():
    for name, (_, its_facts) in folds.FOLDED.items():
        fold = folds.fold_module(name)
        assert (fold.NAME, {fact.__name__ for fact in fold.FACTS}) == (name, set(its_facts))


# -- facts whose first field is who recorded them: that is the line's, and is not written a second time

RESERVED = {"scope": "src", "bead_id": "bb-1", "ttl_minutes": 120}
TAKEN = {"reservation_id": HELD, "owner": "bo1", "liveness": "stale", "archived": "taken_over"}
RECORDED = [
    (Reserved("ada-l", "src", "bb-1", 120), "x.bb.reserved", RESERVED),
    (Reserved("ada-l", "src", "bb-1", 120, True, True), "x.bb.reserved", RESERVED | {"shared": True, "is_file": True}),
    (
        Reserved("ada-l", "a.py", "bb-1", 120, is_file=True, region="Class.method", is_open=True),
        "x.bb.reserved",
        RESERVED | {"scope": "a.py", "is_file": True, "region": "Class.method", "open": True},
    ),
    (
        Reserved("ada-l", "src", "bb-1", 120, takes=f"{HELD}@17", order="0123456789abcdef"),
        "x.bb.reserved",
        RESERVED | {"takes": f"{HELD}@17", "order": "0123456789abcdef"},
    ),
    (Renewed("ada-l", HELD, 60), "x.bb.renewed", {"reservation_id": HELD, "ttl_minutes": 60}),
    (Released("ada-l", HELD), "x.bb.released", {"reservation_id": HELD}),
    (Expired("ada-l", HELD), "x.bb.expired", {"reservation_id": HELD}),
    (TakenOver("ada-l", HELD, "bo1", "stale", "taken_over"), "x.bb.taken_over", TAKEN),
    (Redacted("ada-l", HELD, "a password"), "x.bb.redacted", {"event_id": HELD, "reason": "a password"}),
    (Resolved("ada-l", HELD, "accepted"), "x.bb.resolved", {"event_id": HELD, "state": "accepted"}),
    (
        Resolved("ada-l", HELD, "reverted", "It is as it was."),
        "x.bb.resolved",
        {"event_id": HELD, "state": "reverted", "note": "It is as it was."},
    ),
    (Created("ada-l", "Release", "what is left"), "group.create", {"title": "Release", "topic": "what is left"}),
    (Changed("ada-l", "Release 2"), "group.update", {"title": "Release 2"}),
    (Changed("ada-l", topic=""), "group.update", {"topic": ""}),
    (ScopeAttached("ada-l", "s_1", "site"), "group.attach", {"scope_key": "s_1", "title": "site"}),
    (ScopeDetached("ada-l", "s_1"), "group.detach_scope", {"scope_key": "s_1"}),
    (ScopeChosen("ada-l", "s_1"), "group.set_active_scope", {"scope_key": "s_1"}),
    (StateSet("ada-l", "paused"), "group.set_state", {"group_state": "paused"}),
    (
        SettingsChanged("ada-l", {"nudge_after_seconds": 60}),
        "group.settings_update",
        {"patch": {"nudge_after_seconds": 60}},
    ),
    (GroupStarted("ada-l", ["bo1", "Cy"]), "group.start", {"actors": ["bo1", "Cy"]}),
    (GroupStopped("ada-l", []), "group.stop", {"actors": []}),
]
ATTENTION = [
    (
        Edited("ada-l", "s:1", 2, {"event": "s:1"}, "new"),
        "x.bb.c2a.edited",
        {"event": "s:1", "version": 2, "c2a": {"event": "s:1"}, "text": "new"},
    ),
    (Deleted("ada-l", "s:1"), "x.bb.c2a.deleted", {"event": "s:1"}),
    (Deleted("ada-l", "s:1", "asked by mistake"), "x.bb.c2a.deleted", {"event": "s:1", "reason": "asked by mistake"}),
    (
        Moved("ada-l", "s:1", "bo1", "offered", {"attempt": 1}),
        "x.bb.c2a.delivery",
        {"event": "s:1", "agent": "bo1", "to": "offered", "about": {"attempt": 1}},
    ),
    (Moved("ada-l", "s:1", "bo1", "accepted"), "x.bb.c2a.delivery", {"event": "s:1", "agent": "bo1", "to": "accepted"}),
    (
        Claiming("ada-l", "event s:1", "claim", {"ttl_ms": 60000}),
        "x.bb.c2a.claim",
        {"subject": "event s:1", "action": "claim", "about": {"ttl_ms": 60000}},
    ),
    (
        Bound("ada-l", "bo1", {"handles": ["slack:U1"]}),
        "x.bb.c2a.binding",
        {"agent": "bo1", "names": {"handles": ["slack:U1"]}},
    ),
    (
        Arranged("ada-l", "C1", {"is_private": True}),
        "x.bb.c2a.conversation",
        {"conversation": "C1", "about": {"is_private": True}},
    ),
    (Tuned("ada-l", {"compose_ms": 2000}), "x.bb.c2a.settings", {"settings": {"compose_ms": 2000}}),
    (Typing("ada-l", "C1 ", "W1", True), "x.bb.c2a.typing", {"window": "C1 ", "author": "W1", "is_typing": True}),
    (
        Posting("ada-l", "s:1", "sent", {"platform_id": "9"}),
        "x.bb.c2a.posting",
        {"event": "s:1", "state": "sent", "about": {"platform_id": "9"}},
    ),
    (
        Progressed("ada-l", "deploy", {"progress": 1}),
        "x.bb.c2a.progress",
        {"token": "deploy", "about": {"progress": 1}},
    ),
    (Digested("ada-l", "00"), "x.bb.c2a.digest", {"upto": "00"}),
    (
        Confirming("ada-l", "confirm-0", "ask", {"message": "hello"}),
        "x.bb.c2a.confirmation",
        {"request": "confirm-0", "action": "ask", "about": {"message": "hello"}},
    ),
    (
        Refusal("ada-l", "POLICY_FORBIDS", {"event_id": "s:1"}),
        "x.bb.c2a.refused",
        {"code": "POLICY_FORBIDS", "about": {"event_id": "s:1"}},
    ),
]
RECORDED += ATTENTION
RECORDED += [
    (Pinned("ada-l", 30), "x.bb.pinned", {"stale_minutes": 30}),
    (Pinned("ada-l", 0), "x.bb.pinned", {"stale_minutes": 0}),
    (Paused("ada-l", "bo1", "wait"), "x.bb.paused", {"target": "bo1", "why": "wait"}),
    (Paused("ada-l", "*"), "x.bb.paused", {"target": "*"}),
    (Unpaused("ada-l", "*"), "x.bb.unpaused", {"target": "*"}),
    (Transferred("ada-l", HELD, "bo1"), "x.bb.transferred", {"reservation_id": HELD, "holder": "bo1"}),
    (
        Reserved("ada-l", "src", "freeze", 60, why="the release"),
        "x.bb.reserved",
        {"scope": "src", "bead_id": "freeze", "ttl_minutes": 60, "why": "the release"},
    ),
]
PLACE = {"scopes": ["src"], "bead_id": "bb-1", "ttl_minutes": 120, "until": "2026-11-03T10:00:00.000Z", "number": 3}
RECORDED += [
    (Queued("ada-l", ["src"], "bb-1", 120, "2026-11-03T10:00:00.000Z", 3), "x.bb.queued", PLACE),
    (
        Queued("ada-l", ["src", "a.py"], "-", 120, "2026-11-03T10:00:00.000Z", 3, ["a.py"], True, True, True),
        "x.bb.queued",
        PLACE
        | {"scopes": ["src", "a.py"], "bead_id": "-", "files": ["a.py"]}
        | {"shared": True, "takeover": True, "allow_overlap": True},
    ),
    (LeftLine("ada-l", HELD, "granted"), "x.bb.left_line", {"place_id": HELD, "how": "granted"}),
]
RECORDED.append(
    (
        Heard("ada-l", HELD, "ok", {"id": "m-1", "effects": [["met", "bo1"]]}),
        "x.bb.cbcl.heard",
        {"event_id": HELD, "outcome": "ok", "about": {"id": "m-1", "effects": [["met", "bo1"]]}},
    )
)
EACH_RECORDED = pytest.mark.parametrize(("fact", "kind", "data"), RECORDED)
OPTIONAL = (
    *("region", "regions", "open", "takes", "order"),
    "why",
    "shared",
    "is_file",
    "files",
    "takeover",
    "allow_overlap",
    "note",
    "topic",
    "about",
    "is_typing",
    "text",
)
# which may be left out there
NAMES = {"group.update": {"title"}, "group.attach": {"title"}, "x.bb.c2a.deleted": {"reason"}}
FLAGS = ("shared", "is_file", "is_typing")


def test_every_kind_has_an_example_here():
    assert {kind for _, kind, _ in EXAMPLES + RECORDED} == set(kinds.NAMED)


def recorded_by(fact: Any, by: str) -> Any:
    """The same, recorded by somebody else."""
    return fact.replace(**{fact.__match_args__[0]: by})


@EACH_RECORDED
def test_what_an_agent_recorded_is_written_without_its_name(fact: Any, kind: str, data: dict[str, Any]):
    assert kinds.kind_and_data(fact) == (kind, data)


@EACH_RECORDED
@pytest.mark.parametrize("by", ["ada-l", "Ada_L", "x", "user"])
def test_what_an_agent_or_a_person_recorded_is_read_back_as_its_own(
    fact: Any, kind: str, data: dict[str, Any], by: str
):
    assert kinds.fact_of(kind, data, by) == recorded_by(fact, by)


@EACH_RECORDED
def test_nobody_records_for_another_by_saying_so_in_the_data(fact: Any, kind: str, data: dict[str, Any]):
    found = kinds.fact_of(kind, data | {"by": "bo1", "agent": "bo1", "later": [1]}, "ada-l")
    assert found == fact


@EACH_RECORDED
@pytest.mark.parametrize("by", ["", "-a", "a b", "../../x", "User", "ada\n", "x" * 49])
def test_what_was_recorded_by_nobody_is_no_fact(fact: Any, kind: str, data: dict[str, Any], by: str):
    assert kinds.fact_of(kind, data, by) is None


@EACH_RECORDED
@pytest.mark.parametrize("by", ["system", "svc:com.example.bot"])
def test_the_daemon_and_services_may_change_a_group_and_hold_nothing(
    fact: Any, kind: str, data: dict[str, Any], by: str
):
    found = kinds.fact_of(kind, data, by)
    assert found == (recorded_by(fact, by) if kind.startswith(("group.", "x.bb.c2a.")) else None)


@EACH_RECORDED
def test_a_recorded_event_that_lacks_what_it_needs_is_no_fact(fact: Any, kind: str, data: dict[str, Any]):
    for member in data.keys() - set(OPTIONAL) - NAMES.get(kind, set()):
        assert kinds.fact_of(kind, {name: value for name, value in data.items() if name != member}, "ada-l") is None
        assert kinds.fact_of(kind, data | {member: None}, "ada-l") is None


@pytest.mark.parametrize("member", ["shared", "is_file"])
def test_a_flag_that_is_left_out_or_null_is_not_set(member: str):
    for data in (RESERVED, RESERVED | {member: None}, RESERVED | {member: False}):
        assert getattr(kinds.fact_of("x.bb.reserved", data, "ada-l"), member) is False


NO_TEXTS: list[object] = [1, True, [], {}]
NO_OBJECTS: list[object] = ["", "x", 1, True, [], [{}]]
WRONG: dict[str, list[object]] = {
    **dict.fromkeys(("c2a", "about", "names", "settings"), NO_OBJECTS),
    "version": [0, -1, 1.5, "2", True, [], {}],
    "is_typing": [0, 1, "true", [], {}],
    "scope": [1, True, [], {}],
    "bead_id": [1, True, [], {}],
    "liveness": [1, True, [], {}],
    "ttl_minutes": [0, -1, 1 << 31, 1.0, "60", True, [], {}],
    "stale_minutes": [-1, 10_081, 1.0, "60", True, [], {}],
    "shared": [0, 1, "true", [], {}],
    "is_file": [0, 1, "true", [], {}],
    "reservation_id": ["", "res_1", "a.7", HELD[:-1] + "0", HELD + "\n", HELD.upper(), 7, True, [], {}],
    "owner": ["", "-bo", "bo 1", "../../x", "bo1\n", "system", "svc:bot", 7, True, [], {}],
    "title": [1, True, [], {}],
    "topic": [1, True, [], {}],
    "scope_key": [1, True, [], {}],
    "group_state": ["", "stopped", "ACTIVE", 1, True, [], {}],
    "patch": ["", "x", 1, True, [], [{}]],
    "actors": ["", "bo1", 1, True, {}, [1], ["bo1", None], [["bo1"]]],
    "event_id": ["", "res_1", "a.7", HELD[:-1] + "0", HELD + "\n", 7, True, [], {}],
    "state": ["", "open", "closed", "ACCEPTED", 7, True, [], {}],
    "note": [1, True, [], {}],
    "reason": [1, True, [], {}],
    "scopes": ["", "src", [], [1], ["a", None], ["a\n"], {}, 1, True],
    "files": ["", "src", [], [1], ["a", None], ["a\n"], {}, 1, True],
    "until": ["", "tomorrow", "2026-11-03", 1, True, [], {}],
    "number": [0, -1, 1 << 40, 1.0, "3", True, [], {}],
    "takeover": [0, 1, "true", [], {}],
    "open": [0, 1, "true", [], {}],
    "region": ["", "a\n", 1, True, [], {}],
    "order": ["", "0" * 15, "0" * 17, "A" * 16, "g" * 16, "0" * 15 + "\n", 7, True, [], {}],
    "takes": [
        "",
        "x",
        f"{HELD}@",
        f"{HELD}@x",
        f"{HELD}@-1",
        f"{HELD}@" + "9" * 16,
        f"{HELD}  {HELD}",
        7,
        True,
        [],
        {},
    ],
    "regions": ["", "a", [1], ["a", None], ["a\n"], {}, 1, True],
    "allow_overlap": [0, 1, "true", [], {}],
    "place_id": ["", "res_1", "a.7", HELD[:-1] + "0", HELD + "\n", 7, True, [], {}],
    "how": ["", "active", "GRANTED", 7, True, [], {}],
    "archived": ["", "active", "released", "EXPIRED", 7, True, [], {}],
}


@EACH_RECORDED
def test_a_recorded_event_with_a_wrong_member_is_no_fact(fact: Any, kind: str, data: dict[str, Any]):
    for member in data:
        known = WRONG.get(member, NO_TEXTS)
        for wrong in NO_TEXTS if kind == "x.bb.c2a.posting" and member == "state" else known:
            assert kinds.fact_of(kind, data | {member: wrong}, "ada-l") is None, (member, wrong)


@pytest.mark.parametrize("minutes", [1, 5, 1440, (1 << 31) - 1])
def test_any_time_to_live_that_another_version_may_have_written_is_read(minutes: int):
    assert kinds.fact_of("x.bb.reserved", RESERVED | {"ttl_minutes": minutes}, "ada-l") is not None


recorded = st.sampled_from(sorted({name for _, _, data in RECORDED for name in data} | {"by"}))
likely = st.sampled_from(["ada-l", HELD, "src", "expired", 60, True])


@given(st.sampled_from(sorted(kinds.NAMED)), st.dictionaries(recorded, likely | anything), st.text() | likely)
def test_whatever_was_recorded_by_whomever_it_is_a_fact_of_theirs_or_none(kind: str, data: dict[str, Any], by: Any):
    fact: Any = kinds.fact_of(kind, data, by)
    assert fact is None or (type(fact).__name__, fact == recorded_by(fact, by)) == (kinds.NAMED[kind][1], True)
    is_of_a_group = kind.startswith("group.") and (by == "system" or str(by).startswith("svc:"))
    assert fact is None or by == ids.PERSON or ids.is_actor_id(by) or is_of_a_group
