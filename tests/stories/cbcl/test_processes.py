"""Several processes hear at once, and some are killed: a message is heard once, and whole or not at all."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.near import Near
from tests.stories.cbcl.cbcl_support import AMBER, COBALT, at_noon, hear, log, pending, say, texts
from tests.stories.races.races_support import crew
from tests.support import environment

COUNT = 12


@pytest.fixture
def repo(tmp_path: Path) -> Near:
    """Where COBALT has much to hear, each of which is to be answered."""
    made = at_noon(tmp_path / "repo", AMBER, COBALT)
    for n in range(COUNT):
        say(made, AMBER, f"(meta (query (speak? d-{n})))", "--to", COBALT)
    return made


def assert_each_was_heard_once(repo: Near) -> None:
    heard = [each["data"]["event_id"] for each in log(repo, "x.bb.cbcl.heard")]
    assert len(heard) == len(set(heard)) == COUNT
    assert len(texts(repo, AMBER)) == COUNT
    assert hear(repo, COBALT) == []


def test_two_that_hear_at_once_hear_each_message_once(repo: Near):
    with crew(repo.path) as hired:
        workers = hired.hire(COBALT, COBALT, COBALT)
        answers = hired.race("cbcl.hear", [(one, {"agent": COBALT}) for one in workers])

    assert [answer.code for answer in answers] == [None] * 3
    told = [each["event_id"] for answer in answers for each in answer.data["heard"]]
    assert len(told) == len(set(told)) == COUNT
    assert_each_was_heard_once(repo)


def test_who_says_and_who_hears_at_once_disturb_nobody(repo: Near):
    with crew(repo.path) as hired:
        one, other = hired.hire(AMBER, COBALT)
        said = f"(ask @{COBALT} (x))"
        answers = hired.race_of(
            [
                (one, "cbcl.send", {"message": said, "agent": AMBER}),
                (other, "cbcl.send", {"message": f"(hello @{AMBER})", "agent": COBALT}),
            ]
        )
    assert [answer.code for answer in answers] == [None, None]
    for agent in (COBALT, AMBER, COBALT, AMBER):
        hear(repo, agent)
    assert (len(pending(repo, AMBER)[0]), len(pending(repo, COBALT)[1])) == (1, 1)


def test_who_is_killed_while_hearing_has_heard_a_message_whole_or_not_at_all(repo: Near):
    chance = random.Random(7)
    for _ in range(6):
        child = subprocess.Popen(
            [sys.executable, "-m", "bb", "cbcl", "hear", "--agent", COBALT],
            cwd=repo.path,
            env=environment(**repo.settings),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        before = repo.journal().stat().st_size
        while child.poll() is None and repo.journal().stat().st_size == before:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.004)
        child.kill()
        child.wait()
        heard = [each["data"]["event_id"] for each in log(repo, "x.bb.cbcl.heard")]
        answered = [each["data"].get("reply_to") for each in log(repo, "chat.message") if each["by"] == COBALT]
        assert sorted(heard) == sorted(answered)

    hear(repo, COBALT)
    assert_each_was_heard_once(repo)
    assert repo.bb("ledger", "verify").status == 0
