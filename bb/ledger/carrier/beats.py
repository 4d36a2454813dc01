"""What a machine says of itself in a beat, as others read it.

Every machine can write anything into its own beat, and every relay reads all of them. So what cannot be true is left
out, and what is too much is cut off: no machine may stop the relays of the others with its beat.
"""

from __future__ import annotations

from bb.kernel import ids

MOST_SECONDS = 1 << 31  # since the last sign of life of an agent
LARGEST_PLACE = (1 << 63) - 1


def agents_in(found: object) -> dict[str, int]:
    """The agents of a beat, each with the seconds since its last sign of life, from their JSON form."""
    if not isinstance(found, dict):
        return {}
    return {
        name: age
        for name, age in found.items()
        if type(age) is int and 0 <= age <= MOST_SECONDS and type(name) is str and ids.is_actor_id(name)
    }


def place_in(found: object) -> int:
    """The place up to which a machine says that it has read; 0 if it says nothing that can be one."""
    return found if type(found) is int and 0 <= found <= LARGEST_PLACE else 0
