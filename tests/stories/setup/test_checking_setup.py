"""`bb setup --check` and `bb doctor` prove that hooks refuse, and leave nothing behind."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from bb.ledger.wiring import git_hooks
from tests.near import Near
from tests.stories.setup.setup_support import empty, plain_path, to_the_byte, write
from tests.support import NOON, ROOT

HOSTS = ["claude", "codex", "gemini", "opencode", "cursor", "vscode"]
HOOKED = [f"hooks-{host}" for host in HOSTS]
SERVERS = [f"mcp-{host}" for host in HOSTS]


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Near:
    """A repository of all hosts, with this bb as `bb` on the PATH and in git's hooks."""
    made = empty(tmp_path / "repo")
    launcher(made, "bb")
    monkeypatch.setattr(git_hooks, "_launcher", lambda: [f"{plain_path(tmp_path)}/bb"])
    write(made, "CLAUDE.md", "Use tabs.\n")
    write(made, ".codex/notes", "")
    write(made, "GEMINI.md", "Use tabs.\n")
    for name in (".opencode", ".cursor", ".vscode"):
        (made.path / name).mkdir()
    made.settings["TMPDIR"] = str(tmp_path / "scratch")
    (tmp_path / "scratch").mkdir()
    return made


def launcher(repo: Near, name: str) -> None:
    """A program that starts the bb of this checkout."""
    path = Path(plain_path(repo.path.parent)) / name
    path.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -P -m bb "$@"\n')
    path.chmod(0o755)


def checked(repo: Near, *words: str) -> tuple[int, dict[str, dict[str, str]]]:
    """The exit status and the rows of `bb setup --check`."""
    ran = repo.json("setup", "--check", *words)
    report = ran.envelope["data"] or ran.envelope["error"]["details"]
    return ran.status, {row["part"]: row for row in report["checked"]}


def test_every_hook_and_server_is_proved_and_nothing_is_left_behind(repo: Near, tmp_path: Path):
    repo.bb("setup", "--yes")
    before = to_the_byte(repo.path)

    status, rows = checked(repo)

    proved = {part for part, row in rows.items() if row["state"] == "proved"}
    assert proved == {"git-hooks", *HOOKED, *SERVERS}, rows
    assert {rows[part]["state"] for part in ("ledger", "skill")} == {"in place"}
    assert status == 0
    assert to_the_byte(repo.path) == before
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_hook_that_lets_everything_pass_is_not_proved(repo: Near):
    repo.bb("setup", "--yes", "--only", "hooks-claude")
    path = Path(plain_path(repo.path.parent)) / "bb"
    path.write_text("#!/bin/sh\n# -m bb\nexit 0\n")

    status, rows = checked(repo, "--only", "hooks-claude")

    assert (status, rows["hooks-claude"]["state"]) == (4, "not proved")
    assert rows["hooks-claude"]["why"] == "it let an edit of a held file pass"


def test_a_program_that_does_not_start_is_found_out(repo: Near):
    repo.bb("setup", "--yes", "--only", "codex")
    path = Path(plain_path(repo.path.parent)) / "bb"
    path.write_text("#!/no/such/interpreter -m bb\n")

    status, rows = checked(repo, "--only", "hooks-codex")

    assert (status, rows["hooks-codex"]["state"]) == (4, "not proved")
    assert "the host's shell cannot start it" in rows["hooks-codex"]["why"]


def test_a_program_by_its_absolute_path_is_proved(repo: Near):
    program = Path(plain_path(repo.path.parent)) / "bb"
    repo.bb("hooks", "install", "--editor", "codex", "--program", str(program))

    assert checked(repo, "--only", "hooks-codex")[1]["hooks-codex"]["state"] == "proved"


def test_personal_hooks_are_tried_where_the_shared_settings_have_comments(repo: Near):
    repo.bb("hooks", "install", "--editor", "claude", "--local", "--agent", "amber-otter")
    write(repo, ".claude/settings.json", "{} // mine\n")

    row = checked(repo, "--only", "hooks-claude")[1]["hooks-claude"]

    assert (row["state"], row["where"].endswith("settings.local.json")) == ("proved", True)


@pytest.mark.parametrize("line", ["touch MARK; bb hook pre-tool --host claude", "./evil hook pre-tool --host claude"])
def test_a_command_that_bb_did_not_write_is_never_run(repo: Near, tmp_path: Path, line: str):
    repo.bb("setup", "--yes", "--only", "hooks-claude")
    write(repo, "evil", f"#!/bin/sh\n# -m bb\ntouch {tmp_path / 'mark'}\n")
    (repo.path / "evil").chmod(0o755)
    settings = repo.path / ".claude" / "settings.json"
    written = "bb hook pre-tool --host claude --auto-reserve"
    settings.write_text(settings.read_text().replace(written, line.replace("MARK", str(tmp_path / "mark"))))

    for verb in (("setup", "--check"), ("doctor",)):
        ran = repo.bb(*verb)
        assert ran.status == 4
        assert "it was not run" in ran.out
    assert not (tmp_path / "mark").exists()


def test_a_server_that_bb_did_not_configure_is_never_started(repo: Near, tmp_path: Path):
    entry = {"command": "sh", "args": ["-c", f"touch {tmp_path / 'mark'}"]}
    write(repo, ".mcp.json", json.dumps({"mcpServers": {"bb": entry}}))

    status, rows = checked(repo, "--only", "mcp-claude")

    assert (status, rows["mcp-claude"]["state"]) == (4, "not proved")
    assert not (tmp_path / "mark").exists()


def test_a_hook_of_git_that_git_skips_is_not_proved(repo: Near):
    repo.bb("setup", "--yes", "--only", "git-hooks")
    assert checked(repo, "--only", "git-hooks")[1]["git-hooks"]["state"] == "proved"
    (repo.path / ".git" / "hooks" / "pre-commit").chmod(0o644)

    status, rows = checked(repo, "--only", "git-hooks")

    assert (status, rows["git-hooks"]["state"]) == (4, "not proved")
    assert "not executable" in rows["git-hooks"]["why"]


def test_what_is_missing_fails_a_check_that_names_it(repo: Near):
    repo.bb("setup", "--yes", "--only", "hooks-claude")

    status, rows = checked(repo)
    assert (status, rows["git-hooks"]["state"], rows["git-hooks"]["mend"]) == (
        0,
        "not installed",
        "bb setup --only git-hooks",
    )
    assert checked(repo, "--only", "git-hooks")[0] == 4


def test_where_nothing_is_installed_the_check_fails(repo: Near):
    ran = repo.bb("setup", "--check")

    assert (ran.status, "SETUP_UNPROVED" in ran.err) == (4, True)


def test_doctor_has_a_check_for_each_installed_hook(repo: Near):
    names = {check["name"] for check in repo.json("doctor").data["checks"]}
    assert not {"git-hooks", *HOOKED} & names

    repo.bb("setup", "--yes", "--only", "ledger", "--only", "git-hooks", "--only", "hooks")
    found = {check["name"]: check["state"] for check in repo.json("doctor").data["checks"]}

    assert found["git-hooks"] == "good"
    assert {found[name] for name in HOOKED} == {"odd"}, "they refuse, but no host has called them yet"


def test_the_last_real_call_of_a_hook_is_shown(repo: Near):
    repo.bb("setup", "--yes")
    before = checked(repo, "--only", "hooks-codex")[1]["hooks-codex"]
    assert before["last_call"] is None, "a trial is no call of the host"
    assert "never called: review them in Codex: /hooks" in before["note"]

    said = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "session_id": "s-1"}
    repo.bb("hook", "pre-tool", "--host", "codex", stdin=json.dumps(said | {"cwd": str(repo.path)}))

    os.utime(repo.path / ".codex" / "hooks.json", (0, 0))  # the hooks are older than the call

    after = checked(repo, "--only", "hooks-codex")[1]["hooks-codex"]
    assert (after["last_call"], after["note"]) == (NOON, None)
    assert f"last called {NOON}" in repo.bb("setup", "--check").out


def test_doctor_runs_no_command_of_another_users_repository(repo: Near):
    repo.bb("setup", "--yes")

    report = repo.json("doctor", GIT_TEST_ASSUME_DIFFERENT_OWNER="1").data

    assert not {"git-hooks", *HOOKED} & {check["name"] for check in report["checks"]}
