"""The bot of docs/bridges/github.md, between a real ledger and a fake GitHub."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from tests.stories.bridges.bot import OTTER, STEPS, World, program, stored, world
from tests.stories.bridges.github_server import REPO, SECRET, GitHub, send
from tests.stories.bridges.platform import Reply, broken, kill, reset, too_many
from tests.waiting import until

COMMENT = f"github:{REPO}:comment:123"


@pytest.fixture
def github() -> Iterator[GitHub]:
    made = GitHub()
    yield made
    made.close()


@pytest.fixture
def here(tmp_path: Path, github: GitHub) -> Iterator[World]:
    settings = {"GITHUB_API_URL": github.url, "GITHUB_TOKEN": "ghp_1", "GITHUB_WEBHOOK_SECRET": SECRET}
    with world(tmp_path, "github", GITHUB_HOOKS=f"repos/{REPO}/hooks/1", **settings) as made:
        made.bb("chat", "bind", OTTER, "--handle", "github:bo-k")
        made.bb("chat", "arrange", REPO, "--external", "--platform", "github")
        yield made


def hook(name: str) -> dict[str, Any]:
    """The recorded webhook of that name, as if it had been sent now."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    text = json.dumps(stored("github", name))
    found: dict[str, Any] = json.loads(text.replace("2026-11-20T10:00:00Z", now).replace("2026-11-20T12:09:00Z", now))
    return found


def in_issue(here: World, text: str, number: str = "17") -> str:
    return here.say(text, REPO, text, "--thread", number)


def shown(text: str, said: str) -> str:
    return f"**{OTTER}**: {text}\n\n<!-- bb:{said} -->"


def test_the_program_is_short():
    assert len(program("github").splitlines()) < 120


def test_a_comment_comes_in_once_and_is_answered_in_its_issue(here: World, github: GitHub):
    here.start()

    assert [send(here.port, hook("comment-created")) for _ in "12"] == [200, 200]
    assert list(here.events()) == [COMMENT]
    said = here.answer("I look into it.", COMMENT, "k")
    here.wait_until_posted()

    assert github.texts(17) == [shown("I look into it.", said)]


def test_edits_and_deletions_come_in(here: World):
    here.start()

    assert [send(here.port, hook(f"comment-{what}")) for what in ("created", "edited", "deleted")] == [200] * 3

    assert here.events()[COMMENT]["deleted"] is True


def test_an_answer_in_a_review_stays_in_its_thread(here: World, github: GitHub):
    here.start()
    github.remember("pulls", 601)
    github.remember("pulls", 602, in_reply_to_id=601)
    assert send(here.port, hook("review-comment-answered")) == 200

    said = here.answer("So it is.", f"github:{REPO}:review_comment:602", "k")
    here.wait_until_posted()

    assert github.texts(18, "pulls") == [shown("So it is.", said)]
    assert github.comments[-1]["in_reply_to_id"] == 601


def test_what_the_agent_does_is_done_on_github(here: World, github: GitHub):
    here.start()
    send(here.port, hook("comment-created"))

    here.bb("chat", "react", COMMENT, "--agent", OTTER, "--signal", "seen")
    said = in_issue(here, "Wait.")
    here.wait_until_posted()
    assert list(github.reactions) == [("issues/comments/123", "eyes")]
    assert github.texts(17) == [shown("Wait.", said)]

    here.bb("chat", "react", COMMENT, "--agent", OTTER, "--signal", "seen", "--remove")
    here.bb("chat", "react", COMMENT, "--agent", OTTER, "--signal", "blocked")
    here.bb("chat", "cancel", said, "--agent", OTTER, "--reason", "wrong")
    here.wait_until_posted()
    assert github.reactions == {}
    assert github.texts(17) == []


def test_its_own_comments_do_not_come_back(here: World, github: GitHub):
    here.start()
    in_issue(here, "Good morning.")
    here.wait_until_posted()
    before = here.events()
    own = hook("comment-created")
    own["body"]["comment"] |= github.comments[0]

    assert send(here.port, own) == 200
    assert here.events() == before


def test_only_github_itself_is_believed(here: World):
    here.start()

    assert send(here.port, hook("comment-created"), secret="another") == 401
    assert send(here.port, {"headers": {"X-GitHub-Event": "issues"}, "body": {"action": "opened"}}) == 400
    assert here.events() == {}


def test_limits_failures_and_lost_answers_neither_lose_nor_repeat_a_message_nor_change_their_order(
    here: World, github: GitHub
):
    said = [in_issue(here, text) for text in ("One.", "Two.", "Three.", "Four.")]
    used_up = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()))}
    primary = Reply({"message": "API rate limit exceeded for user ID 1."}, 403, used_up)
    secondary = Reply({"message": "You have exceeded a secondary rate limit."}, 403, {"Retry-After": "0.1"})
    github.fail("post comment", too_many(0.1), None, lambda _: primary, None, lambda _: secondary, None, broken, reset)
    github.fail("post comment", None, reset, broken, after=True)

    here.start()
    here.wait_until_posted()

    assert github.texts(17) == [shown(*each) for each in zip(("One.", "Two.", "Three.", "Four."), said, strict=True)]


def test_a_lost_comment_is_found_among_many(here: World, github: GitHub):
    for number in range(250):
        github.remember("issues", number, body="Something.")
    said = in_issue(here, "One.")
    github.fail("post comment", reset, after=True)

    here.start()
    here.wait_until_posted()

    assert github.texts(17) == [shown("One.", said)]


@pytest.mark.parametrize("thread", ["404", ""])
def test_what_github_refuses_for_good_goes_back_to_its_agent(here: World, thread: str):
    said = here.say("Anybody?", REPO, "k", *(["--thread", thread] if thread else []))

    here.start()
    here.wait_until_posted()

    assert [knock["eventId"] for knock in here.bb("chat", "knocks", "--agent", OTTER)["knocks"]] == [f"failed:{said}"]


@pytest.mark.parametrize("step", STEPS)
def test_a_bot_that_is_killed_at_any_step_posts_everything_once(here: World, github: GitHub, step: str):
    said = [in_issue(here, text) for text in ("One.", "Two.")]
    when, _, what = step.partition(" ")
    if what == "post":
        github.fail("post comment", kill(here.kill), after=when == "after")
    here.start(step).wait()

    here.start()
    here.wait_until_posted()

    assert github.texts(17) == [shown("One.", said[0]), shown("Two.", said[1])]


def test_an_event_that_was_not_answered_is_asked_for_again_and_recorded_once(here: World, github: GitHub):
    first = here.start("after ingest")
    with pytest.raises((OSError, HTTPException)):
        send(here.port, hook("comment-created"))
    first.wait()
    github.deliveries = [
        {"id": 5, "guid": "e", "status_code": 0, "status": "failed to connect to host"},
        {"id": 4, "guid": "d", "status_code": 401, "status": "Unauthorized"},
        {"id": 3, "guid": "c", "status_code": 200, "status": "OK"},
        {"id": 2, "guid": "c", "status_code": 503, "status": "Service Unavailable"},
    ]

    here.start()
    until(lambda: github.sent_again, "the request for the lost delivery")
    assert send(here.port, hook("comment-created")) == 200
    assert list(here.events()) == [COMMENT]
    assert github.sent_again == [5]
