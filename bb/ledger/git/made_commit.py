"""The commit that was just made: its name, the agents in its trailers, and the paths that it changed."""

from __future__ import annotations

from bb.kernel.record import Record
from bb.ledger.git import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.git.place import Place

LARGEST = 1 << 24  # bytes of git's output; a larger commit is left to CI
FORM = "--format=%H%n%(trailers:key=BB-Agent,valueonly=true,unfold=true,separator=%x2C)%n"


class MadeCommit(Record):
    """The commit at HEAD. Of a merge, only the paths that differ from every parent."""

    name: str
    agents: tuple[str, ...]
    paths: tuple[str, ...]


def at_head(place: Place) -> MadeCommit | None:
    """The commit at HEAD; None if it changes nothing."""
    how = ["--root", "-r", "-c", "--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules=none"]
    octets = git.output(["diff-tree", *how, FORM, "HEAD", "--"], at=place.work_tree, most=LARGEST)
    entries = iter(octets.decode("utf-8", "surrogateescape").split("\0"))
    name, _, trailers = next(entries).partition("\n")
    if not name:
        return None
    agents = tuple(agent.strip() for agent in trailers.strip().split(",") if agent.strip())
    return MadeCommit(name, agents, tuple(next(entries) for entry in entries if entry.strip("\n").startswith(":")))
