"""A scripted agent: it reads, thinks for a set time, edits by anchor, tests and commits, and notes where its time goes.

It does the same work in every way (`ways.py`), with the same seconds of thinking at each step. A failed test, a refused
edit and a conflict each cost one more thought in any way. The agent is *careful* or *careless*. A careless one

- rewrites whole files, from the copies that it read when it began the commit's work, until a refusal names them;
- commits with `git add -A`;
- stashes everything before the first test of its second commit, to see the tests without its changes, and pops again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import threading
import time
from collections import Counter, deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scripts.trial import git as gits
from scripts.trial.edits import AnchorNotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from scripts.trial.edits import Edit
    from scripts.trial.recorded import Task, Unit
    from scripts.trial.ways import Way

# Seconds of thinking at each step, before --scale. A step's own time is between half and one and a half of this, and
# each agent has its own pace, or all would have half-done work, and test, at the same moments.
THINKING = {"read": 1.0, "edit": 0.8, "commit": 0.5, "again": 0.6}
TIRED = 40  # tries of one step, after which the agent leaves it undone; the print says so
CHANGED_TOO = "read them again as well: "  # where a refusal of bb names other files of which an agent has old copies
MARKS = ("<<<<<<< ", ">>>>>>> ")  # what a conflict leaves in a file

# An editor's tool reads and writes a file within a millisecond. The trial is not about two tools in one millisecond.
ONE_AT_A_TIME = threading.Lock()

PHASES = ("think", "edit", "test", "git", "bb", "wait", "again")


class GaveUpError(Exception):
    """An agent did not get a step done in TIRED tries."""


@dataclass
class Notes:
    """What one agent saw: seconds by phase, and how often things happened."""

    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))
    counts: Counter[str] = field(default_factory=Counter)
    calls: dict[str, list[float]] = field(default_factory=dict)  # of bb, by verb: the seconds of each
    first_edit: float = 0.0
    done: float = 0.0
    odd: list[str] = field(default_factory=list)  # what should not happen, with the output that shows it


class Agent:
    def __init__(self, task: Task, place: str, way: Way, *, careful: bool, scale: float, test: Sequence[str]) -> None:
        self.task, self.name = task, task.agent
        self.place, self.way = place, way
        self.careful, self.scale, self.test_command = careful, scale, tuple(test)
        self.notes = Notes()
        self.copies: dict[str, str] = {}  # of the files, as a careless agent remembers them
        self.steps = 0
        self.pace = 0.7 + 0.6 * hashlib.sha256(task.agent.encode()).digest()[0] / 255
        self._phases: list[tuple[str, float]] = []

    # -- the work

    def work(self) -> None:
        """All of the task, from the first file read to the last commit merged."""
        try:
            for number, unit in enumerate(self.task.units):
                self.way.begin(self, unit)
                self.read(unit)
                self.think("read")
                if self.way.waits(self, unit):
                    self.read(unit)  # the files are not as they were
                self.edit(unit)
                if not self.careful and number == 1:
                    self.way.stash(self, unit)
                self.way.test(self, unit)
                self.think("commit")
                self.way.commit(self, unit)
                self.way.end(self, unit)
            self.way.finish(self)
        except GaveUpError as error:
            self.notes.counts["gave up"] += 1
            self.notes.odd.append(f"{self.name} gave up: {error}")
            self.way.abandon(self)
        self.notes.done = time.monotonic()

    def read(self, unit: Unit) -> None:
        with self.phase("edit"):
            self.copies = {file: self.content(file) for file in unit.files}

    def edit(self, unit: Unit) -> None:
        """All edits of UNIT. One that cannot be made now is tried again after the others."""
        waiting, refused = deque(unit.edits), 0
        new = set(unit.edits)
        while waiting:
            edit = waiting.popleft()
            if edit in new:
                self.think("edit")
                new.discard(edit)
            if self.make(edit):
                refused = 0
                continue
            waiting.append(edit)
            refused += 1
            self.tire(refused, f"edit of {edit.file}")
            self.think_again()

    def make(self, edit: Edit) -> bool:
        """Make one edit, if the way allows it and the file has the anchor."""
        # A careless agent that was refused reads the file again, and so does a careful one before every edit.
        source = None if self.careful else self.copies.get(edit.file)
        try:
            new = edit.applied(self.content(edit.file) if source is None else source)
        except AnchorNotFoundError:
            self.notes.counts["anchor gone"] += 1
            self.copies.pop(edit.file, None)
            return False
        if not self.way.make(self, edit, new):
            self.copies.pop(edit.file, None)
            return False
        self.copies[edit.file] = new
        return True

    def forget(self, reason: str) -> None:
        """Read the files again that a refusal names as changed."""
        _, _, named = reason.partition(CHANGED_TOO)
        for file in [file for file in self.copies if file in named]:
            del self.copies[file]

    def write(self, edit: Edit, new: str) -> bool:
        """Change the file as an editor's tool does: an exact replacement now, or the whole content."""
        with self.phase("edit"), ONE_AT_A_TIME:
            if self.careful:  # what others wrote since the thought stays
                try:
                    new = edit.applied(self.content(edit.file))
                except AnchorNotFoundError:
                    return False
            replace_file(os.path.join(self.place, edit.file), new)
        self.notes.first_edit = self.notes.first_edit or time.monotonic()
        return True

    def redo_missing(self, edits: Sequence[Edit]) -> int:
        """Make those EDITS again that another agent's rewrite or stash removed; how many they were."""
        for file in sorted({edit.file for edit in edits}):
            if any(mark in self.content(file) for mark in MARKS):
                self.run_git("checkout", "--quiet", "HEAD", "--", file, check=False)
                self.notes.counts["conflicts"] += 1
        missing = [edit for edit in edits if not edit.is_in(self.content(edit.file))]
        self.copies = {}
        for edit in missing:
            for tries in range(TIRED):
                if self.make(edit):
                    break
                self.tire(tries, f"edit of {edit.file}, again")
                self.think_again()
        self.notes.counts["redone"] += len(missing)
        return len(missing)

    def content(self, file: str) -> str:
        try:
            with open(os.path.join(self.place, file), encoding="utf-8") as opened:
                return opened.read()
        except FileNotFoundError:
            return ""

    # -- thinking and waiting

    def think(self, kind: str) -> None:
        with self.phase("think"):
            time.sleep(self.thought(kind))

    def think_again(self) -> None:
        """The thought that a failure, a refusal or a conflict costs."""
        with self.phase("again"):
            time.sleep(self.thought("again"))

    def thought(self, kind: str) -> float:
        """The seconds of the next thought, the same in every run: chance would hide what a way costs."""
        self.steps += 1
        digest = hashlib.sha256(f"{self.name} {self.steps}".encode()).digest()
        return THINKING[kind] * self.scale * self.pace * (0.5 + digest[0] / 255)

    def tire(self, tries: int, what: str) -> None:
        if tries >= TIRED:
            raise GaveUpError(what)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the time inside to NAME, and to no phase around it."""
        now = time.monotonic()
        if self._phases:
            around, since = self._phases[-1]
            self.notes.seconds[around] += now - since
        self._phases.append((name, now))
        try:
            yield
        finally:
            now = time.monotonic()
            self.notes.seconds[name] += now - self._phases.pop()[1]
            if self._phases:
                self._phases[-1] = (self._phases[-1][0], now)

    # -- programs

    def run_git(
        self, *words: str, check: bool = True, text: str | None = None, settings: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """One git command. A lock of another agent's git is waited for, as a careful agent does."""
        env = gits.environment(self.name, **(settings or {}))
        for tries in range(10 * TIRED):
            with self.phase("git"):
                ran = subprocess.run(
                    ["git", *words], cwd=self.place, env=env, input=text, capture_output=True, text=True, check=False
                )
            if "index.lock" not in ran.stderr and "unable to lock" not in ran.stderr:
                break
            self.notes.counts["locked"] += 1
            with self.phase("wait"):
                time.sleep(min(0.02 * (tries + 1), 0.2))
        if check and ran.returncode:
            raise RuntimeError(f"{self.name}: git {' '.join(words)}: {ran.stderr.strip() or ran.stdout.strip()}")
        return ran

    def run_bb(
        self, *words: str, payload: Mapping[str, object] | None = None, phase: str = "bb"
    ) -> subprocess.CompletedProcess[str]:
        """One bb command, as a process of its own."""
        started = time.monotonic()
        with self.phase(phase):
            ran = subprocess.run(
                [self.way.bb, *words],
                cwd=self.place,
                env=gits.environment(self.name, BB_AGENT=self.name),
                input=None if payload is None else json.dumps(payload),
                capture_output=True,
                text=True,
                check=False,
            )
        verb = " ".join(words[: 2 if words[0] == "hook" else 1])
        self.notes.calls.setdefault(verb, []).append(time.monotonic() - started)
        return ran

    def run_test(self, place: str | None = None) -> bool:
        """Whether the tests pass at PLACE, by default in the agent's checkout."""
        with self.phase("test"):
            ran = subprocess.run(
                [self.way.python, *self.test_command],
                cwd=place or self.place,
                env=gits.environment(self.name),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
        return self.tested(ran.returncode == 0, ran.stdout + ran.stderr)

    def tested(self, passed: bool, output: str) -> bool:
        self.notes.counts["tests"] += 1
        if not passed:
            self.notes.counts["broken"] += 1
            self.notes.odd.append(f"{self.name}: a test failed: …{output[-400:]}")
        return passed


def replace_file(path: str, new: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(new)


@contextmanager
def folder(path: str) -> Iterator[str]:
    """An empty folder that is gone afterwards."""
    os.makedirs(path)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
