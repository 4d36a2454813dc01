"""The recorded tasks: who edits what, in which order, with which commits. `tasks/*.toml` has one file a repository."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from typing import Any

from scripts.trial.edits import AFTER, BEFORE, REPLACE, Edit

FOLDER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "tasks")


@dataclass(frozen=True)
class Unit:
    """The work for one commit. Between its first edit and its last one, the tests of its files may fail."""

    message: str
    edits: tuple[Edit, ...]

    @property
    def files(self) -> list[str]:
        return sorted({edit.file for edit in self.edits})


@dataclass(frozen=True)
class Task:
    """The whole work of one agent."""

    agent: str
    units: tuple[Unit, ...]

    @property
    def edits(self) -> tuple[Edit, ...]:
        return tuple(edit for unit in self.units for edit in unit.edits)


@dataclass(frozen=True)
class Recorded:
    """A package's source archive, the edits that turn it into the first commit, and the tasks on that."""

    package: str
    version: str
    sha256: str
    test: tuple[str, ...]  # arguments of the Python interpreter, at the top of the source tree
    start: tuple[Edit, ...]
    tasks: tuple[Task, ...]

    @property
    def edits(self) -> tuple[Edit, ...]:
        return tuple(edit for task in self.tasks for edit in task.edits)


def names() -> list[str]:
    return sorted(name.removesuffix(".toml") for name in os.listdir(FOLDER) if name.endswith(".toml"))


def load(name: str) -> Recorded:
    with open(os.path.join(FOLDER, f"{name}.toml"), "rb") as file:
        return recorded(tomllib.load(file))


def recorded(table: dict[str, Any]) -> Recorded:
    """The content of one file of tasks."""
    about = table["repository"]
    tasks = [
        Task(task["agent"], tuple(Unit(unit["message"], edits(unit["edit"])) for unit in task["commit"]))
        for task in table["task"]
    ]
    start = edits(table.get("start", []))
    return Recorded(about["package"], about["version"], about["sha256"], tuple(about["test"]), start, tuple(tasks))


def edits(tables: list[dict[str, str]]) -> tuple[Edit, ...]:
    return tuple(_edit(table) for table in tables)


def _edit(table: dict[str, str]) -> Edit:
    (where,) = {BEFORE, AFTER, REPLACE} & set(table)
    return Edit(table["file"], where, table[where], table["text"])
