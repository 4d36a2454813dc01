"""A hub behind a real sshd: a sync works as over any other transport, and each refusal has its code and ssh's words."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stories.travel import ssh_hub
from tests.stories.travel.ssh_hub import SshHub, served
from tests.stories.travel.travel_support import AMBER, Clone, clone, hub

IS_NEEDED = bool(os.environ.get("BB_TESTS_NEED_SSHD"))  # as in CI, which installs one
pytestmark = pytest.mark.skipif(not (ssh_hub.SSHD or IS_NEEDED), reason="no sshd on this machine")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHub]:
    with served(tmp_path_factory.mktemp("keys")) as serving:
        yield serving


@pytest.fixture
def ssh(server: SshHub) -> SshHub:
    server.trust("host")
    return server


@pytest.fixture
def here(ssh: SshHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    """A clone that has published over ssh, and has something more to say."""
    made = clone(hub(tmp_path / "hub.git"), "here")
    made.git("remote", "set-url", "origin", ssh.address(tmp_path / "hub.git"))
    monkeypatch.setenv("GIT_SSH_COMMAND", ssh.by("writer"))
    made.ask("agent.register", name=AMBER, role="builder")
    made.sync(publish=True)
    made.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    return made


def test_a_sync_publishes_and_another_clone_reads_it(
    ssh: SshHub, here: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert here.sync()["went"] == 1

    there = clone(tmp_path / "hub.git", "there")
    there.git("remote", "set-url", "origin", ssh.address(tmp_path / "hub.git"))
    monkeypatch.setenv("GIT_SSH_COMMAND", ssh.by("reader"))
    there.sync(pull=True)

    assert there.holds() == here.holds() != set()
    assert there.ask("ledger.arbiter")["arbiter"] == here.ask("ledger.arbiter")["arbiter"]


@pytest.mark.parametrize(
    ("key", "host", "code", "words"),
    [
        ("stranger", "host", "NOT_AUTHENTICATED", "Permission denied (publickey)"),
        ("reader", "host", "PUSH_DENIED", "FATAL: W app reader DENIED by the rules"),
        ("writer", "", "HOST_NOT_TRUSTED", "Host key verification failed."),
        ("writer", "other-host", "HOST_NOT_TRUSTED", "Host key verification failed."),
    ],
)
def test_a_refusal_has_its_code_and_the_words_that_ssh_printed(
    ssh: SshHub, here: Clone, monkeypatch: pytest.MonkeyPatch, key: str, host: str, code: str, words: str
):
    ssh.trust(host)
    monkeypatch.setenv("GIT_SSH_COMMAND", ssh.by(key))
    before = here.holds()

    refusal = here.refused("sync")

    assert refusal.code == code, refusal.message
    assert words in refusal.message
    assert here.holds() == before
    ssh.trust("host")
    monkeypatch.setenv("GIT_SSH_COMMAND", ssh.by("writer"))
    assert here.sync()["went"] == 1
