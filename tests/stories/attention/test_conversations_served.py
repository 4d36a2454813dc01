"""Some of the conversations, played through a running `bb chat serve`: its agents do what they do with the rules alone.

`scripts/bench --part attention` plays all of them in this way.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bb.attention.rehearsal.replay import START
from scripts.conversations.in_memory import InMemory
from scripts.conversations.judge import judge
from scripts.conversations.models import MODELS
from scripts.conversations.script import read
from scripts.conversations.served import Served
from scripts.conversations.stage import Host, Stage
from tests.attention.test_conversations import FOLDER
from tests.support import scratch

BB = [sys.executable, "-m", "bb"]
CHOSEN = (
    "slack/yes-to-the-agents-question",
    "slack/alert-that-names-an-agent",
    "slack/standing-question-is-escalated",
    "discord/role-mention",
    "discord/reply-chain",
    "matrix/thread",
    "github/assignment",
)
PAUSE = 3_600_000


def outcomes(name: str, model: str, host: Host, start: int = START) -> tuple[list[tuple[str, str, str]], int]:
    played = Stage(read(FOLDER / f"{name}.toml"), host, MODELS[model](), start).play()
    return [(row.message, row.agent, row.got) for row in judge(played)], played.now


@pytest.mark.parametrize("model", MODELS)
def test_a_running_server_lets_agents_do_what_the_rules_let_them_do(tmp_path: Path, model: str):
    repo = scratch(tmp_path / "repo")

    with Served(str(repo.path), BB, START) as host:
        now = START
        for name in CHOSEN:
            served, now = outcomes(name, model, host, now)
            assert (name, served) == (name, outcomes(name, model, InMemory())[0])
            now += PAUSE
