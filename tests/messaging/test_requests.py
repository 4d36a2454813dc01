"""A request for a reply is owed by each recipient until it replies, or until it is withdrawn (notes on CCCC, §8)."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.kernel.errors import BbError
from bb.messaging import requests
from bb.messaging.recipients import Member
from tests.messaging import cccs_reader

W = "a" * 12
TEAM = (Member("ada", role="foreman"), Member("bo"), Member("cy", enabled=False))
ASKED = ("asked", "ada", 1)
REQUEST = {"kind": "chat.message", "by": "ada", "data": {"text": "Well?", "message_mode": "request_reply"}}

Said = tuple[str, str, int]  # what was done, by whom, and when in the total order


def fold(*history: Said) -> dict[str, str]:
    """What became of a request by ada to bo and user; in between, the state goes through JSON, as when it is kept."""
    state = None
    for what, who, lamport in history:
        at = [lamport, W, lamport]
        match what:
            case "asked":
                state = requests.asked(state, who, ["bo", "user"], at)
            case "replied":
                state = requests.replied(state, who, at)
            case "cancelled":
                state = requests.withdrawn(state, who, at)
        state = json.loads(json.dumps(state))
    return requests.states(state)


@pytest.mark.parametrize(
    ("history", "bo", "user"),
    [
        ([ASKED], "open", "open"),
        ([ASKED, ("replied", "bo", 2)], "fulfilled", "open"),
        ([ASKED, ("replied", "bo", 2), ("replied", "user", 3)], "fulfilled", "fulfilled"),
        ([ASKED, ("replied", "cy", 2), ("replied", "ada", 3)], "open", "open"),
        ([ASKED, ("cancelled", "ada", 2)], "cancelled", "cancelled"),
        ([ASKED, ("cancelled", "user", 2)], "cancelled", "cancelled"),
        ([ASKED, ("cancelled", "bo", 2)], "open", "open"),
        ([ASKED, ("replied", "bo", 2), ("cancelled", "ada", 3)], "fulfilled", "cancelled"),
        ([ASKED, ("cancelled", "ada", 2), ("replied", "bo", 3)], "cancelled", "cancelled"),
        ([ASKED, ("cancelled", "cy", 2), ("replied", "bo", 3), ("cancelled", "user", 4)], "fulfilled", "cancelled"),
        ([ASKED, ("replied", "bo", 3), ("replied", "bo", 5), ("cancelled", "ada", 4)], "fulfilled", "cancelled"),
    ],
)
def test_each_recipient_owes_a_reply_of_its_own(history: list[Said], bo: str, user: str):
    for order in permutations(history):
        assert fold(*order) == {"bo": bo, "user": user}


def test_nothing_is_owed_until_it_is_known_what_was_asked():
    assert requests.states(None) == fold(("replied", "bo", 2), ("cancelled", "ada", 3)) == {}


@given(
    st.lists(
        st.tuples(st.sampled_from(["replied", "cancelled"]), st.sampled_from(["ada", "bo", "cy", "user"])), max_size=6
    ),
    st.randoms(use_true_random=False),
)
def test_any_order_leaves_the_same_state(gestures: list[tuple[str, str]], random: Any):
    history = [ASKED, *((what, who, at) for at, (what, who) in enumerate(gestures, start=2))]
    shuffled = random.sample(history, len(history))
    assert fold(*shuffled) == fold(*history)


@pytest.mark.parametrize(
    ("to", "by", "owing"),
    [
        ((), "user", ("ada", "bo")),
        (("@all",), "ada", ("bo",)),
        (("@peers", "user"), "ada", ("bo", "user")),
        (("cy",), "ada", ("cy",)),
        (("bo",), "bo", ()),
    ],
)
def test_a_reply_is_owed_by_concrete_recipients(to: tuple[str, ...], by: str, owing: tuple[str, ...]):
    assert requests.obligations(to, TEAM, by) == owing


@pytest.mark.parametrize(
    ("data", "is_request", "is_mail"),
    [
        ({"message_mode": "request_reply"}, True, False),
        ({"reply_required": True}, True, False),
        ({"message_mode": "mail"}, False, True),
        ({"message_mode": "send"}, False, False),
        ({"reply_required": 1}, False, False),
        ({"message_mode": ["mail"]}, False, False),
        ({}, False, False),
        (None, False, False),
        ([], False, False),
    ],
)
def test_what_asks_for_a_reply_and_what_waits_as_mail(data: Any, is_request: bool, is_mail: bool):
    assert (requests.is_request(data), requests.is_mail(data)) == (is_request, is_mail)


def cancel(by: Any, event: Any = REQUEST) -> str | None:
    answer = cccs_reader.answer(lambda: requests.may_cancel(by=by, event=event))
    return answer.code if isinstance(answer, BbError) else None


def test_a_request_is_cancelled_by_who_asked_or_by_the_person():
    assert cancel("ada") is cancel("user") is None
    for other in ("bo", "system", "svc:ci", "", None, 7, ["ada"]):
        assert cancel(other) == "PERMISSION_DENIED"


def test_only_a_request_is_cancelled():
    assert cancel("ada", None) == "EVENT_NOT_FOUND"
    assert cancel("ada", REQUEST | {"kind": "system.notify"}) == "INVALID_EVENT_KIND"
    assert cancel("ada", REQUEST | {"data": {"message_mode": "mail"}}) == "NOT_A_REPLY_REQUEST"
    assert cancel("bo", REQUEST | {"data": "?"}) == "NOT_A_REPLY_REQUEST"


def test_what_a_cancellation_says():
    assert requests.cancellation("e1", "ada") == {"source_event_id": "e1", "by": "ada"}
