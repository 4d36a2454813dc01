"""Signs of life between machines: a beat says which agents of this clone were seen and when, by ages. Ages are added by
the engine's clock, so clocks that differ between machines do no harm."""

from __future__ import annotations

import os

from bb.ledger.carrier.door import Machine
from bb.ledger.local import presence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WITHIN = 60 * 60 * 1000  # milliseconds; agents that were silent for longer are not named
MOST_AGENTS = 500  # in a beat
TOLD_AGAIN = 60_000  # milliseconds that an agent's last sign of life must have moved on to be told again


def own(store: str, writer: str, place: int, now: int) -> Machine:
    """The beat of this clone."""
    seen = presence.written_within(store, now, WITHIN)
    ages = {
        name: max(now - last.seen_at, 0) // 1000
        for name, last in seen.items()
        if not last.is_remote and not last.is_apart and not last.has_ended and now - last.seen_at < WITHIN
    }
    youngest = sorted(ages.items(), key=lambda one: (one[1], one[0]))[:MOST_AGENTS]
    return Machine(name_of_machine(), writer, place, dict(youngest))


def name_of_machine() -> str:
    """The name by which people know this machine."""
    return (os.environ.get("COMPUTERNAME") if os.name == "nt" else os.uname().nodename) or "machine"


class Others:
    """What was told of the agents of other machines."""

    def __init__(self) -> None:
        self._told: dict[str, float] = {}  # the moment of the last sign of life that was told, in milliseconds

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
        for machine in machines:
            if machine.writer in ours:
                continue
            for agent, seconds in machine.agents.items():
                age = round((machine.age + seconds) * 1000)
                found[agent] = min(age, found.get(agent, age))
        news = {
            agent: age
            for agent, age in found.items()
            if moment - age - self._told.get(agent, float("-inf")) >= TOLD_AGAIN
        }
        self._told.update((agent, moment - age) for agent, age in news.items())
        return news
