"""Each copy of a message is unread, then read, then acked; the first times count, in whatever order they come."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.kernel.total_order import sortable
from bb.messaging import messages
from bb.messaging.facts import Acked, Agreed, Read, Sent
from bb.messaging.mail import mailbox
from tests.examples import examples

A, B = "a" * 12, "b" * 12
MESSAGE = f"{A}.1"
NAME = f"{MESSAGE} bo1"
NOON = "2026-01-05T12:{:02}:00.000Z"

Said = tuple[Any, tuple[int, str, int], str]  # a fact, its place in the total order, and when it was written


def said(fact: Any, lamport: int, writer: str = B, minute: int | None = None) -> Said:
    return fact, (lamport, writer, lamport), NOON.format(lamport if minute is None else minute)


HANDOFF = Sent("ada", ("bo1",), "HANDOFF", "s", "b", "bb-1", "bead:bb-1", True, None, {"subject": "s"})
INFO = Sent("ada", ("bo1", "cyd"), "INFO", "s", "b", "bb-1", "bead:bb-1", False)
ASKED, TOLD = said(HANDOFF, 1, A), said(INFO, 1, A)
READ, ACKED, AGREED = Read("bo1", MESSAGE), Acked("bo1", MESSAGE), Agreed("bo1", MESSAGE)


def fold(*history: Said) -> Any:
    """The state after a history; between any two facts it goes through JSON, as it does when it is kept."""
    state = None
    for fact, place, ts in history:
        state = json.loads(json.dumps(mailbox.step(state, fact, list(place), ts)))
    return state


def state(*history: Said) -> str:
    return mailbox.state_of(fold(*history))


def words(*history: Said) -> set[str]:
    """What the copy is found by."""
    return {term for term, _ in mailbox.terms(NAME, fold(*history))}


# -- the state machine


@pytest.mark.parametrize(
    ("gestures", "expected"),
    [
        ([], "unread"),
        ([READ], "read"),
        ([READ, READ], "read"),
        ([ACKED], "acked"),
        ([AGREED], "acked"),
        ([READ, ACKED], "acked"),
        ([READ, AGREED], "acked"),
        ([ACKED, READ], "acked"),
        ([ACKED, ACKED], "acked"),
        ([READ, ACKED, READ, READ], "acked"),
    ],
)
@pytest.mark.parametrize("message", [ASKED, TOLD])
def test_a_copy_is_unread_then_read_then_acked_and_what_is_acked_stays_so(
    message: Said, gestures: list[Any], expected: str
):
    assert state(message, *(said(gesture, 5 + n) for n, gesture in enumerate(gestures))) == expected


@pytest.mark.parametrize("gestures", [[READ, ACKED], [ACKED, READ], [READ, AGREED, READ, ACKED]])
def test_gestures_that_arrive_before_the_message_or_the_other_way_round_leave_the_same_copy(gestures: list[Any]):
    history = [ASKED, *(said(gesture, 5 + n) for n, gesture in enumerate(gestures))]
    assert len({json.dumps(fold(*order), sort_keys=True) for order in permutations(history)}) == 1


@pytest.mark.parametrize(("gesture", "name"), [(READ, "read"), (ACKED, "acked"), (AGREED, "acked")])
def test_the_first_time_in_the_total_order_counts_whatever_the_clocks_say(gesture: Any, name: str):
    first, second = said(gesture, 5, minute=30), said(gesture, 6, minute=2)
    for history in ([first, second], [second, first]):
        assert fold(ASKED, *history)[name][3] == NOON.format(30)


def test_to_ack_and_to_agree_are_one_gesture_and_the_first_counts():
    assert fold(ASKED, said(AGREED, 5), said(ACKED, 6))["acked"][:3] == [5, B, 5]
    assert fold(ASKED, said(ACKED, 6), said(AGREED, 5))["acked"][:3] == [5, B, 5]


# -- whose copy it is


def test_everybody_it_goes_to_has_a_copy():
    assert mailbox.keys(INFO, [1, A, 1]) == [f"{MESSAGE} bo1", f"{MESSAGE} cyd"]


@pytest.mark.parametrize("gesture", [READ, ACKED, AGREED])
def test_a_gesture_is_about_the_copy_of_whoever_makes_it(gesture: Any):
    assert mailbox.keys(gesture, [9, B, 9]) == [NAME]
    assert mailbox.keys(gesture.replace(agent="cyd"), [9, B, 9]) == [f"{MESSAGE} cyd"]


def test_every_fact_about_messages_is_folded():
    assert {type(fact) for fact in (INFO, READ, ACKED, AGREED)} == set(mailbox.FACTS)


# -- what it is found by

OWED = {"owed", "owed bo1"}


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ([ASKED], {"to bo1", "handed to bo1", "unread bo1"} | OWED),
        ([ASKED, said(READ, 5)], {"to bo1", "handed to bo1"} | OWED),
        ([ASKED, said(ACKED, 5)], {"to bo1", "handed to bo1", "accepted ada"}),
        ([ASKED, said(AGREED, 5)], {"to bo1", "handed to bo1", "accepted ada"}),
        ([TOLD], {"to bo1", "unread bo1"}),
        ([TOLD, said(READ, 5)], {"to bo1"}),
        ([TOLD, said(AGREED, 5)], {"to bo1"}),
    ],
)
def test_a_copy_is_found_as_unread_until_it_is_read_and_as_owed_until_it_is_accepted(
    history: list[Said], expected: set[str]
):
    assert words(*history) == expected


def test_a_copy_stands_in_the_inbox_where_the_message_stands_in_the_total_order():
    assert ("to bo1", sortable([1, A, 1])) in mailbox.terms(NAME, fold(said(READ, 9), ASKED))


@pytest.mark.parametrize("gesture", [READ, ACKED, AGREED])
def test_gestures_about_a_message_that_is_not_known_here_yet_are_found_nowhere(gesture: Any):
    assert words(said(gesture, 5)) == set()


# -- any order

gestures = st.tuples(
    st.sampled_from([READ, ACKED, AGREED]),
    st.tuples(st.integers(1, 4), st.sampled_from([A, B]), st.integers(2, 9)),
    st.integers(0, 59).map(NOON.format),
)
histories = st.tuples(
    st.sampled_from([[], [ASKED], [TOLD]]), st.lists(gestures, max_size=6, unique_by=lambda said: said[1])
).map(lambda parts: parts[0] + parts[1])


@examples(60)
@given(histories, st.randoms(use_true_random=False))
def test_the_same_facts_in_any_order_make_the_same_copy(history: list[Said], random: Any):
    shuffled = list(history)
    random.shuffle(shuffled)
    assert fold(*shuffled) == fold(*history)
    assert fold(*history, *shuffled) == fold(*history), "a fact that is heard twice counts once"


@examples(60)
@given(histories)
def test_what_a_copy_is_found_by_follows_its_state(history: list[Said]):
    found = mailbox.terms(NAME, fold(*history) or {})
    heard = {type(fact) for fact, _, _ in history}
    is_sent = Sent in heard
    assert ("unread bo1" in {term for term, _ in found}) is (is_sent and heard == {Sent})
    asks = ASKED in history
    assert ("owed bo1" in {term for term, _ in found}) is (asks and not heard & {Acked, Agreed})


@examples(30)
@given(histories, gestures)
def test_a_step_leaves_the_state_before_it_as_it_was(history: list[Said], gesture: Said):
    before = fold(*history)
    kept = json.dumps(before)
    fact, place, ts = gesture
    mailbox.step(before, fact, list(place), ts)
    assert json.dumps(before) == kept


# -- letters: each message once


def letter(fact: Sent) -> Any:
    return json.loads(json.dumps(messages.step(None, fact, [1, A, 1], NOON.format(0))))


def test_a_letter_is_one_entry_however_many_it_goes_to():
    assert messages.keys(INFO, [1, A, 1]) == [MESSAGE]
    assert letter(INFO)["said"] == [1, A, 1, [NOON.format(0), json.loads(json.dumps(INFO.as_dict()))]]


def test_a_letter_is_found_by_its_bead():
    assert messages.terms(MESSAGE, letter(INFO)) == [("bead bb-1", sortable([1, A, 1]))]


def test_a_letter_that_is_a_protocol_event_is_found_among_those_too():
    place = sortable([1, A, 1])
    assert dict(messages.terms(MESSAGE, letter(HANDOFF))) == dict.fromkeys(["bead bb-1", "protocol", "HANDOFF"], place)


def test_a_letter_that_is_heard_twice_is_one():
    once = letter(INFO)
    assert messages.step(once, INFO, [1, A, 1], NOON.format(0)) == once
