"""The path of the running `bb`, for an agent whose shell may not find it by its name.

Some hosts run each command in a login shell, which may set its own PATH (Codex CLI: `bash -lc`). The folders of the
system are in every PATH; others may be lost.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = ("bb", "beadboard")
ALWAYS = ("/usr/local/bin", "/usr/bin", "/bin")  # in the PATH of login shells


def path_to_tell(env: Mapping[str, str]) -> str | None:
    """The absolute path of the running program, unless every shell finds it by its name. None if it was not started as
    a program of that name."""
    program = os.path.abspath(sys.argv[0])
    folder, name = os.path.split(program)
    if name not in NAMES or not os.access(program, os.X_OK):
        return None
    folders = filter(None, env.get("PATH", "").split(os.pathsep))
    first = next((path for each in folders if os.access(path := os.path.join(each, name), os.X_OK)), None)
    is_first = first is not None and os.path.realpath(first) == os.path.realpath(program)
    return None if is_first and folder in ALWAYS else program
