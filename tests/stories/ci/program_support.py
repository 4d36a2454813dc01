"""`bb-ci.pyz`, and how it is run where nothing is installed."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path

from tests.support import ROOT, Ran, Scratch, environment, made_once


@functools.cache
def packed_once() -> Path:
    return packed(made_once("program") / "bb-ci.pyz")


def packed(path: Path) -> Path:
    subprocess.run([sys.executable, ROOT / "scripts" / "zipapp", path], check=True, capture_output=True)
    return path


def alone(program: Path, at: Scratch, *words: str | bytes, **settings: str) -> Ran:
    """Run the file with a Python that finds no packages, in an environment that has git and an empty home only."""
    home = made_once("empty-home")
    env = {"HOME": str(home), "PATH": environment()["PATH"], "GIT_CONFIG_NOSYSTEM": "1", **at.settings, **settings}
    command = [sys.executable, "-I", "-S", program, *words]
    done = subprocess.run(command, cwd=at.path, env=env, stdin=subprocess.DEVNULL, capture_output=True)
    return Ran(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
