"""What the stories of agents share: three agents in a repository at noon, and a proof that nothing was written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from bb.kernel import clock
from tests.near import near
from tests.support import NOON, Ran, Scratch

OTTER, HARBOR, WREN = "amber-otter", "cobalt-harbor", "dusty-wren"
ROLES = {OTTER: "builder", HARBOR: "tester", WREN: "tester"}
ESCAPES = "\x1b[31mred\x1b]0;title\x07\x9b2J\x00\b\r\u202egnp"  # what a terminal would obey


def moment(minutes: float) -> str:
    """So many minutes after noon."""
    return clock.text(clock.parse(NOON) + round(minutes * clock.MINUTE))


def after(repo: Scratch, minutes: float) -> Scratch:
    """The same repository so many minutes after noon."""
    return replace(repo, settings=repo.settings | {"BB_NOW": moment(minutes)})


def crew(path: Path, *agents: str) -> Scratch:
    """A repository at noon, in which AGENTS have just started."""
    repo = near(path, BB_NOW=NOON)
    for agent in agents:
        repo.json("agent", "register", "--name", agent, "--role", ROLES[agent]).data  # noqa: B018  (must succeed)
    return repo


def stay(repo: Scratch, *agents: str) -> Scratch:
    """AGENTS give a sign of life."""
    for agent in agents:
        repo.json("agent", "heartbeat", "--agent", agent).data  # noqa: B018
    return repo


def reserve(repo: Scratch, agent: str, scope: str, *more: str, **settings: Any) -> Ran:
    return repo.json("agent", "reserve", "--agent", agent, "--scope", scope, "--bead", "bb-1", *more, **settings)


def send(repo: Scratch, sender: str, to: str, *more: str, category: str = "INFO", **settings: Any) -> Ran:
    letter = {"bead": "bb-1", "subject": "News", "body": "Parser is done."}
    words = [word for name, text in letter.items() if f"--{name}" not in more for word in (f"--{name}", text)]
    return repo.json("agent", "send", "--from", sender, "--to", to, "--category", category, *words, *more, **settings)


def inbox(repo: Scratch, agent: str, *more: str) -> list[dict[str, Any]]:
    return repo.json("agent", "inbox", "--agent", agent, *more).data


def log(repo: Scratch, *more: str) -> list[dict[str, Any]]:
    return repo.json("ledger", "log", *more).data


def incursions(repo: Scratch) -> list[dict[str, Any]]:
    """Every INCURSION on record, oldest first."""
    return repo.json("protocol", "list", "--type", "INCURSION").data[::-1]


def kept(repo: Scratch) -> dict[str, bytes]:
    """Every octet the ledger holds: journals, presence, all but locks, the times at which hooks were called, and the
    caches: the index, and the edits that passed lately."""
    files = (file for file in repo.store.rglob("*") if file.is_file() and not file.name.startswith(("lock", "index.")))
    kept_files = (file for file in files if file.parent.name not in ("hook-calls", "passed"))
    return {str(file.relative_to(repo.store)): file.read_bytes() for file in kept_files}


@contextmanager
def nothing_written(repo: Scratch) -> Iterator[None]:
    before = kept(repo)
    yield
    assert kept(repo) == before


def is_harmless(text: str) -> bool:
    """Whether a terminal shows TEXT and does nothing else."""
    return all(character == "\n" or character.isprintable() for character in text)
