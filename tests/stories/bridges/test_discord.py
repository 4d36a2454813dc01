"""The bot of docs/bridges/discord.md, between a real ledger and a fake Discord."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.stories.bridges.bot import OTTER, STEPS, World, program, stored, world
from tests.stories.bridges.discord_server import BOT, CHANNEL, GUILD, HIDDEN, INVALID, RECONNECT, Discord
from tests.stories.bridges.platform import broken, kill, reset, too_many
from tests.waiting import until

ADA, FIRST = "110000000000000001", f"discord:{CHANNEL}:1440000000000000001"


@pytest.fixture
def discord() -> Iterator[Discord]:
    made = Discord()
    yield made
    made.close()


@pytest.fixture
def here(tmp_path: Path, discord: Discord) -> Iterator[World]:
    with world(tmp_path, "discord", DISCORD_API=discord.url, DISCORD_TOKEN="bot-1") as made:
        made.bb("chat", "bind", OTTER, "--handle", f"discord:{BOT}")
        made.bb("chat", "arrange", CHANNEL, "--external", "--platform", "discord")
        yield made


def frame(name: str, **changes: Any) -> dict[str, Any]:
    """The recorded event of that name, as if it had happened a minute ago."""
    found: dict[str, Any] = stored("discord", name)["body"]
    when = (datetime.now(UTC) - timedelta(minutes=1)).isoformat()
    if "timestamp" in found["d"] and found["t"] != "TYPING_START":
        changes = {"timestamp": when} | changes
    return {"t": found["t"], "d": found["d"] | changes}


def started(here: World, discord: Discord) -> None:
    here.start()
    discord.wait_until_ready()


def heard(here: World, name: str = FIRST) -> dict[str, Any]:
    return until(lambda: here.events().get(name), f"{name}")


def shown(*texts: str) -> list[str]:
    return [f"**{OTTER}**: {text}" for text in texts]


def test_the_program_is_short():
    assert len(program("discord").splitlines()) < 120


def test_a_mention_comes_in_and_is_answered_by_a_reply(here: World, discord: Discord):
    started(here, discord)

    discord.say(frame("message"))
    heard(here)
    here.answer("It is on.", FIRST, "k", "channel")
    here.wait_until_posted()

    assert discord.texts(CHANNEL) == shown("It is on.")
    assert discord.messages[0]["message_reference"]["message_id"] == "1440000000000000001"


def test_a_message_in_a_thread_is_answered_there(here: World, discord: Discord):
    started(here, discord)
    about = {"id": "330000000000000007", "type": 11, "guild_id": GUILD, "parent_id": CHANNEL, "thread_metadata": {}}
    discord.channels["330000000000000007"] = about
    discord.say(frame("message", channel_id="330000000000000007", position=3))
    name = "discord:330000000000000007:1440000000000000001"
    heard(here, name)

    here.answer("It is on.", name, "k")
    here.wait_until_posted()

    assert discord.texts("330000000000000007") == shown("It is on.")
    assert here.bb("chat", "show", name, "--agent", OTTER)["conversation"]["id"] == CHANNEL


def test_edits_reactions_typing_and_deletions_of_people_come_in(here: World, discord: Discord):
    started(here, discord)

    for event in ("message", "typing", "message-edited", "message-deleted"):
        discord.say(frame(event))
    discord.say(frame("reaction-added", user_id=ADA))

    until(lambda: heard(here).get("deleted"), "the deletion")


def test_what_the_agent_does_is_done_in_discord(here: World, discord: Discord):
    started(here, discord)
    discord.say(frame("message"))
    heard(here)

    here.bb("chat", "react", FIRST, "--agent", OTTER, "--signal", "seen")
    said = here.say("Wait, @everyone.", CHANNEL, "k")
    here.wait_until_posted()
    assert discord.reactions == {(CHANNEL, "1440000000000000001", "👀")}
    assert discord.texts(CHANNEL) == shown("Wait, @everyone.")
    assert discord.called("post")[0]["body"]["allowed_mentions"] == {"parse": ["users"], "replied_user": True}

    here.bb("chat", "react", FIRST, "--agent", OTTER, "--signal", "seen", "--remove")
    here.bb("chat", "cancel", said, "--agent", OTTER, "--reason", "wrong")
    here.wait_until_posted()
    assert discord.reactions == set()
    assert discord.texts(CHANNEL) == []


def test_a_long_message_is_posted_in_pieces(here: World, discord: Discord):
    here.say("x" * 4500, CHANNEL, "k")
    discord.fail("post", None, broken, after=True)

    here.start()
    here.wait_until_posted()

    assert "".join(discord.texts(CHANNEL)) == shown("x" * 4500)[0]
    assert len(discord.messages) == 3


def test_a_message_outside_of_a_guild_is_for_the_agent_of_the_bot(here: World, discord: Discord):
    started(here, discord)
    discord.channels["330000000000000009"] = {"id": "330000000000000009", "type": 1}

    discord.say(frame("message-to-the-bot-alone", channel_id="330000000000000009"))

    assert heard(here, "discord:330000000000000009:1440000000000000001")["directedness"] == "to_me"


def test_a_channel_that_not_everybody_sees_is_private_and_seen_by_the_agent_of_the_bot(here: World, discord: Discord):
    started(here, discord)

    discord.say(frame("message", channel_id=HIDDEN))

    heard(here, f"discord:{HIDDEN}:1440000000000000001")
    assert here.bb("chat", "arrange", HIDDEN)["is_private"] is True


def test_a_channel_becomes_private_at_the_moment_at_which_discord_says_so(here: World, discord: Discord):
    started(here, discord)
    discord.say(frame("message"))
    heard(here)
    hidden = discord.channels[HIDDEN]["permission_overwrites"]

    discord.say({"t": "CHANNEL_UPDATE", "d": discord.channels[CHANNEL] | {"permission_overwrites": hidden}})

    until(lambda: here.bb("chat", "arrange", CHANNEL)["is_private"], "the private channel")


def test_a_private_answer_in_a_channel_goes_to_its_author_alone(here: World, discord: Discord):
    started(here, discord)
    discord.say(frame("message"))
    heard(here)

    here.answer("Secret.", FIRST, "k", "dm")
    here.wait_until_posted()

    assert discord.texts(f"44{ADA[2:]}") == shown("Secret.")
    assert discord.texts(CHANNEL) == []


def test_its_own_messages_do_not_come_back(here: World, discord: Discord):
    started(here, discord)
    here.say("Good morning.", CHANNEL, "k")
    here.wait_until_posted()
    discord.say(frame("message"))
    heard(here)

    assert [name for name in here.events() if name.startswith("discord:")] == [FIRST]


@pytest.mark.parametrize("how", ["kill", "reconnect", "invalid"])
def test_what_is_said_while_the_bot_is_away_is_repeated_by_the_gateway(here: World, discord: Discord, how: str):
    started(here, discord)
    discord.say(frame("message"))
    heard(here)
    if how == "kill":
        here.kill()
    else:
        discord.ask(RECONNECT if how == "reconnect" else INVALID, how == "invalid")
    here.wait_until_ended()
    discord.say(frame("message", id="1440000000000000002"))

    here.start()
    heard(here, f"discord:{CHANNEL}:1440000000000000002")

    assert discord.sessions == 1


def test_a_session_that_is_gone_is_replaced(here: World, discord: Discord):
    started(here, discord)
    discord.ask(INVALID, about=False)
    here.wait_until_ended()

    started(here, discord)
    discord.say(frame("message"))
    heard(here)

    assert discord.sessions == 2


def test_the_heart_of_the_connection_beats(here: World, discord: Discord):
    discord.interval = 700  # the program gives up after two intervals without an answer
    started(here, discord)

    until(lambda: discord.beats > 2, "three beats")


def test_limits_failures_and_lost_answers_neither_lose_nor_repeat_a_message_nor_change_their_order(
    here: World, discord: Discord
):
    texts = ("One.", "Two.", "Three.", "Four.")
    for text in texts:
        here.say(text, CHANNEL, text)
    discord.fail("post", too_many(0.1), None, broken, None, reset)
    discord.fail("post", reset, None, broken, after=True)

    here.start()
    here.wait_until_posted()

    assert discord.texts(CHANNEL) == shown(*texts)


def test_what_discord_refuses_for_good_goes_back_to_its_agent(here: World):
    here.bb("chat", "arrange", "330000000000000099", "--external", "--platform", "discord")
    said = here.say("Anybody?", "330000000000000099", "k")

    here.start()
    here.wait_until_posted()

    assert [knock["eventId"] for knock in here.bb("chat", "knocks", "--agent", OTTER)["knocks"]] == [f"failed:{said}"]


@pytest.mark.parametrize("step", STEPS)
def test_a_bot_that_is_killed_at_any_step_posts_everything_once(here: World, discord: Discord, step: str):
    here.say("One.", CHANNEL, "1")
    here.say("Two.", CHANNEL, "2")
    when, _, what = step.partition(" ")
    if what == "post":
        discord.fail("post", kill(here.kill), after=when == "after")
    here.start(step).wait()

    here.start()
    here.wait_until_posted()

    assert discord.texts(CHANNEL) == shown("One.", "Two.")


@pytest.mark.parametrize("step", ["before ingest", "after ingest"])
def test_a_bot_that_is_killed_while_it_takes_events_in_takes_each_in_once(here: World, discord: Discord, step: str):
    first = here.start(step)
    discord.wait_until_ready()
    discord.say(frame("message"))
    discord.say(frame("message", id="1440000000000000002"))
    first.wait()

    here.start()
    heard(here, f"discord:{CHANNEL}:1440000000000000002")

    assert list(here.events()) == [f"discord:{CHANNEL}:1440000000000000002", FIRST]
