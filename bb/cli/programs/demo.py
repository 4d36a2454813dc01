"""`bb demo`: plays the demo in two scratch clones, and prints each step's command and answer."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from typing import Any

from bb.cli.calls import output as calls_output
from bb.cli.programs import extras
from bb.cli.programs.demo_steps import CLONE, COBALT, HUB, MESSAGE, PROJECT, STEPS, WORKTREE, Step
from bb.kernel import json_text
from bb.kernel.errors import Refused
from bb.kernel.escaping import harmless
from bb.ledger.files import output_files
from bb.ledger.git import git
from bb.start import ALONE

DemoWentWrong = Refused.declare(
    "DEMO_WENT_WRONG", "A step of the demo ended with an unexpected result", hint="run `bb doctor` to find the cause"
)


def play(*, keep: bool, as_json: bool) -> int:
    """Play every step; refuse if one ended unexpectedly."""
    scratch = _scratch()
    try:
        _prepare(scratch)
        played = _played(scratch, as_json)
    finally:
        if not keep:
            shutil.rmtree(scratch, ignore_errors=True)
    kept = scratch if keep else None
    if not as_json and kept:
        calls_output.lines(["", f"The scratch repository is in {harmless(kept)}"])
    if not all(step["is_right"] for step in played):
        raise DemoWentWrong(steps=played, kept=kept)
    if as_json:
        calls_output.success("demo", {"steps": played, "is_right": True, "kept": kept}, as_json=True)
    else:
        calls_output.lines(["", "That was the demo."])
    return 0


def _scratch() -> str:
    try:
        return tempfile.mkdtemp(prefix="bb-demo-")
    except OSError as error:
        raise output_files.OutputNotWritten(
            f"the scratch directory cannot be created: {error.strerror}",
            hint="set TMPDIR to a writable directory",
        ) from error


def _prepare(scratch: str) -> None:
    """A project with one commit, another worktree of it, a hub, and a second clone."""
    project, hub = os.path.join(scratch, PROJECT), os.path.join(scratch, HUB)
    identity = ["-c", "user.name=Demo", "-c", "user.email=demo@example.invalid"]
    steps: tuple[tuple[str | None, list[str]], ...] = (
        (None, ["init", "--quiet", project]),
        (project, [*identity, "commit", "--quiet", "--allow-empty", "-m", "Start"]),
        (None, ["clone", "--quiet", "--bare", project, hub]),
        (None, ["clone", "--quiet", hub, os.path.join(scratch, CLONE)]),
        (project, ["remote", "add", "origin", hub]),
        (project, ["worktree", "add", "--quiet", "-b", "review", os.path.join(scratch, WORKTREE)]),
    )
    for at, words in steps:
        git.run(words, at=at, env=_environment())


def _played(scratch: str, as_json: bool) -> list[dict[str, Any]]:
    played: list[dict[str, Any]] = []
    for number, step in enumerate(STEPS, 1):
        done = _step(scratch, number, step, as_json)
        if step.says_the_same:
            done["is_right"] = done["is_right"] and done["output"] == played[-1]["output"]
        played.append(done)
    return played


def _step(scratch: str, number: int, step: Step, as_json: bool) -> dict[str, Any]:
    command = step.command.replace(MESSAGE, _newest_message(scratch)) if MESSAGE in step.command else step.command
    settings = {"BB_AGENT": step.agent} if step.agent else {}
    done = subprocess.run(  # noqa: S603  (our own commands)
        _arguments(command),
        cwd=os.path.join(scratch, step.where),
        env=_environment() | {"BB_NOW": step.at} | settings,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    output = (done.stdout + done.stderr).replace(scratch, "…")
    if not as_json:
        command_line = " ".join([*(f"{name}={value}" for name, value in settings.items()), command])
        calls_output.lines(
            ["", f"{number}. {step.about}", f"   {step.where} {step.at[11:16]} $ {harmless(command_line)}"]
        )
        calls_output.lines(f"   {harmless(line)}" for line in output.splitlines())
    is_right = done.returncode == step.status
    answer = {"command": command, "about": step.about, "status": done.returncode, "is_right": is_right}
    return answer | {"output": _answered(output)}


def _newest_message(scratch: str) -> str:
    """The id of the newest message to cobalt-harbor."""
    arguments = _arguments(f"bb agent inbox --agent {COBALT} --limit 1 --json")
    done = subprocess.run(  # noqa: S603  (our own command)
        arguments, cwd=os.path.join(scratch, PROJECT), env=_environment(), capture_output=True, check=False
    )
    try:
        return str(json_text.read(done.stdout)["data"][0]["message_id"])
    except (json_text.NotJson, TypeError, LookupError):
        return MESSAGE


def _answered(output: str) -> Any:
    try:
        return json_text.loads(output)
    except json_text.NotJson:
        return output.splitlines()


def _arguments(command: str) -> list[str]:
    words = shlex.split(command)
    return [sys.executable, ALONE, "-X", "utf8", "-m", "bb", *words[1:]] if words[0] == "bb" else words


def _environment() -> dict[str, str]:
    """This environment without variables of bb and git, with the path of this process's bb."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("BB_", "GIT_"))}
    ours |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}  # no hooks, keys or colours of the user
    ours |= {"BB_SYNC": "off"}  # no background work
    # Makes the output of the steps UTF-8. If Python ignores it, `-X utf8` does the same.
    ours |= {"PYTHONIOENCODING": "utf-8"}
    return extras.with_source(ours)
