"""Where the grammars of tree-sitter are, if the extra `lines` is installed. Nothing is imported to find out."""

from __future__ import annotations

import os
import sys

PACK = "tree_sitter_language_pack"
NATIVE = "bindings"  # the folder of a version that contains its grammars
_folders: list[str | None] = []  # the folder, once it was looked for


def folder() -> str | None:
    """The folder of a package that contains its grammars; None without one. bb often runs without the environment's
    packages (`bb/start.py`), so their folder is looked at too."""
    if _folders:
        return _folders[0]
    environment = os.path.dirname(os.path.dirname(sys.executable))
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    beside = [os.path.join(environment, *names, "site-packages") for names in (("lib", version), ("Lib",))]
    folders = (os.path.join(path, PACK) for path in (*sys.path, *beside))
    _folders.append(next((path for path in folders if os.path.isdir(os.path.join(path, NATIVE))), None))
    return _folders[0]


def is_installed() -> bool:
    """Whether there are grammars."""
    return folder() is not None
