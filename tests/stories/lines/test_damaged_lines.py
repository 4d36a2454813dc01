"""What bb knows of uncommitted lines is damaged or lost: changes become unattributed, never another agent's."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from bb.coordination.lines import weave as weaves
from bb.coordination.lines.file_state import BEGUN, CLAIMED, ENDED, SEEN
from bb.ledger.lines import uncommitted
from bb.ledger.lines.act import Act
from tests.stories.lines.world import AGENTS, World

OTTER, HARBOR = AGENTS[:2]
NAME = "read.py"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def edit(world: World, agent: str, line: bytes, name: str = NAME) -> None:
    store = world.store()
    uncommitted.look(store, name, Act(BEGUN, agent), world.tick())
    (world.path / name).write_bytes(line + (world.path / name).read_bytes())
    uncommitted.look(store, name, Act(ENDED, agent), world.tick())


def owners(world: World) -> dict[bytes, set[str]]:
    """The agents that own each uncommitted line."""
    store = world.store()
    state = uncommitted.look(store, NAME, Act(SEEN), world.tick())
    lines = store.lines(state.now)
    found = zip(lines, weaves.owners_of_lines(state.weave), strict=True)
    return {line: world.agents_in(whose) for line, whose in found if whose}


def lines_folder(world: World) -> Path:
    return world.path / ".git" / "bb" / "lines"


def log(world: World) -> Path:
    (found,) = (lines_folder(world) / "files").iterdir()
    return found


@pytest.mark.parametrize("step", [41, pytest.param(1, marks=pytest.mark.long)])
def test_a_log_that_is_cut_off_anywhere_gives_no_line_to_another_agent(world: World, step: int):
    edit(world, OTTER, b"otter\n")
    edit(world, HARBOR, b"harbor\n")
    whole, now = log(world).read_bytes(), world.now

    ends = [at + more for at, octet in enumerate(whole) if octet == 0x0A for more in (0, 1)]
    for length in sorted({*range(0, len(whole), step), *ends}):
        log(world).write_bytes(whole[:length])
        world.now = now
        found = owners(world)
        assert found[b"otter\n"] <= {OTTER}, length
        # A whole line may be lost together with all that followed, and then an edit seems to be still going on.
        assert found[b"harbor\n"] <= ({HARBOR} if whole[:length][-1:] != b"\n" else {HARBOR, OTTER}), length
        edit(world, HARBOR, b"later\n")
        assert owners(world)[b"later\n"] <= {HARBOR}, length
        (world.path / NAME).write_bytes((world.path / NAME).read_bytes().removeprefix(b"later\n"))


def test_a_damaged_line_in_a_log_is_skipped(world: World):
    edit(world, OTTER, b"otter\n")
    with log(world).open("ab") as file:
        file.write(b'{"path": 7}\n\xff\xfe\n[]\n')

    assert owners(world)[b"otter\n"] == {OTTER}
    edit(world, HARBOR, b"harbor\n")
    assert owners(world) == {b"otter\n": {OTTER}, b"harbor\n": {HARBOR}}


def test_without_its_contents_a_file_is_known_anew_when_it_changes(world: World):
    edit(world, OTTER, b"otter\n")
    shutil.rmtree(lines_folder(world) / "objects")
    assert owners(world) == {b"otter\n": {OTTER}}
    shutil.rmtree(lines_folder(world) / "objects", ignore_errors=True)

    edit(world, HARBOR, b"harbor\n")

    found = owners(world)
    assert found[b"otter\n"] <= {OTTER}
    assert found[b"harbor\n"] <= {HARBOR}
    assert world.committed(HARBOR, []) in (0, 3)


@pytest.mark.parametrize("damaged", [b"", b"x", b"\x78\x01\x00"])
def test_a_damaged_content_is_as_good_as_none(world: World, damaged: bytes):
    edit(world, OTTER, b"otter\n")
    for file in (lines_folder(world) / "objects").glob("*/*"):
        file.chmod(0o644)
        file.write_bytes(damaged)

    assert owners(world) == {b"otter\n": {OTTER}}
    edit(world, HARBOR, b"harbor\n")
    for file in (lines_folder(world) / "objects").glob("*/*"):
        file.chmod(0o644)
        file.write_bytes(damaged)
    (world.path / NAME).write_bytes(b"person\n" + (world.path / NAME).read_bytes())

    found = owners(world)
    assert found[b"person\n"] == set()
    assert found[b"otter\n"] <= {OTTER}
    assert world.bb("diff")[0] == world.bb("diff", "--agent", OTTER)[0] == world.bb("blame", NAME)[0] == 0
    uncommitted.look(world.store(), NAME, Act(CLAIMED, OTTER), world.tick())
    assert world.committed(OTTER, []) == 0


def test_a_lost_log_leaves_changes_of_nobody(world: World):
    edit(world, OTTER, b"otter\n")
    os.unlink(log(world))

    edit(world, HARBOR, b"harbor\n")

    assert owners(world) == {b"otter\n": set(), b"harbor\n": {HARBOR}}
