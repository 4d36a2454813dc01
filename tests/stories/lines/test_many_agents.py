"""Several agents and a person edit in one work tree, interleaved at any point, while some commit and some use git.

After each step, no line has an owner that did not write it. A commit changes neither the work tree nor what others have
staged, and has no line of others. At the end everybody commits, and HEAD is the work tree (`world.py`).
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.stories.lines.world import CONVERTED, DETACHED, LINKED, PLAIN, SHA256, UNBORN, Step, World, walk

STEPS = st.lists(st.tuples(*[st.integers(0, most) for most in (23, 4, 59, 59)]), min_size=5, max_size=60)


def explored(kind: int, agents: int, steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory(prefix="bb-tests-walk-") as folder:
        walk(Path(folder), kind, agents, steps)


@examples(40)
@given(kind=st.sampled_from([PLAIN, DETACHED, CONVERTED]), agents=st.integers(2, 5), steps=STEPS)
def test_whatever_agents_do_in_one_tree_each_commits_its_own_lines(kind: int, agents: int, steps: list[Step]):
    explored(kind, agents, steps)


@examples(20)
@given(kind=st.sampled_from([SHA256, LINKED, UNBORN]), agents=st.integers(2, 3), steps=STEPS)
def test_so_it_is_in_other_kinds_of_repositories(kind: int, agents: int, steps: list[Step]):
    explored(kind, agents, steps)


# Found by such walks.
FOUND: dict[str, tuple[int, int, list[Step]]] = {
    "a soft reset during a command": (3, 5, [(22, 0, 38, 25), (13, 4, 59, 53), (12, 0, 1, 54), (21, 0, 13, 13)]),
    "a file of which nothing was known": (3, 2, [(20, 1, 51, 57), (13, 0, 0, 8), (21, 0, 1, 22)]),
    "a name that is not UTF-8": (3, 4, [(1, 1, 4, 32), (2, 1, 50, 42), (13, 0, 33, 1)]),
    "a line staged twice": (
        0,
        4,
        [
            *((7, 2, 16, 37), (2, 2, 4, 3), (5, 2, 28, 21), (17, 0, 26, 46), (22, 2, 56, 7), (1, 0, 46, 58)),
            *((8, 0, 49, 8), (21, 2, 54, 35), (2, 0, 45, 29), (7, 3, 41, 45), (20, 0, 49, 32)),
        ],
    ),
}


@pytest.mark.parametrize("case", FOUND)
def test_what_once_went_wrong_goes_well(tmp_path: Path, case: str):
    kind, agents, steps = FOUND[case]
    walk(tmp_path, kind, agents, steps)


def test_a_new_file_that_git_ignores_is_committed_only_by_its_name(tmp_path: Path):
    world = World(tmp_path)
    (world.path / ".git" / "info" / "exclude").write_text("*.log\n")
    world.bb("edit", "begin", "read.py", "secret.log", agent=world.agents[0])
    (world.path / "read.py").write_bytes(b"a1 mine\n")
    (world.path / "secret.log").write_bytes(b"a2 password\n")
    world.bb("edit", "end", agent=world.agents[0])

    assert world.bb("commit", "-m", "All", agent=world.agents[0])[0] == 0
    assert b"secret.log" not in world.tree()
    assert world.bb("commit", "-m", "All", agent=world.agents[0])[0] == 3
    assert world.bb("commit", "-m", "Log", "secret.log", agent=world.agents[0])[0] == 0
    assert b"secret.log" in world.tree()


def test_a_folder_in_the_place_of_a_file_is_committed_and_the_other_way_round(tmp_path: Path):
    world, agent = World(tmp_path), "amber-otter"
    world.bb("edit", "begin", "read.py", "read.py/part.py", agent=agent)
    (world.path / "read.py").unlink()
    (world.path / "read.py").mkdir()
    (world.path / "read.py" / "part.py").write_bytes(b"a1 new\n")
    world.bb("edit", "end", agent=agent)
    assert world.bb("commit", "-m", "A folder", agent=agent)[0] == 0
    assert world.git("status", "--porcelain") == b""

    world.bb("edit", "begin", "read.py", "read.py/part.py", agent=agent)
    (world.path / "read.py" / "part.py").unlink()
    (world.path / "read.py").rmdir()
    (world.path / "read.py").write_bytes(b"a2 again\n")
    world.bb("edit", "end", agent=agent)
    assert world.bb("commit", "-m", "A file", agent=agent)[0] == 0
    assert world.git("status", "--porcelain") == b""


def test_a_submodule_whose_folder_is_gone_stops_nothing(tmp_path: Path):
    world = World(tmp_path)
    head = world.git("rev-parse", "HEAD").decode().strip()
    world.git("update-index", "--add", "--cacheinfo", f"160000,{head},sub", check=True)
    world.git("commit", "-qm", "A submodule", check=True)

    status, said = world.bb("diff")

    assert status == 0, said
    assert '"files":[]' in said
