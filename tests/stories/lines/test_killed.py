"""A process of bb is killed at any step of an edit or a commit: nothing is lost, and no line is another agent's."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bb.coordination.lines import weave as weaves
from bb.coordination.lines.file_state import BEGUN, CLAIMED, ENDED, SEEN
from bb.ledger.files import disk, processes
from bb.ledger.lines import uncommitted
from bb.ledger.lines.act import Act
from tests.stories.lines.world import AGENTS, PLAIN, UNBORN, World, git
from tests.support import copied

OTTER, HARBOR = AGENTS[:2]
NAME, OTHER, NEW = "read.py", "-dash", "new.py"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, and counts system calls of Python")

# Whatever changes something outside of the process: bb has no other way to do so.
DOORS: tuple[tuple[Any, str], ...] = (
    (os, "replace"), (os, "unlink"), (os, "link"), (os, "mkdir"), (os, "fsync"), (os, "fdatasync"), (os, "write"),
    (disk, "create"), (processes, "start"),
)  # fmt: skip


def killed_at(step: int, what: Callable[[], object]) -> bool:
    """Do WHAT in a process that ends at once before its STEP-th change, or after half of a write; False if WHAT has
    fewer steps."""
    child = os.fork()
    if child == 0:
        _count_down(step)
        try:
            what()
        finally:
            EXIT(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == KILLED


KILLED = 77
EXIT = os._exit  # the test's way to run commands replaces it


def _count_down(steps: int) -> None:
    left = [steps]

    def guarded(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                if name == "write":
                    real(given[0], given[1][: len(given[1]) // 2])
                EXIT(KILLED)
            done = real(*given, **named)
            if name == "start" and left[0] == 0:  # the process that was started goes on; this one is killed
                done.communicate(b"", 30.0) if "update-ref" in given[0] else None
                left[0] = 0
            return done

        return call

    for module, name in DOORS:
        setattr(module, name, guarded(name, getattr(module, name)))


def edit(world: World, agent: str, name: str, line: bytes) -> None:
    store = world.store()
    uncommitted.look(store, name, Act(BEGUN, agent), world.tick())
    append(world, name, line)
    uncommitted.look(store, name, Act(ENDED, agent), world.tick())


def append(world: World, name: str, line: bytes) -> None:
    world.may_own[line.split()[0]] = {*AGENTS}  # the test itself says whose each line is
    with (world.path / name).open("ab") as file:
        file.write(line)


def owners(world: World, name: str = NAME) -> dict[bytes, set[str]]:
    store = world.store()
    state = uncommitted.look(store, name, Act(SEEN), world.tick())
    found = zip(store.lines(state.now), weaves.owners_of_lines(state.weave), strict=True)
    return {line: world.agents_in(whose) for line, whose in found if whose}


def worlds(tmp_path: Path, world: World) -> Callable[[int], World]:
    """Copies of a world, for one try each."""

    def copy(step: int) -> World:
        made = object.__new__(World)
        made.__dict__.update(world.__dict__)
        made.path = tmp_path / f"copy{step}"
        copied(world.path, made.path)
        git(made.path, "update-index", "-q", "--refresh", check=False)
        made.repo = type(world.repo)(made.path, world.repo.settings)
        return made

    return copy


def tries(
    tmp_path: Path, world: World, every: int, what: Callable[[World], object], check: Callable[[World], object]
) -> int:
    """Kill WHAT at each of its steps, or at EVERY such one, in a copy of WORLD, and CHECK the copy. The number of
    steps."""
    copy = worlds(tmp_path, world)
    for step in range(0, 1000, every):
        one = copy(step)
        if not killed_at(step, lambda one=one: what(one)):
            check(one)
            shutil.rmtree(one.path)
            return step
        check(one)
        shutil.rmtree(one.path)
    raise AssertionError("it does not end")


def usable(world: World) -> None:
    """git is not blocked, and nothing is broken."""
    assert not (world.path / ".git" / "index.lock").exists()
    git(world.path, "update-index", "-q", "--refresh", check=False)
    assert git(world.path, "fsck", "--no-dangling", "--no-progress") == b""


@pytest.mark.parametrize("kind", [BEGUN, ENDED, CLAIMED])
def test_a_look_that_is_killed_gives_no_line_to_another_agent(tmp_path: Path, kind: str):
    world = World(tmp_path)
    edit(world, HARBOR, NAME, b"c1 harbor\n")
    if kind == ENDED:
        uncommitted.look(world.store(), NAME, Act(BEGUN, OTTER), world.tick())
    append(world, NAME, b"a1 otter\n" if kind == ENDED else b"p1 person\n")
    mine = b"a1 otter\n" if kind == ENDED else b"p1 person\n"

    def what(one: World) -> None:
        uncommitted.look(one.store(), NAME, Act(kind, OTTER), one.tick())

    def check(one: World) -> None:
        found = owners(one)
        assert found[b"c1 harbor\n"] == {HARBOR}
        assert found[mine] <= ({OTTER} if kind != BEGUN else set())
        again = BEGUN if kind == BEGUN else CLAIMED  # the end of the edit may be lost
        uncommitted.look(one.store(), NAME, Act(again, OTTER), one.tick())
        assert owners(one)[mine] == ({OTTER} if kind != BEGUN else set()), found
        usable(one)

    assert tries(tmp_path, world, 1, what, check) > 3


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", [PLAIN, UNBORN])
def test_a_commit_that_is_killed_is_there_or_not_and_can_be_repeated(tmp_path: Path, kind: int, every: int):
    world = World(tmp_path, kind)

    for name in (NAME, OTHER, NEW):
        (world.path / name).touch()
        edit(world, HARBOR, name, b"c1 harbor\n")
        edit(world, OTTER, name, b"a1 otter\n")
        edit(world, HARBOR, name, b"c2 harbor\n")
    git(world.path, "add", "--", OTHER)
    works = {name: (world.path / name).read_bytes() for name in (NAME, OTHER, NEW)}

    def what(one: World) -> None:
        one.bb("commit", "-m", "Otter's", agent=OTTER)

    def check(one: World) -> None:
        one.told = [""]
        owners(one)  # any next call of bb
        usable(one)
        one.git("status", check=True)
        assert one.committed(OTTER, []) in (0, 3)
        for name, octets in works.items():
            assert (one.path / name).read_bytes() == octets
            head = one.git("show", f"HEAD:{name}")
            assert head.count(b"a1 otter") == 1
            assert b"harbor" not in head
            assert owners(one, name) == {b"c1 harbor\n": {HARBOR}, b"c2 harbor\n": {HARBOR}}
        index = one.git("show", f":{OTHER}", check=True)
        assert index == works[OTHER], "what was staged stays staged"
        assert one.git("show", f":{NAME}") == one.git("show", f"HEAD:{NAME}")
        assert one.committed(HARBOR, []) == 0
        assert one.git("status", "--porcelain", "--", NAME, OTHER, NEW) == b""
        assert int(one.git("rev-list", "--count", "HEAD")) == (3 if kind != UNBORN else 2)
        usable(one)
        assert list((one.path / ".git").glob("index.*")) == []

    assert tries(tmp_path, world, every, what, check) > 20
