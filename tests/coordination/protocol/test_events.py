"""Protocol events (Operative Protocol §6): every field of every payload, missing, wrong and one too many."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.facts import Incurred, Resumed
from bb.coordination.protocol import events
from bb.coordination.protocol.events import Field, InvalidProtocolEvent
from bb.kernel.errors import BbError
from tests.examples import examples

GOOD: dict[str, dict[str, Any]] = {
    "HANDOFF": {"subject": "Parser", "summary": "half done", "next_action": "the rest", "requires_ack": True},
    "BLOCKED": {
        "subject": "Parser",
        "blocker": "no grammar",
        "requested_action": "decide",
        "urgency": "high",
        "requires_ack": True,
    },
    "INCURSION": {
        "incursion_kind": "partial",
        "owner_agent": "ada",
        "incoming_agent": "bo1",
        "owner_liveness": "stale",
        "resolution_hint": "ask",
    },
    "RESUME": {
        "resume_reason": "uncommitted_scope",
        "prior_session_agent": "ada",
        "adopted_agent": "ada",
        "evidence": "1 uncommitted file",
    },
}
NOT_TEXT = [None, "", " ", "\n\t", 1, 1.5, True, False, [], ["x"], {}, {"x": 1}]
NOT_FLAG = [None, "", "true", "false", "yes", 0, 1, 1.0, [], {}]
FIELDS = [(kind, field) for kind, payload in GOOD.items() for field in payload]
TEXTS = {
    "HANDOFF": ("subject", "summary", "next_action"),
    "BLOCKED": ("subject", "blocker", "requested_action"),
    "INCURSION": ("owner_agent", "incoming_agent", "resolution_hint"),
    "RESUME": ("prior_session_agent", "adopted_agent", "evidence"),
}
EACH_TYPE = pytest.mark.parametrize("kind", GOOD)


def refused(kind: object, payload: object) -> BbError:
    with pytest.raises(InvalidProtocolEvent.error) as caught:
        events.check_payload(kind, payload)
    assert (caught.value.code, caught.value.exit_status) == ("INVALID_PROTOCOL_EVENT", 2)
    return caught.value


def accepts(kind: str, **changes: object) -> None:
    """Passes when a good payload with these changes is a good payload too."""
    events.check_payload(kind, GOOD[kind] | changes)


def refuses(kind: str, **changes: object) -> None:
    """Passes when a good payload with these changes is refused for each changed field's own sake."""
    error = refused(kind, GOOD[kind] | changes)
    assert error.details["path"] in [f"$.payload.{name}" for name in changes]
    assert kind in error.message


# -- §6.2 Event-specific payloads


def test_6_2_there_are_four_types_of_event():
    assert list(events.PAYLOADS) == ["HANDOFF", "BLOCKED", "INCURSION", "RESUME"]


@EACH_TYPE
def test_6_2_a_payload_with_every_field_is_accepted(kind: str):
    accepts(kind)


@pytest.mark.parametrize(("kind", "field"), FIELDS)
def test_6_2_every_field_is_required(kind: str, field: str):
    payload = {name: value for name, value in GOOD[kind].items() if name != field}
    error = refused(kind, payload)
    assert error.details["path"] == f"$.payload.{field}"
    assert field in error.message


@EACH_TYPE
@pytest.mark.parametrize("name", ["Subject", "note", "id", "", "x" * 10_000, "\ud800"])
def test_6_2_a_field_that_the_type_does_not_have_is_refused_by_name(kind: str, name: str):
    error = refused(kind, GOOD[kind] | {name: "more"})
    assert error.details["path"] == f"$.payload.{name[:40]}"
    assert len(error.message) < 150


@pytest.mark.parametrize(("kind", "other"), [(one, two) for one in GOOD for two in GOOD if one != two])
def test_6_2_one_types_payload_is_not_anothers(kind: str, other: str):
    refused(kind, GOOD[other])


@pytest.mark.parametrize(("kind", "field"), [(kind, field) for kind, fields in TEXTS.items() for field in fields])
@pytest.mark.parametrize("wrong", NOT_TEXT, ids=repr)
def test_6_2_a_field_of_text_is_text_and_not_blank(kind: str, field: str, wrong: object):
    refuses(kind, **{field: wrong})


@pytest.mark.parametrize(("kind", "field"), [(kind, field) for kind, fields in TEXTS.items() for field in fields])
@pytest.mark.parametrize("text", ["x", " x ", "日本語", "two\nlines"])
def test_6_2_a_field_of_text_is_any_other_text(kind: str, field: str, text: str):
    accepts(kind, **{field: text})


@pytest.mark.parametrize("value", [True, False])
def test_6_2_handoff_requires_ack_may_be_either(value: bool):
    accepts("HANDOFF", requires_ack=value)


@pytest.mark.parametrize("wrong", NOT_FLAG, ids=repr)
def test_6_2_handoff_requires_ack_is_true_or_false_and_nothing_that_passes_for_it(wrong: object):
    refuses("HANDOFF", requires_ack=wrong)


@pytest.mark.parametrize("wrong", [False, *NOT_FLAG], ids=repr)
def test_6_2_blocked_requires_ack_is_true(wrong: object):
    refuses("BLOCKED", requires_ack=wrong)


@pytest.mark.parametrize("urgency", ["low", "medium", "high"])
def test_6_2_blocked_urgency_is_low_medium_or_high(urgency: str):
    accepts("BLOCKED", urgency=urgency)


@pytest.mark.parametrize("kind", ["exact", "partial"])
def test_6_2_incursion_kind_is_exact_or_partial(kind: str):
    accepts("INCURSION", incursion_kind=kind)


@pytest.mark.parametrize("liveness", ["active", "stale", "evicted"])
def test_6_2_incursion_owner_liveness_is_one_of_the_three(liveness: str):
    accepts("INCURSION", owner_liveness=liveness)


@pytest.mark.parametrize("reason", ["uncommitted_scope", "in_progress_ownership"])
def test_6_2_resume_reason_is_one_of_the_two(reason: str):
    accepts("RESUME", resume_reason=reason)


@pytest.mark.parametrize(
    ("kind", "field", "near"),
    [
        ("BLOCKED", "urgency", ["LOW", "High", "critical", " low", "low "]),
        ("INCURSION", "incursion_kind", ["EXACT", "disjoint", "exact "]),
        ("INCURSION", "owner_liveness", ["Active", "idle", "retired", "unknown"]),
        ("RESUME", "resume_reason", ["uncommitted", "uncommitted scope", "in_progress", "UNCOMMITTED_SCOPE"]),
    ],
)
def test_6_2_any_other_word_is_refused_and_the_right_ones_are_named(kind: str, field: str, near: list[str]):
    for wrong in [*near, *NOT_TEXT]:
        refuses(kind, **{field: wrong})
    message = refused(kind, GOOD[kind] | {field: near[0]}).message
    allowed = next(each.kind for each in events.PAYLOADS[kind] if each.name == field)
    assert all(str(right) in message for right in allowed)


@pytest.mark.parametrize("payload", [None, "", "subject", 1, True, [], [("subject", "x")]])
@EACH_TYPE
def test_6_2_a_payload_is_an_object(kind: str, payload: object):
    assert refused(kind, payload).details["path"] == "$.payload"


def test_6_2_a_payload_is_left_as_it_was():
    payload = dict(GOOD["HANDOFF"])
    events.check_payload("HANDOFF", payload)
    assert payload == GOOD["HANDOFF"]


INCURRED = Incurred("bo1", "ada", "a.1", "partial", "src", "src", "stale", "bb-1", "refused", "ask")
RESUMED = Resumed("bo1", "ada", "ada", "uncommitted_scope", "1 uncommitted file", "bb-1")


@pytest.mark.parametrize(("kind", "fact"), [("INCURSION", INCURRED), ("RESUME", RESUMED)])
def test_6_2_what_bb_itself_writes_has_a_good_payload(kind: str, fact: Incurred | Resumed):
    said = events.event_of_fact(fact, "bo1", "ada")
    assert (said["event_type"], said["payload"]) == (kind, GOOD[kind])
    assert list(said["payload"]) == list(GOOD[kind])


def test_6_2_each_field_has_a_help_text_and_the_fact_has_what_the_system_writes():
    facts = {"INCURSION": Incurred, "RESUME": Resumed}
    for kind, fields in events.PAYLOADS.items():
        for field in fields:
            assert field.help.endswith(".")
            assert kind not in facts or field.member in facts[kind].__match_args__


# -- an optional field is one entry of the table


@pytest.fixture
def risks(monkeypatch: pytest.MonkeyPatch) -> None:
    """HANDOFF and RESUME with one more field."""
    for kind in ("HANDOFF", "RESUME"):
        more = Field("risks", "What may go wrong.", is_required=False, label="Risks: ", member="scope")
        monkeypatch.setitem(events.PAYLOADS, kind, (*events.PAYLOADS[kind], more))


@pytest.mark.usefixtures("risks")
def test_an_optional_field_may_be_missing_and_is_refused_if_it_is_wrong():
    accepts("HANDOFF")
    accepts("HANDOFF", risks="none")
    for wrong in NOT_TEXT[1:]:
        refuses("HANDOFF", risks=wrong)
    assert refused("HANDOFF", GOOD["HANDOFF"] | {"risks": " "}).message == "HANDOFF may have risks: non-blank text"


@pytest.mark.usefixtures("risks")
def test_an_optional_field_is_read_written_offered_and_told():
    whole = GOOD["HANDOFF"] | {"risks": "none"}
    assert events.may_be_read("HANDOFF", whole)
    assert events.may_be_read("HANDOFF", GOOD["HANDOFF"])
    assert events.payload_of("HANDOFF", whole) == whole
    assert events.options("HANDOFF")[-1].name == "risks"
    assert events.text_of("HANDOFF", whole) == "half done\n\nNext: the rest\n\nRisks: none"
    assert "risks" not in events.payload_of_message("HANDOFF", "Parser", "done")


@pytest.mark.usefixtures("risks")
def test_an_optional_field_that_the_fact_lacks_is_left_out():
    assert events.event_of_fact(RESUMED, "bo1", "ada")["payload"] == GOOD["RESUME"]
    payload = events.event_of_fact(RESUMED.replace(scope="src"), "bo1", "ada")["payload"]
    assert payload == GOOD["RESUME"] | {"risks": "src"}


# -- §6.1 Envelope


def event(kind: str, **changes: object) -> dict[str, Any]:
    good = {"event_type": kind, "bead_id": "bb-1", "from_agent": "ada", "to_agent": "bo1", "scope": "src"}
    return good | {"payload": GOOD[kind]} | changes


def path_of(wrong: dict[str, Any]) -> str:
    with pytest.raises(InvalidProtocolEvent.error) as caught:
        events.validated(wrong)
    return caught.value.details["path"]


@EACH_TYPE
def test_6_1_a_good_event_gets_its_version_and_is_otherwise_as_it_was(kind: str):
    assert events.validated(event(kind)) == {"version": "v1", **event(kind)}


@pytest.mark.parametrize(
    "kind", ["", "INFO", "DECISION", "handoff", "Handoff", "HANDOFF ", None, 1, True, [], {}, ["HANDOFF"], "x" * 9_999]
)
def test_6_1_any_other_event_type_is_refused(kind: object):
    assert path_of(event("HANDOFF", event_type=kind)) == "$.event_type"
    assert len(refused(kind, {}).message) < 150


@EACH_TYPE
@pytest.mark.parametrize("wrong", NOT_TEXT, ids=repr)
def test_6_1_a_bead_id_is_required(kind: str, wrong: object):
    if (kind, wrong) == ("RESUME", ""):
        pytest.skip("says that no bead is known: see the next test")
    assert path_of(event(kind, bead_id=wrong)) == "$.bead_id"


def test_6_1_a_resume_for_which_no_bead_is_known_has_an_empty_bead_id():
    assert events.validated(event("RESUME", bead_id=""))["bead_id"] == ""


@EACH_TYPE
@pytest.mark.parametrize("name", ["from_agent", "to_agent"])
@pytest.mark.parametrize("wrong", NOT_TEXT[1:], ids=repr)
def test_6_1_who_it_is_from_and_to_is_text_and_not_blank(kind: str, name: str, wrong: object):
    assert path_of(event(kind, **{name: wrong})) == f"$.{name}"


@pytest.mark.parametrize("name", ["from_agent", "to_agent"])
def test_6_1_only_what_the_system_may_send_can_be_from_or_to_nobody(name: str):
    for kind in ("HANDOFF", "BLOCKED"):
        assert path_of(event(kind, **{name: None})) == f"$.{name}"
    for kind in ("INCURSION", "RESUME"):
        assert events.validated(event(kind, **{name: None}))[name] is None


@EACH_TYPE
def test_6_1_a_scope_may_be_null_and_is_text_otherwise(kind: str):
    assert events.validated(event(kind, scope=None))["scope"] is None
    for wrong in (1, True, [], ["src"], {}):
        assert path_of(event(kind, scope=wrong)) == "$.scope"


@EACH_TYPE
def test_6_1_the_envelope_has_the_ten_fields_in_the_specifications_order(kind: str):
    whole = events.envelope("a.1", "2026-01-05T12:00:00.000Z", "/work", events.validated(event(kind)))
    assert list(whole) == [
        *("id", "version", "event_type", "project_root", "bead_id", "from_agent", "to_agent", "scope"),
        *("created_at", "payload"),
    ]
    assert (whole["id"], whole["version"], whole["project_root"]) == ("a.1", "v1", "/work")
    assert whole["created_at"] == "2026-01-05T12:00:00.000Z"
    assert whole.items() >= event(kind).items()


# -- §6.3 UI mapping


def test_6_3_people_are_shown_the_words_of_the_specification():
    assert (events.LABELS["HANDOFF"], events.LABELS["BLOCKED"]) == ("Passed to", "Needs input")
    assert (events.SEEN, events.ACCEPTED) == ("Seen", "Accepted")


@EACH_TYPE
def test_6_3_every_type_has_a_word_that_is_not_its_code(kind: str):
    assert events.LABELS[kind]
    assert events.LABELS[kind] != kind


# -- hostile payloads

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from(sorted({field for _, field in FIELDS} | {"more"}))


@examples(60)
@given(st.sampled_from([*GOOD, "INFO"]) | anything, st.dictionaries(names, anything) | anything)
def test_whatever_the_payload_it_is_accepted_or_refused_and_never_a_crash(kind: Any, payload: Any):
    path = None
    try:
        events.check_payload(kind, payload)
    except InvalidProtocolEvent.error as error:
        path = error.details["path"]
    assert path is not None or payload.keys() == GOOD[kind].keys()
    assert path is None or path.startswith("$.")
