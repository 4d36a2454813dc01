"""Agents type what the skill says: every command in it is run here, from the first to the last."""

from __future__ import annotations

import re
import shlex

from bb.ops import catalogue
from tests.support import ROOT, Scratch

TEXT = (ROOT / "skills" / "beadboard-driver" / "SKILL.md").read_text()
COMMANDS = [line for block in TEXT.split("```")[1::2] for line in block.strip().splitlines() if line.startswith("bb ")]


def test_every_command_of_the_skill_does_what_it_says_from_start_to_end(repo: Scratch):
    repo.bb("agent", "register", "--name", "cobalt-harbor", "--role", "reviewer")
    (repo.path / "src").mkdir()
    (repo.path / "src" / "draft.py").write_text("x = 1\n")

    ran = [(command, repo.bb(*shlex.split(command)[1:], BB_AGENT="amber-otter")) for command in COMMANDS]

    assert len(COMMANDS) > 15
    assert [(command, one.out) for command, one in ran if one.status != 0] == []


def test_the_skill_names_only_commands_and_codes_that_exist():
    known = {op.words for op in catalogue.everything()}
    for words in re.findall(r"`bb ([a-z -]+?)(?: -|`)", TEXT):
        assert words.strip() in known, words
    codes = (ROOT / "docs" / "errors.md").read_text()
    for code in re.findall(r"`([A-Z]+_[A-Z_]+)`", TEXT):
        assert code == "BB_AGENT" or f"`{code}`" in codes, code


def test_9_the_skill_follows_the_protocol_from_bootstrap_to_release():
    """§9: reserve before the work, heartbeats during it, protocol events when work moves or stands still."""
    order = [
        "--register",
        "--adopt",
        "agent reserve",
        "agent heartbeat",
        "protocol blocked",
        "protocol handoff",
        "release",
    ]
    places = [next(place for place, command in enumerate(COMMANDS) if part in command) for part in order]
    assert places == sorted(places)
