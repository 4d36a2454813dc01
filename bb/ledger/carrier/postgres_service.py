"""What libpq's service file says about a service. The file is libpq's; bb only reads it."""

from __future__ import annotations

import os

from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def options(name: str, env: Mapping[str, str]) -> dict[str, str]:
    """What the service file says about the service NAME. Empty if there is none; libpq says so when it connects."""
    found = _section(env.get("PGSERVICEFILE") or os.path.expanduser("~/.pg_service.conf"), name)
    if found is None and env.get("PGSYSCONFDIR"):
        found = _section(os.path.join(env["PGSYSCONFDIR"], "pg_service.conf"), name)
    return found or {}


def _section(path: str, name: str) -> dict[str, str] | None:
    """The options in one section of a service file; None if it has no such section."""
    options: dict[str, str] | None = None
    for line in (disk.read_small(path) or b"").decode("utf-8", "replace").splitlines():
        line = line.strip()
        if line.startswith("["):
            if options is not None:
                break
            options = {} if line == f"[{name}]" else None
        elif options is not None and "=" in line and not line.startswith("#"):
            option, _, value = line.partition("=")
            options[option.strip()] = value.strip()
    return options
