"""What a machine says of itself in a beat, as others read it.

Every machine can write anything into its own beat, and every relay reads all of them. So what cannot be true is left
out, and what is too much is cut off: no machine may stop the relays of the others with its beat.
"""

from __future__ import annotations

from bb.kernel import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_AGENTS = 500  # in one beat: more than a machine has
MOST_SECONDS = 1 << 31  # since the last sign of life of an agent
LARGEST_PLACE = (1 << 63) - 1


def agents_in(found: object) -> dict[str, int]:
    """The agents of a beat, each with the seconds since its last sign of life, from their JSON form. If there are too
    many, those that were seen last."""
    if not isinstance(found, dict):
        return {}
    agents = {
        name: age
        for name, age in found.items()
        if type(age) is int and 0 <= age <= MOST_SECONDS and type(name) is str and ids.is_actor_id(name)
    }
    return youngest(agents, MOST_AGENTS)


def youngest(ages: Mapping[str, int], most: int) -> dict[str, int]:
    """The agents with the lowest AGES, at most MOST."""
    return dict(ages) if len(ages) <= most else dict(sorted(ages.items(), key=lambda one: (one[1], one[0]))[:most])


def place_in(found: object) -> int:
    """The place up to which a machine says that it has read; 0 if it says nothing that can be one."""
    return found if type(found) is int and 0 <= found <= LARGEST_PLACE else 0
