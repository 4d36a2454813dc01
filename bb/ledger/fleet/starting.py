"""Starts the daemon that runs the relay of this clone, when a command needs the relay and none answers.

This is `bb daemon start` in a process of its own: it starts the daemon if none runs, and asks it to attend this clone.
"""

from __future__ import annotations

import subprocess
import sys

from bb.kernel import json_text
from bb.kernel.escaping import harmless
from bb.ledger.files import background_processes
from bb.ledger.fleet.asking import RelayGone
from bb.ledger.travel.background import OURSELVES
from bb.start import ALONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SETTING = "BB_DAEMON"  # `off`: commands never start the daemon by themselves
PATIENCE = 20.0  # seconds
COMMAND = [sys.executable, ALONE, "-c", OURSELVES, "daemon", "start", "--json"]
LONGEST = 300  # characters of a reason


def is_allowed(env: Mapping[str, str]) -> bool:
    """Whether a command may start the daemon by itself."""
    return env.get(SETTING) != "off"


def start(cwd: str, env: Mapping[str, str]) -> None:
    """Start the daemon, and wait until it runs the relay of the clone that has CWD. RELAY_GONE if that fails."""
    if not is_allowed(env):
        raise RelayGone(f"no relay of this clone is running, and {SETTING}=off keeps commands from starting the daemon")
    try:
        done = subprocess.run(  # noqa: S603  (ourselves)
            COMMAND,
            cwd=cwd,
            env=_environment(cwd, env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise RelayGone(f"the daemon did not start within {PATIENCE:.0f} seconds") from error
    except OSError as error:
        raise RelayGone(f"the daemon cannot be started: {error.strerror}") from error
    answer = _answer(done.stdout)
    refused = answer.get("error") or (answer.get("data") or {}).get("fleet", {}).get("refused")
    if not refused and not done.returncode:
        return
    reason = refused.get("message") if type(refused) is dict else None
    shown = harmless(str(reason or done.stderr.decode(errors="replace"))[:LONGEST].strip())
    hint = refused.get("hint") if type(refused) is dict else None
    raise RelayGone(
        f"the daemon cannot run the relay of this clone: {shown}", hint=hint if type(hint) is str and hint else None
    )


def start_aside(cwd: str, env: Mapping[str, str]) -> bool:
    """The same, without waiting. Whether it was started."""
    if not is_allowed(env) or not background_processes.IS_POSSIBLE:
        return False
    return background_processes.start(COMMAND, _environment(cwd, env))


def _environment(cwd: str, env: Mapping[str, str]) -> dict[str, str]:
    """The environment of the command that starts the daemon. A fixed time is for one command, not for a daemon."""
    return {name: value for name, value in env.items() if name != "BB_NOW"} | {"PWD": cwd}


def _answer(written: bytes) -> dict[str, Any]:
    try:
        answer = json_text.read(written)
    except ValueError:
        return {}
    return answer if type(answer) is dict else {}
