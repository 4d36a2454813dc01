"""The environment variables of libpq that the daemon does not take from the shell that starts it.

libpq reads its variables for whatever an address leaves open. A clone that joins a fleet saves what the variables say
by then, and one daemon connects all clones of a machine. So it leaves out the variables that say where to connect, as
whom, and how the session behaves. It keeps those about credentials and TLS: PGPASSWORD, PGPASSFILE, PGSSL… and others.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import MutableMapping

WHERE = ("PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGTARGETSESSIONATTRS", "PGLOADBALANCEHOSTS")
AS_WHOM = ("PGUSER", "PGSERVICE", "PGSERVICEFILE")
SESSION = ("PGOPTIONS", "PGAPPNAME", "PGCLIENTENCODING", "PGDATESTYLE", "PGTZ", "PGGEQO")


def leave_out(environment: MutableMapping[str, str]) -> None:
    """Remove these variables."""
    for name in (*WHERE, *AS_WHOM, *SESSION):
        environment.pop(name, None)
