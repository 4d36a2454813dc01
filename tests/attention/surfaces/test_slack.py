"""Slack's events as lines."""

from __future__ import annotations

from typing import Any

import pytest

from bb.attention.surfaces import slack
from bb.attention.surfaces.payload import MalformedPayload
from tests.attention.surfaces.stored import each, line, lines, spoilt, stored, without, words


def told(name: str) -> dict[str, Any]:
    return line("slack", name)


def test_a_message_is_known_by_its_team_its_channel_and_its_time():
    assert told("message") == {
        "type": "message",
        "eventId": "slack:T0ACME:C0KETTLE:1795168800.000100",
        "source": {"platform": "slack", "workspaceId": "T0ACME"},
        "conversation": {"id": "C0KETTLE", "kind": "channel"},
        "author": {"id": "U0ADA", "kind": "human"},
        "target": {"mentions": []},
        "content": [{"type": "text", "text": "The kettle whistles."}],
        "timing": {"createdAt": "2026-11-20T10:00:00.000Z", "sequence": 1_795_168_800_000_100},
    }


def test_a_message_that_names_the_bot_comes_twice_and_is_one():
    one, other = told("message-that-names-the-bot"), told("mention-of-the-bot")

    assert one["eventId"] == other["eventId"]
    assert one["content"] == other["content"]
    assert one["target"] == other["target"] == {"mentions": ["U0BRIDGE"]}


def test_a_channel_of_which_nothing_is_known_is_not_called_private():
    assert told("mention-of-the-bot")["conversation"] == {"id": "C0KETTLE", "kind": "channel"}


def test_what_people_see_is_what_is_told():
    assert words(told("message-that-names-the-bot")) == [
        "@U0BRIDGE is the kettle on? <yes> & no, see the lid (https://example.org/lid) in #lids"
    ]


def test_who_is_quoted_or_stands_in_code_is_not_called():
    assert told("message-with-groups-quotes-and-code")["target"] == {"mentions": ["U0BO", "@S0STOKE", "@all"]}


def test_a_private_channel_says_so():
    assert told("message-in-a-private-channel")["conversation"]["private"] is True


def test_a_message_to_the_bot_alone_is_direct_and_has_a_recipient():
    assert told("message-to-the-bot-alone")["conversation"] == {"id": "D0BRIDGE", "kind": "dm"}
    assert told("message-to-the-bot-alone")["target"] == {"mentions": [], "recipient": "U0BRIDGE"}


def test_what_the_bot_says_in_a_direct_conversation_is_not_said_to_itself():
    headers, body = stored("slack", "message-to-the-bot-alone")

    (own,) = slack.lines(headers, spoilt(body, ("event", "user"), "U0BRIDGE"))

    assert own["target"] == {"mentions": []}


def test_a_message_to_some_is_private_and_aimed_at_none_of_them():
    assert told("message-to-some")["conversation"] == {"id": "G0SOME", "kind": "channel", "private": True}
    assert told("message-to-some")["target"] == {"mentions": []}


def test_an_answer_in_a_thread_answers_its_first_message():
    answer = told("answer-in-a-thread")

    assert answer["conversation"]["threadId"] == "1795168800.000100"
    assert answer["conversation"]["rootId"] == answer["replyTo"] == told("message")["eventId"]


def test_the_first_message_of_a_thread_answers_nothing():
    headers, body = stored("slack", "message")

    (first,) = slack.lines(headers, spoilt(body, ("event", "thread_ts"), body["event"]["ts"]))

    assert first["conversation"]["threadId"] == "1795168800.000100"
    assert "replyTo" not in first


def test_a_bot_is_an_agent_under_the_id_by_which_it_can_be_named():
    assert told("message-by-a-bot")["author"] == {"id": "B0CI", "kind": "agent", "displayName": "ci"}
    assert told("message-by-a-bot-with-a-user")["author"] == {"id": "U0CI", "kind": "agent", "displayName": "ci"}


def test_slackbot_is_the_system():
    headers, body = stored("slack", "message")

    (reminder,) = slack.lines(headers, spoilt(body, ("event", "user"), "USLACKBOT"))

    assert reminder["author"]["kind"] == "system"


def test_what_a_bot_only_attaches_stands_for_its_words():
    assert words(told("message-by-a-bot")) == ["Build 4711 has failed."]


def test_a_file_is_told_with_its_title():
    assert told("message-with-a-file")["content"] == [
        {"type": "file", "url": "https://acme.example.org/files/F1", "title": "The lid"}
    ]


def test_a_voice_note_is_told_with_its_transcript():
    assert told("voice-note")["content"] == [
        {"type": "text", "text": "yes, do it"},
        {"type": "audio", "url": "https://acme.example.org/files/F2", "title": "audio_message.m4a"},
    ]


def test_an_edit_has_the_id_of_the_message_and_the_new_words():
    edit = told("message-changed")

    assert (edit["type"], edit["eventId"]) == ("edit", told("message")["eventId"])
    assert words(edit) == ["@U0BO is the kettle off?"]
    assert edit["target"] == {"mentions": ["U0BO"]}
    assert edit["version"] == 1_795_168_860_000_300
    assert edit["author"] == {"id": "U0ADA", "kind": "human"}


def test_a_deletion_names_the_message_and_a_first_message_whose_thread_goes_on_is_deleted_too():
    assert told("message-deleted")["type"] == told("message-whose-thread-outlives-it")["type"] == "delete"
    assert told("message-deleted")["eventId"] == told("message")["eventId"]
    assert told("message-whose-thread-outlives-it")["eventId"] == told("message")["eventId"]


def test_a_reaction_is_a_glyph_that_comes_and_goes():
    came, went = told("reaction-added"), told("reaction-removed")

    assert came == {
        "type": "reaction",
        "eventId": told("message")["eventId"],
        "author": {"id": "U0BO", "kind": "human"},
        "glyph": "👍",
        "added": True,
        "timing": {"createdAt": "2026-11-20T10:01:20.000Z"},
    }
    assert went == came | {"added": False}


@pytest.mark.parametrize(
    "name", ["url-verification", "channel-joined", "message-that-got-a-preview", "reaction-to-a-file"]
)
def test_what_says_nothing_for_us_is_no_line(name: str):
    assert lines("slack", name) == []


@pytest.mark.parametrize(
    ("name", "path"),
    [
        *each("message", "type", "team_id", "event", "event.type", "event.channel", "event.user", "event.ts"),
        *each("message-changed", "event.message", "event.message.ts", "event.message.user", "event.ts"),
        *each("message-deleted", "event.deleted_ts", "event.channel", "event.ts", "team_id"),
        *each(
            "reaction-added",
            "event.item",
            "event.item.type",
            "event.item.ts",
            "event.item.channel",
            "event.user",
            "event.reaction",
            "event.event_ts",
        ),
    ],
)
def test_a_payload_that_lacks_what_is_needed_is_refused_with_its_path(name: str, path: str):
    headers, body = stored("slack", name)

    with pytest.raises(MalformedPayload.error) as refusal:
        slack.lines(headers, without(body, path))

    assert refusal.value.details == {"path": f"$.{path}"}


@pytest.mark.parametrize("ts", ["yesterday", "1795168800.x", ".5", "999999999999.0", "１795168800.0"])
def test_a_time_that_is_none_is_refused(ts: str):
    headers, body = stored("slack", "message")

    with pytest.raises(MalformedPayload.error, match=r"\$\.event\.ts is not a Slack time"):
        slack.lines(headers, spoilt(body, ("event", "ts"), ts))


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("<@U1|ada> hi", "@U1 hi"),
        ("<!subteam^S1>", "@S1"),
        ("<!subteam^S1|@stokers>", "@stokers"),
        ("<!channel|channel> <!everyone>", "@channel @everyone"),
        ("<#C1>", "#C1"),
        ("<mailto:a@example.org|a@example.org>", "a@example.org"),
        ("<http://example.org|example.org>", "http://example.org"),
        ("<!date^1795168800^{date}|20 November>", "20 November"),
        ("&lt;@U1&gt; &amp;lt;", "<@U1> &lt;"),
    ],
)
def test_entities_are_shown_as_people_see_them(raw: str, shown: str):
    assert slack.readable(raw) == shown


@pytest.mark.parametrize(
    "raw", ["@ada", "&lt;@U1&gt;", "```\n<@U1>", "a `<@U1>` b", "  &gt; <@U1>", "&gt;&gt;&gt; a\n<@U1>"]
)
def test_only_entities_outside_of_code_and_quotations_call_somebody(raw: str):
    assert slack.mentions(raw) == []
