"""Repositories that belong to another user."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support import Scratch

NOBODY = 65534
# git's own switch for tests. bb obeys it where it makes bb refuse, so an ordinary user can run these tests, too.
ASSUMED = {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}
only_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a repository to another user"
)
WAYS = [pytest.param("given away", marks=only_root), "assumed"]


def give_away(repo: Scratch, way: str = "given away") -> Scratch:
    """Have another user own REPO from now on."""
    repo.settings |= {"SUDO_UID": ""}
    if way == "assumed":
        repo.settings |= ASSUMED
        return repo
    for folder, folders, files in os.walk(repo.path):
        for name in (*folders, *files):
            os.lchown(os.path.join(folder, name), NOBODY, NOBODY)
    os.lchown(repo.path, NOBODY, NOBODY)
    return repo


def everything_in(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file below a folder: when it was changed, its mode and what is in it."""
    found = (path for path in sorted(folder.rglob("*")))
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mtime_ns,
            path.lstat().st_mode,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in found
    }


def planted(folder: Path, name: str = "marker") -> tuple[Path, str]:
    """A program that leaves a mark, and how a configuration calls it: the mark, the program's path."""
    mark, program = folder / f"{name}-has-run", folder / f"{name}-program"
    program.write_text(f'#!/bin/sh\necho "$0" "$@" >> {mark}\nexit 1\n')
    program.chmod(0o755)
    return mark, str(program)
