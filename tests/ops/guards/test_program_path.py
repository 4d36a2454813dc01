"""Where `bb` is, told only to an agent whose shell may not find it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from bb.ops.guards import program_path


def program(folder: Path, name: str = "bb") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / name
    made.write_text("#!/bin/sh\n")
    made.chmod(0o755)
    return str(made)


@pytest.mark.parametrize(
    ("folders", "is_told"),
    [
        (["own"], True),  # a login shell may not have that folder
        (["system"], False),
        (["own", "system"], True),  # another bb comes first
        (["system", "own"], False),
        ([], True),
        (["", "nowhere"], True),
    ],
)
def test_a_path_is_told_unless_every_shell_finds_this_program_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folders: list[str], is_told: bool
):
    own, system = program(tmp_path / "own"), program(tmp_path / "system")
    running = own if folders == ["own"] else system
    monkeypatch.setattr(program_path, "ALWAYS", (str(tmp_path / "system"),))
    monkeypatch.setattr(sys, "argv", [running, "hook"])
    path = os.pathsep.join(str(tmp_path / folder) if folder else "" for folder in folders)

    assert program_path.path_to_tell({"PATH": path}) == (running if is_told else None)


def test_a_link_to_the_program_is_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    real, system = program(tmp_path / "tools"), tmp_path / "system"
    system.mkdir()
    (system / "bb").symlink_to(real)
    monkeypatch.setattr(program_path, "ALWAYS", (str(system),))
    monkeypatch.setattr(sys, "argv", [str(system / "bb")])

    assert program_path.path_to_tell({"PATH": str(system)}) is None


@pytest.mark.parametrize("name", ["__main__.py", "python", "-c"])
def test_what_is_no_program_of_ours_has_no_path_to_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setattr(sys, "argv", [program(tmp_path, name)])

    assert program_path.path_to_tell({"PATH": ""}) is None
