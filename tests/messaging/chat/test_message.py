"""What a message says, and what it may not (CCCS §6.1, §9; IPC §8.5)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.kernel.errors import BbError
from bb.messaging.chat import message, recipients, relays
from bb.messaging.chat.recipients import Member
from tests.messaging import cccs_reader

TEAM = (Member("ada", "Ada", "foreman"), Member("bo", "Builder"))
HASH = "0123456789abcdef" * 4
BLOB = {"path": f"state/blobs/{HASH}_log.txt"}
HALF = "\ud800"  # half a surrogate pair, which JSON can carry and UTF-8 cannot


def compose(**changes: Any) -> dict[str, Any]:
    return message.compose(**{"by": "user", "to": (), "members": TEAM, "text": "hello"} | changes)


def refusal(**changes: Any) -> BbError:
    with pytest.raises(BbError) as caught:
        compose(**changes)
    return caught.value


# -- what is written


def test_what_is_absent_is_left_out():
    assert compose() == {"text": "hello"}
    assert compose(**dict.fromkeys(name for name in WRONG_TYPES if name != "text")) == {"text": "hello"}
    assert compose(**dict.fromkeys(EMPTY_IS_ABSENT, "")) == {"text": "hello"}
    assert compose(reply_required=False, to=(), attachments=[], refs=[]) == {"text": "hello"}


def test_cccs_6_1_everything_a_message_may_say_in_the_order_of_the_specification():
    full = {
        "text": "Please look.",
        "format": "markdown",
        "priority": "attention",
        "to": ["ada", "user"],
        "reply_to": "e1",
        "quote_text": "What?",
        "src_group_id": "g_a",
        "src_event_id": "e0",
        "dst_group_id": "g_b",
        "dst_to": ["@all"],
        "attachments": [BLOB],
        "refs": [{"kind": "url", "url": "https://example.org"}],
        "thread": "t",
        "client_id": "c1",
        "client_ts": "2026-11-21T10:00:00Z",
        "message_mode": "mail",
        "reply_required": True,
        "insight": "i",
        "suggested_user_message": "s",
    }
    data = compose(**full | {"to": ("ada", "user")})
    assert list(data.items()) == list(full.items())
    assert cccs_reader.faults_of_message(data) == []


def test_cccs_4_unknown_members_of_a_request_are_ignored():
    assert compose(require_peer_insight=True, path="/tmp", nonsense=[1]) == {"text": "hello"}


@pytest.mark.parametrize("text", ["x", " x ", "\n\tx", "ä🙂", "\x1b[2J\x00", "x" * 300_000])
def test_a_text_is_kept_as_it_is_whatever_its_length(text: str):
    assert compose(text=text)["text"] == text


@pytest.mark.parametrize("text", [None, "", " ", "\n\t", "\u3000"])
def test_cccs_6_1_a_text_may_be_blank_only_where_attachments_convey_the_message(text: Any):
    error = refusal(text=text)
    assert (error.code, error.exit_status, error.details) == ("MISSING_TEXT", 2, {"path": "$.text"})
    assert refusal(text=text, refs=[{"url": "https://example.org"}]).code == "MISSING_TEXT"
    assert compose(text=text, attachments=[BLOB]) == {"text": text or "", "attachments": [BLOB]}


@pytest.mark.parametrize("word", ["normal", "attention"])
def test_cccs_6_1_priorities(word: str):
    assert compose(priority=word)["priority"] == word


@pytest.mark.parametrize("word", ["urgent", "Normal", "ATTENTION", " normal", 1, True, ["normal"], {}])
def test_cccs_6_1_any_other_priority_is_refused(word: Any):
    assert (refusal(priority=word).code, refusal(priority=word).details) == ("INVALID_PRIORITY", {"path": "$.priority"})


@pytest.mark.parametrize("word", ["html", "Plain", 0, [], {}])
def test_cccs_6_1_a_format_is_plain_or_markdown(word: Any):
    assert compose(format="plain")["format"] == "plain"
    assert (refusal(format=word).code, refusal(format=word).details) == ("INVALID_FORMAT", {"path": "$.format"})


@pytest.mark.parametrize("word", ["deliver", "Send", 0, [], {}])
def test_the_later_dialects_mode_is_kept_and_checked(word: Any):
    for mode in ("send", "request_reply", "mail"):
        assert compose(message_mode=mode)["message_mode"] == mode
    assert (refusal(message_mode=word).code, refusal(message_mode=word).details) == (
        "INVALID_MESSAGE_MODE",
        {"path": "$.message_mode"},
    )


@pytest.mark.parametrize("given_one", ["src_group_id", "src_event_id"])
@pytest.mark.parametrize("other", [None, ""])
def test_cccs_6_1_half_a_source_is_refused_and_not_dropped(given_one: str, other: Any):
    missing = ({"src_group_id", "src_event_id"} - {given_one}).pop()
    error = refusal(**{given_one: "x", missing: other})
    assert (error.code, error.details) == ("INCOMPLETE_SOURCE", {"path": f"$.{missing}"})


def test_cccs_6_1_thread_is_kept_and_changes_nothing():
    assert compose(thread="t") == compose() | {"thread": "t"}


def test_cccs_6_1_a_client_id_has_at_most_200_characters():
    assert compose(client_id="c" * 200)["client_id"] == "c" * 200
    assert refusal(client_id="c" * 201).details == {"path": "$.client_id"}


def test_cccs_4_a_clients_own_time_is_kept_as_it_was_told():
    assert compose(client_ts="yesterday")["client_ts"] == "yesterday"


def test_where_a_message_was_sent_on_to_is_a_group_and_whom_there():
    assert compose(dst_group_id="g") == {"text": "hello", "dst_group_id": "g"}
    assert compose(dst_group_id="g", dst_to=[])["dst_to"] == []
    assert compose(dst_to=[]) == {"text": "hello"}
    assert refusal(dst_to=["@all"]).details == {"path": "$.dst_group_id"}
    assert refusal(dst_group_id="g", dst_to=["@all", ""]).details == {"path": "$.dst_to[1]"}


WRONG_TYPES: dict[str, list[Any]] = {
    "text": [7, True, ["x"], {}, HALF],
    "format": [7],
    "priority": [7],
    "message_mode": [7],
    "reply_to": [7, [], "a\nb", " ", "x" * 201, HALF],
    "quote_text": [7, {}, HALF],
    "src_group_id": [7, "\x00"],
    "src_event_id": [7, "\x1b"],
    "dst_group_id": [7, "\u202e"],
    "dst_to": ["x", 7, {}, [7], [["x"]], [None]],
    "attachments": ["x", 7, {}, [7], [None]],
    "refs": ["x", 7, {}, [7], [None]],
    "thread": [7, [], HALF],
    "client_id": [7, True, "a\tb"],
    "client_ts": [7, 1.5, "x" * 65],
    "reply_required": [0, 1, "true", []],
    "insight": [7, HALF],
    "suggested_user_message": [7, HALF],
}
EMPTY_IS_ABSENT = ["format", "priority", "message_mode", "reply_to", "quote_text", "src_group_id", "src_event_id"]
EMPTY_IS_ABSENT += ["dst_group_id", "thread", "client_id", "client_ts", "insight", "suggested_user_message"]


@pytest.mark.parametrize(("member", "value"), [(name, value) for name, row in WRONG_TYPES.items() for value in row])
def test_what_is_of_the_wrong_type_is_refused_with_its_path(member: str, value: Any):
    error = refusal(**{member: value})
    assert error.details["path"].startswith(f"$.{member}")
    assert error.exit_status == 2
    assert len(error.message) < 200


def test_a_message_to_actors_of_whom_none_is_enabled_is_refused():
    assert refusal(to=("bo",), members=(Member("bo", enabled=False),)).code == "NO_ENABLED_RECIPIENTS"
    assert compose(to=(), members=()) == {"text": "hello"}


def test_a_message_in_the_name_of_nobody_known_is_refused():
    assert refusal(by="nobody").code == "PERMISSION_DENIED"
    assert refusal(by="svc:cccc.im").code == "PERMISSION_DENIED"
    assert compose(by="svc:relay") == {"text": "hello"}


ORDER: list[tuple[str, dict[str, Any]]] = [
    ("PERMISSION_DENIED", {"by": "nobody"}),
    ("INVALID_ATTACHMENTS", {"attachments": [{}]}),
    ("MISSING_TEXT", {"text": ""}),
    ("INVALID_FORMAT", {"format": "x"}),
    ("INVALID_PRIORITY", {"priority": "x"}),
    ("INVALID_REQUEST", {"reply_to": 7}),
    ("INCOMPLETE_SOURCE", {"src_group_id": "x"}),
    ("INVALID_REFS", {"refs": [{"kind": "x"}]}),
    ("INVALID_MESSAGE_MODE", {"message_mode": "x"}),
    ("NO_ENABLED_RECIPIENTS", {"to": ("bo",), "members": (Member("bo", enabled=False),)}),
]


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_of_several_mistakes_the_same_one_is_always_refused(first: int):
    changes: dict[str, Any] = {}
    for _, change in ORDER[first:]:
        changes |= change
    assert refusal(**changes).code == ORDER[first][0]


# -- any JSON at all

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
LIKELY = st.sampled_from(["", "x", "attention", "plain", "mail", "ada", "@all", BLOB["path"], "task_ref", 1])
JSON = st.recursive(
    SCALARS | LIKELY | st.characters(categories=["Cs"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=6) | st.sampled_from(["kind", "path", "task_id", "url"]), inner, max_size=4)
    ),
    max_leaves=10,
)
REQUEST = st.fixed_dictionaries({}, optional=dict.fromkeys([*WRONG_TYPES, "by", "to"], JSON) | {"other": JSON})


@given(REQUEST)
def test_cccs_6_1_any_request_is_refused_or_becomes_a_message_that_a_strict_reader_accepts(asked: dict[str, Any]):
    def ask() -> Any:
        to = recipients.resolve(asked.get("to"), TEAM)
        return message.compose(**{"by": None, "text": "hello"} | asked | {"to": to}, members=TEAM)

    data = cccs_reader.answer(ask)
    if isinstance(data, BbError):
        assert data.code.isupper()
        return
    assert cccs_reader.faults_of_message(data) == []
    assert None not in data.values()
    assert json.loads(json.dumps(data, ensure_ascii=False, allow_nan=False).encode()) == data


# -- replies


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("", ""),
        ("x", "x"),
        ("x" * 100, "x" * 100),
        ("x" * 101, "x" * 100 + "..."),
        (None, ""),
        (7, ""),
        ("a\nb", "a\nb"),
    ],
)
def test_a_reply_quotes_the_beginning(text: Any, quote: str):
    assert message.quote_of(text) == quote


@pytest.mark.parametrize(
    ("original_by", "original_to", "by", "to"),
    [
        ("ada", ("bo",), "bo", ("ada",)),
        ("user", (), "bo", ("user",)),
        ("bo", ("ada", "user"), "bo", ("ada", "user")),
        ("bo", (), "bo", ()),
        ("", ("bo",), "bo", ()),
        ("svc:ci", ("bo", "ada"), "bo", ("ada",)),
        ("svc:ci", (), "bo", ()),
        ("system", ("bo",), "bo", ("user",)),
    ],
)
def test_ipc_8_5_a_reply_without_recipients_goes_to_who_wrote_or_to_whom_one_wrote(
    original_by: str, original_to: tuple[str, ...], by: str, to: tuple[str, ...]
):
    assert message.reply_recipients(original_by, original_to, by) == to


# -- what a line of history says


@pytest.mark.parametrize("data", [None, [], "attention", {}, {"priority": "Attention"}, {"priority": ["attention"]}])
def test_what_does_not_say_attention_asks_for_nothing(data: Any):
    assert not message.is_attention(data)
    assert message.is_attention({"priority": "attention"})


@pytest.mark.parametrize("data", [None, [], {}, {"message_mode": None}, {"message_mode": []}, {"message_mode": "x"}])
def test_a_message_without_a_known_mode_is_delivered(data: Any):
    assert message.mode_of(data) == "send"
    assert message.mode_of({"message_mode": "mail"}) == "mail"


# -- from one group into another


def relayed(**changes: Any) -> dict[str, Any]:
    asked = {"by": "svc:relay", "text": "hello", "to": (), "members": TEAM, "src_group_id": "g_a", "src_event_id": "e1"}
    return relays.relayed(**asked | changes)


def test_cccs_9_a_relayed_message_has_the_words_and_where_they_are_from():
    assert relayed(to=("@all",), priority="attention") == {
        "text": "hello",
        "priority": "attention",
        "to": ["@all"],
        "src_group_id": "g_a",
        "src_event_id": "e1",
    }


def test_cccs_9_what_is_cut_says_so_and_what_fits_is_carried_verbatim():
    assert relayed(text="x" * 40, longest=40)["text"] == "x" * 40
    assert relayed(text="x" * 41, longest=40)["text"] == "[Truncated] " + "x" * 28
    assert relayed(text="x" * 41, longest=0)["text"] == "[Truncated] "


@pytest.mark.parametrize("lacking", ["src_group_id", "src_event_id"])
@pytest.mark.parametrize("value", [None, ""])
def test_cccs_9_nothing_is_relayed_without_its_source(lacking: str, value: Any):
    with pytest.raises(message.IncompleteSource.error) as caught:
        relayed(**{lacking: value})
    assert caught.value.details == {"path": f"$.{lacking}"}


def test_cccs_9_a_relayed_message_says_nothing_of_where_others_were_sent():
    assert relayed(dst_group_id="g", dst_to=["x"]) == relayed()


def test_ipc_8_5_the_origin_keeps_a_copy_for_the_person_that_says_where_it_went():
    copy = relays.source_copy(
        by="ada", text="hello", priority="attention", members=TEAM, dst_group_id="g_b", dst_to=("@foreman",)
    )
    assert copy == {
        "text": "hello",
        "priority": "attention",
        "to": ["user"],
        "dst_group_id": "g_b",
        "dst_to": ["@foreman"],
    }
    assert cccs_reader.faults_of_message(copy) == []


@pytest.mark.parametrize(
    ("dst_group_id", "attachments", "code"),
    [
        (None, None, "MISSING_DST_GROUP_ID"),
        ("", None, "MISSING_DST_GROUP_ID"),
        (7, None, "INVALID_DST_GROUP_ID"),
        ("g_a", None, "INVALID_DST_GROUP_ID"),
        ("g_b", [BLOB], "ATTACHMENTS_NOT_SUPPORTED"),
        ("g_b", "x", "ATTACHMENTS_NOT_SUPPORTED"),
    ],
)
def test_ipc_8_5_a_message_crosses_into_another_group_without_attachments(
    dst_group_id: Any, attachments: Any, code: str
):
    with pytest.raises(BbError) as caught:
        relays.crossing("g_a", dst_group_id, attachments)
    assert caught.value.code == code
    assert relays.crossing("g_a", "g_b", []) == "g_b"
