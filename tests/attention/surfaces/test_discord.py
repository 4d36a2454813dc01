"""The events of Discord's gateway as lines."""

from __future__ import annotations

from typing import Any

import pytest

from bb.attention.surfaces import discord
from bb.attention.surfaces.payload import MalformedPayload
from tests.attention.surfaces.stored import each, line, lines, spoilt, stored, without, words


def told(name: str, **headers: str) -> dict[str, Any]:
    return line("discord", name, **headers)


def test_a_message_is_known_by_its_channel_and_its_id():
    assert told("message") == {
        "type": "message",
        "eventId": "discord:330000000000000001:1440000000000000001",
        "source": {"platform": "discord", "workspaceId": "220000000000000001"},
        "conversation": {"id": "330000000000000001", "kind": "channel"},
        "author": {"id": "110000000000000001", "kind": "human", "displayName": "ada (kettles)"},
        "target": {"mentions": ["110000000000000002", "@440000000000000001"]},
        "content": [
            {"type": "text", "text": "@bo and @440000000000000001: is the kettle on? :lid: #330000000000000002"}
        ],
        "timing": {"createdAt": "2026-11-20T10:00:00.123Z", "sequence": 1_440_000_000_000_000_001},
    }


def test_who_is_quoted_or_stands_in_code_is_not_called_although_discord_lists_them():
    assert told("message-with-quotes-and-code")["target"] == {"mentions": ["110000000000000009", "@all"]}


def test_outside_of_a_guild_a_message_is_direct():
    direct = told("message-to-the-bot-alone")

    assert direct["conversation"] == {"id": "330000000000000001", "kind": "dm"}
    assert direct["source"] == {"platform": "discord", "workspaceId": "@me"}


def test_an_answer_names_what_it_answers_and_calls_whom_discord_says():
    answer = told("answer")

    assert answer["replyTo"] == told("message")["eventId"]
    assert answer["target"] == {"mentions": ["110000000000000001"]}


def test_a_thread_is_a_channel_with_the_id_of_the_message_that_opened_it():
    known = told("message-in-a-thread", bb_parent="330000000000000001")

    assert told("message-in-a-thread")["conversation"] == {
        "id": "1440000000000000001",
        "kind": "channel",
        "threadId": "1440000000000000001",
    }
    assert known["conversation"] == {
        "id": "330000000000000001",
        "kind": "channel",
        "threadId": "1440000000000000001",
        "rootId": told("message")["eventId"],
    }


def test_what_is_forwarded_answers_nothing():
    assert "replyTo" not in told("message-forwarded")


def test_bots_and_webhooks_are_agents():
    assert told("message-by-a-bot")["author"]["kind"] == "agent"
    assert told("message-by-a-webhook")["author"] == {"id": "660000000000000001", "kind": "agent", "displayName": "ci"}


def test_discord_itself_is_the_system():
    headers, body = stored("discord", "message-to-the-bot-alone")

    (said,) = discord.lines(headers, spoilt(body, ("d", "author", "system"), True))

    assert said["author"]["kind"] == "system"


def test_what_a_bot_only_embeds_stands_for_its_words():
    assert words(told("message-by-a-webhook")) == ["Build 4711\nhas failed."]


def test_a_file_is_told_with_its_name():
    assert told("message-with-a-file")["content"] == [
        {"type": "file", "url": "https://cdn.example.org/lid.png", "title": "lid.png"}
    ]


def test_an_edit_has_the_id_of_the_message_and_the_moment_as_its_version():
    edit = told("message-edited")

    assert (edit["type"], edit["eventId"]) == ("edit", told("message")["eventId"])
    assert words(edit) == ["@bo: is the kettle off?"]
    assert edit["target"] == {"mentions": ["110000000000000002"]}
    assert edit["version"] == 1_795_168_860_456


def test_one_or_many_messages_are_deleted():
    assert told("message-deleted") == {"type": "delete", "eventId": told("message")["eventId"]}
    assert [gone["eventId"] for gone in lines("discord", "messages-deleted")] == [
        told("message")["eventId"],
        told("answer")["eventId"],
    ]


def test_a_reaction_comes_in_any_skin_and_a_guilds_own_by_its_name():
    assert told("reaction-added") == {
        "type": "reaction",
        "eventId": told("message")["eventId"],
        "author": {"id": "110000000000000002", "kind": "human", "displayName": "bo"},
        "glyph": "👍",
        "added": True,
    }
    assert told("reaction-removed")["glyph"] == "lid"
    assert told("reaction-removed")["added"] is False


def test_typing_is_told_where_and_by_whom():
    assert told("typing") == {
        "type": "typing",
        "conversation": {"id": "330000000000000001", "kind": "channel"},
        "author": {"id": "110000000000000001", "kind": "human", "displayName": "Ada L."},
        "typing": True,
    }
    assert told("typing-to-the-bot-alone")["conversation"]["kind"] == "dm"


def test_a_bridge_can_say_that_a_channel_is_private():
    assert told("message", BB_Private="true")["conversation"]["private"] is True
    assert told("typing", BB_Private="true")["conversation"]["private"] is True


@pytest.mark.parametrize(
    "name",
    [
        "hello",
        "ready",
        "member-joined",
        "message-about-a-pin",
        "message-that-got-a-preview",
        "message-updated-without-content",
        "message-whose-content-is-withheld",
    ],
)
def test_what_says_nothing_for_us_is_no_line(name: str):
    assert lines("discord", name) == []


@pytest.mark.parametrize(
    ("name", "path"),
    [
        *each("message", "d", "d.id", "d.channel_id", "d.author", "d.author.id", "d.timestamp", "d.mentions[0].id"),
        *each("message-edited", "d.id", "d.channel_id", "d.author"),
        *each("message-deleted", "d.id", "d.channel_id"),
        *each("messages-deleted", "d.channel_id"),
        *each("reaction-added", "d.user_id", "d.channel_id", "d.message_id", "d.emoji"),
        *each("typing", "d.user_id", "d.channel_id"),
        *each("answer", "d.message_reference.message_id"),
        *each("message-with-a-file", "d.attachments[0].url"),
    ],
)
def test_a_payload_that_lacks_what_is_needed_is_refused_with_its_path(name: str, path: str):
    headers, body = stored("discord", name)

    with pytest.raises(MalformedPayload.error) as refusal:
        discord.lines(headers, without(body, path))

    assert refusal.value.details == {"path": f"$.{path}"}


@pytest.mark.parametrize(("place", "wrong"), [("id", "one"), ("id", "9" * 21), ("guild_id", 5), ("timestamp", "noon")])
def test_a_member_that_is_not_what_it_should_be_is_refused_with_its_path(place: str, wrong: Any):
    headers, body = stored("discord", "message")

    with pytest.raises(MalformedPayload.error) as refusal:
        discord.lines(headers, spoilt(body, ("d", place), wrong))

    assert refusal.value.details == {"path": f"$.d.{place}"}
