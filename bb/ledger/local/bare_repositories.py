"""Bare repositories for ledgers without a repository. They are created without git, which takes ten times as long."""

from __future__ import annotations

import os

from bb.ledger.files import disk

CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
FOLDERS = ("objects/info", "objects/pack", "refs/heads", "refs/tags")


def make(path: str) -> None:
    """Create a bare repository at PATH, unless there is one."""
    if os.path.exists(os.path.join(path, "HEAD")):
        return
    disk.make_private_folder(path)
    for folder in FOLDERS:
        disk.make_folder(os.path.join(path, folder))
    disk.replace(os.path.join(path, "config"), CONFIG)
    disk.replace(os.path.join(path, "HEAD"), b"ref: refs/heads/main\n", durable=True)  # last, it marks completion


def remove(path: str) -> None:
    """Remove a repository that `make` created."""
    disk.remove_folder(path)
