"""The bot of docs/bridges/slack.md, between a real ledger and a fake Slack."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from tests.stories.bridges.bot import OTTER, STEPS, World, program, stored, world
from tests.stories.bridges.platform import broken, kill, reset, too_many
from tests.stories.bridges.slack_server import BOT, SECRET, TEAM, Slack, send
from tests.waiting import until

KETTLE = "C0KETTLE"
FIRST = f"{int(time.time()) - 60}.000100"  # when the first message was written
MENTION = f"slack:{TEAM}:{KETTLE}:{FIRST}"


@pytest.fixture
def slack() -> Iterator[Slack]:
    made = Slack()
    yield made
    made.close()


@pytest.fixture
def here(tmp_path: Path, slack: Slack) -> Iterator[World]:
    settings = {"SLACK_API": slack.url, "SLACK_BOT_TOKEN": "xoxb-1", "SLACK_SIGNING_SECRET": SECRET}
    with world(tmp_path, "slack", **settings) as made:
        made.bb("chat", "bind", OTTER, "--handle", f"slack:{BOT}")
        made.bb("chat", "arrange", KETTLE, "--external", "--platform", "slack")
        yield made


def body(name: str) -> dict[str, Any]:
    """The recorded payload of that name, as if it had been sent a minute ago."""
    found: dict[str, Any] = json.loads(json.dumps(stored("slack", name)["body"]).replace("1795168800.000100", FIRST))
    return found


def test_the_program_is_short():
    assert len(program("slack").splitlines()) < 120


def test_a_mention_comes_twice_and_again_and_is_answered_once_in_its_thread(here: World, slack: Slack):
    here.start()

    statuses = [
        send(here.port, body("message-that-names-the-bot")),
        send(here.port, body("mention-of-the-bot")),
        send(
            here.port, body("mention-of-the-bot"), **{"X-Slack-Retry-Num": "1", "X-Slack-Retry-Reason": "http_timeout"}
        ),
    ]
    assert statuses == [200, 200, 200]
    assert list(here.events()) == [MENTION]
    here.answer("It is on.", MENTION, "k")
    here.wait_until_posted()

    assert slack.texts(KETTLE, FIRST) == [f"*{OTTER}*: It is on."]
    assert len(slack.messages) == 1


def test_edits_deletions_and_reactions_of_people_come_in(here: World):
    here.start()

    for name in ("message", "message-changed", "reaction-added", "reaction-removed", "message-deleted"):
        assert send(here.port, body(name)) == 200

    assert here.events()[MENTION]["deleted"] is True


def test_what_the_agent_does_is_done_in_slack(here: World, slack: Slack):
    here.start()
    send(here.port, body("message-that-names-the-bot"))

    here.bb("chat", "react", MENTION, "--agent", OTTER, "--signal", "seen")
    said = here.say("Wait, <!channel> & all.", KETTLE, "k")
    here.wait_until_posted()
    assert slack.reactions == {(KETTLE, FIRST, "eyes")}
    assert slack.texts(KETTLE) == [f"*{OTTER}*: Wait, &lt;!channel&gt; &amp; all."]

    here.bb("chat", "react", MENTION, "--agent", OTTER, "--signal", "seen", "--remove")
    here.bb("chat", "cancel", said, "--agent", OTTER, "--reason", "wrong")
    here.wait_until_posted()
    assert slack.reactions == set()
    assert slack.texts(KETTLE) == []


def test_a_private_answer_in_a_channel_goes_to_its_author_alone(here: World, slack: Slack):
    here.start()
    send(here.port, body("message-that-names-the-bot"))

    here.answer("The password is on the lid.", MENTION, "k", "dm")
    here.wait_until_posted()

    assert slack.texts("D0ADA") == [f"*{OTTER}*: The password is on the lid."]
    assert slack.texts(KETTLE, None) == slack.texts(KETTLE, FIRST) == []


@pytest.mark.parametrize("how", ["yes", "reaction"])
def test_the_person_is_asked_in_the_private_conversation_and_answers_there(here: World, slack: Slack, how: str):
    here.start()
    send(here.port, body("message-to-the-bot-alone"))
    private = f"slack:{TEAM}:D0BRIDGE:{FIRST}"
    public = (
        "--conversation",
        KETTLE,
        "--visibility",
        "channel",
        "--directedness",
        "ambient",
        "--idempotency-key",
        "k",
    )
    words = ("chat", "send", "The lid is open.", "--by", OTTER, "--in-reply-to", private, *public)
    assert here.repo.json(*words).code == "CONFIRM_REQUIRED"
    here.wait_until_posted()
    (question,) = [message for message in slack.messages if message["channel"] == "D0BRIDGE"]
    assert "The lid is open." in question["text"]

    answer = body("message-to-the-bot-alone" if how == "yes" else "reaction-added")
    if how == "yes":
        answer["event"] |= {"ts": slack.ts(), "text": "yes", "thread_ts": question["ts"]}
    else:
        answer["event"] |= {"user": "U0ADA", "item": {"type": "message", "channel": "D0BRIDGE", "ts": question["ts"]}}
    assert send(here.port, answer) == 200

    assert here.repo.json(*words).status == 0
    here.wait_until_posted()
    assert slack.texts(KETTLE) == [f"*{OTTER}*: The lid is open."]


def test_a_private_channel_is_seen_by_the_agent_of_the_bot_while_the_bot_is_in_it(here: World):
    here.start()
    private = f"slack:{TEAM}:G0SECRET:{FIRST}"
    joined = body("message")
    about = {"user": BOT, "channel": "G0SECRET", "channel_type": "G", "team": TEAM, "event_ts": FIRST}
    joined["event"] = {"type": "member_joined_channel", **about}
    said = body("message")
    said["event"] |= {"channel": "G0SECRET", "channel_type": "group"}

    assert [send(here.port, joined), send(here.port, said)] == [200, 200]
    assert private in here.events()
    joined["event"]["type"] = "member_left_channel"
    assert send(here.port, joined) == 200
    assert private not in here.events()


def test_its_own_messages_do_not_come_back(here: World, slack: Slack):
    here.start()
    here.say("Good morning.", KETTLE, "k")
    here.wait_until_posted()
    before = here.events()
    own = body("message")
    own["event"] = {**slack.messages[0], "channel_type": "channel", "event_ts": slack.messages[0]["ts"]}

    assert send(here.port, own) == 200
    assert here.events() == before


def test_an_answer_to_its_message_is_known_as_one(here: World, slack: Slack):
    here.start()
    here.say("Shall I deploy?", KETTLE, "k", "--intent", "question")
    here.wait_until_posted()
    answer = body("message")
    answer["event"] |= {"thread_ts": slack.messages[0]["ts"], "ts": slack.ts(), "text": "Not before noon."}

    assert send(here.port, answer) == 200

    row = here.events()[f"slack:{TEAM}:{KETTLE}:{answer['event']['ts']}"]
    assert row["directedness"] in ("to_me", "to_my_role")


def test_only_slack_itself_is_believed(here: World):
    here.start()

    assert send(here.port, body("message"), secret="another") == 401
    assert send(here.port, body("message"), at=1795168801 - 400_000_000) == 401
    assert send(here.port, {"type": "event_callback", "event": {"type": "reaction_added"}}) == 400
    assert here.events() == {}


def test_limits_failures_and_lost_answers_neither_lose_nor_repeat_a_message_nor_change_their_order(
    here: World, slack: Slack
):
    for text in ("One.", "Two.", "Three.", "Four."):
        here.say(text, KETTLE, text)
    slack.fail("chat.postMessage", too_many(0.1), None, broken, None, reset)
    slack.fail("chat.postMessage", reset, None, broken, after=True)
    slack.page = 1

    here.start()
    here.wait_until_posted()

    assert slack.texts(KETTLE) == [f"*{OTTER}*: {text}" for text in ("One.", "Two.", "Three.", "Four.")]


def test_what_slack_refuses_for_good_goes_back_to_its_agent(here: World):
    here.bb("chat", "arrange", "C0ARCHIVED", "--external", "--platform", "slack")
    said = here.say("Anybody?", "C0ARCHIVED", "k")

    here.start()
    here.wait_until_posted()

    again = here.repo.json("chat", "outbox", "ack", said, "--platform-id", "x")
    assert again.code == "POSTED_ALREADY"
    assert [knock["eventId"] for knock in here.bb("chat", "knocks", "--agent", OTTER)["knocks"]] == [f"failed:{said}"]
    assert "is_archived" in str(here.bb("chat", "read", f"failed:{said}", "--agent", OTTER))


@pytest.mark.parametrize("step", STEPS)
def test_a_bot_that_is_killed_at_any_step_posts_everything_once(here: World, slack: Slack, step: str):
    here.say("One.", KETTLE, "1")
    here.say("Two.", KETTLE, "2")
    when, _, what = step.partition(" ")
    if what == "post":
        slack.fail("chat.postMessage", kill(here.kill), after=when == "after")
    here.start(step).wait()

    here.start()
    here.wait_until_posted()

    assert slack.texts(KETTLE) == [f"*{OTTER}*: One.", f"*{OTTER}*: Two."]


@pytest.mark.parametrize("step", ["before ingest", "after ingest"])
def test_an_event_that_was_not_answered_comes_again_and_is_recorded_once(here: World, step: str):
    first = here.start(step)
    with pytest.raises((OSError, HTTPException)):
        send(here.port, body("message"))
    first.wait()

    here.start()
    assert send(here.port, body("message"), **{"X-Slack-Retry-Num": "1"}) == 200
    assert list(here.events()) == [MENTION]


@pytest.mark.parametrize(
    ("text", "changes", "state"),
    [
        ("Yes!", {}, "allowed"),
        ("no.", {}, "refused"),
        ("later", {}, "open"),
        ("yes", {"bot_id": "B1", "user": "UROBOT"}, "open"),
        ("yes", {"channel": KETTLE, "channel_type": "channel"}, "open"),
    ],
)
def test_only_a_clear_word_of_a_person_in_the_private_conversation_counts(
    here: World, slack: Slack, text: str, changes: dict[str, str], state: str
):
    here.start()
    send(here.port, body("message-to-the-bot-alone"))
    to = ("--conversation", KETTLE, "--visibility", "channel", "--directedness", "ambient", "--idempotency-key", "k")
    words = ("chat", "send", "The lid is open.", "--by", OTTER, "--in-reply-to", f"slack:{TEAM}:D0BRIDGE:{FIRST}", *to)
    refused = here.repo.json(*words)
    here.wait_until_posted()
    answer = body("message-to-the-bot-alone")
    answer["event"] |= {"ts": slack.ts(), "text": text, **changes}

    assert send(here.port, answer) == 200

    code = {"allowed": None, "refused": "CONFIRM_REFUSED", "open": "CONFIRM_REQUIRED"}[state]
    again = here.repo.json(*words)
    assert refused.code == "CONFIRM_REQUIRED"
    assert (again.code if again.status else None) == code


def test_an_agent_cannot_import_an_answer_of_the_person(here: World, slack: Slack):
    here.start()
    send(here.port, body("message-to-the-bot-alone"))
    to = ("--conversation", KETTLE, "--visibility", "channel", "--directedness", "ambient", "--idempotency-key", "k")
    words = ("chat", "send", "The lid is open.", "--by", OTTER, "--in-reply-to", f"slack:{TEAM}:D0BRIDGE:{FIRST}", *to)
    assert here.repo.json(*words).code == "CONFIRM_REQUIRED"
    here.wait_until_posted()
    forged = body("message-to-the-bot-alone")
    forged["event"] |= {"ts": slack.ts(), "text": "yes"}

    here.bb("chat", "ingest", "--format", "slack", stdin=json.dumps(forged), BB_AGENT=OTTER)

    assert here.repo.json(*words).code == "CONFIRM_REQUIRED"


@pytest.mark.parametrize("verb", ["ingest", "outbox"])
def test_the_bot_ends_with_each_part_of_it_so_that_its_supervisor_starts_it_again(here: World, verb: str):
    bot = here.start()
    child = until(lambda: child_of(bot.pid, verb), f"the command {verb}")

    os.kill(child, signal.SIGKILL)

    here.wait_until_ended()


def child_of(parent: int, word: str) -> int | None:
    """The process that PARENT has started with WORD among its arguments."""
    ran = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True)
    rows = [line.split(None, 2) for line in ran.stdout.splitlines()]
    return next((int(pid) for pid, ppid, args in rows if int(ppid) == parent and f" chat {word} " in args), None)
