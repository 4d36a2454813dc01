"""The workflows we hand out: what they call exists, and nothing that an event says becomes a command."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

from bb.ops import catalogue
from tests.support import ROOT, environment

ACTION = ROOT / ".github" / "actions" / "check" / "action.yml"
FILES = [ACTION, *sorted((ROOT / "docs" / "ci").glob("*.yml"))]
OPTIONS = {parameter.option for parameter in catalogue.find("ci.check").parameters}


def script(name: str) -> str:
    """The shell script of the action's step of that name."""
    step = ACTION.read_text().partition(f"- name: {name}\n")[2].partition("    - name:")[0]
    lines = step.partition("run: |\n")[2].splitlines()
    return "\n".join(line[8:] for line in lines) + "\n"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_workflow_uses_options_that_there_are_and_looks_like_yaml(file: Path):
    text = file.read_text()

    calls = "\n".join(line for line in text.splitlines() if "bb ci check" in line or "words" in line)
    used = set(re.findall(r"--[a-z]+(?=[=\s\")])", calls))
    assert used <= OPTIONS
    for line in text.splitlines():
        assert "\t" not in line
        assert (len(line) - len(line.lstrip(" "))) % 2 == 0
        assert line.count("${{") == line.count("}}")


def test_no_script_of_the_action_is_written_by_whoever_opens_a_pull_request():
    for name in ("Install bb", "Check"):
        assert script(name).strip()
        assert "${{" not in script(name)


def called_with(tmp_path: Path, **settings: str) -> list[str]:
    """What the action calls `bb` with, under these settings."""
    program = tmp_path / "bb" / "bin" / "bb"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text('#!/bin/sh\nprintf "%s\\0" "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    known = dict.fromkeys(("DECLARED", "SCOPES", "STRICT", "AGENT", "REMOTE", "SARIF"), "")
    env = environment(RUNNER_TEMP=str(tmp_path), BASE="b", HEAD="h", UNREACHABLE="fail", **(known | settings))
    done = subprocess.run(["bash", "-e", "-c", script("Check")], env=env, capture_output=True, text=True, check=True)
    return done.stdout.split("\0")[:-1]


def test_the_action_says_what_it_was_told(tmp_path: Path):
    plain = ["ci", "check", "--base=b", "--head=h", "--unreachable=fail"]

    assert called_with(tmp_path) == [*plain, "--format=github"]
    assert called_with(
        tmp_path, DECLARED="true", STRICT="true", SCOPES="docs\nsrc/a b\n", AGENT="x", REMOTE="r", SARIF="s"
    ) == [
        *plain,
        *("--declared", "--strict", "--agent=x", "--remote=r", "--scope=docs", "--scope=src/a b"),
        *("--format=sarif", "--output=s"),
    ]


def test_what_the_action_is_told_is_never_a_command(tmp_path: Path):
    words = called_with(tmp_path, AGENT="$(touch made)`touch made`; touch made", SCOPES='"; touch made\n--strict')

    assert "--agent=$(touch made)`touch made`; touch made" in words
    assert "--scope=--strict" in words
    assert not os.path.exists("made")
