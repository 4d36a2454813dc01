"""What a user may write as the address of an engine, and what of it is saved."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bb.kernel.errors import BbError
from bb.ledger.carrier.door import AnotherEngine, EngineUnreachable
from bb.ledger.fleet import engines, settings
from bb.ledger.fleet.settings import EngineAddress
from bb.ledger.local import fleet_files
from bb.ledger.published.fleet_terms import FleetTerms


def refusal(text: str, **env: str) -> BbError:
    with pytest.raises(BbError) as refused:
        engines.parse(text, env)
    return refused.value


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("postgres:///bb?host=/run/postgresql", "dbname=bb host=/run/postgresql"),
        ("host=/run/postgresql dbname=bb", "host=/run/postgresql dbname=bb"),
        ("postgresql://localhost:5433/bb", "dbname=bb host=localhost port=5433"),
        ("host=127.0.0.2 dbname=bb", "host=127.0.0.2 dbname=bb"),
        ("host=db.example.org dbname=bb sslmode=require", "host=db.example.org dbname=bb sslmode=require"),
    ],
)
def test_a_connection_string_of_postgres_is_kept_as_it_is(text: str, options: str):
    found = engines.parse(text, {})

    assert found.carrier == "postgres"
    assert sorted(found.address.split()) == sorted(options.split())


@pytest.mark.parametrize(
    "text",
    [
        "postgres://db.example.org/bb",
        "host=db dbname=bb",
        "hostaddr=10.0.0.1 host=localhost",
        "host=/run,db",
        "host=127.example.org",
        "hostaddr=127.0.0.1, host=a,db.example.org",
        "host=127.0.0.1.example.org",
    ],
)
def test_tls_with_the_servers_name_is_demanded_of_servers_elsewhere(text: str):
    assert "sslmode=verify-full" in engines.parse(text, {}).address.split()


def test_the_environment_may_choose_another_mode_of_tls():
    assert "sslmode=require" in engines.parse("host=db", {"PGSSLMODE": "require"}).address


def test_what_only_the_environment_says_is_written_into_the_address():
    env = {"PGHOST": "/run/postgresql", "PGDATABASE": "bb", "PGUSER": "ada", "PGPORT": "5444", "PGPASSWORD": "secret"}

    found = engines.parse("", env)

    assert sorted(found.address.split()) == ["dbname=bb", "host=/run/postgresql", "port=5444", "user=ada"]
    assert engines.parse("dbname=other", env).address.split()[0] != "dbname=bb"


def test_a_service_is_kept_by_its_name_and_its_file_decides_about_tls(tmp_path: Path):
    file = tmp_path / "services"
    file.write_text("[here]\nhost=localhost\npassword=secret\n# [there]\n[there]\nhost=db.example.org\nport=5444\n")
    env = {"PGSERVICEFILE": str(file), "PGPORT": "1"}

    assert "secret" not in engines.parse("service=here", env).address
    assert "sslmode" not in engines.parse("service=here", env).address
    there = engines.parse("", {**env, "PGSERVICE": "there"}).address
    assert "service=there" in there
    assert "sslmode=verify-full" in there
    assert "port" not in there, "a service file counts more than a variable"
    assert "sslmode=verify-full" in engines.parse("service=nowhere", env).address, "it may be any server"


def test_a_service_that_names_another_server_later_gets_tls_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "services"
    file.write_text("[here]\nhost=localhost\n")
    monkeypatch.setenv("PGSERVICEFILE", str(file))
    saved = engines.parse("service=here", os.environ)
    file.write_text("[here]\nhost=db.example.org\n")

    carrier = engines.open_carrier(saved, "r", FleetTerms("postgres", "0" * 16, 1))

    assert "sslmode" not in saved.address
    assert "sslmode=verify-full" in carrier._conninfo  # type: ignore[attr-defined]


def test_the_file_of_a_service_is_kept_if_only_a_variable_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "services").write_text("[bb]\nhost=localhost\nport=5444\nuser=ada\npassword=secret\n")
    monkeypatch.chdir(tmp_path)
    env = {"PGSERVICE": "bb", "PGSERVICEFILE": "services"}

    found = engines.parse("", env)
    settings.write(str(tmp_path), found)

    assert found == EngineAddress("postgres", "service=bb", str(tmp_path / "services"))
    assert settings.read(str(tmp_path)) == found
    assert engines.parse("service=usual", env).service_file == "", "libpq looks for it elsewhere"
    assert engines.parse("host=localhost", {"PGSERVICEFILE": "services"}).service_file == ""


def test_a_service_of_a_kept_file_is_connected_to_as_the_file_says_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "services"
    file.write_text("[bb]\nhost=localhost\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "another"))
    saved = engines.parse("service=bb user=bo", {"PGSERVICEFILE": str(file)})
    file.write_text("[bb]\nhost=db.example.org\nport=5444\nuser=ada\n")

    connected = engines.open_carrier(saved, "r", FleetTerms("postgres", "0" * 16, 1))._conninfo.split()  # type: ignore[attr-defined]

    assert sorted(connected) == ["host=db.example.org", "port=5444", "sslmode=verify-full", "user=bo"]


@pytest.mark.parametrize("text", ["", "[bb]\npassword=s3cret\nhst=x\n"])
def test_a_kept_file_without_a_sound_service_is_refused(tmp_path: Path, text: str):
    file = tmp_path / "services"
    file.write_text(text)

    with pytest.raises(EngineUnreachable.error) as refused:
        engines.open_carrier(
            EngineAddress("postgres", "service=bb", str(file)), "r", FleetTerms("postgres", "0" * 16, 1)
        )

    assert str(file) in refused.value.message
    assert "s3cret" not in refused.value.message


def test_paths_in_an_address_do_not_depend_on_the_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)

    assert f"sslrootcert={tmp_path}/ca.crt" in engines.parse("host=db sslrootcert=ca.crt", {}).address
    assert "sslrootcert=system" in engines.parse("host=db sslrootcert=system", {}).address


@pytest.mark.parametrize(
    "text", ["postgres://u:s3cret@db/bb", "host=db password=s3cret", "nats://u:s3cret@db", "nats://s3cret@db"]
)
def test_an_address_with_a_secret_is_refused_and_the_secret_is_not_repeated(text: str):
    refused = refusal(text)

    assert refused.code in ("SECRET_IN_ADDRESS", "SECRET_IN_NATS_ADDRESS")
    assert "s3cret" not in f"{refused.message} {refused.hint} {refused.details}"


@pytest.mark.parametrize(
    "text",
    [
        "db.example.org",
        "mysql://db/bb",
        "hst=db",
        "host='",
        "nats://",
        "nats://db:port",
        "nats://db/x",
        "nats://db?a=b",
    ],
)
def test_anything_else_is_no_engine(text: str):
    assert refusal(text).code in ("INVALID_ENGINE", "INVALID_NATS_ADDRESS")


def test_without_an_address_the_environment_must_name_one():
    assert refusal("", PGUSER="ada").code == "NO_ENGINE"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("nats://localhost", "nats://localhost:4222"),
        ("nats://127.0.0.1:4333", "nats://127.0.0.1:4333"),
        ("nats://[::1]", "nats://[::1]:4222"),
        ("nats://db.example.org", "nats://db.example.org:4222"),
        ("tls://a.example.org:1,b.example.org:2", "tls://a.example.org:1,b.example.org:2"),
    ],
)
def test_the_servers_of_nats_have_a_port(text: str, address: str):
    assert engines.parse(text, {}) == EngineAddress("nats", address)


def test_the_places_of_credentials_for_nats_come_from_the_environment_too(tmp_path: Path):
    env = {"NATS_CREDS": str(tmp_path / "bb.creds"), "NATS_CONTEXT": "fleet"}

    found = engines.parse("nats://db.example.org?creds=/etc/bb.creds", env).address

    assert "creds=/etc/bb.creds" in found, "the address counts more"
    assert "context=fleet" in found


def test_an_engine_of_another_kind_than_the_fleets_is_refused():
    terms = FleetTerms("nats", "0123456789abcdef", 5)

    with pytest.raises(AnotherEngine.error):
        engines.must_fit(EngineAddress("postgres", "host=/run"), terms)


def test_the_engine_of_a_clone_is_saved_and_removed_with_what_was_folded_from_it(tmp_path: Path):
    engine = EngineAddress("postgres", "service=bb")
    assert settings.read(str(tmp_path)) is None
    assert not fleet_files.has_engine(str(tmp_path))

    settings.write(str(tmp_path), engine)
    (tmp_path / "fleet" / "results.sqlite").write_bytes(b"")
    assert settings.read(str(tmp_path)) == engine
    assert fleet_files.has_engine(str(tmp_path))

    settings.remove(str(tmp_path))
    assert settings.read(str(tmp_path)) is None
    assert list((tmp_path / "fleet").iterdir()) == []


WRONG_FILE = b'{"carrier":"postgres","address":"service=bb","service_file":1}'


@pytest.mark.parametrize(
    "octets", [b"", b"{", b"[]", b'{"carrier":"redis","address":"x"}', b'{"carrier":"nats","address":1}', WRONG_FILE]
)
def test_a_damaged_file_is_no_engine(tmp_path: Path, octets: bytes):
    (tmp_path / "fleet").mkdir()
    (tmp_path / "fleet" / "engine.json").write_bytes(octets)

    assert settings.read(str(tmp_path)) is None
