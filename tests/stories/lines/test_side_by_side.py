"""Several agents edit one file side by side, at the same places, with lines that are alike, all edits open at once.

The model knows of each line who wrote it, because it makes the edits itself. bb only sees the file at some moments, and
must come to the same: what each agent would commit is exactly what it wrote.
"""

from __future__ import annotations

import contextlib
import queue
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.lines import weave as weaves
from bb.coordination.lines.file_state import BEGUN, ENDED, SEEN, FileState
from bb.coordination.wiring.tool_edits import ToolEdit
from bb.ledger.lines import uncommitted
from bb.ledger.lines.act import Act
from bb.ledger.lines.lines_store import LinesStore
from tests.examples import examples
from tests.stories.lines.world import World
from tests.waiting import PATIENCE

OTTER, HARBOR = "amber-otter", "cobalt-harbor"
NAME = "side.py"
ANCHORS = ("first = 1\n", "second = 2\n", "third = 3\n")
WORDS = ("old_one = 1\n", "old_two = 2\n", "old_three = 3\n", "old_four = 4\n")
BASE = [
    "# a file\n",
    "\n",
    ANCHORS[0],
    WORDS[0],
    "\n",
    WORDS[1],
    ANCHORS[2],
    "\n",
    "def known():\n",
    '    """\n',
    "    Example::\n",
    '    """\n',
    "\n",
    ANCHORS[1],
    "\n",
    "\n",
    "\n",
    WORDS[2],
    "\n",
    WORDS[3],
    "\n",
]


@dataclass
class Line:
    text: str
    added_by: str = ""
    deleted_by: str = ""


@dataclass
class Model:
    """The file as the sum of what the agents did, with deleted lines left in their places."""

    lines: list[Line] = field(default_factory=lambda: [Line(text) for text in BASE])

    @property
    def now(self) -> str:
        return "".join(line.text for line in self.lines if not line.deleted_by)

    def insert(self, agent: str, anchor: str, texts: list[str], *, is_before: bool) -> None:
        at = next(place for place, line in enumerate(self.lines) if line.text == anchor and not line.deleted_by)
        place = at if is_before else at + 1
        self.lines[place:place] = [Line(text, added_by=agent) for text in texts]

    def replace(self, agent: str, word: str, text: str) -> None:
        at = next(place for place, line in enumerate(self.lines) if line.text == word)
        self.lines[at].deleted_by = agent
        self.lines.insert(at + 1, Line(text, added_by=agent))

    def commit(self, agent: str) -> None:
        self.lines = [line for line in self.lines if line.deleted_by != agent]
        for line in self.lines:
            line.added_by = "" if line.added_by == agent else line.added_by

    def of(self, agent: str) -> str:
        return "".join(
            line.text for line in self.lines if (line.added_by == agent if line.added_by else line.deleted_by != agent)
        )


@dataclass
class Planned:
    """One edit of an agent: it has begun, and was perhaps made."""

    edit: ToolEdit
    make: Callable[[], None]
    is_made: bool = False


def block(agent: str, number: int, shape: int) -> list[str]:
    """Lines of which most are the same for all agents."""
    name = f"{agent.split('-')[0]}_{number}"
    shapes = [
        ["\n", "\n", f"def {name}():\n", '    """\n', "    Example::\n", '    """\n', "    return 1\n"],
        [f"def {name}():\n", '    """\n', "    Example::\n", '    """\n', "\n", "\n"],
        ["@cached\n", "@traced\n", f"def {name}():\n", "    return 1\n", "\n"],
        ["\n", f"{name} = 1\n", "\n"],
        ["\n", f"{name} = 1\n"],
        ["- entry\n", f"- {name}\n"],
        [f"- {name}\n", "- entry\n"],
    ]
    return shapes[shape % len(shapes)]


class SideBySide:
    """The agents of a world, who all edit one file, and the model of what they do."""

    def __init__(self, path: Path, agents: int) -> None:
        self.world = World(path, agents=agents)
        self.file = self.world.path / NAME
        self.file.write_text("".join(BASE))
        self.world.git("add", NAME, check=True)
        self.world.git("commit", "-qm", "Side by side", check=True)
        self.store = self.world.store()
        self.model = Model()
        self.planned: dict[str, Planned] = {}
        self.words = list(WORDS)
        self.number = 0

    def look(self, kind: str, agent: str = "", edit: ToolEdit | None = None) -> FileState:
        return uncommitted.look(self.store, NAME, Act(kind, agent, edit), self.world.tick())

    def step(self, kind: int, agent: str, which: int, how: int, *, has_commits: bool) -> None:
        one = self.planned.get(agent)
        if one is None and has_commits and how % 6 == 5:
            self.commit(agent)
        elif one is None:
            self.begin(agent, self.plan(kind, agent, which, how))
        elif kind % 3 == 0:
            self.end(agent)
        elif kind % 3 == 1 and not one.is_made:
            self.make(agent)
        elif kind % 3 == 2 and how % 3 == 0:
            self.look(SEEN)

    def plan(self, kind: int, agent: str, which: int, how: int) -> Planned:
        self.number += 1
        if kind % 6 == 5 and self.words:
            word, text = self.words.pop(which % len(self.words)), f"new_{self.number} = 1\n"
            return Planned(edit_of(word, text), lambda: self.model.replace(agent, word, text))
        anchor, texts, is_before = ANCHORS[which % 3], block(agent, self.number, how), which % 5 == 0
        new = "".join([*texts, anchor] if is_before else [anchor, *texts])
        return Planned(edit_of(anchor, new), lambda: self.model.insert(agent, anchor, texts, is_before=is_before))

    def begin(self, agent: str, plan: Planned) -> None:
        self.planned[agent] = plan
        self.look(BEGUN, agent, plan.edit)

    def make(self, agent: str) -> None:
        self.planned[agent].make()
        self.file.write_text(self.model.now)
        self.planned[agent].is_made = True

    def end(self, agent: str) -> None:
        if not self.planned[agent].is_made:
            self.make(agent)
        self.look(ENDED, agent, self.planned.pop(agent).edit)

    def commit(self, agent: str) -> None:
        status, said = self.world.bb("commit", "-m", "Mine", agent=agent)
        assert status == 0 or "NOTHING_TO_COMMIT" in said, said
        assert self.world.git("show", f"HEAD:{NAME}", check=True).decode() == self.model.of(agent)
        self.model.commit(agent)

    def check(self) -> None:
        """Everything has its owner, and each agent would commit exactly what it wrote."""
        state = self.look(SEEN)
        assert not any(map(weaves.is_unattributed, state.owners)), state.owners
        base, now = self.store.lines(state.base), self.store.lines(state.now)
        assert b"".join(now).decode() == self.model.now
        for agent in self.world.agents:
            content = b"".join(weaves.content(state.weave, base, now, frozenset({agent}))).decode()
            assert content == self.model.of(agent), agent


def explored(agents: int, steps: list[tuple[int, int, int, int]], *, has_commits: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="bb-tests-side-") as folder:
        side = SideBySide(Path(folder), agents)
        for kind, who, which, how in steps:
            side.step(kind, side.world.agents[who % agents], which, how, has_commits=has_commits)
            if not side.planned:
                side.check()
        for agent in list(side.planned):
            side.end(agent)
        side.check()


def edit_of(old: str, new: str) -> ToolEdit:
    return ToolEdit("Edit", {"file_path": NAME, "old_string": old, "new_string": new}, NAME)


STEPS = st.lists(st.tuples(*[st.integers(0, most) for most in (5, 7, 9, 20)]), min_size=4, max_size=60)


@examples(60)
@given(agents=st.integers(2, 8), steps=STEPS)
def test_edits_at_the_same_places_are_told_apart_while_all_are_open(
    agents: int, steps: list[tuple[int, int, int, int]]
):
    explored(agents, steps, has_commits=False)


@examples(60)
@given(agents=st.integers(2, 8), steps=STEPS)
def test_each_commits_its_own_part_of_a_place_while_others_edit_there(
    agents: int, steps: list[tuple[int, int, int, int]]
):
    explored(agents, steps, has_commits=True)


@pytest.fixture
def side(tmp_path: Path) -> SideBySide:
    """Harbor has a block in the file. Otter has begun to add one."""
    side = SideBySide(tmp_path, 3)
    side.begin(HARBOR, side.plan(0, HARBOR, 1, 0))
    side.end(HARBOR)
    side.begin(OTTER, side.plan(0, OTTER, 1, 0))
    return side


def test_a_look_in_the_middle_of_a_write_waits_for_its_end(side: SideBySide):
    """Editors empty a file before they write it."""
    side.file.write_text("")
    other = threading.Timer(0.02, side.make, [OTTER])
    other.start()

    assert side.look(SEEN).owners == {OTTER, HARBOR}
    other.join()
    side.end(OTTER)
    side.check()


@pytest.mark.parametrize("part", [0, 1, 300])
def test_a_write_that_takes_longer_still_takes_nothing_from_others(side: SideBySide, part: int):
    side.make(OTTER)
    side.file.write_text(side.model.now[:part])
    side.look(SEEN)
    side.file.write_text(side.model.now)

    side.end(OTTER)
    side.check()


def test_a_look_does_not_wait_for_a_file_that_its_person_has_emptied(side: SideBySide, monkeypatch: pytest.MonkeyPatch):
    side.end(OTTER)
    side.file.write_text("")
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("a look waits"))

    assert side.look(SEEN).now.blob


def test_of_several_that_wait_for_an_edit_one_begins_and_the_others_go_on_waiting(
    side: SideBySide, monkeypatch: pytest.MonkeyPatch
):
    """Whoever finds the file free stops until the others have found that too, or until they have to wait for it."""
    others = side.world.agents[1:]
    both, is_just_edited = threading.Barrier(len(others)), uncommitted._is_just_edited
    begun: queue.Queue[tuple[str, list[str]]] = queue.Queue()

    def slowly(store: LinesStore, path: str, agent: str, now: int) -> bool:
        if is_just_edited(store, path, agent, now):
            return True
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(timeout=0.3)
        return False

    def begin(agent: str) -> None:
        (state,) = uncommitted.begin(side.world.store(), [NAME], agent, lambda: side.world.now)
        begun.put((agent, list(state.editing)))

    monkeypatch.setattr(uncommitted, "WAIT", 60)
    monkeypatch.setattr(uncommitted, "_is_just_edited", slowly)
    side.end(OTTER)
    for agent in others:
        threading.Thread(target=begin, args=[agent], daemon=True).start()

    done = []
    for _ in others:
        agent, editing = begun.get(timeout=PATIENCE)
        assert editing == [agent]
        done.append(agent)
        side.look(ENDED, agent)
    assert sorted(done) == sorted(others)
