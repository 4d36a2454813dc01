"""Waiting for mail is something an agent in service does, and a sign of life."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.agents.agents_support import OTTER, after, crew
from tests.support import Scratch


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    return crew(tmp_path / "repo", OTTER)


def test_a_retired_agent_does_not_wait_for_mail(repo: Scratch):
    repo.json("agent", "retire", "--agent", OTTER)

    assert repo.json("agent", "wait", "--agent", OTTER, "--timeout", "0").code == "AGENT_RETIRED"


def test_waiting_counts_as_a_sign_of_life_as_its_help_says(repo: Scratch):
    later = after(repo, 10)

    later.json("agent", "wait", "--agent", OTTER, "--timeout", "0")

    assert later.json("agent", "show", "--agent", OTTER).data["last_seen_at"] == later.settings["BB_NOW"]
