"""Two readers and writers behind the door to whatever orders their lines: an engine, or a git remote."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bb.ledger.journal.journal import Journal
from bb.ledger.travel.git_carrier import GitCarrier
from bb.ledger.travel.sync import Sync
from bb.ops.desk.desk import Desk
from tests.contracts import carriers
from tests.contracts.carriers import ADA, BOB
from tests.stories.travel import travel_support
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work
from tests.support import NOON, environment

if TYPE_CHECKING:
    from bb.ledger.carrier.door import Carrier


class Side(Protocol):
    """One of those that append: its carrier, its writer, and the lines that it has recorded."""

    carrier: Carrier
    writer: str

    def lines(self) -> list[bytes]: ...

    def record(self) -> int:
        """Record something. Returns the number of its line."""


@dataclass
class AtEngine:
    """Engines take any lines."""

    carrier: Carrier
    writer: str
    recorded: list[bytes] = field(default_factory=list)

    def lines(self) -> list[bytes]:
        return self.recorded

    def record(self) -> int:
        self.recorded.append(b"line %d of %s" % (len(self.recorded) + 1, self.writer.encode()))
        return len(self.recorded)


class AtRemote:
    """A git remote takes the lines of a clone's journal."""

    def __init__(self, clone: Clone, agent: str, desk: Desk) -> None:
        self.clone, self.agent, self.store = clone, agent, desk.store
        self.carrier: GitCarrier = GitCarrier(Sync(desk.store, "origin", desk.now(), 30.0))

    @property
    def writer(self) -> str:
        return self.store.writer

    def lines(self) -> list[bytes]:
        return list(Journal(self.store.path, self.writer).lines_from(1))

    def record(self) -> int:
        scope = [f"{self.agent}/{len(self.lines())}"]
        self.clone.ask("agent.reserve", agent=self.agent, scope=scope, bead="bb-1")
        return len(self.lines())


@contextlib.contextmanager
def at_remote(hub: Path) -> Iterator[tuple[AtRemote, AtRemote]]:
    """Two clones with agents at work, behind the door to their HUB."""
    with contextlib.ExitStack() as stack:
        sides = []
        for clone, agent in zip(agents_at_work(hub, AMBER, COBALT), (AMBER, COBALT), strict=True):
            desk = stack.enter_context(contextlib.closing(Desk(str(clone.path), environment(BB_NOW=NOON))))
            stack.enter_context(desk.store.git)
            sides.append(AtRemote(clone, agent, desk))
        yield sides[0], sides[1]


@dataclass
class Both:
    """Both sides; CUT makes what orders their lines unreachable, and MEND brings it back."""

    here: Side
    there: Side
    cut: Callable[[], object]
    mend: Callable[[], object]


@contextlib.contextmanager
def both(kind: str, folder: Path) -> Iterator[Both]:
    """Two sides with an empty log, of this KIND: `git`, or an engine."""
    if kind == "git":
        hub = travel_support.hub(folder / "hub.git")
        away = hub.with_name("away")
        with at_remote(hub) as (here, there):
            yield Both(here, there, lambda: shutil.move(hub, away), lambda: shutil.move(away, hub))
        return
    with carriers.SHARED[kind]() as engine, carriers.begun(engine).proxy() as proxy:
        address = engine.address(through=proxy)
        with contextlib.closing(engine.carrier(address)) as one, contextlib.closing(engine.carrier(address)) as other:
            yield Both(AtEngine(one, ADA), AtEngine(other, BOB), proxy.cut, proxy.mend)
