"""A service of libpq: its host is looked up while everything else in the process goes on."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from bb.ledger.carrier import door, postgres_service, postgres_session
from tests import engines


def service(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A service file with one service, `bb`."""
    (folder / "services").write_text(f"[other]\nhost=elsewhere\n[bb]\n{text}")
    monkeypatch.setenv("PGSERVICEFILE", str(folder / "services"))


def test_the_section_of_a_service_is_read_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    service(tmp_path, monkeypatch, "# a remark\n host = db.example.org \nport=6000\n[last]\nport=1\n")
    env = {"PGSERVICEFILE": str(tmp_path / "services")}

    assert postgres_service.options("bb", env) == {"host": "db.example.org", "port": "6000"}
    assert postgres_service.options("nobody", env) == {}


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("service=bb", {"host": "db.example.org", "port": "6000"}),
        ("service=bb port=7", {"host": "db.example.org", "port": "7"}),
        ("service=bb host=mine", {"host": "mine"}),
        ("service=bb hostaddr=127.0.0.9", {"hostaddr": "127.0.0.9"}),
        ("service=nobody", {}),
    ],
)
def test_the_host_of_a_service_is_known_before_libpq_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, expected: dict[str, str]
):
    service(tmp_path, monkeypatch, "host=db.example.org\nport=6000\ndbname=bb\n")
    found = postgres_session.conninfo.conninfo_to_dict(postgres_session.complete(address))

    assert {name: found[name] for name in ("host", "hostaddr", "port") if name in found} == expected


def test_several_hosts_of_a_service_are_asked_for_the_primary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    service(tmp_path, monkeypatch, "host=one,two\n")

    assert "target_session_attrs=primary" in postgres_session.complete("service=bb")


def test_a_resolver_that_does_not_answer_stops_no_other_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    service(tmp_path, monkeypatch, "host=db.example.org\nport=6000\ndbname=bb\n")
    asked, end = [], threading.Event()

    def unanswered(host: object, *_: object, **__: object) -> object:
        asked.append(host)
        end.wait()
        raise OSError("no answer")

    monkeypatch.setattr(socket, "getaddrinfo", unanswered)
    monkeypatch.setattr(postgres_session, "CONNECTING", 0.1)
    try:
        with pytest.raises(door.EngineUnreachable.error, match="did not answer in time"):
            postgres_session.Session("service=bb")
        assert asked == ["db.example.org"], "psycopg looks it up, and not libpq, which stops every thread meanwhile"
    finally:
        end.set()


def test_a_service_is_connected_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    engines.need_postgres()
    server = engines.shared_postgres()
    service(tmp_path, monkeypatch, f"host=localhost\nport={server.port}\ndbname=postgres\nuser=postgres\n")

    session = postgres_session.Session("service=bb")
    assert session.is_primary
    session.close()
