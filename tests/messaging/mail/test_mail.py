"""Who may send what: the rules are asked in a fixed order, and what is granted goes to everybody who is meant."""

from __future__ import annotations

from typing import Any

import pytest

from bb.coordination.facts import Incurred, Reserved, Resolved, TakenOver
from bb.coordination.protocol import events
from bb.kernel.errors import BbError
from bb.messaging.facts import Sent
from bb.messaging.mail import mail

HERE = [("ada", "builder"), ("bo1", "builder"), ("cyd", "tester")]
EVENT = "a" * 12 + ".7"


def compose(here: list[tuple[str, str]] = HERE, **changes: Any) -> Sent:
    asked = {
        "sender": "ada",
        "to": "bo1",
        "category": "INFO",
        "subject": "Parser",
        "body": "It parses.",
        "bead": "bb-1",
        "thread": None,
        "scope": lambda: None,
        "payload": None,
    }
    return mail.compose(
        **(asked | changes), everybody=lambda: here, is_known=lambda name: name in [agent for agent, _ in here]
    )


def refusal(**changes: Any) -> BbError:
    with pytest.raises(BbError) as caught:
        compose(**changes)
    return caught.value


def test_a_message_says_who_to_whom_and_about_what():
    assert compose() == Sent("ada", ("bo1",), "INFO", "Parser", "It parses.", "bb-1", "bead:bb-1", False, None, None)


# -- what is refused, and in which order

WRONG: list[tuple[str, dict[str, Any]]] = [
    ("UNKNOWN_SENDER", {"sender": "nobody"}),
    ("UNKNOWN_RECIPIENT", {"to": "nobody"}),
    ("MISSING_BEAD_ID", {"bead": " "}),
    ("INVALID_CATEGORY", {"category": "info"}),
    ("INVALID_MESSAGE", {"subject": ""}),
    ("INVALID_MESSAGE", {"body": ""}),
    ("INVALID_PROTOCOL_EVENT", {"payload": {"subject": ""}}),
]


@pytest.mark.parametrize("first", range(len(WRONG)))
def test_of_several_mistakes_the_first_in_the_order_of_the_rules_is_always_the_one_refused(first: int):
    changes: dict[str, Any] = {}
    for _, change in WRONG[first:]:
        changes |= change
    assert refusal(**changes).code == WRONG[first][0]


def test_an_empty_fan_out_is_refused_last_of_all():
    assert refusal(to="role:").code == "UNKNOWN_RECIPIENT"
    for code, change in WRONG:
        if "to" not in change:
            assert refusal(**{"to": "role:"} | change).code == code


def test_nobody_is_asked_who_is_here_before_everything_else_is_right():
    def never() -> list[tuple[str, str]]:
        raise AssertionError("asked who is here")

    for code, change in WRONG:
        asked = {"sender": "ada", "to": "broadcast", "category": "INFO", "subject": "s", "body": "b", "bead": "bb-1"}
        asked |= {"thread": None, "scope": None, "payload": None} | change
        with pytest.raises(BbError) as caught:
            mail.compose(**asked, everybody=never, is_known=lambda name: name == "ada")
        assert caught.value.code == code


@pytest.mark.parametrize("sender", ["", "nobody", "Ada", "broadcast", "role:builder", "ada\n", "../../x", "x" * 9_999])
def test_who_is_not_registered_sends_nothing(sender: str):
    error = refusal(sender=sender)
    assert (error.code, error.exit_status) == ("UNKNOWN_SENDER", 3)
    assert len(error.message) < 150


@pytest.mark.parametrize("to", ["", "nobody", "Bo1", "Broadcast", "BROADCAST", "role", "Role:builder", "x" * 9_999])
def test_nothing_is_sent_to_who_is_not_registered(to: str):
    error = refusal(to=to)
    assert (error.code, error.exit_status) == ("UNKNOWN_RECIPIENT", 3)
    assert len(error.message) < 150


@pytest.mark.parametrize("bead", ["", " ", "\n", "b" * 129, "bb\n1", "bb\x1b[2J"])
def test_a_message_is_about_a_bead_of_one_line(bead: str):
    error = refusal(bead=bead)
    assert (error.code, error.exit_status) == ("MISSING_BEAD_ID", 2)


@pytest.mark.parametrize("category", ["", "handoff", "Info", "INFO ", "INCURSION", "RESUME", "x" * 9_999])
def test_a_category_is_one_of_four_and_its_case_counts(category: str):
    error = refusal(category=category)
    assert (error.code, error.exit_status) == ("INVALID_CATEGORY", 2)
    assert len(error.message) < 150
    for right in ("HANDOFF", "BLOCKED", "DECISION", "INFO"):
        assert right in error.message


@pytest.mark.parametrize("subject", ["", "  ", "\n", "x" * 501, "one\ntwo", "a\tb", "a\x1b[2J", "a\u202eb", "a\ud800"])
def test_a_subject_is_one_line_of_at_most_five_hundred_characters(subject: str):
    error = refusal(subject=subject)
    assert (error.code, error.exit_status, error.details["path"]) == ("INVALID_MESSAGE", 2, "$.subject")


@pytest.mark.parametrize("subject", ["x", "x" * 500, "日本語", "👩‍🚀"])
def test_any_other_subject_is_kept(subject: str):
    assert compose(subject=subject).subject == subject


@pytest.mark.parametrize("body", ["", "  ", "\n\n", "x" * 262_145])
def test_a_body_is_not_blank_and_at_most_a_quarter_of_a_million_characters(body: str):
    error = refusal(body=body)
    assert (error.code, error.exit_status, error.details["path"]) == ("INVALID_MESSAGE", 2, "$.body")


@pytest.mark.parametrize("body", ["x", "x" * 262_144, "  two\n\nlines \n"])
def test_any_other_body_is_kept_to_the_letter(body: str):
    assert compose(body=body).body == body


def test_subject_bead_and_thread_are_trimmed():
    sent = compose(subject="  Parser ", bead=" bb-1\n", thread=" bb-parser ")
    assert (sent.subject, sent.bead, sent.thread) == ("Parser", "bb-1", "bb-parser")


@pytest.mark.parametrize("thread", [None, "", "  "])
def test_a_message_without_a_thread_belongs_to_its_beads(thread: str | None):
    assert compose(thread=thread, bead=" bb-1 ").thread == "bead:bb-1"


# -- to whom it goes


def test_a_broadcast_goes_to_everybody_but_the_sender():
    assert compose(to="broadcast").to == ("bo1", "cyd")


@pytest.mark.parametrize(("role", "to"), [("builder", ("bo1",)), ("tester", ("cyd",))])
def test_a_message_to_a_role_goes_to_everybody_who_has_it_but_the_sender(role: str, to: tuple[str, ...]):
    assert compose(to=f"role:{role}").to == to


@pytest.mark.parametrize("role", ["Builder", "build", "builder ", "cook"])
def test_a_message_to_a_role_that_nobody_has_is_recorded_for_the_person(role: str):
    assert compose(to=f"role:{role}").to == ("user",)


@pytest.mark.parametrize("role", ["", " "])
def test_a_role_is_not_blank(role: str):
    error = refusal(to=f"role:{role}")
    assert (error.code, error.exit_status) == ("UNKNOWN_RECIPIENT", 3)
    assert "no agents with role" in error.message


@pytest.mark.parametrize("to", ["broadcast", "role:builder"])
def test_a_message_to_a_group_that_is_only_its_sender_is_recorded_for_the_person(to: str):
    assert compose(here=[("ada", "builder")], to=to).to == ("user",)


def test_a_message_without_a_bead_is_in_the_thread_of_its_two_agents():
    assert compose(bead=None) == Sent(
        "ada", ("bo1",), "INFO", "Parser", "It parses.", "", "agents:ada+bo1", False, None, None
    )
    assert compose(bead=None, sender="bo1", to="ada").thread == "agents:ada+bo1"


@pytest.mark.parametrize("category", ["HANDOFF", "BLOCKED"])
def test_a_protocol_event_needs_a_bead(category: str):
    """§6.1"""
    assert refusal(bead=None, category=category).code == "MISSING_BEAD_ID"


@pytest.mark.parametrize(
    ("body", "subject"),
    [
        ("One.\nTwo.", "One."),
        ("\n\n  One.  \n", "One."),
        ("a\tb", "a b"),
        ("x" * 600, "x" * (mail.SUBJECT_LENGTH - 1) + "…"),
        (" ", ""),
    ],
)
def test_the_subject_of_a_message_without_one_is_its_first_line(body: str, subject: str):
    assert mail.first_line(body) == subject


def test_a_broadcast_where_nobody_is_says_so():
    error = refusal(here=[], sender="user", to="broadcast")
    assert error.code == "UNKNOWN_RECIPIENT"
    assert "no agents to broadcast to" in error.message


def test_an_agent_may_write_to_itself():
    assert compose(to="ada").to == ("ada",)


def test_a_person_sends_and_is_sent_to_without_being_registered():
    assert compose(here=[], sender="user", to="user").to == ("user",)
    assert compose(sender="user", to="broadcast").to == ("ada", "bo1", "cyd")


# -- what it asks for


@pytest.mark.parametrize(
    ("category", "asks"), [("HANDOFF", True), ("BLOCKED", True), ("DECISION", False), ("INFO", False)]
)
def test_6_2_a_handoff_and_a_blocked_ask_to_be_accepted_and_nothing_else_does(category: str, asks: bool):
    sent = compose(category=category)
    assert sent.requires_ack is asks
    assert (sent.payload is not None) is asks


@pytest.mark.parametrize("category", ["HANDOFF", "BLOCKED"])
def test_6_2_a_plain_handoff_or_blocked_carries_a_good_payload(category: str):
    sent = compose(category=category, subject=" Parser ")
    events.check_payload(category, sent.payload)
    assert sent.payload is not None
    assert sent.payload["subject"] == "Parser"
    assert sent.payload["requires_ack"] is True


def test_6_2_a_plain_blocked_is_of_medium_urgency():
    assert (compose(category="BLOCKED").payload or {})["urgency"] == "medium"


@pytest.mark.parametrize("asks", [True, False])
def test_6_2_a_handoff_with_a_payload_asks_for_what_the_payload_says(asks: bool):
    payload = {"subject": "s", "summary": "s", "next_action": "n", "requires_ack": asks}
    sent = compose(category="HANDOFF", payload=payload)
    assert (sent.requires_ack, sent.payload) == (asks, payload)


# -- what holders are told

INCURRED = Incurred("ada", "bo1", EVENT, "partial", "src/a", "src", "stale", "bb-1", "taken_over", "hint")


@pytest.mark.parametrize("outcome", ["taken_over", "overlapping", "touched"])
def test_a_holder_is_told_what_became_of_its_reservation_and_by_whom(outcome: str):
    (sent,) = mail.incursion_notifications([INCURRED.replace(outcome=outcome)])
    assert (sent.sender, sent.to, sent.category, sent.requires_ack) == ("ada", ("bo1",), "INFO", False)
    assert (sent.bead, sent.thread, sent.payload) == ("bb-1", "bead:bb-1", None)
    for word in ("ada", "src"):
        assert word in sent.body
        assert word in sent.subject
    assert "\n" not in sent.subject


def test_a_holder_whose_scope_was_only_asked_for_is_not_bothered():
    assert mail.incursion_notifications([INCURRED.replace(outcome="refused")]) == []


def test_everybody_who_lost_something_is_told_once_and_nobody_else():
    facts = [
        TakenOver("ada", EVENT, "bo1", "stale", "taken_over"),
        INCURRED,
        Reserved("ada", "src", "bb-1", 60),
        INCURRED.replace(owner="cyd"),
    ]
    assert [sent.to for sent in mail.incursion_notifications(facts)] == [("bo1",), ("cyd",)]


def test_a_scope_of_any_length_fits_into_what_a_holder_is_told():
    (sent,) = mail.incursion_notifications([INCURRED.replace(held="s" * 4096)])
    assert len(sent.subject) <= mail.SUBJECT_LENGTH
    assert "s" * 4096 in sent.body


TOUCHED = INCURRED.replace(outcome="touched", paths=("src/a", "src/b"), count=9, commit="c" * 40)


def test_a_holder_is_told_which_paths_were_touched_and_in_which_commit():
    (sent,) = mail.incursion_notifications([TOUCHED])
    assert sent.subject == "ada changed src/a and 8 more; you hold src"
    assert sent.body.splitlines()[1:] == ["", "src/a", "src/b", "… and 7 more", f"Commit: {'c' * 40}"]


@pytest.mark.parametrize(
    ("who", "state", "to", "text"),
    [
        ("bo1", "accepted", ("ada",), "bo1 accepted the changes of ada in src/a and 8 more. so"),
        ("ada", "reverted", ("bo1",), "ada resolved the changes of ada in src/a and 8 more as reverted. so"),
        ("bo1", "transferred", ("ada",), "bo1 transferred src to ada. so"),
        ("user", "transferred", ("bo1", "ada"), "user transferred src to ada. so"),
    ],
)
def test_the_others_are_told_what_became_of_it(who: str, state: str, to: tuple[str, ...], text: str):
    (sent,) = mail.resolution_notifications(TOUCHED, Resolved(who, EVENT, state, "so"))
    assert (sent.sender, sent.to, sent.category, sent.body) == (who, to, "INFO", text)
    assert sent.subject == text.removesuffix(". so")
    assert mail.resolution_notifications(TOUCHED, Resolved(who, EVENT, state))[0].body == text.removesuffix(" so")


def test_nobody_tells_itself_what_became_of_it():
    assert (
        mail.resolution_notifications(
            TOUCHED.replace(incoming="user", owner="user"), Resolved("user", EVENT, "accepted")
        )
        == []
    )


# -- the names of messages


@pytest.mark.parametrize("agent", ["ada", "amber-otter", "user"])
def test_a_copy_of_several_is_named_for_its_recipient_and_found_again(agent: str):
    assert mail.split_message_id(mail.message_id(EVENT, agent, is_alone=False)) == (EVENT, agent)


def test_the_only_copy_is_named_like_the_event():
    assert mail.message_id(EVENT, "ada", is_alone=True) == EVENT
    assert mail.split_message_id(EVENT) == (EVENT, None)


@pytest.mark.parametrize(
    "text", ["../../etc/passwd", "a/b", "a b", "a\x00", "ünïcode", "日本", "a;b", " a", "x\n", "..", "-"]
)
def test_what_is_no_name_is_refused(text: str):
    with pytest.raises(mail.InvalidMessageId.error) as caught:
        mail.split_message_id(text)
    assert (caught.value.code, caught.value.exit_status) == ("INVALID_MESSAGE_ID", 2)


@pytest.mark.parametrize("text", ["", "  ", "msg_20260105_1200", "x", EVENT[:-1] + "0", "a" * 13 + ".1", "a" * 9_999])
def test_what_could_be_a_name_but_is_none_is_not_found(text: str):
    with pytest.raises(mail.MessageNotFound.error) as caught:
        mail.split_message_id(text)
    assert (caught.value.code, caught.value.exit_status) == ("MESSAGE_NOT_FOUND", 3)
    assert len(caught.value.message) < 150
