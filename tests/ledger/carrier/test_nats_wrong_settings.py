"""An address of NATS whose parts name the wrong thing: it is refused with the reason, and nothing else fails."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import nkeys
import pytest
from nacl.signing import SigningKey

from bb.ledger.carrier import door
from bb.ledger.carrier.nats import NatsCarrier, NatsKeeper
from tests import nats_servers
from tests.contracts.carriers import INCARNATION, NO_MACHINES, REPO, NatsEngine, begun

SEED = nkeys.encode_seed(bytes(SigningKey.generate()), nkeys.PREFIX_BYTE_USER)
JWT = b"-----BEGIN NATS USER JWT-----\nx\n------END NATS USER JWT------\n"
KEY = b"-----BEGIN USER NKEY SEED-----\n%s\n------END USER NKEY SEED------\n"


@pytest.fixture(scope="module")
def engine() -> Iterator[NatsEngine]:
    with nats_servers.nats(more=NO_MACHINES) as server:
        made = NatsEngine(server)
        begun(made)
        made.machine("m-one")
        yield made


def test_a_monitoring_address_that_is_the_one_for_clients_shows_nothing(engine: NatsEngine) -> None:
    here = f"127.0.0.1:{engine.server.port}"
    address = f"nats://{here}?monitor=http://{here}"
    refusal = pytest.raises(door.EngineNotDurable.error, match="does not answer as a monitoring address")
    with contextlib.closing(NatsCarrier(address, REPO, INCARNATION)) as carrier, refusal:
        carrier.head()
    with contextlib.closing(NatsKeeper(address)) as keeper:
        assert keeper.health()["durable"] is False


@pytest.mark.parametrize("content", [b"", b"garbage\n", b"UABC\n", b"\xff\xfe\x00", JWT, SEED[:20]])
@pytest.mark.parametrize("option", ["nkey", "creds"])
def test_a_file_without_credentials_is_refused(engine: NatsEngine, tmp_path: Path, option: str, content: bytes) -> None:
    _refused(engine, tmp_path, option, content)


@pytest.mark.parametrize("content", [JWT + KEY % b"garbage", JWT + KEY % b"", KEY % SEED, KEY[:30], SEED])
def test_half_a_credentials_file_is_refused(engine: NatsEngine, tmp_path: Path, content: bytes) -> None:
    _refused(engine, tmp_path, "creds", content)


def test_a_key_that_the_server_does_not_know_is_refused_by_it(engine: NatsEngine, tmp_path: Path) -> None:
    assert "refuses the credentials" in _refused(engine, tmp_path, "nkey", SEED + b"\n")


def _refused(engine: NatsEngine, folder: Path, option: str, content: bytes) -> str:
    (folder / "file").write_bytes(content)
    address = f"{engine.address()}&{option}={folder / 'file'}"
    with (
        contextlib.closing(NatsCarrier(address, REPO, INCARNATION)) as carrier,
        pytest.raises(door.Denied.error) as refusal,
    ):
        carrier.head()
    return refusal.value.message
