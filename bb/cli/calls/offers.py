"""What a shell offers for a value while it is typed: its choices, the agents, groups, dialects or keys there are.

Somebody is in the middle of a line, so nothing is ever said here; where there is nothing to offer, there is nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bb.kernel.errors import BbError
from bb.kernel.show import WORD
from bb.ops import params

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from typer._click import Context

    from bb.ops.params import Kind

    Completion = Callable[[Context, list[str], str], list[str]]


def completion(kind: Kind) -> Completion:
    """What may stand for a value of that KIND."""

    def offered(_: Context, __: list[str], incomplete: str) -> list[str]:
        try:
            return [value for value in _known(kind) if value.startswith(incomplete) and _is_word(value)]
        except (BbError, OSError):
            return []

    return offered


def _is_word(value: str) -> bool:
    """Whether a shell finds nothing in it to obey: it evaluates what it is offered, and others chose the names."""
    return bool(value) and not value.strip(WORD)


def _known(kind: Kind) -> Iterable[str]:
    if kind.metavar in BY_METAVAR:
        return BY_METAVAR[kind.metavar]()
    if kind.is_agent:
        return [*kind.offered, *(_actors() if issubclass(kind, params.Word) else _agents())]
    return kind.offered or kind.choices


def _agents() -> list[str]:
    """The agents known here: a look at the presence files, nothing slower."""
    from bb.ledger.git import place  # noqa: PLC0415
    from bb.ledger.local import presence  # noqa: PLC0415

    return list(presence.everybody(place.find(os.getcwd(), os.environ).store))


def _actors() -> list[str]:
    """Those in the group of the repository we are in."""
    from bb.ops.desk import desk, group_desk  # noqa: PLC0415

    here = desk.here()
    try:
        return [actor.id for actor in group_desk.of(here, None).actors()]
    finally:
        here.close()


def _groups() -> list[str]:
    """Those that this machine knows."""
    from bb.ledger.local import machine_registry  # noqa: PLC0415

    return [each.group_id for each in machine_registry.everything(machine_registry.home(os.environ))]


def _dialects() -> list[str]:
    """Those that are spoken in the repository we are in."""
    from bb.ops.cbcl import inputs  # noqa: PLC0415
    from bb.ops.desk import desk  # noqa: PLC0415

    here = desk.here()
    try:
        return list(inputs.spoken(here))
    finally:
        here.close()


def _keys() -> list[str]:
    """The names of this user's keys."""
    from bb.ledger.signing.keyring import Keyring  # noqa: PLC0415

    return Keyring(os.environ).names()


def _authors() -> list[str]:
    """Those whom this user trusts."""
    from bb.ledger.signing.keyring import Keyring  # noqa: PLC0415

    return sorted(Keyring(os.environ).trust().authors)


BY_METAVAR = {"GROUP": _groups, "DIALECT": _dialects, "KEY-NAME": _keys, "AUTHOR": _authors}
