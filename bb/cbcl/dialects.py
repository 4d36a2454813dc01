"""Which dialects are spoken in a repository. A fold.

A name stands for one dialect. Another one under it is refused until somebody says which it replaces; and where two
clones have installed one each, knowing nothing of the other, it stands for neither until somebody says so. Neither
being first nor being last takes a name over: the order of the ledger is no proof of who was there before.
"""

from __future__ import annotations

from bb.cbcl.facts import INSTALLED, REMOVED, Installed, Removed
from bb.kernel.order import event
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.kernel.order import Place, State

NAME = "cbcl.dialect"
FACTS = (Installed, Removed)


class Kept(Record):
    """A dialect that is installed: by whom, from where, by whom it is signed, and which line has its text."""

    name: str
    event: str
    ts: str
    by: str
    hash: str
    author: str
    signature: str
    source: str


def keys(fact: Installed | Removed, at: Place) -> list[str]:  # noqa: ARG001
    """A dialect is an entry by its name."""
    return [fact.dialect]


def step(state: State | None, fact: Installed | Removed, at: Place, ts: str) -> State:
    """STATE after one more fact: all that was said of the name, in order."""
    said = [ts, fact.by, *_said(fact)]
    others = [each for each in (state or {}).get("log", ()) if each[:3] != at]
    return {"log": sorted([*others, [*at, said]], key=_place)}


def _place(entry: list[Any]) -> list[Any]:
    return entry[:3]


def _said(fact: Installed | Removed) -> list[str]:
    if isinstance(fact, Removed):
        return [REMOVED, fact.hash]
    return [INSTALLED, fact.hash, fact.author, fact.signature, fact.source, fact.replaces]


def live(name: str, state: Mapping[str, Any] | None) -> list[Kept]:
    """The definitions that were installed under NAME and neither replaced nor removed, the first one first."""
    found: dict[str, Kept] = {}
    for *at, (ts, by, what, hashed, *more) in (state or {}).get("log", ()):
        if what == REMOVED:
            found.pop(hashed, None)
            continue
        for replaced in more[-1].split():
            found.pop(replaced, None)
        found.setdefault(hashed, Kept(name, event(at), ts, by, hashed, *more[:3]))
    return list(found.values())


def history(name: str, state: Mapping[str, Any] | None) -> list[dict[str, str]]:
    """Everything that was said of a dialect, oldest first: who installed or removed which, when, from where."""
    found = []
    for *at, (ts, by, what, hashed, *more) in (state or {}).get("log", ()):
        about = dict(zip(("author", "signature", "source", "replaces"), more, strict=False))
        found.append(
            {"dialect": name, "event_id": event(at), "at": ts, "by": by, "action": what, "hash": hashed, **about}
        )
    return found
