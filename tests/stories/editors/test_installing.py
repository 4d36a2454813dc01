"""An editor is told to call bb, and what it was told is taken back: its settings are somebody else's file."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from bb.coordination.wiring import editors
from tests.near import near
from tests.stories.agents.agents_support import HARBOR, OTTER, crew, reserve
from tests.stories.editors.editors_support import payload
from tests.support import Scratch, environment

FILES = {
    "claude": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "opencode": ".opencode/plugins/bb.js",
    "cursor": ".cursor/hooks.json",
    "vscode": ".github/hooks/bb.json",
    "qwen": ".qwen/settings.json",
}
MOMENTS = dict.fromkeys(FILES, 5) | {"claude": 7, "codex": 6, "gemini": 6, "qwen": 6, "vscode": 6}


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    return near(tmp_path / "repo")


@pytest.mark.parametrize("editor", FILES)
def test_installing_twice_changes_once_and_uninstalling_leaves_nothing(repo: Scratch, editor: str):
    file = repo.path / FILES[editor]
    would = repo.json("hooks", "install", "--editor", editor, "--dry-run").data
    assert (would["changed"], would["is_done"], file.parent.exists()) == (True, False, False)
    made = repo.json("hooks", "install", "--editor", editor).data
    before = file.read_bytes()

    again = repo.json("hooks", "install", "--editor", editor).data

    assert (made["changed"], again["changed"], made["path"]) == (True, False, str(file))
    assert file.read_bytes() == before
    (shown,) = [each for each in repo.json("hooks", "status").data["editors"] if each["moments"]]
    assert (shown["editor"], len(shown["moments"])) == (editor, MOMENTS[editor])
    assert repo.json("hooks", "uninstall", "--editor", editor, "--dry-run").data["changed"]
    assert file.read_bytes() == before
    assert repo.json("hooks", "uninstall", "--editor", editor).data["changed"]
    assert not (repo.path / FILES[editor].partition("/")[0]).exists()
    assert not repo.json("hooks", "uninstall", "--editor", editor).data["changed"]


def test_what_was_there_is_there_again_to_the_byte(repo: Scratch):
    file = repo.path / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_bytes(b'{\r\n\t"model" :  "x",\r\n\r\n\t"env": {"A":"\xc3\xbc"}\r\n}')
    file.chmod(0o600)
    before = file.read_bytes()

    repo.json("hooks", "install", "--editor", "claude", "--auto-reserve").data  # noqa: B018  (must succeed)
    assert json.loads(file.read_bytes())["model"] == "x"
    assert file.stat().st_mode & 0o777 == 0o600
    repo.json("hooks", "uninstall", "--editor", "claude").data  # noqa: B018

    assert file.read_bytes() == before


def test_one_persons_settings_are_a_file_of_their_own(repo: Scratch):
    repo.json("hooks", "install", "--editor", "claude", "--local").data  # noqa: B018

    assert sorted(file.name for file in (repo.path / ".claude").iterdir()) == ["settings.local.json"]
    assert repo.json("hooks", "uninstall", "--editor", "claude", "--local").data["changed"]


@pytest.mark.parametrize("octets", [b"// mine\n{}", b"\xff", b"[]", b'{"hooks": 3}', b'{"hooks": {"Stop": "x"}}'])
def test_settings_that_are_not_understood_stay_as_they_are(repo: Scratch, octets: bytes):
    file = repo.path / ".gemini" / "settings.json"
    file.parent.mkdir()
    file.write_bytes(octets)

    ran = repo.json("hooks", "install", "--editor", "gemini")

    assert (ran.status, ran.code) == (4, "SETTINGS_UNREADABLE")
    assert file.read_bytes() == octets


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--editor", "vim"], "INVALID_VALUE"),
        (["--agent", "amber-otter"], "EDITOR_NEEDED"),
        (["--editor", "claude", "--anywhere"], "EDITOR_NEEDED"),
        (["--editor", "claude", "--agent", "../x"], "INVALID_AGENT_ID"),
        (["--editor", "claude", "--bead", "a\nb"], "INVALID_ARGS"),
        (["--editor", "claude", "--program", " "], "INVALID_VALUE"),
    ],
)
def test_bad_input_writes_nothing(repo: Scratch, words: list[str], code: str):
    assert repo.json("hooks", "install", *words).code == code
    assert not (repo.path / ".claude").exists()


@pytest.mark.parametrize("editor", FILES)
def test_the_command_that_is_installed_is_one_that_refuses(tmp_path: Path, editor: str):
    repo = crew(tmp_path / "a repo", OTTER, HARBOR)
    reserve(repo, HARBOR, "src")
    program = tmp_path / "a folder" / "bb"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nexec python3 -m bb "$@"\n')
    program.chmod(0o755)
    made = repo.json("hooks", "install", "--editor", editor, "--agent", OTTER, "--program", str(program)).data
    command = made["commands"][editors.MOMENTS[editors.PRE_TOOL][editor]]
    name = {"codex": "apply-patch", "gemini": "replace", "opencode": "edit", "vscode": "edit-files"}.get(
        editor, "write"
    )

    done = subprocess.run(
        ["sh", "-c", command],
        cwd=repo.path,
        env=environment(**repo.settings),
        input=payload(f"{editor}/{name}", repo.path),
        capture_output=True,
        text=True,
    )

    assert shlex.split(command)[:3] == [str(program), "hook", "pre-tool"]
    assert (done.returncode, "deny" in done.stdout) == (0, True), done.stderr
