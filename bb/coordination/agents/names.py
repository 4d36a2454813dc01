"""Generated agent names: adjective and noun, such as amber-otter (Operative Protocol §3.3).

A seed determines a sequence that contains each pair once. The same seed gives the same names, and ten thousand agents
with one seed do not collide. Names in use are skipped.
"""

from __future__ import annotations

from bb.coordination.agents.words import ADJECTIVES, NOUNS
from bb.kernel import ids
from bb.kernel.digest import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator


def free(seed: str, taken: Container[str]) -> str:
    """The first name in SEED's sequence that is not TAKEN."""
    return next(name for name in sequence(seed) if name not in taken)


def sequence(seed: str) -> Iterator[str]:
    """All names in the order of SEED: first all pairs, then the pairs with an additional adjective in front."""
    yield from _pairs(seed)
    for adjective in _words(ADJECTIVES):
        for pair in _pairs(seed):
            if not pair.startswith(f"{adjective}-"):
                yield f"{adjective}-{pair}"


def _pairs(seed: str) -> Iterator[str]:
    """All pairs, each once: a step width that is coprime to the number of pairs visits each of them."""
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
