"""An acknowledgement is one's own word; a mark may be moved by who looks after an actor (CCCS §6.2, §6.3, §7)."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.kernel.errors import BbError
from bb.messaging.chat import acks
from bb.messaging.chat.recipients import Member
from tests.messaging import cccs_reader

ROLES = {"ada": "foreman", "bo": "peer", "cy": "peer"}
TEAM = (Member("ada", role="foreman"), Member("bo"), Member("cy", enabled=False))
ATTENTION = {
    "kind": "chat.message",
    "by": "ada",
    "data": {"text": "look", "priority": "attention", "to": ["bo", "user"]},
}
NOTICE = {"kind": "system.notify", "by": "system", "data": {"kind": "nudge", "target_actor_id": "bo"}}


def said(event: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return event | {"data": {name: value for name, value in (event["data"] | changes).items() if value is not None}}


def code(ask: Any, **asked: Any) -> str | None:
    """The code of the refusal; None when it is granted."""
    answer = cccs_reader.answer(lambda: ask(**asked))
    return answer.code if isinstance(answer, BbError) else None


def ack(by: Any = "bo", actor_id: Any = None, event: Any = ATTENTION, *, joined: bool = True) -> str | None:
    who = by if actor_id is None else actor_id
    return code(acks.may_ack, by=by, actor_id=who, event=event, joined=joined, roles=ROLES)


def notice_ack(by: Any = "bo", actor_id: Any = None, event: Any = NOTICE) -> str | None:
    return code(acks.may_ack_notice, by=by, actor_id=by if actor_id is None else actor_id, event=event, roles=ROLES)


def mark(by: Any = "bo", actor_id: Any = "bo", event: Any = ATTENTION) -> str | None:
    role = ROLES.get(by, "") if isinstance(by, str) else ""
    return code(acks.may_mark_read, by=by, by_role=role, actor_id=actor_id, event=event, roles=ROLES)


# -- chat.ack


@pytest.mark.parametrize("who", ["bo", "user"])
def test_cccs_6_2_a_recipient_acknowledges_an_attention_message(who: str):
    assert ack(who) is None


@pytest.mark.parametrize("by", ["user", "ada", "system", "svc:ci", "", None, 7])
def test_cccs_6_2_nobody_acknowledges_for_another_not_even_the_person(by: Any):
    assert ack(by, "bo") == "PERMISSION_DENIED"


@pytest.mark.parametrize("who", ["nobody", "system", "svc:ci", "", "@all", 7, True, ["bo"], {"id": "bo"}])
def test_cccs_6_2_only_an_actor_of_the_group_or_the_person_acknowledges(who: Any):
    assert ack(who, who) == "UNKNOWN_ACTOR"


def test_cccs_6_2_what_is_acknowledged_is_a_message_that_exists():
    assert ack(event=None) == "EVENT_NOT_FOUND"
    for kind in ("system.notify", "chat.ack", "chat.read", "x.bb.reserved", None, 7, ["chat.message"]):
        assert ack(event=ATTENTION | {"kind": kind}) == "INVALID_EVENT_KIND"


def test_nobody_acknowledges_their_own_message():
    assert ack("ada", event=said(ATTENTION, to=["ada", "bo"])) == "CANNOT_ACK_OWN_MESSAGE"


@pytest.mark.parametrize("priority", ["normal", None, "Attention", 7, ["attention"]])
def test_cccs_6_2_what_does_not_ask_for_it_is_not_acknowledged(priority: Any):
    assert ack(event=said(ATTENTION, priority=priority)) == "NOT_AN_ATTENTION_MESSAGE"


@pytest.mark.parametrize("to", [["cy"], ["user"], ["@foreman"], [7], "bo"])
def test_cccs_6_2_what_is_addressed_to_others_is_not_acknowledged(to: Any):
    assert ack(event=said(ATTENTION, to=to)) == "EVENT_NOT_FOR_ACTOR"


@pytest.mark.parametrize("to", [None, [], ["@all"], ["@peers"], ["bo"], ["user", "bo"]])
def test_cccs_5_whatever_addresses_an_actor_lets_it_acknowledge(to: Any):
    assert ack(event=said(ATTENTION, to=to)) is None


@pytest.mark.parametrize("to", [None, ["@all"], ["user"], ["@user"]])
def test_the_person_acknowledges_whatever_stands_in_their_inbox(to: Any):
    assert ack("user", event=said(ATTENTION, to=to)) is None
    assert ack("user", event=said(ATTENTION, to=["@peers"])) == "EVENT_NOT_FOR_ACTOR"


def test_who_came_after_the_message_does_not_acknowledge_it():
    assert ack(joined=False) == "EVENT_NOT_FOR_ACTOR"


def test_the_record_of_what_went_to_another_group_is_not_acknowledged():
    assert ack("user", event=said(ATTENTION, to=["user"], dst_group_id="g_b")) == "EVENT_NOT_FOR_ACTOR"


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("PERMISSION_DENIED", {"by": "somebody"}),
    ("UNKNOWN_ACTOR", {"actor_id": "nobody"}),
    ("INVALID_EVENT_KIND", {"kind": "chat.ack"}),
    ("CANNOT_ACK_OWN_MESSAGE", {"author": "nobody"}),
    ("NOT_AN_ATTENTION_MESSAGE", {"priority": "normal"}),
    ("EVENT_NOT_FOR_ACTOR", {"to": ["cy"]}),
]


@pytest.mark.parametrize("first", range(len(WRONG)))
def test_ipc_8_5_of_several_mistakes_the_same_one_is_always_refused(first: int):
    wrong: dict[str, Any] = {}
    for _, change in WRONG[first:]:
        wrong |= change
    who = wrong.get("actor_id", "bo")
    event = said(ATTENTION, priority=wrong.get("priority", "attention"), to=wrong.get("to", ["bo"]))
    event |= {"kind": wrong.get("kind", "chat.message"), "by": who if "author" in wrong else "ada"}
    assert ack(wrong.get("by", who), who, event) == WRONG[first][0]


def test_an_event_that_is_not_there_is_missed_before_it_is_judged_and_after_who_asks():
    assert ack("user", "bo", None) == "PERMISSION_DENIED"
    assert ack("nobody", "nobody", None) == "UNKNOWN_ACTOR"


# -- who owes one


@pytest.mark.parametrize(
    ("to", "owing"),
    [
        (None, ("bo",)),
        (["@all"], ("bo",)),
        (["bo", "user"], ("bo", "user")),
        (["cy"], ("cy",)),
        (["user"], ("user",)),
        (["@foreman"], ()),
    ],
)
def test_cccs_6_2_nobody_owes_an_acknowledgement_of_what_is_not_addressed_to_them(to: Any, owing: tuple[str, ...]):
    assert acks.owed_by(said(ATTENTION, to=to), TEAM) == owing


def test_nobody_owes_an_acknowledgement_of_what_does_not_ask_for_it():
    assert acks.owed_by(said(ATTENTION, priority="normal"), TEAM) == ()
    assert acks.owed_by(said(ATTENTION, dst_group_id="g_b"), TEAM) == ()
    assert acks.owed_by(NOTICE, TEAM) == ()


def test_who_owes_an_acknowledgement_may_give_it():
    for to in (None, [], ["@all"], ["@peers"], ["@foreman"], ["bo"], ["cy", "user"], ["@user"], [7]):
        event = said(ATTENTION, to=to)
        assert {ack(who, event=event) for who in acks.owed_by(event, TEAM)} <= {None}


# -- system.notify_ack


@pytest.mark.parametrize("by", ["user", "ada", "system", "", None])
def test_cccs_7_nobody_acknowledges_a_notification_for_another(by: Any):
    assert notice_ack(by, "bo") == "PERMISSION_DENIED"


@pytest.mark.parametrize("target", [None, "", "bo"])
@pytest.mark.parametrize("requires_ack", [None, False, True])
def test_ipc_8_9_its_target_acknowledges_a_notification_whether_or_not_it_asks(target: Any, requires_ack: Any):
    assert notice_ack(event=said(NOTICE, target_actor_id=target, requires_ack=requires_ack)) is None


def test_ipc_8_9_a_notification_for_another_or_no_notification_is_refused():
    assert notice_ack("cy") == "EVENT_NOT_FOR_ACTOR"
    assert notice_ack("user") == "EVENT_NOT_FOR_ACTOR"
    assert notice_ack("nobody") == "UNKNOWN_ACTOR"
    assert notice_ack(event=None) == "EVENT_NOT_FOUND"
    assert notice_ack(event=ATTENTION) == "INVALID_EVENT_KIND"
    assert notice_ack(event=said(NOTICE, target_actor_id=["bo"])) == "EVENT_NOT_FOR_ACTOR"


def test_what_is_said_to_everybody_any_of_them_acknowledges():
    assert {notice_ack(who, event=said(NOTICE, target_actor_id=None)) for who in ("ada", "bo", "cy", "user")} == {None}


# -- chat.read

ALLOWED = {
    ("bo", "bo"),
    ("ada", "bo"),
    ("user", "bo"),
    ("ada", "user"),
    ("user", "user"),
    ("ada", "ada"),
    ("user", "ada"),
}


@pytest.mark.parametrize(
    ("by", "actor_id"), [*product(["ada", "bo", "user", "svc:ci", "system"], ["ada", "bo", "user"])]
)
def test_cccs_6_3_a_mark_is_moved_by_its_owner_the_person_or_the_foreman(by: str, actor_id: str):
    broadcast = {"kind": "chat.message", "by": "cy", "data": {"text": "x"}}
    assert mark(by, actor_id, broadcast) == (None if (by, actor_id) in ALLOWED else "PERMISSION_DENIED")


def test_cccs_6_3_what_is_marked_exists_is_addressable_and_addressed():
    assert mark(event=None) == "EVENT_NOT_FOUND"
    assert mark(event=NOTICE) is None
    assert mark(event=ATTENTION) is None
    assert mark(event=ATTENTION | {"kind": "chat.ack"}) == "INVALID_EVENT_KIND"
    assert mark("user", "cy") == "EVENT_NOT_FOR_ACTOR"
    assert mark("user", "cy", NOTICE) == "EVENT_NOT_FOR_ACTOR"
    assert mark("user", "nobody") == "UNKNOWN_ACTOR"
    assert mark("nobody", "nobody") == "UNKNOWN_ACTOR"


def test_an_inbox_is_seen_by_those_who_may_move_its_mark():
    for by, actor_id in product(["ada", "bo", "cy", "user"], ["ada", "bo", "user"]):
        seen = code(acks.may_see_inbox, by=by, by_role=ROLES.get(by, ""), actor_id=actor_id, roles=ROLES)
        assert seen == (None if (by, actor_id) in ALLOWED else "PERMISSION_DENIED")


# -- what is written


def test_cccs_6_2_and_7_what_the_gestures_say():
    assert acks.ack_data("bo", "e1") == {"actor_id": "bo", "event_id": "e1"}
    assert acks.notice_gesture("bo", "e1") == {"notify_event_id": "e1", "actor_id": "bo"}


# -- any JSON at all

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["bo", "user", "attention"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
DATA = JSON | st.fixed_dictionaries(
    {}, optional={"priority": JSON, "to": JSON, "dst_group_id": JSON, "target_actor_id": JSON}
)
KIND = JSON | st.sampled_from(["chat.message", "system.notify"])
EVENT = st.none() | st.fixed_dictionaries({}, optional={"kind": KIND, "by": JSON, "data": DATA})


@given(JSON, JSON, EVENT, st.booleans())
def test_whatever_is_asked_is_granted_only_to_oneself_or_refused(by: Any, actor_id: Any, event: Any, joined: bool):
    if ack(by, actor_id, event, joined=joined) is None or notice_ack(by, actor_id, event) is None:
        assert by == actor_id
        assert actor_id in ("user", *ROLES)
    if mark(by, actor_id, event) is None:
        assert by in (actor_id, "user", "ada")
    assert isinstance(acks.owed_by(event or {}, TEAM), tuple)
