"""Comparison of two dialects: different clauses and performatives, with the first difference in each performative.

Only the hash decides whether two definitions are the same dialect. The order and spelling of clauses change the hash.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bb.cbcl.read import canonical
from bb.cbcl.read.definition import LIMITS, Definition, Performative, parameters_text
from bb.cbcl.read.exchange import agent_text
from bb.cbcl.read.fuel import Fuel
from bb.cbcl.read.tree import LIST, Node, text_of
from bb.kernel.gc_pause import GcPause
from bb.kernel.record import Record

LONGEST_SHOWN = 60  # characters of a node


class Clause(Record):
    """A clause or limit that differs between two dialects; None if it is missing."""

    name: str
    a: str | None
    b: str | None


class Change(Record):
    """A performative that differs between two dialects."""

    name: str
    params: tuple[str, str] | None  # as text, if they differ
    template: tuple[Node | None, Node | None] | None  # the first difference; None on the side where the node is missing
    at: tuple[int, int]


class Comparison(Record):
    """The differences between two dialects."""

    hashes: tuple[str, str]
    clauses: tuple[Clause, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[Change, ...]

    @property
    def is_same(self) -> bool:
        return self.hashes[0] == self.hashes[1]


def compare(a: Definition, b: Definition, fuel: Fuel | None = None) -> Comparison:
    """The differences of B from A."""
    before, after = _by_name(a), _by_name(b)
    with GcPause():
        hashes = canonical.digest(a.node, fuel), canonical.digest(b.node, fuel)
        return Comparison(
            hashes,
            tuple(_clauses(a, b)),
            tuple(name for name in after if name not in before),
            tuple(name for name in before if name not in after),
            () if hashes[0] == hashes[1] else tuple(_changes(before, after, fuel)),
        )


def _changes(before: dict[str, Performative], after: dict[str, Performative], fuel: Fuel | None) -> Iterator[Change]:
    for name, one in before.items():
        if name in after and (change := _change(name, one, after[name], fuel)):
            yield change


def _by_name(definition: Definition) -> dict[str, Performative]:
    """Performatives by name. A repeated name, possible only in an invalid dialect, gets a number."""
    performatives: dict[str, Performative] = {}
    times: dict[str, int] = {}
    for defined in definition.performatives:
        times[defined.name] = times.get(defined.name, 0) + 1
        performatives[defined.name if times[defined.name] == 1 else f"{defined.name} ({times[defined.name]})"] = defined
    return performatives


def _clauses(a: Definition, b: Definition) -> Iterator[Clause]:
    values = {
        "name": (a.name, b.name),
        "extends": (a.extends, b.extends),
        "author": (agent_text(a.author), agent_text(b.author)),
        **{name: (_number(a.limit(name)), _number(b.limit(name))) for name in LIMITS},
    }
    for name, (one, other) in values.items():
        if one != other:
            yield Clause(name, one, other)


def _number(value: int | None) -> str | None:
    return None if value is None else str(value)


def _change(name: str, one: Performative, other: Performative, fuel: Fuel | None) -> Change | None:
    params = parameters_text(one.params), parameters_text(other.params)
    first = first_difference(one.template, other.template, fuel)
    if params[0] == params[1] and first is None:
        return None
    return Change(name, params if params[0] != params[1] else None, first, (one.at, other.at))


def first_difference(one: Node, other: Node, fuel: Fuel | None = None) -> tuple[Node | None, Node | None] | None:
    """The first pair of different nodes, in text order; None if there is none."""
    pairs: list[tuple[Node | None, Node | None]] = [(one, other)]
    while pairs:
        left, right = pairs.pop()
        if left is None or right is None or left.tag != right.tag:
            return left, right
        if left.tag != LIST:
            if left.value != right.value:
                return left, right
            continue
        longer = max(len(left.value), len(right.value))
        if fuel is not None:
            fuel.spend(1 + longer)
        pairs += reversed([(_nth(left, place), _nth(right, place)) for place in range(longer)])
    return None


def _nth(node: Node, place: int) -> Node | None:
    return node.value[place] if place < len(node.value) else None


def excerpt(node: Node | None) -> str | None:
    """The text of a node, shortened if it is too long."""
    if node is None:
        return None
    text = text_of(node)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


def comparison_json(comparison: Comparison, places: tuple[Any, Any]) -> dict[str, Any]:
    """A comparison as JSON. PLACES are two functions that return the line and column of an octet, one for each text."""
    return {
        "same": comparison.is_same,
        "hash": dict(zip("ab", comparison.hashes, strict=True)),
        "clauses": [{"clause": clause.name, "a": clause.a, "b": clause.b} for clause in comparison.clauses],
        "added": list(comparison.added),
        "removed": list(comparison.removed),
        "changed": [_shown(change, places) for change in comparison.changed],
    }


def _shown(change: Change, places: tuple[Any, Any]) -> dict[str, Any]:
    params = None if change.params is None else dict(zip("ab", change.params, strict=True))
    template = None
    if change.template is not None:
        template = {
            side: _placed(node, at, where)
            for side, node, at, where in zip("ab", change.template, change.at, places, strict=True)
        }
    return {"performative": change.name, "params": params, "template": template}


def _placed(node: Node | None, at: int, where: Any) -> dict[str, Any]:
    """A node and its position; for a missing node, the position of its performative."""
    line, column = where(at if node is None else node.at)
    return {"text": excerpt(node), "offset": at if node is None else node.at, "line": line, "column": column}
