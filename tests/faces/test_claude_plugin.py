"""`skills/` is a plugin for Claude Code too: its files have the form asked of them, and say what bb itself says."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import bb
from tests.near import near
from tests.support import ROOT, Scratch

PLUGIN = ROOT / "skills"
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
WIRED = ["hooks", "install", "--editor", "claude", "--register", "--auto-reserve"]
PAYLOADS = {
    "PreToolUse": {"tool_name": "Write", "tool_input": {"file_path": "a.py"}},
    "PostToolUse": {"tool_name": "Write", "tool_input": {"file_path": "a.py"}},
    "PostToolUseFailure": {"tool_name": "Bash", "tool_input": {"command": "make"}, "error": "Exit code 2"},
    "SessionStart": {"source": "startup"},
    "UserPromptSubmit": {"prompt": "Go on."},
    "Stop": {},
    "SessionEnd": {"reason": "other"},
}


def document(*path: str) -> Any:
    return json.loads(PLUGIN.joinpath(*path).read_text())


def test_the_manifest_has_what_claude_code_asks_for():
    manifest = document(".claude-plugin", "plugin.json")

    assert NAME.fullmatch(manifest["name"])
    assert manifest["author"]["name"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", manifest["version"])
    assert all(isinstance(manifest[name], str) for name in ("description", "homepage", "repository", "license"))
    assert isinstance(manifest["skills"], list)
    for path in manifest["skills"]:
        assert path.startswith("./")
        assert (PLUGIN / path / "SKILL.md").is_file()


def test_the_manifest_is_about_the_same_program_as_the_package():
    manifest = document(".claude-plugin", "plugin.json")
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert manifest["version"] == bb.__version__
    assert (manifest["name"], manifest["license"]) == (package["name"], package["license"])
    assert manifest["author"]["name"] == package["authors"][0]["name"]


def test_the_marketplace_leads_to_the_plugin():
    shop = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())

    assert NAME.fullmatch(shop["name"])
    assert shop["owner"]["name"]
    (entry,) = shop["plugins"]
    assert entry["source"].startswith("./")
    there = json.loads((ROOT / entry["source"] / ".claude-plugin" / "plugin.json").read_text())
    assert (entry["name"], entry["description"]) == (there["name"], there["description"])


def test_its_hooks_are_those_that_bb_would_install(tmp_path: Path):
    repo = near(tmp_path / "repo")
    assert repo.bb(*WIRED).status == 0
    installed = json.loads((repo.path / ".claude" / "settings.json").read_text())

    ours = document("hooks", "hooks.json")

    assert set(ours) == {"description", "hooks"}
    assert ours["hooks"] == installed["hooks"]
    assert f"`bb {' '.join(WIRED)}`" in ours["description"]


def test_its_hooks_say_nothing_and_make_nothing_where_there_is_no_ledger(repo: Scratch):
    """A plugin is there in every repository its user opens; most of them have nothing to do with bb."""
    for moment, groups in document("hooks", "hooks.json")["hooks"].items():
        for hook in groups[0]["hooks"]:
            program, *words = shlex.split(hook["command"])
            payload = {"hook_event_name": moment, "session_id": "s-1", "cwd": str(repo.path), **PAYLOADS[moment]}
            ran = repo.bb(*words, stdin=json.dumps(payload))
            assert (program, hook["type"], ran.status, ran.out, ran.err) == ("bb", "command", 0, "", "")
    assert not repo.store.exists()


def test_its_mcp_server_is_bb():
    assert document(".mcp.json") == {"mcpServers": {"bb": {"command": "bb", "args": ["mcp"]}}}
