"""Connections over TCP to a server that is not this machine's: the certificate must be the server's, unless a person
says otherwise. Here the server has a certificate of its own authority, for the name `engine.test`."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bb.ledger.carrier import door
from bb.ledger.carrier.postgres import PostgresCarrier
from bb.ledger.fleet import postgres_address
from tests import engines
from tests.contracts.carriers import ADA, FIRST, INCARNATION, REPO, PostgresEngine, begun

NAME = "engine.test"
HBA = "local all all trust\nhostssl all bycert 127.0.0.1/32 cert\nhostssl all all 127.0.0.1/32 trust\n"


class Secured:
    """A server with TLS, and the files of its authority."""

    def __init__(self, server: engines.Postgres, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.engine = begun(PostgresEngine(server))
        assert isinstance(self.engine, PostgresEngine)
        self.database = self.engine.database

    def address(self, host: str = NAME, user: str = "postgres", **more: object) -> str:
        options = {"host": host, "port": self.server.port, "dbname": self.database} | more
        return " ".join(f"{name}={value}" for name, value in {**options, "user": user}.items())


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    engines.need_postgres()
    if not shutil.which("openssl"):
        pytest.skip("openssl makes the certificates")
    made = tmp_path_factory.mktemp("tls")
    authority(made, "root")
    authority(made, "another")
    issued(made, NAME)
    issued(made, "bycert")
    with engines.postgres(hba=HBA) as server:
        for name in (f"{NAME}.crt", f"{NAME}.key", "root.crt"):
            shutil.copy(made / name, server.folder / name)
            server.own_file(server.folder / name)
        server.change(
            ssl="on",
            ssl_cert_file=str(server.folder / f"{NAME}.crt"),
            ssl_key_file=str(server.folder / f"{NAME}.key"),
            ssl_ca_file=str(server.folder / "root.crt"),
        )
        server.stop()
        server.start_again()
        yield Secured(server, made)


def openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def authority(folder: Path, name: str) -> None:
    key, certificate = folder / f"{name}.key", folder / f"{name}.crt"
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *new, "-days", "2", "-subj", f"/CN={name}", "-keyout", key, "-out", certificate)


def issued(folder: Path, name: str) -> None:
    key, request, certificate = (folder / f"{name}.{suffix}" for suffix in ("key", "csr", "crt"))
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl(
        "req", *new, "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", "-keyout", key, "-out", request
    )
    signed = [
        "-CA",
        folder / "root.crt",
        "-CAkey",
        folder / "root.key",
        "-CAcreateserial",
        "-copy_extensions",
        "copyall",
    ]
    openssl("x509", "-req", "-in", request, *signed, "-days", "2", "-out", certificate)


def connected(address: str) -> PostgresCarrier:
    """A carrier that knows where the host is, because no name server does."""
    return PostgresCarrier(f"{address} hostaddr=127.0.0.1", REPO, INCARNATION)


def connects(address: str) -> None:
    with contextlib.closing(connected(address)) as carrier:
        assert carrier.head().incarnation == INCARNATION


def test_a_remote_server_must_show_a_certificate_that_we_know(secured: Secured) -> None:
    root = secured.folder / "root.crt"
    remote = complete(secured.address())
    assert "sslmode=verify-full" in remote
    connects(f"{remote} sslrootcert={root}")
    for bad in (remote, f"{remote} sslrootcert={secured.folder / 'another.crt'}"):
        with pytest.raises(door.EngineUnreachable.error, match="certificate"):
            connects(bad)


def test_the_certificate_must_be_for_the_name(secured: Secured) -> None:
    address = complete(secured.address(host="other.test", sslrootcert=secured.folder / "root.crt"))
    with pytest.raises(door.EngineUnreachable.error, match="does not match"):
        connects(address)


def test_a_person_may_ask_for_less(secured: Secured) -> None:
    assert "verify-full" not in complete(secured.address(), PGSSLMODE="require")
    connects(complete(secured.address(), PGSSLMODE="require"))
    connects(complete(secured.address(sslmode="require")))


def test_a_machine_may_show_a_certificate_instead_of_a_password(secured: Secured) -> None:
    with contextlib.closing(secured.engine.keeper()) as keeper:
        keeper.run(keeper.enroll("bycert"))
    ours = {"sslcert": secured.folder / "bycert.crt", "sslkey": secured.folder / "bycert.key"}
    root = {"sslrootcert": secured.folder / "root.crt"}
    with contextlib.closing(connected(complete(secured.address(user="bycert", **ours, **root)))) as carrier:
        assert carrier.append(ADA, 1, [b"x" * 100_000] * 20) == FIRST
        assert len(carrier.read(FIRST - 1)) == 1
    with pytest.raises((door.Denied.error, door.EngineUnreachable.error), match="certificate"):
        connects(complete(secured.address(user="bycert", **root)))


def complete(address: str, **env: str) -> str:
    return postgres_address.complete(address, env)
