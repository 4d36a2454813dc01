"""Which words start this bb in a shell: `bb`, `beadboard`, or an absolute path.

Another program is also named `bb`, so the files on the PATH are read before one is named in a configuration.
"""

from __future__ import annotations

import os
import sys

from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = ("bb", "beadboard")
SUFFIX = ".cmd" if os.name == "nt" else ""
MARKS = (b"bb.start", b"bb.__main__", b"scripts/install", b"-m bb")  # in the launchers of bb
START = 4096  # bytes of a program that are searched for them


def first_on_path(name: str, env: Mapping[str, str]) -> str | None:
    """The program that a shell starts as NAME."""
    for folder in env.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, name + SUFFIX)
        if folder and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return None


def is_bb(path: str) -> bool:
    """Whether the program at PATH starts bb."""
    start = (disk.read_small(path) or b"")[:START]
    return any(mark in start for mark in MARKS)


def beside_python() -> str:
    """The path of the launcher that belongs to this interpreter. It need not exist."""
    return os.path.join(os.path.dirname(sys.executable), NAMES[0] + SUFFIX)


def name_of_bb(env: Mapping[str, str]) -> tuple[str, str]:
    """The word that starts bb in a shell, and the reason for it."""
    shadow = ""
    for name in NAMES:
        path = first_on_path(name, env)
        if path and is_bb(path):
            return name, f"{shadow}the shell runs {path}"
        if path:
            shadow = f"{path} is another program; "
    launcher = beside_python()
    if os.access(launcher, os.X_OK):
        return launcher.replace("\\", "/"), f"{shadow}bb is not on the PATH"
    return NAMES[0], f"{shadow}bb is not on the PATH, so add its folder to the PATH"
