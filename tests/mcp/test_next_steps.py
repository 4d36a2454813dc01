"""What an agent is told to do next, by what is known of it."""

from __future__ import annotations

from typing import Any

import pytest

from bb.mcp.next_steps import MOST, next_steps
from bb.mcp.tool_list import BY_NAME

CALM: dict[str, Any] = {"liveness": "active", "unread": 0, "to_accept": [], "holds": []}
LETTER = {"id": "w.7", "from": "bo-lynx", "subject": "Dates"}
WAITS = {"agent_id": "bo-lynx", "scope": "src"}
HELD, OVER = {"scope": "src"}, {"scope": "docs", "is_expired": True}


@pytest.mark.parametrize(
    ("known", "asked", "tools"),
    [
        ({}, 0, ["status"]),
        ({"holds": [HELD]}, 0, ["release"]),
        ({"holds": [HELD, OVER]}, 0, ["reserve"]),
        ({"holds": [HELD], "news": {"waiting_for_me": [WAITS]}}, 0, ["release", "release"]),
        ({"holds": [HELD, OVER], "news": {"waiting_for_me": [WAITS]}}, 0, ["reserve", "release"]),
        ({"holds": [HELD, OVER], "paused": {"why": None}}, 0, ["release"]),
        ({"paused": {"why": None}, "unread": 1}, 0, ["inbox", "status"]),
        ({"unread": 2}, 0, ["inbox"]),
        ({"unread": 2}, 1, ["chat", "inbox"]),
        ({"unread": 1, "to_accept": [LETTER], "holds": [OVER]}, 0, ["acknowledge", "inbox", "reserve"]),
        ({"to_accept": [LETTER] * 9}, 4, ["acknowledge"] * MOST),
        ({"liveness": "retired", "unread": 4}, 0, ["session"]),
        ({"liveness": "evicted"}, 0, ["status"]),
    ],
)
def test_the_most_urgent_comes_first(known: dict[str, Any], asked: int, tools: list[str]):
    steps = next_steps(CALM | known, [{}] * asked)

    assert [step["tool"] for step in steps] == tools
    assert all(step["tool"] in BY_NAME and step["why"] for step in steps)


def test_a_step_is_a_call_that_can_be_made_as_it_stands():
    (first, *_) = next_steps(CALM | {"to_accept": [LETTER]}, [])

    assert first["arguments"] == {"message": "w.7", "as": "accepted"}
    waits = next_steps(CALM | {"holds": [HELD], "news": {"waiting_for_me": [WAITS]}}, [])[0]
    assert (waits["arguments"], waits["why"]) == ({"scope": ["src"]}, "bo-lynx waits for src. Release it when you can.")
    assert next_steps(CALM | {"holds": [OVER]}, [])[0]["arguments"] == {"scope": ["docs"]}
