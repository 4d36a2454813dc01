"""A text that looks like a secret is refused with a way on that can be gone (decision 35)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.near import Near, near
from tests.support import NOON

SECRET = "ghp_" + "aZ09" * 9
VOUCHED = ["--allow-secret", "an example of the manual"]
MAIL = ["agent", "send", "--bead", "b", "--category", "INFO", "--subject", "s"]
AMBER, COBALT = "amber-otter", "cobalt-harbor"


@pytest.fixture
def repo(tmp_path: Path) -> Near:
    made = near(tmp_path / "repo", BB_NOW=NOON)
    for agent in (AMBER, COBALT):
        assert made.bb("agent", "register", "--name", agent, "--role", "builder").status == 0
    return made


@pytest.mark.parametrize(
    "words",
    [
        [*MAIL, "--from", AMBER, "--to", COBALT, "--body", SECRET],
        ["chat", "send", SECRET, "--by", AMBER],
    ],
    ids=["mail", "chat"],
)
def test_where_somebody_can_vouch_for_it_the_hint_says_so_and_leads_on(repo: Near, words: list[str]):
    refused = repo.json(*words)

    assert refused.code == "SECRET_FOUND"
    assert "--allow-secret" in refused.envelope["error"]["hint"]
    assert repo.bb(*words, *VOUCHED).status == 0


def test_where_nobody_can_the_hint_does_not_say_so(repo: Near):
    words = ["actor", "add", "peer-1", "--title", SECRET, "--runtime", "custom", "--command", "true"]
    refused = repo.json(*words)

    assert refused.code == "SECRET_FOUND"
    assert "--allow-secret" not in refused.envelope["error"]["hint"]
    assert repo.bb(*words, *VOUCHED).status == 2
