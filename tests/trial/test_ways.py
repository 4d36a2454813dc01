"""Small trials with real agents, git and bb: two agents in the same two files, without time to think."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from scripts.trial import repositories, trial
from scripts.trial.agents import CHANGED_TOO, Agent
from scripts.trial.edits import AFTER, REPLACE, Edit
from scripts.trial.git import environment, git
from scripts.trial.recorded import Recorded, Task, Unit
from scripts.trial.ways import WAYS, Nothing, own_content

if TYPE_CHECKING:
    from pathlib import Path

BB = str(repositories.ROOT) + "/.venv/bin/bb"
CODE = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"
TEST = ("-c", "import code_of as c; assert all(callable(getattr(c, name)) for name in open('names').read().split())")


def task(name: str, changed: str) -> Task:
    """An agent that adds a function, whose name comes first, and then changes the line CHANGED."""
    function = f"def {name}():\n    return '{name}'\n\n\n"
    names = Edit("names", AFTER, "one\n", f"{name}\n")
    code = Edit("code_of.py", AFTER, "    return 1\n\n\n", function)
    change = Edit("code_of.py", REPLACE, changed, changed.rstrip("\n") + f"  # {name}\n")
    return Task(name, (Unit(f"Add {name}", (names, code)), Unit(f"Change for {name}", (change,))))


RECORDED = Recorded("small", "1", "", TEST, (), (task("ada", "def two():\n"), task("bob", "    return 2\n")))


@pytest.fixture
def source(tmp_path: Path) -> str:
    place = tmp_path / "source"
    place.mkdir()
    (place / "code_of.py").write_text(CODE)
    (place / "names").write_text("one\ntwo\n")
    git(str(place), "init", "--quiet", "--initial-branch=main")
    git(str(place), "add", "--all")
    git(str(place), "commit", "--quiet", "--message", "Start")
    return str(place)


@pytest.mark.parametrize("way", list(WAYS))
def test_careful_agents_lose_nothing_and_commit_only_their_own(source: str, way: str) -> None:
    outcome = trial.run(RECORDED, source, way, trial.Setting(BB, sys.executable, scale=0), agents=2, careful=True)

    assert (outcome.lost, outcome.damaged, outcome.stray, outcome.foreign) == (0, 0, 0, 0), outcome.odd
    assert outcome.is_fine, outcome.odd
    assert bool(outcome.bb_calls) is (way in ("files", "lines"))


def agent_at(place: str) -> Agent:
    return Agent(RECORDED.tasks[0], place, Nothing(place, sys.executable, BB), careful=True, scale=0, test=TEST)


def test_a_careful_agent_commits_its_own_lines_between_those_of_another(source: str) -> None:
    ada, bo = (each.units[0] for each in RECORDED.tasks)
    for edit in (*ada.edits, *bo.edits):
        repositories.change(source, edit)
    agent = agent_at(source)

    agent.way.commit(agent, ada)

    committed = git(source, "show", "HEAD:code_of.py")
    assert "def ada" in committed
    assert "def bob" not in committed
    assert git(source, "show", "--no-patch", "--format=%an", "HEAD").strip() == "ada"
    left = git(source, "diff", "--", "code_of.py")
    assert "+def bob():" in left
    assert "ada" not in "".join(line for line in left.splitlines() if line.startswith(("+", "-"))), left


def test_the_order_of_the_work_tree_stays(source: str) -> None:
    edits = [Edit("names", AFTER, "one\n", "b\n"), Edit("names", AFTER, "two\n", "c\n")]
    with open(f"{source}/names", "w", encoding="utf-8") as file:
        file.write("zero of another\none\nx of another\nb\ny of another\ntwo\nc\n")

    assert own_content(agent_at(source), "HEAD", "names", edits) == "one\nb\ntwo\nc\n"


def test_a_stale_rewrite_of_a_careless_agent_is_counted(source: str) -> None:
    """The trial would prove nothing if careless agents did no harm without bb."""
    first = git(source, "rev-parse", "HEAD").strip()
    ada, bo = RECORDED.tasks
    agents = [
        Agent(each, source, Nothing(source, sys.executable, BB), careful=False, scale=0, test=TEST)
        for each in (ada, bo)
    ]
    for agent in agents:
        agent.read(agent.task.units[0])
    for agent in agents:
        agent.edit(agent.task.units[0])
        agent.way.commit(agent, agent.task.units[0])

    verdict = trial.judge(source, first, git(source, "rev-parse", "HEAD").strip(), [ada, bo])

    assert verdict.lost >= len(ada.units[0].edits)
    assert verdict.foreign >= len(ada.units[0].edits)
    assert environment("ada")["GIT_AUTHOR_NAME"] == "ada"


def test_a_careless_agent_reads_again_what_a_refusal_names(source: str) -> None:
    agent = agent_at(source)
    agent.copies = {"a.py": "old", "b.py": "old", "c.py": "old"}

    agent.forget(f"a.py has changed. Others have also changed these lately; {CHANGED_TOO}b.py, d.py")
    assert list(agent.copies) == ["a.py", "c.py"]

    agent.forget("a.py is held by another agent, c.py too")
    assert list(agent.copies) == ["a.py", "c.py"]
