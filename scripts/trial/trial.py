"""One trial: some agents do their recorded tasks in one way, and the judge looks at what came of it."""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import tempfile
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from scripts.trial import git as gits
from scripts.trial import repositories
from scripts.trial.agents import PHASES, Agent
from scripts.trial.judge import judge
from scripts.trial.ways import MAIN, WAYS

if TYPE_CHECKING:
    from scripts.trial.judge import Verdict
    from scripts.trial.recorded import Recorded


@dataclass(frozen=True)
class Outcome:
    """Everything that one trial measured. SECONDS are means of the agents, by phase."""

    package: str
    way: str
    agents: int
    careful: bool
    wall: float  # from the first edit to the last commit merged and tested
    seconds: dict[str, float]
    counts: dict[str, int]
    calls: dict[str, list[float]]  # of bb, by verb
    bb_share: float  # of the agents' time
    cpu: float  # of all cores, by this trial
    machine: float  # of all cores, by everything on the machine
    load: float
    lost: int
    damaged: int
    stray: int
    foreign: int
    commits: int
    green: bool
    odd: list[str]

    @property
    def bb_calls(self) -> int:
        return sum(len(each) for each in self.calls.values())

    @property
    def each(self) -> float:
        """The seconds from an agent's start to its end, on average."""
        return sum(self.seconds.values())

    @property
    def gave_up(self) -> bool:
        return self.counts.get("gave up", 0) > 0

    @property
    def is_fine(self) -> bool:
        """Whether nothing is lost, foreign or red."""
        return self.green and not self.gave_up and not (self.lost or self.damaged or self.stray or self.foreign)

    def as_table(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True)
class Setting:
    """What the trials of one run of the benchmark have in common."""

    bb: str
    python: str
    scale: float = 1.0
    keep: str | None = None  # a folder for the repositories of trials that lost something or are not green


def run(recorded: Recorded, source: str, way_name: str, setting: Setting, *, agents: int, careful: bool) -> Outcome:
    """Run one trial on a copy of the repository SOURCE."""
    scratch = tempfile.mkdtemp(prefix="bb-trial-")
    try:
        place = os.path.join(scratch, "repository")
        shutil.copytree(source, place, symlinks=True)
        first = gits.git(place, "rev-parse", MAIN).strip()
        tasks = recorded.tasks[:agents]
        way = WAYS[way_name](place, setting.python, setting.bb)
        way.prepare(tasks)
        team = [
            Agent(task, way.place_of(task), way, careful=careful, scale=setting.scale, test=recorded.test)
            for task in tasks
        ]
        used = measured(team)
        last = gits.git(place, "rev-parse", MAIN).strip()
        verdict = judge(place, first, last, tasks)
        red = final_failure(recorded, place, last, setting.python)
        outcome = summed_up(recorded, way_name, team, used, verdict, red)
        if setting.keep and not outcome.is_fine:
            name = f"{recorded.package}-{agents}-{'careful' if careful else 'careless'}-{way_name}-{last[:8]}"
            shutil.copytree(place, os.path.join(setting.keep, name), symlinks=True)
        return outcome
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@dataclass(frozen=True)
class Used:
    """What the machine did while the agents worked."""

    started: float
    cpu: float
    machine: float
    load: float


def measured(team: list[Agent]) -> Used:
    cpu, machine, started = cpu_seconds(), machine_seconds(), time.monotonic()
    work_together(team)
    taken = time.monotonic() - started
    busy, there = (now - then for now, then in zip(machine_seconds(), machine, strict=True))
    share = (cpu_seconds() - cpu) / taken / (os.cpu_count() or 1)
    return Used(started, share, busy / there if there else 0.0, os.getloadavg()[0])


def summed_up(recorded: Recorded, way: str, team: list[Agent], used: Used, verdict: Verdict, red: str) -> Outcome:
    notes = [agent.notes for agent in team]
    calls: dict[str, list[float]] = {}
    for each in notes:
        for verb, times in each.calls.items():
            calls.setdefault(verb, []).extend(times)
    first_edit = min((each.first_edit for each in notes if each.first_edit), default=used.started)
    odd = [*(line for each in notes for line in each.odd), *verdict.examples]
    return Outcome(
        recorded.package,
        way,
        len(team),
        team[0].careful,
        wall=max(each.done for each in notes) - first_edit,
        seconds={phase: statistics.fmean(each.seconds[phase] for each in notes) for phase in PHASES},
        counts=dict(sum((each.counts for each in notes), Counter())),
        calls=calls,
        bb_share=sum(each.seconds["bb"] for each in notes) / sum(each.done - used.started for each in notes),
        cpu=used.cpu,
        machine=used.machine,
        load=used.load,
        lost=verdict.lost,
        damaged=verdict.damaged,
        stray=verdict.stray,
        foreign=verdict.foreign,
        commits=verdict.commits,
        green=not red,
        odd=odd + ([f"the last commit fails: …{red}"] if red else []),
    )


def work_together(team: list[Agent]) -> None:
    """Let all agents of TEAM work at once. If one of them fails, so does the trial."""
    failures: list[BaseException] = []

    def work(agent: Agent) -> None:
        try:
            agent.work()
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work, args=[agent], name=agent.name, daemon=True) for agent in team]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def final_failure(recorded: Recorded, place: str, last: str, python: str) -> str:
    """What the tests of the last commit print if they fail, in a checkout of its own."""
    with tempfile.TemporaryDirectory(prefix="bb-trial-last-") as aside:
        settings = gits.environment(GIT_INDEX_FILE=os.path.join(aside, "index"))
        gits.git(place, "read-tree", last, env=settings)
        tree = os.path.join(aside, "tree")
        gits.git(place, "checkout-index", "--all", f"--prefix={tree}/", env=settings)
        return repositories.failure(tree, recorded.test, python)


def cpu_seconds() -> float:
    """Of this process and of those that it has started and waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def machine_seconds() -> tuple[float, float]:
    """How long the machine's cores were busy, and how long they were there, in ticks; zeros where no file says so."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            ticks = [float(word) for word in file.readline().split()[1:9]]
    except OSError:
        return 0.0, 0.0
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)
