"""`bb demo`: two agents in a scratch repository, each step as the command a user would type and what it answers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile

from bb.cli import say
from bb.kernel import jsontext
from bb.kernel.show import harmless
from bb.ledger import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Step = tuple[str, str, dict[str, str], int]  # what it shows, the command, its environment, the exit status it has

NOON = "2026-01-05T12:00:00Z"
LATER = "2026-01-05T12:20:00Z"
EVEN_LATER = "2026-01-05T12:45:00Z"

STEPS: tuple[Step, ...] = (
    ("A repository gets a ledger, in git's own directory.", "bb init", {}, 0),
    ("An agent takes a name for its session.", "bb agent register --name amber-otter --role builder", {}, 0),
    (
        "So does another, in a worktree of its own.",
        "bb agent register --name cobalt-harbor --role reviewer",
        {"IN": "worktree"},
        0,
    ),
    ("A name that is taken is refused, with the way out.", "bb agent register --name amber-otter --role tester", {}, 7),
    (
        "A heartbeat says: I am alive. It answers in one JSON document.",
        "bb agent heartbeat --agent amber-otter --json",
        {},
        0,
    ),
    (
        "Twenty minutes later only cobalt-harbor has been heard of.",
        "bb agent heartbeat",
        {"BB_AGENT": "cobalt-harbor", "BB_NOW": LATER},
        0,
    ),
    (
        "Both worktrees see the same: amber-otter has become stale.",
        "bb agent list",
        {"BB_NOW": LATER, "IN": "worktree"},
        0,
    ),
    (
        "Forty-five minutes after its last sign, it counts as evicted.",
        "bb agent show --agent amber-otter",
        {"BB_NOW": EVEN_LATER},
        0,
    ),
    (
        "It comes back; that is a change of state, so it is recorded.",
        "bb agent heartbeat --agent amber-otter",
        {"BB_NOW": EVEN_LATER},
        0,
    ),
    ("Every fact is one line of an append-only ledger.", "bb ledger log", {}, 0),
    ("Every line is chained to the one before it.", "bb ledger verify", {}, 0),
    ("The work tree has not been touched.", "git status --short", {}, 0),
)


def play(*, keep: bool, as_json: bool) -> int:
    """Play every step; 0 when each ended as it should."""
    scratch = tempfile.mkdtemp(prefix="bb-demo-")
    try:
        _prepare(scratch)
        played = [_step(scratch, number, step, as_json) for number, step in enumerate(STEPS, 1)]
    finally:
        if not keep:
            shutil.rmtree(scratch, ignore_errors=True)
    is_right = all(step["is_right"] for step in played)
    if as_json:
        say.success("demo", {"steps": played, "is_right": is_right, "kept": scratch if keep else None}, as_json=True)
    else:
        say.lines(
            ["", "That was the demo." if is_right else "A step did not end as it should; `bb doctor` may know why."]
        )
        say.lines([f"The scratch repository is in {scratch}"] if keep else [])
    return 0 if is_right else 1


def _prepare(scratch: str) -> None:
    project = os.path.join(scratch, "project")
    identity = ["-c", "user.name=Demo", "-c", "user.email=demo@example.invalid"]
    git.run(["init", "--quiet", project], env=_environment())
    git.run(["-C", project, *identity, "commit", "--quiet", "--allow-empty", "-m", "Start"], env=_environment())
    git.run(
        ["-C", project, "worktree", "add", "--quiet", "-b", "review", os.path.join(scratch, "worktree")],
        env=_environment(),
    )


def _step(scratch: str, number: int, step: Step, as_json: bool) -> dict[str, Any]:
    about, command, settings, expected = step
    where = settings.get("IN", "project")
    extra = {name: value for name, value in settings.items() if name != "IN"}
    done = subprocess.run(  # noqa: S603  (our own commands)
        _arguments(command),
        cwd=os.path.join(scratch, where),
        env=_environment() | {"BB_NOW": NOON} | extra,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    output = (done.stdout + done.stderr).replace(scratch, "…")
    if not as_json:
        shown = " ".join([*(f"{name}={value}" for name, value in extra.items() if name != "BB_NOW"), command])
        at = extra.get("BB_NOW", NOON)[11:16]
        say.lines(["", f"{number}. {about}", f"   {where} {at} $ {shown}"])
        say.lines(f"   {harmless(line)}" for line in output.splitlines())
    answer = {"command": command, "about": about, "status": done.returncode, "is_right": done.returncode == expected}
    return answer | {"output": _answered(output)}


def _answered(output: str) -> Any:
    try:
        return jsontext.loads(output)
    except jsontext.NotJson:
        return output.splitlines()


def _arguments(command: str) -> list[str]:
    words = command.split()
    return [sys.executable, "-m", "bb", *words[1:]] if words[0] == "bb" else words


def _environment() -> dict[str, str]:
    """This environment without what would lead elsewhere, and able to find bb where this process found it."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("BB_", "GIT_"))}
    import bb  # noqa: PLC0415

    source = os.path.dirname(os.path.dirname(os.path.abspath(bb.__file__)))
    ours |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}  # nobody's hooks, keys or colours
    return ours | {"PYTHONPATH": os.pathsep.join([source, *filter(None, [ours.get("PYTHONPATH")])])}
