"""Python packages that are installed in editable form from the work tree: in a throw-away tree they come from there.

`pip install -e .` notes the folder of the sources in the virtual environment. Tests in a throw-away tree would then
import the work tree, with the half-done work of others. PYTHONPATH comes before what is installed, so it names the same
folders in the throw-away tree. It is set only if such a note is found.
"""

from __future__ import annotations

import os
import re

from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bb.ledger.git.place import Place

USUAL = (".venv", "venv")
LARGEST, MOST = 1 << 20, 200  # bytes of a note, and notes of an environment
QUOTED = re.compile(r"""(['"])((?:(?!\1).)+)\1""")


def settings(place: Place, top: str, env: Mapping[str, str]) -> dict[str, str]:
    """The environment variables by which Python finds the packages in the tree at TOP; empty if nothing is needed."""
    real = os.path.realpath(str(place.work_tree))
    found = dict.fromkeys(folder for each in _environments(real, env) for folder in _sources(each, real))
    inside = [os.path.normpath(os.path.join(top, os.path.relpath(folder, real))) for folder in found]
    ours = [folder for folder in inside if os.path.isdir(folder)]
    before = [_moved(folder, real, top) for folder in env.get("PYTHONPATH", "").split(os.pathsep) if folder]
    whole = list(dict.fromkeys([*ours, *before]))
    return {"PYTHONPATH": os.pathsep.join(whole)} if ours or before else {}


def _moved(folder: str, real: str, top: str) -> str:
    """A FOLDER of PYTHONPATH: in the tree, if it is one of the work tree that the tree has."""
    if os.path.isabs(folder) and _is_in(os.path.realpath(folder), real):
        there = os.path.normpath(os.path.join(top, os.path.relpath(os.path.realpath(folder), real)))
        return there if os.path.isdir(there) else folder
    return folder


def _environments(real: str, env: Mapping[str, str]) -> Iterator[str]:
    """The virtual environments that a command of this work tree may use."""
    paths = [env.get("VIRTUAL_ENV", ""), *(os.path.join(real, name) for name in USUAL)]
    yield from dict.fromkeys(path for path in paths if path and os.path.isfile(os.path.join(path, "pyvenv.cfg")))


def _sources(environment: str, real: str) -> Iterator[str]:
    """The folders of the work tree that the notes of ENVIRONMENT put on the path of imports."""
    for packages in _package_folders(environment):
        names = [name for name in disk.names(packages) if name.endswith(".pth") or name.startswith("__editable__")]
        for name in [name for name in names if name.endswith((".pth", ".py"))][:MOST]:
            text = (disk.read_small(os.path.join(packages, name), LARGEST) or b"").decode("utf-8", "replace")
            if name.endswith(".py"):  # setuptools' finder: a table of packages and their folders
                written = [os.path.dirname(match[2]) for match in QUOTED.finditer(text)]
            else:
                written = text.splitlines()
            yield from (path for path in written if os.path.isabs(path) and _is_in(os.path.realpath(path), real))


def _package_folders(environment: str) -> Iterator[str]:
    if os.name == "nt":
        yield os.path.join(environment, "Lib", "site-packages")
        return
    lib = os.path.join(environment, "lib")
    yield from (os.path.join(lib, name, "site-packages") for name in disk.names(lib) if name.startswith("python"))


def _is_in(path: str, real: str) -> bool:
    return path == real or path.startswith(real + os.sep)
