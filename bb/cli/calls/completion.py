"""Shell completion of values: choices, agents, groups, dialects and keys.

Completion runs while the user types a line, so it never prints an error; on an error it offers no values.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from typer._click import Context

from bb.kernel.errors import BbError
from bb.kernel.escaping import WORD
from bb.ops.json_params import JsonText
from bb.ops.params import Kind

Completion = Callable[[Context, list[str], str], list[str]]


def completion(kind: type[Kind], metavar: str = "") -> Completion:
    """The completion function for values of KIND. METAVAR says what they name, if it differs from that of the kind."""

    def offered(_: Context, __: list[str], incomplete: str) -> list[str]:
        names = metavar or kind.metavar
        try:
            return [
                value
                for value in (_regions(incomplete) if names in WITH_REGIONS else _known(kind, names))
                if value.startswith(incomplete) and _is_word(value)
            ]
        except (BbError, OSError):
            return []

    return offered


WITH_REGIONS = ("SCOPE", "PATH")


def _regions(incomplete: str) -> Iterable[str]:
    """The regions of the file before the `::`; without a `::`, the shell completes paths by itself."""
    file, mark, _ = incomplete.partition("::")
    if not mark:
        return []
    from bb.coordination.lines import symbol  # noqa: PLC0415
    from bb.ledger.files import disk  # noqa: PLC0415
    from bb.ledger.lines import grammars  # noqa: PLC0415

    content = disk.read_small(os.path.join(os.getcwd(), file), symbol.LARGEST) or b""
    return [f"{file}::{name}" for name in dict.fromkeys(one.name for one in grammars.symbols(file, content))]


def _is_word(value: str) -> bool:
    """Whether VALUE has no characters special to a shell. Shells evaluate offered words, and agents choose names."""
    return bool(value) and not value.strip(WORD)


def _known(kind: type[Kind], metavar: str) -> Iterable[str]:
    if metavar in BY_METAVAR:
        return BY_METAVAR[metavar]()
    if kind.is_agent:
        return [*kind.offered, *(_actors() if issubclass(kind, JsonText) else _agents())]
    return kind.offered or kind.choices


def _agents() -> list[str]:
    """The agents known here, from the presence files, which are fast to read."""
    from bb.ledger.git import place  # noqa: PLC0415
    from bb.ledger.local import presence  # noqa: PLC0415

    return list(presence.all_presences(place.find(os.getcwd(), os.environ).store))


def _actors() -> list[str]:
    """The actors in the group of the current repository."""
    from bb.ops.desk import desk, group_desk  # noqa: PLC0415

    here = desk.desk_here()
    try:
        return [actor.id for actor in group_desk.open_group(here, None).actors()]
    finally:
        here.close()


def _groups() -> list[str]:
    """The groups registered on this machine."""
    from bb.ledger.local import machine_registry  # noqa: PLC0415

    return [group.group_id for group in machine_registry.all_groups(machine_registry.home(os.environ))]


def _dialects() -> list[str]:
    """The dialects usable in the current repository."""
    from bb.ops.cbcl import inputs  # noqa: PLC0415
    from bb.ops.desk import desk  # noqa: PLC0415

    here = desk.desk_here()
    try:
        return list(inputs.installed_dialects(here))
    finally:
        here.close()


def _keys() -> list[str]:
    """The names of this user's keys."""
    from bb.ledger.signing.keyring import Keyring  # noqa: PLC0415

    return Keyring(os.environ).names()


def _authors() -> list[str]:
    """The authors that this user trusts."""
    from bb.ledger.signing.keyring import Keyring  # noqa: PLC0415

    return sorted(Keyring(os.environ).trust().authors)


BY_METAVAR = {"GROUP": _groups, "DIALECT": _dialects, "KEY-NAME": _keys, "AUTHOR": _authors}
