"""The events of a Matrix room as lines."""

from __future__ import annotations

from typing import Any

import pytest

from bb.attention.surfaces import matrix
from bb.attention.surfaces.payload import MalformedPayload
from tests.attention.surfaces.stored import each, line, lines, spoilt, stored, without, words


def told(name: str, **headers: str) -> dict[str, Any]:
    return line("matrix", name, **headers)


def test_a_message_is_known_by_its_room_and_its_id():
    assert told("message") == {
        "type": "message",
        "eventId": "matrix:!kettle:example.org:$one",
        "source": {"platform": "matrix", "workspaceId": "example.org"},
        "conversation": {"id": "!kettle:example.org", "kind": "channel"},
        "author": {"id": "@ada:example.org", "kind": "human"},
        "target": {"mentions": ["@bo:example.org", "@all"]},
        "content": [{"type": "text", "text": "bo: is the kettle on? @cy knows"}],
        "timing": {"createdAt": "2026-11-20T10:00:00.123Z"},
    }


def test_where_the_author_says_who_is_meant_a_name_in_the_text_calls_nobody():
    assert "cy" not in told("message")["target"]["mentions"]


def test_where_the_author_does_not_say_it_the_text_does_outside_of_quotations_and_code():
    assert told("message-of-an-older-program")["target"] == {"mentions": ["@bo:example.org", "cy", "@all"]}


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("@bo: come", ["bo"]),
        ("@bo:example.org, come", ["@bo:example.org"]),
        ("@bo:example.org:8448 come", ["@bo:example.org:8448"]),
        ("mail bo@example.org", []),
        ("@bo:example.org and @bo:example.org", ["@bo:example.org"]),
    ],
)
def test_an_id_in_a_text_is_taken_whole(text: str, called: list[str]):
    headers, body = stored("matrix", "message-of-an-older-program")

    (said,) = matrix.lines(headers, spoilt(body, ("content", "body"), text))

    assert said["target"] == {"mentions": called}


def test_whoever_bridges_says_that_a_room_is_direct_or_private():
    assert told("message-in-a-direct-room")["conversation"]["kind"] == "dm"
    assert told("message", bb_private="true")["conversation"]["private"] is True


def test_a_room_without_a_server_in_its_id_is_of_matrix():
    headers, body = stored("matrix", "message")

    (said,) = matrix.lines(headers, spoilt(body, ("room_id",), "!v12room"))

    assert said["source"]["workspaceId"] == "matrix"


def test_a_notice_is_said_by_an_agent():
    assert told("notice")["author"] == {"id": "@ci:example.org", "kind": "agent"}


def test_an_emote_looks_like_one():
    assert words(told("emote")) == ["* puts the kettle on"]


def test_what_this_very_client_sent_says_so():
    assert told("message-of-our-own")["marker"] == "out-42"


def test_an_answer_names_what_it_answers_and_has_only_its_own_words():
    answer = told("answer")

    assert answer["replyTo"] == told("message")["eventId"]
    assert words(answer) == ["Which one?"]
    assert answer["target"] == {"mentions": []}


def test_a_quotation_of_the_authors_own_is_kept():
    assert words(told("answer-that-quotes-by-itself")) == ["> tea is ready\nis it?"]


def test_a_message_in_a_thread_answers_its_first_one_unless_it_really_answers_another():
    plain, answer = told("message-in-a-thread"), told("answer-in-a-thread")

    assert plain["conversation"]["threadId"] == answer["conversation"]["threadId"] == "$one"
    assert plain["replyTo"] == told("message")["eventId"]
    assert answer["replyTo"] == plain["eventId"]


def test_an_edit_has_the_id_of_the_message_and_its_new_words():
    edit = told("message-edited")

    assert (edit["type"], edit["eventId"]) == ("edit", told("message")["eventId"])
    assert words(edit) == ["is the kettle off?"]
    assert edit["target"] == {"mentions": ["@bo:example.org"]}
    assert edit["version"] == 1_795_168_860_456


def test_a_file_is_told_with_its_name_and_what_is_said_about_it():
    assert told("image")["content"] == [
        {"type": "text", "text": "Look at the lid"},
        {"type": "file", "url": "mxc://example.org/abc", "title": "lid.png"},
    ]
    assert told("file-in-an-encrypted-room")["content"] == [
        {"type": "file", "url": "mxc://example.org/def", "title": "lid.pdf"}
    ]


def test_a_reaction_is_a_glyph_and_has_an_id_by_which_it_is_taken_back():
    assert told("reaction") == {
        "type": "reaction",
        "eventId": told("message")["eventId"],
        "reactionId": "matrix:!kettle:example.org:$six",
        "author": {"id": "@bo:example.org", "kind": "human"},
        "glyph": "👍",
        "added": True,
        "timing": {"createdAt": "2026-11-20T10:00:00.123Z"},
    }


@pytest.mark.parametrize("name", ["redaction", "redaction-in-a-newer-room"])
def test_a_redaction_is_a_deletion(name: str):
    assert told(name) == {
        "type": "delete",
        "eventId": told("message")["eventId"],
        "timing": {"createdAt": "2026-11-20T10:00:00.123Z"},
    }


def test_everybody_who_types_is_told_of():
    assert [(said["author"]["id"], said["typing"]) for said in lines("matrix", "typing")] == [
        ("@ada:example.org", True),
        ("@bo:example.org", True),
    ]


@pytest.mark.parametrize("name", ["encrypted", "verification", "message-that-was-redacted"])
def test_what_says_nothing_for_us_is_no_line(name: str):
    assert lines("matrix", name) == []


@pytest.mark.parametrize(
    ("name", "path"),
    [
        *each(
            "message",
            "type",
            "room_id",
            "event_id",
            "sender",
            "origin_server_ts",
            "content",
            "content.msgtype",
            "content.body",
        ),
        *each("message-edited", 'content["m.new_content"]', 'content["m.relates_to"].event_id'),
        *each(
            "reaction",
            'content["m.relates_to"]',
            'content["m.relates_to"].event_id',
            'content["m.relates_to"].key',
            'content["m.relates_to"].rel_type',
        ),
        *each("image", "content.url"),
        *each("redaction-in-a-newer-room", "content.redacts"),
        *each("typing", "room_id"),
    ],
)
def test_a_payload_that_lacks_what_is_needed_is_refused_with_its_path(name: str, path: str):
    headers, body = stored("matrix", name)
    body["content"]["something"] = "else"  # what has no content at all was redacted

    with pytest.raises(MalformedPayload.error) as refusal:
        matrix.lines(headers, without(body, path))

    assert refusal.value.details == {"path": f"$.{path}"}


@pytest.mark.parametrize("ts", [-1, 10**15])
def test_a_time_that_no_clock_has_is_refused(ts: int):
    headers, body = stored("matrix", "message")

    with pytest.raises(MalformedPayload.error, match="origin_server_ts is not a valid time"):
        matrix.lines(headers, spoilt(body, ("origin_server_ts",), ts))
