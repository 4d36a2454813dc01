"""Which of libpq's variables the daemon takes from the shell that starts it."""

from __future__ import annotations

from psycopg import pq

from bb.ledger.carrier.postgres_variables import AS_WHOM, SESSION, WHERE, leave_out
from bb.ledger.fleet import postgres_address

SECRETS = {"PGPASSWORD", "PGPASSFILE", "PGREQUIREAUTH", "PGCHANNELBINDING", "PGREQUIREPEER"}
KERBEROS = {"PGKRBSRVNAME", "PGGSSLIB", "PGGSSDELEGATION", "PGGSSENCMODE"}
PROTOCOL = {"PGCONNECT_TIMEOUT", "PGMINPROTOCOLVERSION", "PGMAXPROTOCOLVERSION"}
OF_THE_MACHINE = {"PGSYSCONFDIR", "PGLOCALEDIR"}


def test_credentials_and_tls_are_kept_and_everything_else_that_libpq_reads_is_left_out():
    known = {option.envvar.decode() for option in pq.Conninfo.get_defaults() if option.envvar}
    tls = {name for name in known if name.startswith("PGSSL")}
    kept = SECRETS | KERBEROS | PROTOCOL | OF_THE_MACHINE | tls
    environment = dict.fromkeys([*kept, *known, *WHERE, *AS_WHOM, *SESSION, "PATH"], "x")

    leave_out(environment)

    assert "PGSSLMODE" in environment
    assert environment.keys() == kept | {"PATH"}


def test_what_is_left_out_about_the_server_is_saved_when_a_clone_joins():
    saved = {*postgres_address.VARIABLES, postgres_address.SERVICE_FILE}

    assert saved.issuperset([*WHERE, *AS_WHOM, "PGOPTIONS"])
