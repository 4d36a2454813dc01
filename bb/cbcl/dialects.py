"""The dialects installed in a repository. A fold.

A name belongs to one dialect. Installing another one under that name is refused unless the command says that it
replaces the first. If two clones installed different dialects under one name before they synchronised, neither can be
used until an agent chooses one. Ledger order cannot decide, because it does not prove which one was installed first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bb.cbcl.facts import INSTALLED, REMOVED, Installed, Removed
from bb.kernel.record import Record
from bb.kernel.total_order import Place, State, event

NAME = "cbcl.dialect"
FACTS = (Installed, Removed)


class InstalledDialect(Record):
    """An installed dialect: the agent that installed it, its source, its signature status, the event with its text."""

    name: str
    event: str
    ts: str
    by: str
    hash: str
    author: str
    signature: str
    source: str


def keys(fact: Installed | Removed, at: Place) -> list[str]:  # noqa: ARG001
    """State is kept by the name of the dialect."""
    return [fact.dialect]


def step(state: State | None, fact: Installed | Removed, at: Place, ts: str) -> State:
    """STATE after one more fact: the log of the name, in ledger order."""
    entry = [ts, fact.by, *_logged(fact)]
    others = [logged for logged in (state or {}).get("log", ()) if logged[:3] != at]
    return {"log": sorted([*others, [*at, entry]], key=lambda each: each[:3])}


def _logged(fact: Installed | Removed) -> list[str]:
    if isinstance(fact, Removed):
        return [REMOVED, fact.hash]
    return [INSTALLED, fact.hash, fact.author, fact.signature, fact.source, fact.replaces]


def live(name: str, state: Mapping[str, Any] | None) -> list[InstalledDialect]:
    """The definitions installed under NAME and neither replaced nor removed, oldest first."""
    installed: dict[str, InstalledDialect] = {}
    for *at, (ts, by, what, hashed, *more) in (state or {}).get("log", ()):
        if what == REMOVED:
            installed.pop(hashed, None)
            continue
        for replaced in more[-1].split():
            installed.pop(replaced, None)
        installed.setdefault(hashed, InstalledDialect(name, event(at), ts, by, hashed, *more[:3]))
    return list(installed.values())


def history(name: str, state: Mapping[str, Any] | None) -> list[dict[str, str]]:
    """Every installation and removal of a dialect, oldest first."""
    rows = []
    for *at, (ts, by, what, hashed, *more) in (state or {}).get("log", ()):
        about = dict(zip(("author", "signature", "source", "replaces"), more, strict=False))
        rows.append(
            {"dialect": name, "event_id": event(at), "at": ts, "by": by, "action": what, "hash": hashed, **about}
        )
    return rows
