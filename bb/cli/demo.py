"""`bb demo`: two agents in a scratch repository, each step as the command a user would type and what it answers."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile

from bb.cli import say
from bb.kernel import jsontext
from bb.kernel.errors import Refused
from bb.kernel.show import harmless
from bb.ledger import disk, git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Step = tuple[str, str, dict[str, str], int]  # what it shows, the command, its environment, the exit status it has

NOON = "2026-01-05T12:00:00Z"
LATER = "2026-01-05T12:20:00Z"
EVEN_LATER = "2026-01-05T12:45:00Z"

AMBER, COBALT = {"BB_AGENT": "amber-otter"}, {"BB_AGENT": "cobalt-harbor", "IN": "worktree"}
HANDOFF = "--subject Parser --summary 'Reads everything but dates.' --next-action 'Read dates.'"
MESSAGE = "MESSAGE"  # in a command: the id of the newest message to cobalt-harbor

STEPS: tuple[Step, ...] = (
    ("A repository gets a ledger, in git's own directory.", "bb init", {}, 0),
    ("An agent starts its session under a name of its own.", "bb init --register amber-otter --role builder", {}, 0),
    (
        "So does another, in a worktree of its own.",
        "bb init --register cobalt-harbor --role reviewer",
        {"IN": "worktree"},
        0,
    ),
    ("A name that is taken is refused, with the way out.", "bb init --register amber-otter", {}, 7),
    ("amber-otter holds what it is going to edit.", "bb agent reserve --scope 'src/*' --bead demo-a1.1", AMBER, 0),
    (
        "Any overlap is refused, patterns included, and the holder is named.",
        "bb agent reserve --scope '**/parser.py' --bead demo-a1.2",
        COBALT,
        7,
    ),
    ("May I touch this? Asked before an edit, from anywhere.", "bb check src/parser.py", COBALT, 7),
    (
        "Twenty minutes later a heartbeat says: cobalt-harbor is alive.",
        "bb agent heartbeat --json",
        COBALT | {"BB_NOW": LATER},
        0,
    ),
    ("amber-otter has fallen silent.", "bb status", {"BB_NOW": LATER}, 0),
    (
        "Now its scope can be taken over, but only by saying so.",
        "bb agent reserve --scope 'src/*' --bead demo-a1.1",
        COBALT | {"BB_NOW": LATER},
        7,
    ),
    (
        "Said so: the old reservation is archived, and its holder is told.",
        "bb agent reserve --scope 'src/*' --bead demo-a1.1 --takeover-stale",
        COBALT | {"BB_NOW": LATER},
        0,
    ),
    (
        "amber-otter is back, reads its mail, and hands its work over.",
        "bb agent inbox",
        AMBER | {"BB_NOW": EVEN_LATER},
        0,
    ),
    (
        "A hand-off says what was done and what comes next.",
        f"bb protocol handoff --to cobalt-harbor --bead demo-a1.1 {HANDOFF}",
        AMBER | {"BB_NOW": EVEN_LATER},
        0,
    ),
    ("What an agent needs after a restart, in few words.", "bb resume", COBALT | {"BB_NOW": EVEN_LATER}, 0),
    (
        "cobalt-harbor accepts: the work is its own now.",
        f"bb agent ack --message {MESSAGE}",
        COBALT | {"BB_NOW": EVEN_LATER},
        0,
    ),
    ("Nothing is left that needs a person.", "bb problems", {"BB_NOW": EVEN_LATER}, 0),
    ("All of it, told in sentences.", "bb timeline", {"BB_NOW": EVEN_LATER}, 0),
    ("Every fact is one line of an append-only ledger, chained to the one before.", "bb ledger verify", {}, 0),
    ("The work tree has not been touched.", "git status --short", {}, 0),
)


class DemoWentWrong(Refused):
    """A step of the demo did not end as it should."""

    code = "DEMO_WENT_WRONG"
    hint = "`bb doctor` may know why"


def play(*, keep: bool, as_json: bool) -> int:
    """Play every step; refused when one did not end as it should."""
    scratch = _scratch()
    try:
        _prepare(scratch)
        played = [_step(scratch, number, step, as_json) for number, step in enumerate(STEPS, 1)]
    finally:
        if not keep:
            shutil.rmtree(scratch, ignore_errors=True)
    kept = scratch if keep else None
    if not as_json and kept:
        say.lines(["", f"The scratch repository is in {kept}"])
    if not all(step["is_right"] for step in played):
        raise DemoWentWrong(steps=played, kept=kept)
    if as_json:
        say.success("demo", {"steps": played, "is_right": True, "kept": kept}, as_json=True)
    else:
        say.lines(["", "That was the demo."])
    return 0


def _scratch() -> str:
    try:
        return tempfile.mkdtemp(prefix="bb-demo-")
    except OSError as error:
        raise disk.OutputNotWritten(
            f"there is no place for a scratch repository: {error.strerror}",
            hint="name a directory that you may write to in TMPDIR",
        ) from error


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
    if MESSAGE in command:
        command = command.replace(MESSAGE, _newest_message(scratch))
    done = subprocess.run(  # noqa: S603  (our own commands)
        _arguments(command),
        cwd=os.path.join(scratch, where),
        env=_environment() | {"BB_NOW": NOON} | extra,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
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


def _newest_message(scratch: str) -> str:
    """The id of what cobalt-harbor was sent last."""
    asked = _arguments("bb agent inbox --agent cobalt-harbor --limit 1 --json")
    done = subprocess.run(  # noqa: S603  (our own command)
        asked, cwd=os.path.join(scratch, "project"), env=_environment(), capture_output=True, check=False
    )
    try:
        return str(jsontext.read(done.stdout)["data"][0]["message_id"])
    except (jsontext.NotJson, TypeError, LookupError):
        return MESSAGE


def _answered(output: str) -> Any:
    try:
        return jsontext.loads(output)
    except jsontext.NotJson:
        return output.splitlines()


def _arguments(command: str) -> list[str]:
    words = shlex.split(command)
    return [sys.executable, "-m", "bb", *words[1:]] if words[0] == "bb" else words


def _environment() -> dict[str, str]:
    """This environment without what would lead elsewhere, and able to find bb where this process found it."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("BB_", "GIT_"))}
    import bb  # noqa: PLC0415

    source = os.path.dirname(os.path.dirname(os.path.abspath(bb.__file__)))
    ours |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}  # nobody's hooks, keys or colours
    ours |= {"PYTHONIOENCODING": "utf-8"}  # what the steps say is read back, whatever the terminal's encoding
    return ours | {"PYTHONPATH": os.pathsep.join([source, *filter(None, [ours.get("PYTHONPATH")])])}
