"""The bot of docs/bridges/matrix.md, between a real ledger and a fake homeserver."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stories.bridges.bot import OTTER, STEPS, World, program, stored, world
from tests.stories.bridges.matrix_server import BOT, ROOM, Matrix
from tests.stories.bridges.platform import broken, kill, reset, too_many
from tests.waiting import until

ADA = "@ada:example.org"
FIRST = f"matrix:{ROOM}:$one"


@pytest.fixture
def matrix() -> Iterator[Matrix]:
    made = Matrix()
    yield made
    made.close()


@pytest.fixture
def here(tmp_path: Path, matrix: Matrix) -> Iterator[World]:
    with world(tmp_path, "matrix", MATRIX_SERVER=matrix.url, MATRIX_TOKEN="syt_1") as made:
        made.bb("chat", "bind", OTTER, "--handle", f"matrix:{BOT}")
        made.bb("chat", "arrange", ROOM, "--external", "--platform", "matrix")
        yield made


def event(name: str, **changes: Any) -> dict[str, Any]:
    """The recorded event of that name, as if it had been sent a minute ago."""
    text = (
        json.dumps(stored("matrix", name)["body"])
        .replace("@bo:example.org", BOT)
        .replace('"room": true', '"room": false')
    )
    found: dict[str, Any] = json.loads(text)
    return found | {"origin_server_ts": int(time.time() * 1000) - 60_000} | changes


def started(here: World, matrix: Matrix) -> None:
    """A bot that waits for what is said from now on."""
    here.start()
    until(lambda: len(matrix.called("sync")) > 1, "the first sync")


def heard(here: World, name: str) -> dict[str, Any]:
    return until(lambda: here.events().get(name), f"{name} in {here.events()}")


def test_the_program_is_short():
    assert len(program("matrix").splitlines()) < 120


def test_a_message_comes_in_and_is_answered_in_its_thread(here: World, matrix: Matrix):
    matrix.say(event("message", event_id="$before"))
    started(here, matrix)

    matrix.say(event("message"))
    heard(here, FIRST)
    here.answer("It is on.", FIRST, "k")
    here.wait_until_posted()

    assert matrix.texts() == [f"{OTTER}: It is on."]
    relation = matrix.stream[-1]["content"]["m.relates_to"]
    assert (relation["rel_type"], relation["event_id"]) == ("m.thread", "$one")
    assert f"matrix:{ROOM}:$before" not in here.events()


def test_edits_threads_reactions_typing_and_redactions_of_people_come_in(here: World, matrix: Matrix):
    started(here, matrix)

    for name in ("message", "message-edited", "message-in-a-thread", "reaction"):
        matrix.say(event(name))
    matrix.typing[ROOM] = [ADA]
    heard(here, f"matrix:{ROOM}:$three")
    shown = here.bb("chat", "show", f"matrix:{ROOM}:$three", "--agent", OTTER)
    assert shown["conversation"]["threadId"] == "$one"
    matrix.say(event("redaction"))

    until(lambda: heard(here, FIRST).get("deleted"), "the redaction")


def test_what_the_agent_does_is_done_in_matrix(here: World, matrix: Matrix):
    started(here, matrix)
    matrix.say(event("message"))
    heard(here, FIRST)

    here.bb("chat", "react", FIRST, "--agent", OTTER, "--signal", "seen")
    said = here.say("Wait.", ROOM, "k")
    here.wait_until_posted()
    (reaction,) = [each for each in matrix.stream if each["type"] == "m.reaction"]
    assert reaction["content"]["m.relates_to"] == {"rel_type": "m.annotation", "event_id": "$one", "key": "👀"}
    assert matrix.texts() == [f"{OTTER}: Wait."]

    here.bb("chat", "react", FIRST, "--agent", OTTER, "--signal", "seen", "--remove")
    here.bb("chat", "cancel", said, "--agent", OTTER, "--reason", "wrong")
    here.wait_until_posted()
    redacted = [each["redacts"] for each in matrix.stream if each["type"] == "m.room.redaction"]
    assert reaction["event_id"] in redacted
    assert matrix.texts() == []


def test_an_invitation_from_its_own_server_is_accepted_and_its_room_is_known_as_direct(here: World, matrix: Matrix):
    started(here, matrix)
    invite = {"type": "m.room.member", "state_key": BOT, "content": {"membership": "invite", "is_direct": True}}
    matrix.invites["!stranger:elsewhere.org"] = invite | {"sender": "@eve:elsewhere.org"}
    matrix.invites["!ada:example.org"] = invite | {"sender": ADA}
    until(lambda: matrix.called("join"), "the acceptance")

    matrix.say(event("message", room_id="!ada:example.org"))
    row = heard(here, "matrix:!ada:example.org:$one")

    assert [about["at"] for about in matrix.called("join")] == [["!ada:example.org"]]
    assert row["directedness"] == "to_me"


def test_a_private_room_is_seen_by_the_agent_of_the_bot_until_it_is_thrown_out(here: World, matrix: Matrix):
    matrix.rules["!secret:example.org"] = "invite"
    started(here, matrix)
    matrix.say(event("message", room_id="!secret:example.org"))
    heard(here, "matrix:!secret:example.org:$one")
    assert here.bb("chat", "arrange", "!secret:example.org")["is_private"] is True

    gone = event(
        "member", room_id="!secret:example.org", event_id="$gone", state_key=BOT, content={"membership": "ban"}
    )
    matrix.say(gone)

    until(lambda: "matrix:!secret:example.org:$one" not in here.events(), "the end of the membership")


def test_a_private_answer_in_a_room_goes_to_its_author_alone(here: World, matrix: Matrix):
    started(here, matrix)
    matrix.say(event("message"))
    heard(here, FIRST)

    for key in ("1", "2"):
        here.answer(f"Secret {key}.", FIRST, key, "dm", *(["--followup"] if key == "2" else []))
    here.wait_until_posted()

    (created,) = matrix.called("create")
    assert created["body"]["invite"] == [matrix.stream[0]["sender"]]
    assert matrix.texts("!dm-ada-example.org:example.org") == [f"{OTTER}: Secret 1.", f"{OTTER}: Secret 2."]
    assert matrix.texts() == []


def test_its_own_messages_do_not_come_back(here: World, matrix: Matrix):
    started(here, matrix)
    here.say("Good morning.", ROOM, "k")
    here.wait_until_posted()
    matrix.say(event("message"))
    heard(here, FIRST)

    assert [name for name in here.events() if "$own" in name] == []


def test_all_that_was_said_while_the_bot_was_away_comes_in_when_it_is_back(here: World, matrix: Matrix):
    matrix.most = 3
    started(here, matrix)
    here.kill()
    for number in range(10):
        matrix.say(event("message", event_id=f"$away{number}"))

    here.start()
    heard(here, f"matrix:{ROOM}:$away9")

    assert list(here.events()) == [f"matrix:{ROOM}:$away{number}" for number in reversed(range(10))]


def test_limits_failures_and_lost_answers_neither_lose_nor_repeat_a_message_nor_change_their_order(
    here: World, matrix: Matrix
):
    for text in ("One.", "Two.", "Three.", "Four."):
        here.say(text, ROOM, text)
    matrix.fail("send", too_many(0.1), None, broken, None, reset)
    matrix.fail("send", reset, None, broken, after=True)

    here.start()
    here.wait_until_posted()

    assert matrix.texts() == [f"{OTTER}: {text}" for text in ("One.", "Two.", "Three.", "Four.")]


def test_what_matrix_refuses_for_good_goes_back_to_its_agent(here: World):
    here.bb("chat", "arrange", "!gone:example.org", "--external", "--platform", "matrix")
    said = here.say("Anybody?", "!gone:example.org", "k")

    here.start()
    here.wait_until_posted()

    assert [knock["eventId"] for knock in here.bb("chat", "knocks", "--agent", OTTER)["knocks"]] == [f"failed:{said}"]


@pytest.mark.parametrize("step", STEPS)
def test_a_bot_that_is_killed_at_any_step_posts_everything_once(here: World, matrix: Matrix, step: str):
    here.say("One.", ROOM, "1")
    here.say("Two.", ROOM, "2")
    when, _, what = step.partition(" ")
    if what == "post":
        matrix.fail("send", kill(here.kill), after=when == "after")
    here.start(step).wait()

    here.start()
    here.wait_until_posted()

    assert matrix.texts() == [f"{OTTER}: One.", f"{OTTER}: Two."]


@pytest.mark.parametrize("step", ["before ingest", "after ingest"])
def test_a_bot_that_is_killed_while_it_takes_events_in_takes_each_in_once(here: World, matrix: Matrix, step: str):
    (here.repo.path / ".git" / "matrix-bridge").write_text(json.dumps({"since": "s0", "direct": {}}))
    matrix.say(event("message"))
    matrix.say(event("message", event_id="$two"))
    here.start(step).wait()

    here.start()
    heard(here, f"matrix:{ROOM}:$two")

    assert list(here.events()) == [f"matrix:{ROOM}:$two", FIRST]
