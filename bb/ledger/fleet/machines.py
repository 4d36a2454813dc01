"""Signs of life between machines: a beat says which agents of this clone were seen and when, by ages. Ages are added by
the engine's clock, so clocks that differ between machines do no harm."""

from __future__ import annotations

import os

from bb.ledger.carrier import beats
from bb.ledger.carrier.door import Machine
from bb.ledger.local import presence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

WITHIN = 60 * 60 * 1000  # milliseconds; agents that were silent for longer are not named
MOST_OF_ROLE = 5000  # agents of all clones with one role. To record a sign of life takes a fifteenth of a millisecond
TOLD_AGAIN = 60_000  # milliseconds until an agent's later sign of life is told
SAME = 2000  # milliseconds by which the moment of one sign may differ between two beats, whose ages are in seconds


def own(store: str, writer: str, place: int, now: int) -> Machine:
    """The beat of this clone."""
    seen = presence.written_within(store, now, WITHIN)
    ages = {
        name: max(now - last.seen_at, 0) // 1000
        for name, last in seen.items()
        if not last.is_remote and not last.is_apart and not last.has_ended and now - last.seen_at < WITHIN
    }
    return Machine(name_of_machine(), writer, place, beats.youngest(ages, beats.MOST_AGENTS))


def name_of_machine() -> str:
    """The name by which people know this machine."""
    return (os.environ.get("COMPUTERNAME") if os.name == "nt" else os.uname().nodename) or "machine"


class Others:
    """What was told of the agents of other machines."""

    def __init__(self) -> None:
        # Of each agent that beats name: the moment of the last sign of life that was told, and when it was told.
        self._told: dict[str, tuple[float, float]] = {}

    def forget(self) -> None:
        """Tell everything again."""
        self._told.clear()

    def news(
        self, machines: Sequence[Machine], ours: Sequence[str], moment: float, recorded: Mapping[str, int]
    ) -> Mapping[str, int]:
        """The agents of MACHINES that are not OURS and gave a new sign of life, with its age in milliseconds. RECORDED
        are the ages of what agents elsewhere recorded. MOMENT is the time of a clock that only rises, in milliseconds.
        """
        found = dict(recorded)
        for agent, age in _ages([machine for machine in machines if machine.writer not in ours]):
            found[agent] = min(age, found.get(agent, age))
        news = {agent: age for agent, age in found.items() if self._is_due(agent, moment - age, moment)}
        # What no beat names any more is not remembered: a machine could name other agents in each beat.
        told = {agent: self._told[agent] for agent in found if agent not in news}
        self._told = told | {agent: (moment - age, moment) for agent, age in news.items()}
        return news

    def _is_due(self, agent: str, sign: float, moment: float) -> bool:
        """Whether a SIGN of life must be told at this MOMENT. One soon after another is held back, and told later: it
        may be the last one, from which on the agent is silent."""
        if agent not in self._told:
            return True
        told, told_at = self._told[agent]
        return sign - told >= SAME and max(sign - told, moment - told_at) >= TOLD_AGAIN


def _ages(machines: Sequence[Machine]) -> Iterator[tuple[str, int]]:
    """The agents of MACHINES, each with the milliseconds since its last sign of life."""
    of_roles: dict[str, dict[str, int]] = {}  # an engine binds a beat to the role of its machine
    for machine in machines:
        ages = of_roles.setdefault(machine.name, {})
        for agent, seconds in machine.agents.items():
            age = round((machine.age + seconds) * 1000)
            ages[agent] = min(age, ages.get(agent, age))
    for ages in of_roles.values():
        yield from beats.youngest(ages, MOST_OF_ROLE).items()
