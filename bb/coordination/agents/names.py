"""Names for agents: adjective and noun, such as amber-otter (Operative Protocol §3.3).

A seed gives a walk through all pairs that visits each once, so ten thousand agents with one seed do not collide, and
the same seed gives the same names. Names that are taken are passed over.
"""

from __future__ import annotations

from bb.coordination.agents.words import ADJECTIVES, NOUNS
from bb.kernel import ids
from bb.kernel.digest import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator


def free(seed: str, taken: Container[str]) -> str:
    """The first name of SEED's walk that is not TAKEN."""
    return next(name for name in sequence(seed) if name not in taken)


def sequence(seed: str) -> Iterator[str]:
    """Every name there is, in the order of SEED; when all pairs have been named, with one more adjective before."""
    yield from _pairs(seed)
    for adjective in _words(ADJECTIVES):
        for pair in _pairs(seed):
            if not pair.startswith(f"{adjective}-"):
                yield f"{adjective}-{pair}"


def _pairs(seed: str) -> Iterator[str]:
    """A step that has no divisor in common with the number of pairs comes by each of them once."""
    adjectives, nouns = _words(ADJECTIVES), _words(NOUNS)
    count = len(adjectives) * len(nouns)
    chance = int(digest(seed.encode("utf-8", "surrogatepass")), 16)
    place, step = chance % count, chance // count % count
    while _divisor(step, count) != 1:
        step += 1
    for _ in range(count):
        adjective, noun = adjectives[place // len(nouns)], nouns[place % len(nouns)]
        if adjective != noun and ids.is_agent_id(f"{adjective}-{noun}"):
            yield f"{adjective}-{noun}"
        place = (place + step) % count


def _words(text: str) -> list[str]:
    return text.split()


def _divisor(one: int, other: int) -> int:
    """The greatest common divisor."""
    while other:
        one, other = other, one % other
    return one
