"""Which agents made a commit, according to its message and its addresses.

The first of these that names an agent decides whose reservations excuse the commit:

    1. `BB-Agent:` trailers, in any paragraph of the message that consists of trailers
    2. `Co-authored-by:` trailers with an address that an agent has registered
    3. the address of the author
    4. the address of the committer

In one paragraph the last `BB-Agent:` counts. A squash has the paragraphs of several commits, so it may name several
agents: a path is excused if one of them held it. An address of several agents excuses none of them.

An agent that any of the four names is judged: the commit is an agent's, and it must not be paused. So a trailer can
neither hide an agent behind a person nor behind another agent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from bb.coordination.agents import addresses
from bb.kernel import ids
from bb.kernel.escaping import quotation
from bb.kernel.record import Record

AGENT, TOKEN, CO_AUTHOR = "bb-agent", "bb-token", "co-authored-by"  # trailer names are case-insensitive
CHERRY_PICKED = "(cherry picked from commit "
RULER = "---"  # GitHub writes a longer one before the co-authors of a squash

Trailer = tuple[str, str]


class Signed(Record):
    """What a commit says about who made it. BLOCKS are the paragraphs of trailers in its message."""

    blocks: tuple[tuple[Trailer, ...], ...] = ()
    author: str = ""  # the address
    committer: str = ""


class Author(Record):
    """The agents that made a commit. AGENTS may excuse it with their reservations; NAMED are all that are judged. If
    nobody is named, a person made it. DOUBTS are faults of its trailers; NOTES are about several agents."""

    agents: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    token: int | None = None
    doubts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def agent(self) -> str | None:
        """The agent that a finding is about: the last one. None for a person."""
        return [None, *self.named, *self.agents][-1]

    @property
    def shown(self) -> str:
        """Its authors as a text."""
        if len(self.agents) > 1:
            return " and ".join(self.agents)
        return "".join(self.agents) or " or ".join(self.named) or "a person"


def author(signed: Signed, known: Mapping[str, Sequence[str]], otherwise: str | None) -> Author:
    """The agents that made a commit. KNOWN has the agents of each address; OTHERWISE is the author if none is named."""
    doubts: list[str] = []
    sources: list[list[Sequence[str]]] = [
        [[agent] for block in signed.blocks if (agent := _last(block, doubts))],
        [known.get(address, ()) for address in _co_authors(signed.blocks)],
        [known.get(addresses.canonical(signed.author), ())],
        [known.get(addresses.canonical(signed.committer), ())],
    ]
    speaking = [found for found in ([each for each in source if each] for source in sources) if found]
    deciding = speaking[0] if speaking else [[otherwise]] if otherwise else []
    agents = _agents(each[0] for each in deciding if len(each) == 1)
    named = _agents(agent for source in [*reversed(speaking[1:]), deciding] for each in source for agent in each)
    notes = [f"it names {len(agents)} agents: {', '.join(agents)}"] if len(agents) > 1 else []
    shared = [each for each in deciding if len(each) > 1]
    notes += [f"{' and '.join(each)} have the same address, so it is unclear which of them made it" for each in shared]
    tokens = [value for block in signed.blocks for name, value in block if name.lower() == TOKEN]
    fits = [int(value) for value in tokens if value.isascii() and value.isdigit() and len(value) < 16]
    if len(fits) != len(tokens):
        doubts.append("its BB-Token is not a number")
    return Author(agents, named, min(fits, default=None), tuple(doubts), tuple(notes))


def _agents(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(names) if name != ids.PERSON)


def _last(block: Sequence[Trailer], doubts: list[str]) -> str | None:
    """The last valid agent that a paragraph of trailers names. What is wrong with the others is added to DOUBTS."""
    named = [value for name, value in block if name.lower() == AGENT]
    sound = [value for value in named if ids.is_principal(value)]
    doubts += [f"{quotation(value, 60)} is not a valid agent id" for value in named if value not in sound]
    if len(set(sound)) > 1:
        doubts.append(f"it names {len(set(sound))} agents in one paragraph; the last one, {sound[-1]}, counts")
    return sound[-1] if sound else None


def _co_authors(blocks: Iterable[Sequence[Trailer]]) -> list[str]:
    values = [value for block in blocks for name, value in block if name.lower() == CO_AUTHOR]
    return [addresses.canonical(value.rpartition("<")[2].rpartition(">")[0]) for value in values]


def blocks(message: str, last: Sequence[Trailer] = ()) -> tuple[tuple[Trailer, ...], ...]:
    """The paragraphs of a commit message that consist of trailers. LAST are the trailers that git itself found in the
    last paragraph: git's rule also finds some among other text. The subject has none."""
    found = [block for lines in list(_paragraphs(message))[1:] if (block := _block(lines))]
    if last and tuple(last) not in found:
        found.append(tuple(last))
    return tuple(found)


def _paragraphs(message: str) -> Iterator[list[str]]:
    lines: list[str] = []
    for line in [*message.replace("\r\n", "\n").split("\n"), ""]:
        if line.strip() and not _is_ruler(line):
            lines.append(line)
        elif lines:
            yield lines
            lines = []


def _is_ruler(line: str) -> bool:
    return line.startswith(RULER) and not line.strip().strip("-")


def _trailer(line: str) -> Trailer | None:
    name, colon, value = line.partition(":")
    name = name.rstrip()
    is_name = bool(name) and name.isascii() and name.replace("-", "").isalnum()
    return (name, value.strip()) if colon and is_name else None


def _block(lines: Sequence[str]) -> tuple[Trailer, ...]:
    """The trailers in a paragraph; none if there is other text in it. `git merge --squash` indents messages."""
    margin = min(len(line) - len(line.lstrip()) for line in lines)
    found: list[Trailer] = []
    for line in (line[margin:] for line in lines):
        if line[:1] in " \t" and found:
            found[-1] = found[-1][0], f"{found[-1][1]} {line.strip()}"
        elif trailer := _trailer(line):
            found.append(trailer)
        elif not line.startswith(CHERRY_PICKED):
            return ()
    return tuple(found)
