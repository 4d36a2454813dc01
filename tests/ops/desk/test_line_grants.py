"""What the agents in line are told. The grants are tested as stories (`tests/stories/races`)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bb.coordination.holdings.places import Place
from bb.coordination.holdings.scopes import Scope
from bb.messaging.facts import Sent
from bb.ops.desk import line_grants


def place(*names: str) -> Place:
    scopes = tuple(map(Scope, names))
    flags = {"shared": False, "takeover": False, "allow_overlap": False}
    return Place("a" * 12 + ".1", "ada-l", scopes, "-", 60, 0, 1, **flags, made_at=0, state="waiting")


def test_the_message_of_a_grant_is_from_whoever_freed_the_way_and_has_the_command_to_release():
    sent = line_grants._grant(place("src", "a b.py"), "bo-b")

    assert (sent.sender, sent.to, sent.bead) == ("bo-b", ("ada-l",), "")
    assert sent.subject == 'You hold src, "a b.py" now: your turn in line has come'
    assert "`bb release src 'a b.py'`" in sent.body


@pytest.mark.parametrize("tell", [lambda one: line_grants._grant(one, "bo-b"), line_grants._time_over])
def test_a_message_about_thousands_of_paths_is_short(tell: Callable[[Place], Sent]):
    sent = tell(place(*(f"src/{'long-name/' * 300}{number}.py" for number in range(3000))))

    assert "and 2990 more" in sent.body
    assert len(sent.body) < 100_000
    assert len(sent.subject) <= 500
