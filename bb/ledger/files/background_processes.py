"""Starts Python programs that nobody waits for, in a session of their own and without input or output.

A process that has ended stays in the system's table until its parent asks for its status. A command ends soon and need
not ask, but `bb mcp`, `bb web` and the daemon live for days. So each start first asks about those that ended since.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

IS_POSSIBLE = hasattr(os, "posix_spawn")
_STARTED: list[int] = []  # the processes of this one whose end is not known yet


def start(command: list[str], env: Mapping[str, str]) -> bool:
    """Start COMMAND, a call of this Python; whether it was started."""
    _collect_ended()
    nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    try:
        _STARTED.append(os.posix_spawn(sys.executable, command, env, file_actions=nothing, setsid=True))
    except (OSError, NotImplementedError):
        return False
    return True


def _collect_ended() -> None:
    """Let the system forget the processes that have ended. Each is taken from the list first, because a second thread
    that asked about it could ask about the next process with the same id."""
    for _ in range(len(_STARTED)):
        try:
            pid = _STARTED.pop(0)
            is_running = os.waitpid(pid, os.WNOHANG)[0] == 0
        except (IndexError, ChildProcessError):  # another thread asks about it, or it was started before a fork
            continue
        if is_running:
            _STARTED.append(pid)
