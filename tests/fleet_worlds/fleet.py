"""A whole fleet in a world: how it is set up, run, brought to rest, and what it was like."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from bb.coordination.holdings.admission import Admitted
from bb.kernel import ids
from tests.fleet_worlds.agent import Agent, Habits
from tests.fleet_worlds.archive import Archive
from tests.fleet_worlds.disk import Disk
from tests.fleet_worlds.engine import Engine, Line
from tests.fleet_worlds.failures import Failures
from tests.fleet_worlds.keeper import Keeper
from tests.fleet_worlds.machine import Machine, Rules
from tests.fleet_worlds.model import Model
from tests.fleet_worlds.world import DAY, HOUR, MINUTE, SECOND, World

FOLDERS = ("bb", "docs", "scripts", "tests", "web", "spec")
REST = 4 * HOUR  # after the last failure, until everything must have come to rest
FIRST = 1000  # the first place of the first log


@dataclass
class Recipe:
    """A kind of world. FAILURES has how often a day each kind of failure happens."""

    seed: int = 1
    machines: int = 4
    agents: int = 16
    hours: float = 12
    files: int = 8  # in each folder: the fewer, the more agents meet
    pause_minutes: float = 20
    work_minutes: float = 15
    silent: float = 0.1
    working_hours: tuple[int, int] = (0, 24)
    beat_seconds: float = 10
    skewed: bool = True
    write_seconds: float = 0.003  # for one write to a disk
    found: str = ""  # what this world has found
    failures: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Recipe:
        found = tomllib.loads(path.read_text())
        return cls(**{one.name: found[one.name] for one in fields(cls) if one.name in found})


class Fleet:
    def __init__(self, recipe: Recipe, rules: Rules | None = None, takes_lines_twice: bool = False) -> None:
        self.recipe, self.rules = recipe, rules or Rules(beat=recipe.beat_seconds * SECOND)
        self.world = world = World(recipe.seed)
        self.model = Model(world)
        self.archive = Archive(self.model)
        engine = Engine(world, "engine", clock=world.random.uniform(-HOUR, HOUR), on_append=self.model.appended)
        self.keeper = Keeper(world, self.model, self.archive, [engine], takes_lines_twice=takes_lines_twice)
        self.keeper.begin(FIRST)
        self.machines: dict[str, Machine] = {}
        self.habits = Habits(
            recipe.pause_minutes * MINUTE,
            recipe.work_minutes * MINUTE,
            silent=recipe.silent,
            scopes=scopes(recipe.files),
            hours=tuple(recipe.working_hours),
        )
        for number in range(recipe.machines):
            self._add(f"m{number}", Disk(self._writer()))
        for number in range(recipe.agents):
            machine = self.machines[f"m{number % recipe.machines}"]
            machine.agents[f"agent-{number}"] = Agent(f"agent-{number}", machine, self.habits)
        self.failures = Failures(self, dict(recipe.failures))
        self.seconds = 0.0

    def _writer(self) -> str:
        return ids.writer_id(self.world.random.randbytes(8))

    def _add(self, name: str, disk: Disk) -> Machine:
        world = self.world
        line = self.keeper.lines[name] = Line(world, self.keeper.engine)
        machine = Machine(world, self.model, name, line, self.archive, disk, self.rules, self.keeper.alarm)
        if self.recipe.skewed:
            machine.skew, machine.drift = world.random.uniform(-HOUR, HOUR), world.random.uniform(-1e-4, 1e-4)
        machine.write_time = self.recipe.write_seconds * SECOND
        self.machines[name] = machine
        return machine

    def clone(self, machine: Machine) -> None:
        """A copy of a machine that runs beside it, with the same writer, and the same agents."""
        if not machine.is_up or machine.stopped:
            return
        other = self._add(f"{machine.name}x{len(self.machines)}", machine.disk.copy())
        for name in machine.agents:
            other.agents[name] = Agent(name, other, self.habits, is_registered=True)
        other.boot()

    def run(self) -> Fleet:
        """Let the world happen, come to rest, and hold it against the model."""
        begun = time.process_time()
        for machine in self.machines.values():
            machine.boot()
        self.failures.begin()
        self.world.run(self.recipe.hours * HOUR)
        self.failures.is_over = True
        self.world.run(self.world.now + REST)
        self._mend()
        self.world.run(self.world.now + REST)
        self._archive_the_rest()
        self.model.converged(self.keeper.log, self.archive, self._readers())
        self.seconds = time.process_time() - begun
        return self

    def _mend(self) -> None:
        """All failures end, and the agents go home."""
        for line in self.keeper.lines.values():
            line.engine, line.out, line.back, line.delay, line.lost, line.again = (
                self.keeper.engine,
                True,
                True,
                15.0,
                0.0,
                0.0,
            )
        self.keeper.engine.is_up = True
        for machine in self.machines.values():
            machine.can_fetch, machine.write_time = True, 3.0
            if not machine.is_up:
                machine.boot()
            for agent in machine.agents.values():
                agent.kill()

    def _archive_the_rest(self) -> None:
        while rows := self.archive.continuing(self.keeper.log.read(self.archive.place)):
            assert self.archive.push(self.archive.tip, self.keeper.log.incarnation, rows)

    def _readers(self) -> dict[str, tuple[str, Admitted]]:
        """Every machine that is not stopped for good, and a newcomer that has only the archive."""
        found = {
            name: (machine.disk.digest, machine.admitted)
            for name, machine in self.machines.items()
            if machine.stopped != "APPEND_FORKED"
        }
        return found | {"the archive": (self.archive.digest, self.archive.results().known)}

    def report(self) -> dict[str, Any]:
        """What this world was like."""
        model = self.model
        took = sorted(model.exposures)
        return {
            "seed": self.recipe.seed,
            "simulated days": round(self.world.now / DAY, 2),
            "processor seconds": round(self.seconds, 2),
            "steps": self.world.steps,
            **dict(sorted(model.counts.items())),
            "failures": dict(sorted(self.failures.counts.items())),
            "new incarnations": self.keeper.repairs,
            "exposures": len(took),
            "longest exposure, minutes": round(took[-1] / MINUTE, 1) if took else 0,
        }


def scopes(files: int) -> list[tuple[str, bool]]:
    """What agents reserve: mostly files, some folders, and patterns."""
    found = [(f"{folder}/part{number}.py", True) for folder in FOLDERS for number in range(files)]
    found += [(folder, False) for folder in FOLDERS[:2]]
    found += [(f"{FOLDERS[0]}/part{number}*", False) for number in range(1, min(files, 4))]
    return [*found, ("**/part1.py", False), (f"{FOLDERS[3]}/part?.py", False), (f"{FOLDERS[4]}/Part2.py", True)]
