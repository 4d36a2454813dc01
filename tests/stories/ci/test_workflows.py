"""The workflows we hand out: what they call exists, and nothing that an event says becomes a command."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import bb
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


def test_the_action_may_be_strict_about_agents_only(tmp_path: Path):
    assert "--strict=agents" in called_with(tmp_path, STRICT="agents")
    assert "--strict=agents" not in called_with(tmp_path, STRICT="false")


@pytest.mark.parametrize(
    ("variables", "head"),
    [
        ({}, "tip"),
        ({"CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": "source"}, "source"),  # the tip is GitLab's own merge
    ],
)
def test_gitlab_compares_the_source_branch_with_its_own_merge_base(
    tmp_path: Path, variables: dict[str, str], head: str
):
    (line,) = [line for line in FILES[-1].read_text().splitlines() if "bb ci check" in line]
    program = tmp_path / "bb"
    program.write_text('#!/bin/sh\nprintf "%s\\0" "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    env = environment(CI_COMMIT_SHA="tip", CI_MERGE_REQUEST_DIFF_BASE_SHA="base", **variables)
    env["PATH"] = f"{tmp_path}:{env['PATH']}"
    done = subprocess.run(["sh", "-c", line.strip().removeprefix("- ")], env=env, capture_output=True, text=True)

    words = done.stdout.split("\0")
    assert words[:6] == ["ci", "check", "--base", "base", "--head", head], done


def test_what_the_action_is_told_is_never_a_command(tmp_path: Path):
    words = called_with(tmp_path, AGENT="$(touch made)`touch made`; touch made", SCOPES='"; touch made\n--strict')

    assert "--agent=$(touch made)`touch made`; touch made" in words
    assert "--scope=--strict" in words
    assert not os.path.exists("made")


# -- what the action installs


def installed(action: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """What the action's step comes to that installs bb, where the action lies in that folder."""
    env = environment(RUNNER_TEMP=str(folder), GITHUB_ACTION_PATH=str(action))
    del env["PYTHONPATH"]
    return subprocess.run(["bash", "-e", "-c", script("Install bb")], env=env, capture_output=True, text=True)


def copied(folder: Path) -> Path:
    """What a runner checks out of bb for the action: the files that git has."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().split("\0"):
        if name and not name.startswith("tests/") and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder / ACTION.parent.relative_to(ROOT)


@pytest.mark.long  # it installs every package twice
def test_the_action_installs_what_is_pinned_by_hash_and_refuses_what_differs(tmp_path: Path):
    action = copied(tmp_path / "bb-of-the-action")

    done = installed(action, tmp_path / "sound")
    assert done.returncode == 0, done.stderr
    program = tmp_path / "sound" / "bb" / "bin"
    said = subprocess.run([program / "bb", "--version"], capture_output=True, text=True, env=environment())
    assert bb.__version__ in said.stdout
    has = subprocess.run([program / "python", "-m", "pip", "freeze"], capture_output=True, text=True, env=environment())
    there = dict(line.lower().replace("_", "-").split("==") for line in has.stdout.splitlines() if "==" in line)
    pinned = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", (action / "requirements.txt").read_text(), re.MULTILINE))
    assert there.items() <= pinned.items()
    assert "typer" in there

    pins = action / "requirements.txt"
    pins.write_text(re.sub(r"sha256:[0-9a-f]{4}", "sha256:0000", pins.read_text()))
    done = installed(action, tmp_path / "forged")
    assert done.returncode != 0
    assert "HASHES" in done.stderr


def test_the_lock_and_the_list_of_parts_fit_the_project(tmp_path: Path):
    copied(tmp_path)
    check = [sys.executable, str(tmp_path / "scripts" / "lock"), "--check"]
    pins = tmp_path / ".github" / "actions" / "check" / "requirements.txt"
    sound = pins.read_text()

    assert subprocess.run(check).returncode == 0
    for harmed in (
        re.sub(r"^typer==0\.28", "typer==0.29", sound, flags=re.MULTILINE),
        re.sub(r"^orjson==.*?(?=^[a-z])", "", sound, flags=re.MULTILINE | re.DOTALL),
        re.sub(r"^(rich==\S+ \\\n)(    --hash\S+(?: \\)?\n)+", r"\1", sound, flags=re.MULTILINE),
        re.sub(r"^rich==15", "rich==14", sound, flags=re.MULTILINE),
    ):
        assert harmed != sound
        pins.write_text(harmed)
        done = subprocess.run(check, capture_output=True, text=True)
        assert (done.returncode, done.stderr.endswith("run scripts/lock\n")) == (1, True)
