"""Facts as events: writing is exact, reading is tolerant. A line that fits nothing is no fact and never an error."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.facts import Registered, Retired, Seen, Updated
from bb.ledger import kinds

EXAMPLES = [
    (
        Registered("ada-l", "builder", "Ada"),
        "actor.add",
        {"actor_id": "ada-l", "role": "builder", "title": "Ada"},
    ),
    (
        Updated("ada-l", "tester", "Countess"),
        "actor.update",
        {"actor_id": "ada-l", "role": "tester", "title": "Countess"},
    ),
    (Updated("ada-l", role="tester"), "actor.update", {"actor_id": "ada-l", "role": "tester"}),
    (Updated("ada-l", title="Countess"), "actor.update", {"actor_id": "ada-l", "title": "Countess"}),
    (Updated("ada-l"), "actor.update", {"actor_id": "ada-l"}),
    (Retired("ada-l"), "actor.remove", {"actor_id": "ada-l"}),
    (Seen("ada-l", "evicted"), "x.bb.seen", {"actor_id": "ada-l", "after": "evicted"}),
]
EACH = pytest.mark.parametrize(("fact", "kind", "data"), EXAMPLES)
NEEDED = [(kind, data, member) for fact, kind, data in EXAMPLES for member in data if not isinstance(fact, Updated)] + [
    ("actor.update", {"actor_id": "ada-l", "role": "tester"}, "actor_id")
]


@EACH
def test_a_fact_is_written_as_its_kind_with_its_members(fact: Any, kind: str, data: dict[str, Any]):
    assert kinds.written(fact) == (kind, data)


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
    "kind", ["", "actor", "actor.added", "ACTOR.ADD", "actor.add ", "chat.message", "group.create"]
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
    for member in data:
        assert kinds.fact_of(kind, data | {member: wrong}) is None


@EACH
@pytest.mark.parametrize("name", ["", "ab", "Ada", "ada_l", "../../x", "ada\n", "user", "x" * 49, "ada\x1b[2J"])
def test_an_event_about_what_is_no_agent_id_is_no_fact(fact: Any, kind: str, data: dict[str, Any], name: str):
    assert kinds.fact_of(kind, data | {"actor_id": name}) is None


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.just("ada-l"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
members = st.sampled_from(["actor_id", "role", "title", "after", "_"])


@given(st.sampled_from(sorted(kinds.BY_KIND)), st.dictionaries(members, anything))
def test_whatever_data_an_event_has_it_is_a_fact_of_texts_or_none(kind: str, data: dict[str, Any]):
    fact = kinds.fact_of(kind, data)
    if fact is not None:
        assert type(fact) is kinds.BY_KIND[kind][0]
        assert fact.agent == data["actor_id"]
        assert all(type(value) is str or value is None for value in fact.as_dict().values())


def test_every_fact_has_a_form_and_a_fold():
    facts = [fact for fact, _, _ in kinds.WRITTEN]
    assert len({kind for _, kind, _ in kinds.WRITTEN}) == len(facts) == len(set(facts))
    assert {*facts, *kinds.FORMED} == set(kinds.FOLDS)
    assert all(kinds.FOLDS.values())
