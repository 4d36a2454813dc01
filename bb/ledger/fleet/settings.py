"""`fleet/engine.json`: the engine of this clone, by its carrier and its address. `bb fleet begin` and `bb fleet join`
write it. The address has no secret: libpq and NATS have their own places for credentials."""

from __future__ import annotations

import os

from bb.kernel import json_text
from bb.kernel.errors import Usage
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.published import fleet_terms

FOLDER, ENGINE = "fleet", "engine.json"
RESULTS = ("results.sqlite", "results.sqlite-wal", "results.sqlite-shm", "results.sqlite-journal")

InvalidEngine = Usage.declare(
    "INVALID_ENGINE",
    "That is not the address of an engine",
    hint="postgres://HOST/DATABASE, service=NAME, or what `psql` accepts as a connection string; or nats://HOST:PORT",
)
SecretInAddress = Usage.declare(
    "SECRET_IN_ADDRESS",
    "The address of an engine must not have a password, because bb saves and shows it",
    hint="for PostgreSQL, put the password into ~/.pgpass or a service file; for NATS, set NATS_CREDS to a credentials "
    "file. Then repeat the command without it",
)


class EngineAddress(Record):
    """The kind of engine, and the ADDRESS that its library connects to."""

    carrier: str
    address: str


def path_of(store: str) -> str:
    """The file with the engine of the clone that STORE belongs to."""
    return os.path.join(store, FOLDER, ENGINE)


def is_joined(store: str) -> bool:
    """Whether this clone is in fleet mode. This is one system call, for hot verbs."""
    return os.path.exists(path_of(store))


def read(store: str) -> EngineAddress | None:
    """The engine of this clone; None if it has joined none, or the file cannot be read."""
    try:
        members = json_text.read(disk.read_small(path_of(store)) or b"")
        found = EngineAddress(members["carrier"], members["address"])
    except (ValueError, TypeError, KeyError):
        return None
    return found if found.carrier in fleet_terms.CARRIERS and type(found.address) is str else None


def write(store: str, engine: EngineAddress) -> None:
    """Save the engine of this clone. A power failure does not undo it."""
    disk.make_folder(os.path.join(store, FOLDER))
    disk.replace(path_of(store), json_text.dumps(engine.as_dict()).encode(), durable=True)


def remove(store: str) -> None:
    """Leave fleet mode: remove the engine, and the results that were folded from it."""
    for name in (ENGINE, *RESULTS):
        disk.remove_if_there(os.path.join(store, FOLDER, name))
