"""What a notification says (CCCS §7; IPC §8.9): its kind is open, its priority is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.kernel.errors import BbError
from bb.messaging.chat import notifications
from bb.messaging.chat.recipients import Member
from tests.messaging import cccs_reader

TEAM = (Member("ada", "Ada", "foreman"), Member("bo", "Builder", enabled=False))


def compose(**changes: Any) -> dict[str, Any]:
    return notifications.compose(**{"members": TEAM, "message": "wake up"} | changes)


def refusal(**changes: Any) -> BbError:
    with pytest.raises(BbError) as caught:
        compose(**changes)
    return caught.value


def test_cccs_7_everything_a_notification_may_say_in_the_order_of_the_specification():
    full = {
        "kind": "nudge",
        "priority": "urgent",
        "title": "T",
        "message": "M",
        "target_actor_id": "bo",
        "context": {"a": [1, None]},
        "requires_ack": True,
        "related_event_id": "e1",
    }
    assert list(compose(**full).items()) == list(full.items())
    assert cccs_reader.faults_of_notify(full) == []


def test_ipc_8_9_what_is_absent_is_left_out_and_the_kind_is_info():
    nothing = ["kind", "priority", "title", "target_actor_id", "context", "requires_ack", "related_event_id", "by"]
    assert compose() == compose(**dict.fromkeys(nothing)) == {"kind": "info", "message": "wake up"}
    assert compose(target_actor_id="", title="", kind="", related_event_id="") == compose()


@pytest.mark.parametrize("kind", ["nudge", "error", "from_the_future", "x.acme/thing:2", "K-9", "k" * 64])
def test_cccs_7_a_kind_is_any_word_and_is_kept_as_it_is(kind: str):
    assert compose(kind=kind)["kind"] == kind


@pytest.mark.parametrize("kind", ["k" * 65, "two words", "a\nb", "ä", "\x1b", " ", 7, True, ["info"], {}, "\ud800"])
def test_a_kind_that_is_no_clean_word_is_refused(kind: Any):
    error = refusal(kind=kind)
    assert (error.code, error.exit_status, error.details) == ("INVALID_NOTIFY_KIND", 2, {"path": "$.kind"})


@pytest.mark.parametrize("priority", ["attention", "Normal", "critical", 3, True, [], {}])
def test_cccs_7_a_priority_is_one_of_four_and_never_mapped_to_another(priority: Any):
    assert {compose(priority=word)["priority"] for word in ("low", "normal", "high", "urgent")} == set(
        notifications.PRIORITIES
    )
    assert (refusal(priority=priority).code, refusal(priority=priority).details) == (
        "INVALID_PRIORITY",
        {"path": "$.priority"},
    )


@pytest.mark.parametrize("nothing", [None, "", " ", "\n"])
def test_a_notification_has_a_title_or_a_message(nothing: Any):
    assert refusal(message=nothing, title=nothing).code == "EMPTY_NOTIFICATION"
    assert compose(message=None, title="T") == {"kind": "info", "title": "T"}


@pytest.mark.parametrize(
    ("target", "stored"),
    [
        ("ada", "ada"),
        ("bo", "bo"),
        ("@ada", "ada"),
        ("Builder", "bo"),
        ("user", "user"),
        ("@user", "user"),
        ("@all", None),
    ],
)
def test_cccs_7_a_notification_goes_to_one_or_to_everybody(target: str, stored: str | None):
    assert compose(target_actor_id=target).get("target_actor_id") == stored


@pytest.mark.parametrize("target", ["nobody", "@peers", "@foreman", "system", " ", 7, False, ["ada"], {}])
def test_a_notification_for_who_is_not_one_recipient_is_refused(target: Any):
    error = refusal(target_actor_id=target)
    assert (error.code, error.details["path"]) == ("INVALID_RECIPIENT", "$.target_actor_id")


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("title", 7),
        ("title", "t" * 501),
        ("message", ["x"]),
        ("message", "\ud800"),
        ("context", []),
        ("context", "x"),
        ("context", {"x": float("nan")}),
        ("context", {"\ud800": 1}),
        ("requires_ack", 1),
        ("requires_ack", "true"),
        ("related_event_id", 7),
        ("related_event_id", "a\nb"),
        ("by", 7),
    ],
)
def test_what_is_of_the_wrong_type_is_refused_with_its_path(member: str, value: Any):
    error = refusal(**{member: value})
    assert (error.code, error.details) == ("INVALID_REQUEST", {"path": f"$.{member}"})


def test_a_context_nested_beyond_all_reason_is_refused():
    context: dict[str, Any] = {}
    for _ in range(200_000):
        context = {"x": context}
    assert refusal(context=context).details == {"path": "$.context"}


def test_who_notifies_is_a_principal():
    assert compose(by="svc:ci") == compose(by="ada") == compose(by="system") == compose()
    assert refusal(by="nobody").code == "PERMISSION_DENIED"


def test_cccs_7_without_a_target_it_is_for_everybody():
    for data in ({}, {"target_actor_id": None}, {"target_actor_id": ""}, None, []):
        assert notifications.is_for("ada", data)
    assert notifications.is_for("ada", {"target_actor_id": "ada"})
    assert not notifications.is_for("bo", {"target_actor_id": "ada"})
    assert not notifications.is_for("bo", {"target_actor_id": ["bo"]})


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.characters(categories=["Cs"])
    | st.sampled_from(["", "x", "nudge", "high", "ada", "@all"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
MEMBERS = [
    "by",
    "kind",
    "priority",
    "title",
    "message",
    "target_actor_id",
    "requires_ack",
    "context",
    "related_event_id",
]


@given(st.fixed_dictionaries({}, optional=dict.fromkeys([*MEMBERS, "other"], JSON)))
def test_cccs_7_any_request_is_refused_or_becomes_a_notification_that_a_strict_reader_accepts(asked: dict[str, Any]):
    data = cccs_reader.answer(lambda: compose(**asked))
    if isinstance(data, BbError):
        assert data.code.isupper()
        return
    assert cccs_reader.faults_of_notify(data) == []
    assert json.loads(json.dumps(data, ensure_ascii=False, allow_nan=False).encode()) == data
