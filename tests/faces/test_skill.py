"""Agents type what the skill says: every command in it is run here, from the first to the last."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from bb.ops import catalogue
from tests.support import ROOT, Scratch

TEXT = (ROOT / "skills" / "beadboard-driver" / "SKILL.md").read_text()
COMMANDS = [line for block in TEXT.split("```")[1::2] for line in block.strip().splitlines() if line.startswith("bb ")]


def test_every_command_of_the_skill_does_what_it_says_from_start_to_end(repo: Scratch, tmp_path: Path):
    hub = tmp_path / "hub.git"
    repo.bb("agent", "register", "--name", "cobalt-harbor", "--role", "reviewer")
    repo.git("init", "--quiet", "--bare", str(hub))
    repo.git("remote", "add", "origin", str(hub))
    assert repo.bb("sync", "--publish").status == 0
    (repo.path / "src").mkdir()
    (repo.path / "src" / "draft.py").write_text("x = 1\n")

    ran, message = [], ""
    for command in COMMANDS:
        if command.startswith(("bb agent read", "bb agent wait")):
            about = ["--bead", "bb-1", "--category", "HANDOFF", "--subject", "Dates", "--body", "Yours."]
            sent = repo.json("agent", "send", "--from", "cobalt-harbor", "--to", "amber-otter", *about)
            message = sent.data["message_id"]
        words = shlex.split(command.replace("MESSAGE", message))[1:]
        ran.append((command, repo.bb(*words, BB_AGENT="amber-otter")))

    assert len(COMMANDS) > 20
    assert [(command, one.out) for command, one in ran if one.status != 0] == []


def test_9_every_verb_that_the_skill_speaks_of_is_among_its_commands():
    """What stands in a sentence is run too, because it stands in a block as well."""
    spoken_of = set(re.findall(r"`bb ([a-z]+ [a-z]+|[a-z]+)", TEXT)) | {"agent read", "agent ack"}
    options = set(re.findall(r"`(--[a-z-]+)", TEXT)) | {"--wait", "--takeover-stale"}
    assert {words for words in spoken_of if not any(line.startswith(f"bb {words}") for line in COMMANDS)} == set()
    assert {option for option in options if not any(option in line for line in COMMANDS)} == set()


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
