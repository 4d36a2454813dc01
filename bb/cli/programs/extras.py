"""Starts the faces that are separate programs with extra dependencies, or refuses if these are missing."""

from __future__ import annotations

import os
import sys

import bb
from bb.kernel.errors import Refused
from bb.kernel.escaping import quoted
from bb.start import ALONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

# extra -> the packages that its face imports
EXTRAS = {"web": ("starlette", "uvicorn", "jinja2"), "mcp": ("mcp",)}

ExtraMissing = Refused.declare("EXTRA_MISSING", "This part of bb needs packages that are not installed")


def require_extra(command: str, extra: str) -> None:
    """Refuse COMMAND if packages of its EXTRA are missing."""
    import importlib.util  # noqa: PLC0415  (a server on stdio needs no extra)

    missing = [package for package in EXTRAS[extra] if importlib.util.find_spec(package) is None]
    if missing:
        install = f"{quoted(sys.executable)} -m pip install 'beadboard[{extra}]'"
        raise ExtraMissing(
            f"`{command}` needs {' and '.join(missing)}, not installed here", hint=install, missing=missing
        )


def exec_face(face: str, words: Sequence[str]) -> NoReturn:
    """Replace this process with FACE, called with WORDS and with the same bb."""
    sys.stdout.flush()
    sys.stderr.flush()
    command = [sys.executable, ALONE, "-m", f"bb.{face}", *words]
    os.execve(sys.executable, command, with_source(os.environ))  # noqa: S606  (ourselves)


def with_source(env: Mapping[str, str]) -> dict[str, str]:
    """ENV with the path of this process's bb."""
    source = os.path.dirname(os.path.dirname(os.path.abspath(bb.__file__)))
    return {**env, "PYTHONPATH": os.pathsep.join([source, *filter(None, [env.get("PYTHONPATH")])])}
