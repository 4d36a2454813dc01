"""What the stories of CBCL share: agents who say and hear, dialects, keys, and lines that somebody has forged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bb.ledger.journal import kinds
from tests.cbcl.trees import dialect
from tests.ledger.ledger_support import OTHER_WRITER, written
from tests.near import Near, near
from tests.stories.travel.travel_support import Clone
from tests.support import NOON, Ran, Scratch

AMBER, COBALT, WREN = "amber-otter", "cobalt-harbor", "dusty-wren"
WORK = dialect(
    f"(extend note (what) (tell @{COBALT} what))",
    f"(extend task (what &key thread) (ask @{COBALT} (done what) :thread thread))",
    "(extend pass (who what) (tell who what))",
    name="work",
    author="@lab",
)
OTHER = dialect(f"(extend note (what) (ask @{COBALT} what))", name="work", author="@lab")


def at_noon(path: Path, *agents: str) -> Near:
    """A repository whose AGENTS have just started, and whose user has no keys and trusts nobody."""
    repo = near(path, BB_NOW=NOON, XDG_CONFIG_HOME=str(path.parent / "config"))
    for agent in agents:
        assert repo.bb("agent", "register", "--name", agent, "--role", "builder").status == 0
    return repo


def say(repo: Scratch, agent: str, text: str, *more: str) -> Any:
    """What saying TEXT comes to."""
    return repo.json("cbcl", "send", text, "--agent", agent, *more).data


def refused(repo: Scratch, *words: str, **settings: str) -> tuple[int, str]:
    """How a command is refused."""
    answer = repo.json(*words, **settings)
    return answer.status, answer.code


def hear(repo: Scratch, agent: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = repo.json("cbcl", "hear", "--agent", agent).data["heard"]
    return found


def pending(repo: Scratch, agent: str) -> tuple[list[str], list[str], int]:
    """What an agent waits for, what it owes, and how much it has not heard."""
    found = repo.json("cbcl", "pending", "--agent", agent).data
    return [each["id"] for each in found["expects"]], [each["id"] for each in found["owes"]], found["unheard"]


def texts(repo: Scratch, agent: str) -> list[str]:
    """What is in an agent's inbox, oldest first."""
    return [each["body"] for each in repo.json("agent", "inbox", "--agent", agent).data][::-1]


def beliefs(repo: Scratch, agent: str) -> list[tuple[str, str]]:
    found = repo.json("cbcl", "beliefs", "--agent", agent).data["beliefs"]
    return [(each["who"], each["text"]) for each in found]


def log(repo: Scratch, kind: str) -> list[dict[str, Any]]:
    """The lines of a kind, oldest first."""
    found: list[dict[str, Any]] = repo.json("ledger", "log", "--kind", kind, "--limit", "1000").data
    return found


def spoken(repo: Scratch) -> dict[str, dict[str, Any]]:
    """The dialects of a repository, by name."""
    return {each["dialect"]: each for each in repo.json("cbcl", "dialect", "list").data["dialects"]}


def install(repo: Scratch, text: str, *more: str) -> Ran:
    return repo.json("cbcl", "dialect", "install", "--text", text, *more)


def forge(repo: Scratch, *facts: Any, by: str = "user", writer: str = OTHER_WRITER) -> None:
    """Let another writer's journal be here that says so: what anybody may bring who can write to the repository."""
    drafts = [
        (place, *(fact if isinstance(fact, tuple) else kinds.kind_and_data(fact)))
        for place, fact in enumerate(facts, 1)
    ]
    folder = repo.store / "j" / writer
    folder.mkdir(exist_ok=True)
    (folder / "000000000001.jsonl").write_bytes(b"".join(written(drafts, writer, by)))


def clone_of(clone: Clone, folder: Path) -> Clone:
    """The same clone, of a user with a configuration of their own."""
    return Clone(clone.path, clone.settings | {"XDG_CONFIG_HOME": str(folder / f"config-{clone.path.name}")})


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value))
