"""How a line of the ledger says what happened to an agent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.cbcl.facts import Installed
from bb.cbcl.speak import effects
from bb.cbcl.speak.effects import (
    BY_NAME,
    MOST,
    Believed,
    Discharged,
    Effect,
    Entered,
    Expected,
    Greeted,
    Met,
    Obliged,
    Parted,
    Settled,
    Verified,
)
from bb.cbcl.speak.state import AgentState
from tests.cbcl.trees import STEADY

EXAMPLES: list[Any] = [
    Believed("alice", '"x"'),
    Entered("t", "alice", "tell", "m-1", "(tell @bob)"),
    Expected("alice", "a"),
    Expected("alice", "a", "t"),
    Settled("alice", "a", "replied"),
    Obliged("alice", "a", "t"),
    Discharged("alice", "a", "failed"),
    Greeted("alice"),
    Met("alice"),
    Parted("alice"),
    Verified("alice", "0f"),
]


def there_and_back(happened: list[Any], own: frozenset[str] = frozenset()) -> list[Effect]:
    return list(effects.from_line(json.loads(json.dumps(effects.to_line(happened, own)))))


def test_everything_that_happens_is_read_back():
    assert {type(each) for each in EXAMPLES} == set(BY_NAME.values())
    assert there_and_back(EXAMPLES) == EXAMPLES


def test_a_dialect_has_a_line_of_its_own():
    assert effects.to_line([Installed("bob", "d", "(define d)", "0f", "lab", "valid", "file")]) == []


def test_by_which_line_a_message_came_that_line_says():
    assert effects.to_line([Obliged("alice", "a", None, "60", "w.7")]) == [["obliged", "alice", "a", None, "60"]]


def test_what_the_message_says_itself_is_not_said_again():
    whole = "(tell @bob (x))"
    happened = [Believed("alice", "(x)"), Entered("t", "alice", "tell", "m", whole), Believed("alice", "(y)")]
    assert [each[-1] for each in effects.to_line(happened, frozenset(["(x)", whole]))] == ["", "", "(y)"]


def test_only_a_text_is_left_out_and_no_name_that_is_spelt_like_it():
    own = frozenset(["(x)"])
    happened = [Entered("(x)", "alice", "tell", "(x)", "(y)")]
    assert there_and_back(happened, own) == happened


@pytest.mark.parametrize(
    "value",
    [
        *(None, 7, "met", {}, {"met": "alice"}, [7], [None], [[]], [[[]]], ["met", "alice"]),
        *([["met"]], [["met", "alice", "x"]], [["met", 7]], [["met", None]], [["Met", "alice"]], [["installed", "x"]]),
        *(
            [["obliged", "alice", "a", 7, None]],
            [["obliged", "alice", None, "t", None]],
            [["obliged", "alice", "a", None]],
            [["obliged", "alice", "a", None, None, "w.7"]],
        ),
        *([["believed", "alice", ["x"]]], [["believed", "alice", None]], [[["met"], "alice"]]),
    ],
)
def test_what_is_no_effect_is_skipped(value: Any):
    assert list(effects.from_line(value)) == []
    if isinstance(value, list):
        assert list(effects.from_line([["met", "bob"], *value, ["met", "carol"]])) == [Met("bob"), Met("carol")]


def test_a_line_says_so_much_and_no_more():
    assert len(list(effects.from_line([["met", "x"]] * (MOST + 7)))) == MOST


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(sorted(BY_NAME)),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=20,
)


@STEADY
@given(ANYTHING)
def test_whatever_a_line_says_is_read_as_effects_or_not_at_all(value: Any):
    found = list(effects.from_line(value))
    AgentState("bob").after(found)
    assert there_and_back(found) == found
