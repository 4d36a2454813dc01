"""A remote that refuses: real git against a real server says why, by a code of its own, and nothing is lost."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stories.travel.http_hub import HttpHub, served
from tests.stories.travel.travel_support import AMBER, Clone, clone, hub


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    return hub(tmp_path / "hub.git")


@pytest.fixture
def here(origin: Path) -> Clone:
    """A clone that has published, and has something more to say."""
    made = clone(origin, "here")
    made.ask("agent.register", name=AMBER, role="builder")
    made.sync(publish=True)
    made.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    return made


@pytest.fixture
def http(origin: Path, here: Clone) -> Iterator[HttpHub]:
    with served(origin) as serving:
        here.git("remote", "set-url", "origin", serving.address())
        here.settings["no_proxy"] = "127.0.0.1"
        yield serving


def refused(here: Clone, code: str, words: str = "", **how: object) -> None:
    """A sync is refused with this code, with the next command, and everything stays here."""
    before = here.holds()
    refusal = here.refused("sync", **how)
    assert refusal.code == code, refusal.message
    assert words in refusal.message
    assert "`" in (refusal.hint or "")
    assert here.holds() == before


def test_over_http_all_is_well(http: HttpHub, here: Clone):
    assert here.sync()["went"] == 1


@pytest.mark.parametrize(
    ("service", "status", "code"),
    [
        ("", 401, "NOT_AUTHENTICATED"),
        ("", 403, "PUSH_DENIED"),
        ("", 404, "REMOTE_NOT_FOUND"),
        ("", 500, "OFFLINE"),
        ("", 503, "OFFLINE"),
        ("", 429, "OFFLINE"),
        ("receive", 401, "NOT_AUTHENTICATED"),
        ("receive", 403, "PUSH_DENIED"),
        ("receive", 507, "HUB_FULL"),
        ("receive POST", 413, "PUSH_TOO_LARGE"),
        ("receive POST", 507, "HUB_FULL"),
        ("receive POST", 403, "PUSH_DENIED"),
    ],
)
def test_a_status_of_http_is_told_by_its_code(http: HttpHub, here: Clone, service: str, status: int, code: str):
    http.when[service] = (status, "no")

    refused(here, code, timeout=20)

    http.when.clear()
    assert here.sync()["went"] == 1, "afterwards everything goes"


def test_who_may_not_even_read_is_told_that(http: HttpHub, here: Clone):
    http.when[""] = (403, "no")

    refused(here, "ACCESS_DENIED", pull=True)


def test_a_wrong_password_is_not_shown(http: HttpHub, here: Clone):
    here.git("remote", "set-url", "origin", http.address("ada:secret@"))
    http.when[""] = (401, "no")

    refusal = here.refused("sync")

    assert refusal.code == "NOT_AUTHENTICATED"
    assert "secret" not in refusal.message + str(refusal.details)


def say(origin: Path, *lines: str) -> None:
    hook = origin / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ncat >&2 <<'END'\n" + "\n".join(lines) + "\nEND\nexit 1\n")
    hook.chmod(0o755)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("BRANCH_PROTECTED", "error: GH006: Protected branch update failed for refs/heads/bb-ledger."),
        ("BRANCH_PROTECTED", "GitLab: You are not allowed to push code to protected branches on this project."),
        ("BRANCH_PROTECTED", "Gitea: Not allowed to push to protected branch bb-ledger"),
        ("AUTHOR_REFUSED", "GitLab: Author 'ada@example.org' is not a member of team"),
        (
            "SIGNATURE_REQUIRED",
            "error: GH013: Repository rule violations found. - Commits must have verified signatures.",
        ),
        (
            "HUB_FULL",
            "GitLab: Your push has been rejected, because this repository has exceeded its size limit of 1 MB",
        ),
        ("HOOK_DECLINED", "Every commit needs the number of a ticket."),
        ("HOOK_DECLINED", "This already exists, fetch first"),
    ],
)
def test_what_the_hosts_hook_says_is_shown_with_its_code(
    http: HttpHub, origin: Path, here: Clone, code: str, words: str
):
    say(origin, words)
    for address in (http.address(), str(origin)):
        here.git("remote", "set-url", "origin", address)
        refused(here, code, words.removeprefix("error: "))

    (origin / "hooks" / "pre-receive").unlink()
    assert here.sync()["went"] == 1


def test_a_bundle_can_be_read_and_not_pushed_to(origin: Path, here: Clone, tmp_path: Path):
    bundle = tmp_path / "all.bundle"
    subprocess.run(["git", "-C", str(origin), "bundle", "create", "-q", str(bundle), "--all"], check=True)
    here.git("remote", "set-url", "origin", str(bundle))

    refused(here, "REMOTE_IS_BUNDLE")
    assert here.sync(pull=True)["came"] == 0
    assert "bb sync --pull" in str(here.refused("sync").hint)


@pytest.mark.parametrize(
    "address", ["https://no-such-host.invalid/x.git", "ssh://no-such-host.invalid/x.git", "git@no-such-host.invalid:x"]
)
def test_a_host_that_has_no_address_is_unknown(here: Clone, address: str):
    here.git("remote", "set-url", "origin", address)

    refused(here, "HOST_UNKNOWN")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("HOST_NOT_TRUSTED", "Host key verification failed."),
        ("NOT_AUTHENTICATED", "git@127.0.0.1: Permission denied (publickey)."),
        ("REMOTE_NOT_FOUND", "ERROR: Repository not found."),
        ("OFFLINE", "ssh: connect to host 127.0.0.1 port 22: Connection refused"),
    ],
)
def test_what_ssh_says_is_told_by_its_code(here: Clone, tmp_path: Path, code: str, words: str):
    ssh = tmp_path / "ssh"
    ssh.write_text(f"#!/bin/sh\necho '{words}' >&2\nexit 255\n")
    ssh.chmod(0o755)
    here.git("config", "core.sshCommand", str(ssh))
    here.git("remote", "set-url", "origin", "git@127.0.0.1:x.git")

    refused(here, code)
