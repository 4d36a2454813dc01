"""What the person who runs the engine does: print its tables, and give a machine its rights."""

from __future__ import annotations

import contextlib

from bb.coordination.holdings.reservations import InvalidArgs
from bb.kernel import ids
from bb.ledger.fleet import engines
from bb.ops.agent_params import AsPerson
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.fleet import connections, preparing
from bb.ops.fleet.parameters import Engine, MachineName
from bb.ops.params import Text, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ops.desk.desk import Desk


ON_MACHINE = (
    "On the machine, write a service into ~/.pg_service.conf: [bb], host=…, dbname=…, user={role}",
    "Put the password into ~/.pgpass (mode 0600), or name a certificate in the service: sslcert=…, sslkey=…",
    "Then in each clone there: `bb sync --pull`, `bb fleet join service=bb`",
)


@op("fleet.schema", reads=True, screen="fleet", examples=("bb fleet schema", "bb fleet schema > bb.sql"))
def schema(desk: Desk) -> dict[str, Any]:
    """Print the SQL that prepares a PostgreSQL database, for the person who may run it.

    `bb fleet begin` runs these statements by itself if its role may. You can run them again: they keep what is there.
    No engine is asked.
    """
    del desk
    return {"statements": engines.schema()}


class WriterName(Text):
    """The id of a writer: twelve letters and digits."""

    metavar = "WRITER"

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        if not ids.is_writer_id(text):
            raise invalid(f"{name} must be the id of a writer", name)
        return text


@op(
    "fleet.enroll",
    screen="fleet",
    examples=(
        "bb fleet enroll build-7 service=bb-owner",
        "bb fleet enroll build-7 service=bb-owner --do",
        "bb fleet enroll build-7 service=bb-owner --revoke --do",
    ),
)
def enroll(
    desk: Desk,
    machine: MachineName,
    engine: Engine | None = None,
    *,
    do: bool = False,
    revoke: bool = False,
    writer: WriterName | None = None,
    agent: AsPerson | None = None,
) -> dict[str, Any]:
    """Give a machine its rights in the engine: print what to do, or do it with --do. Only the person may do this.

    ENGINE is an address with the role that owns bb's tables. With --do, bb makes them if they are missing. The role of
    the machine may call bb's functions and nothing else. It reads the rows of all repositories in the database, and
    appends lines of its own writers. Each clone has a writer. A writer belongs to the first role that appends a line
    of it.

    The statements set no password. Give the role one, or let PostgreSQL recognize the machine by a certificate. The
    answer says what to do on the machine. For NATS, bb prints the user for the configuration of the server.

    Parameters:
        do: Run the statements, instead of printing them.
        revoke: Take the machine's rights away, and end its connections. With --do, or printed without it.
        writer: Also let this writer belong to the next role that uses it, because its clone has moved to another
            machine. Needs --do.
    """
    signs_of_life.person(desk, agent)
    if writer and not do:
        hint = f"`bb fleet enroll {machine} --writer {writer} --do`"
        raise InvalidArgs("--writer needs --do", hint=hint, path="$.writer")
    target = connections.engine(desk, engine, saved=True)
    runs = do or revoke or writer is not None
    with connections.as_owner("enroll MACHINE"), contextlib.closing(engines.enroller(target, runs=runs)) as keeper:
        if do and not revoke:
            preparing.make_tables(keeper)
        else:
            preparing.must_have_tables(keeper)
        statements = keeper.revoke(machine) if revoke else keeper.enroll(machine)
        if do:
            keeper.run(statements)
        unbound = keeper.unbind(writer) if writer else 0
        has_steps = target.carrier == engines.POSTGRES and not revoke
        lines = keeper.hba_lines(machine) if has_steps else []
    return {
        "machine": str(machine),
        "engine": connections.shown(target),
        "done": do,
        "revoked": revoke,
        "writer": str(writer) if writer else None,
        "unbound": unbound,
        "statements": statements,
        "on_server": [f"The server lets the role in by a line in its pg_hba.conf: {line}" for line in lines],
        "on_machine": [step.format(role=machine) for step in ON_MACHINE] if has_steps else [],
    }
