"""`fleet/engine.json`: the engine of this clone, by its carrier and its address. `bb fleet begin` and `bb fleet join`
write it. The address has no secret: libpq and NATS have their own places for credentials."""

from __future__ import annotations

from bb.kernel import json_text
from bb.kernel.errors import Refused, Usage
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.local import fleet_files
from bb.ledger.published import fleet_terms

RESULTS = ("results.sqlite", "results.sqlite-wal", "results.sqlite-shm", "results.sqlite-journal")

NotInFleet = Refused.declare(
    "NOT_IN_FLEET",
    "This clone has not joined the fleet of its ledger",
    hint="join it: `bb fleet join ENGINE`, with the address of the fleet's engine",
)
InvalidEngine = Usage.declare(
    "INVALID_ENGINE",
    "That is not the address of an engine",
    hint="postgres://HOST/DATABASE, service=NAME, or what `psql` accepts as a connection string; or nats://HOST:PORT",
)
SecretInAddress = Usage.declare(
    "SECRET_IN_ADDRESS",
    "The address of an engine must not have a password, because bb saves and shows it",
    hint="put the password into ~/.pgpass or the service file, and repeat the command without it",
)


class EngineAddress(Record):
    """The kind of engine, and the ADDRESS that its library connects to. SERVICE_FILE is the file of libpq's services
    that the address names one of, if it is not libpq's usual file."""

    carrier: str
    address: str
    service_file: str = ""

    @property
    def members(self) -> dict[str, str]:
        """The address as it is saved and shown."""
        return {name: value for name, value in self.as_dict().items() if value}


def is_joined(store: str) -> bool:
    """Whether this clone has joined a fleet."""
    return fleet_files.has_engine(store)


def read(store: str) -> EngineAddress | None:
    """The engine of this clone; None if it has joined none, or the file cannot be read."""
    try:
        members = json_text.read(disk.read_small(fleet_files.path(store, fleet_files.ENGINE)) or b"")
        found = EngineAddress(members["carrier"], members["address"], members.get("service_file", ""))
    except (ValueError, TypeError, KeyError):
        return None
    is_valid = found.carrier in fleet_terms.CARRIERS and type(found.address) is type(found.service_file) is str
    return found if is_valid else None


def write(store: str, engine: EngineAddress) -> None:
    """Save the engine of this clone. A power failure does not undo it."""
    disk.make_folder(fleet_files.path(store, ""))
    path = fleet_files.path(store, fleet_files.ENGINE)
    disk.replace(path, json_text.dumps(engine.members).encode(), durable=True)


def remove(store: str) -> None:
    """Leave fleet mode: remove the engine, and the results that were folded from it."""
    for name in (fleet_files.ENGINE, *RESULTS):
        disk.remove_if_there(fleet_files.path(store, name))
