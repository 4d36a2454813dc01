"""Start another program: by `posix_spawn` if the system has a suitable one, otherwise by `subprocess`."""

from __future__ import annotations

import os

from bb.ledger.files.child import Child

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def start(command: Sequence[str], env: Mapping[str, str]) -> Child:
    """Start COMMAND; FileNotFoundError if the program does not exist."""
    if os.name == "posix":
        try:
            return Child(command, env)
        except NotImplementedError:  # old versions of macOS do not support setsid here
            pass
    from bb.ledger.files.windows_processes import SubprocessChild  # noqa: PLC0415

    return SubprocessChild(command, env)
