"""The commits of the ledger have the user as author and bb as committer, and are signed if git is told to sign."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.stories.travel.travel_support import AMBER, Clone, clone, hub

BB = "bb <bb@localhost>"
FORM = "--format=%an <%ae>|%cn <%ce>"


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    return hub(tmp_path / "hub.git")


@pytest.fixture
def here(origin: Path) -> Clone:
    made = clone(origin, "here")
    made.git("config", "user.name", "Ada Lovelace")
    made.git("config", "user.email", "ada@example.org")
    made.ask("agent.register", name=AMBER, role="builder")
    return made


def who(here: Clone) -> str:
    """The author and the committer of the last published commit."""
    return here.git("log", "-1", FORM, "refs/bb/ledger").strip()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, f"Ada Lovelace <ada@example.org>|{BB}"),
        ({"bb.author": "Team <team@example.org>"}, f"Team <team@example.org>|{BB}"),
        ({"bb.author": "bb"}, f"{BB}|{BB}"),
        ({"bb.committer": "author"}, "Ada Lovelace <ada@example.org>|Ada Lovelace <ada@example.org>"),
        ({"bb.committer": "Bot <bot@example.org>"}, "Ada Lovelace <ada@example.org>|Bot <bot@example.org>"),
        ({"author.name": "A. L.", "author.email": "al@x.org"}, f"A. L <al@x.org>|{BB}"),
        ({"user.email": ""}, f"{BB}|{BB}"),
        ({"user.name": "Ada\nInjected <x@y>"}, f"AdaInjected x@y <ada@example.org>|{BB}"),
    ],
)
def test_the_author_is_who_git_says_and_can_be_set(here: Clone, settings: dict[str, str], expected: str):
    for name, value in settings.items():
        here.git("config", name, value)

    here.sync(publish=True)

    assert who(here) == expected


def test_a_setting_that_is_no_identity_is_refused_before_anything_is_made(here: Clone):
    here.git("config", "bb.author", "Ada")

    refusal = here.refused("sync", publish=True)

    assert refusal.code == "IDENTITY_INVALID"
    assert "git config" in str(refusal.hint)
    here.git("config", "--unset", "bb.author")
    assert here.sync(publish=True)["went"] >= 1


def test_a_rule_of_the_host_is_met_by_the_settings_that_the_hint_names(origin: Path, here: Clone):
    hook = origin / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        "#!/bin/sh\nwhile read old new ref; do\n"
        'git log --format="%ae %ce" "$new" | grep -qv "@example.org .*@example.org" || continue\n'
        "echo \"GitLab: Committer's email 'bb@localhost' does not follow the pattern '@example.org$'\"; exit 1\ndone\n"
    )
    hook.chmod(0o755)

    refusal = here.refused("sync", publish=True)
    assert refusal.code == "AUTHOR_REFUSED"
    assert "bb.committer" in str(refusal.hint)

    here.git("config", "bb.committer", "author")
    assert here.sync(publish=True)["went"] >= 1
    assert who(here) == "Ada Lovelace <ada@example.org>|Ada Lovelace <ada@example.org>"


def signing_with_ssh(here: Clone, folder: Path) -> None:
    """git signs commits with a new ssh key, and trusts it."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")], check=True)
    (folder / "allowed").write_text(f"ada@example.org {(folder / 'key.pub').read_text()}")
    for name, value in {
        "gpg.format": "ssh",
        "user.signingKey": str(folder / "key.pub"),
        "gpg.ssh.allowedSignersFile": str(folder / "allowed"),
        "commit.gpgsign": "true",
    }.items():
        here.git("config", name, value)


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
def test_git_signs_when_it_is_told_to_sign(origin: Path, here: Clone, tmp_path: Path):
    signing_with_ssh(here, tmp_path)

    here.sync(publish=True)
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    assert here.sync()["went"] == 1

    assert here.git("log", "--format=%G?", "refs/bb/ledger").split() == ["G", "G"]
    other = clone(origin, "other")
    assert other.sync(pull=True)["came"] >= 2, "other clones accept it"

    here.git("config", "bb.sign", "false")
    here.ask("agent.reserve", agent=AMBER, scope=["docs"], bead="bb-1")
    here.sync()
    assert here.git("log", "-1", "--format=%G?", "refs/bb/ledger").strip() == "U", "by bb's own key"


@pytest.mark.skipif(shutil.which("gpg") is None, reason="needs gpg")
def test_git_signs_with_openpgp_too(here: Clone, tmp_path: Path):
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)
    made = ["gpg", "--batch", "--homedir", str(home), "--passphrase", "", "--quick-gen-key", "ada@example.org"]
    subprocess.run([*made, "ed25519", "sign", "never"], check=True, capture_output=True)
    program = tmp_path / "gpg"
    program.write_text(f'#!/bin/sh\nexec gpg --homedir "{home}" "$@"\n')
    program.chmod(0o755)
    for name, value in {
        "gpg.program": str(program),
        "user.signingKey": "ada@example.org",
        "commit.gpgsign": "true",
    }.items():
        here.git("config", name, value)

    here.sync(publish=True)

    assert "BEGIN PGP SIGNATURE" in here.git("cat-file", "commit", "refs/bb/ledger")
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False)


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
def test_without_the_key_nothing_is_published_unsigned(here: Clone, tmp_path: Path):
    signing_with_ssh(here, tmp_path)
    here.sync(publish=True)
    before = here.tip
    (tmp_path / "key").unlink()
    (tmp_path / "key.pub").unlink()
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")

    refusal = here.refused("sync")

    assert refusal.code == "GIT_SIGNING_FAILED"
    assert "git config bb.sign false" in str(refusal.hint)
    assert here.tip == before
    here.git("config", "bb.sign", "false")
    assert here.sync()["went"] == 1
