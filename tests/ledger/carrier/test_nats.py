"""What only NATS servers can do wrong: settings that lose lines, machines that write anything, lost streams."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nats as library
import pytest

from bb.ledger.carrier import door, nats_keeper
from bb.ledger.carrier.nats import NatsCarrier, NatsKeeper
from bb.ledger.carrier.nats_address import InvalidNatsAddress, NatsAddress, SecretInNatsAddress
from bb.ledger.carrier.nats_keeper import InvalidMachine
from bb.ledger.carrier.nats_names import FIRST as NUMBER
from bb.ledger.carrier.nats_names import Names
from tests import nats_servers
from tests.contracts.carriers import ADA, BOB, FIRST, INCARNATION, NO_MACHINES, REPO, NatsEngine, begun, everything

NAMES = Names(REPO, INCARNATION)


@pytest.fixture
def engine() -> Iterator[NatsEngine]:
    with nats_servers.nats(more=NO_MACHINES) as server:
        made = NatsEngine(server)
        begun(made)
        yield made


def asked(address: str, subject: str, payload: bytes, headers: dict[str, str] | None = None, **how: Any) -> Any:
    """What a server answers to a request that bb would not make."""

    async def ask() -> Any:
        connection = await library.connect(address.partition("?")[0], **how)
        try:
            return json.loads((await connection.request(subject, payload, headers=headers, timeout=10)).data)
        finally:
            await connection.close()

    return asyncio.run(ask())


def test_a_server_that_acknowledges_before_it_writes_is_refused(engine: NatsEngine) -> None:
    engine.server.stop()
    engine.server.sync = "2m"
    engine.server.start_again()

    with contextlib.closing(engine.carrier()) as carrier, contextlib.closing(engine.keeper()) as keeper:
        for call in (carrier.head, lambda: carrier.append(ADA, 1, [b"x"]), lambda: keeper.begin(REPO, "e" * 16, 1, {})):
            with pytest.raises(door.EngineNotDurable.error) as refusal:
                call()
            assert "sync_interval: always" in (refusal.value.hint or "")
        assert carrier.health()["durable"] is False
        assert [log.head.incarnation for log in keeper.logs()] == [INCARNATION]


def test_a_setting_that_cannot_be_seen_counts_as_off(engine: NatsEngine) -> None:
    with nats_servers.nats() as other:
        for address in (
            f"nats://127.0.0.1:{engine.server.port}",
            f"nats://127.0.0.1:{engine.server.port}?monitor={other.monitor}",
        ):
            with contextlib.closing(NatsCarrier(address, REPO, INCARNATION)) as carrier:
                with pytest.raises(door.EngineNotDurable.error) as refusal:
                    carrier.append(ADA, 1, [b"x"])
                assert "monitor=http" in (refusal.value.hint or "")


def test_a_stream_that_acknowledges_before_it_writes_is_refused(engine: NatsEngine) -> None:
    made = asked(engine.address(), f"$JS.API.STREAM.INFO.{NAMES.log}", b"")["config"]
    asked(engine.address(), f"$JS.API.STREAM.DELETE.{NAMES.log}", b"")
    request = json.dumps(made | {"persist_mode": "async"}).encode()
    assert "error" not in asked(engine.address(), f"$JS.API.STREAM.CREATE.{NAMES.log}", request)

    with contextlib.closing(engine.carrier()) as carrier, pytest.raises(door.EngineNotDurable.error):
        carrier.head()


def test_readers_agree_on_what_a_hostile_machine_has_written(engine: NatsEngine) -> None:
    evil = engine.machine("evil")
    seed = evil.rpartition("nkey=")[2]
    with contextlib.closing(engine.carrier()) as carrier:
        carrier.append(ADA, 1, [b"1"])
        forged = [(ADA, "2", b"2\n"), (ADA, "9", b"9\n"), (BOB, "x", b"1\n"), (BOB, "1", b"no end"), (BOB, "1", b"1\n")]
        for writer, number, octets in forged:
            answer = asked(evil, NAMES.row("evil", writer), octets, {NUMBER: number}, nkeys_seed=seed)
            assert "seq" in answer
        rows = everything(carrier)

    assert [(row.writer, row.first) for row in rows] == [(ADA, 1), (ADA, 2), *[(door.VOID, 0)] * 3, (BOB, 1)]
    with contextlib.closing(engine.carrier()) as other:
        assert everything(other) == rows
        assert other.head().digest == rows[-1].digest
        with pytest.raises(door.Denied.error):
            other.append(BOB, 2, [b"2"])


def test_an_enrolled_machine_may_write_as_itself_and_change_nothing(engine: NatsEngine) -> None:
    first, second = engine.machine("m-one"), engine.machine("m-two")
    seed = second.rpartition("nkey=")[2]
    with contextlib.closing(engine.carrier(first)) as carrier:
        carrier.append(ADA, 1, [b"1"])
        for subject, payload in (
            (NAMES.row("m-one", ADA), b"2\n"),
            (f"$JS.API.STREAM.PURGE.{NAMES.log}", b""),
            (f"$JS.API.STREAM.DELETE.{NAMES.log}", b""),
            (NAMES.pages, b"{}"),
        ):
            with pytest.raises((TimeoutError, library.errors.TimeoutError)):
                asyncio.run(_asked_in_vain(second, subject, payload, seed))
        assert len(everything(carrier)) == 1
        assert carrier.append(ADA, 2, [b"2"]) == FIRST + 1


def test_the_lead_can_be_taken_and_appends_go_on(engine: NatsEngine) -> None:
    """What docs/fleet.md says of a machine in the wrong hands: no permission prevents it (docs/decisions/0084)."""
    first, evil = engine.machine("m-one"), engine.machine("m-two")
    with contextlib.closing(engine.carrier(first)) as carrier:
        assert carrier.lead()

        assert "seq" in asked(evil, NAMES.leader, b"me", nkeys_seed=evil.rpartition("nkey=")[2])

        assert not carrier.lead()
        carrier.beat(door.Machine("", ADA, FIRST))
        assert not carrier.lead(), "a beat does not take it back"
        assert carrier.append(ADA, 1, [b"1"]) == FIRST


@pytest.mark.parametrize(
    "payload",
    [
        b'["x", 1, {"fox": 1' + b"0" * 400 + b"}]",
        b'["x", 1, {"fox": 1e999}]',
        b'["x", 1, {"fox": -5}]',
        b'["x", 1, {"\\u001b[31m": 5}]',
        b'["x", 1e999, {}]',
        b'["x", 1' + b"0" * 400 + b", {}]",
        b"[" * 60_000,
        b"\xff\xfe",
        b"",
    ],
)
def test_a_machine_that_writes_anything_as_its_beat_harms_nobody(engine: NatsEngine, payload: bytes) -> None:
    with contextlib.closing(engine.carrier()) as carrier:
        carrier.beat(door.Machine("", ADA, FIRST, {"ada": 3}))
        asked(engine.address(), NAMES.beat("any", BOB), payload)
        asked(engine.address(), NAMES.leader, payload)

        alive = {machine.writer: machine for machine in carrier.alive()}

        assert alive[ADA].agents == {"ada": 3}
        assert not alive.get(BOB, alive[ADA].replace(agents={})).agents
        assert carrier.lead() == (not payload), "the message is that of another leader, until it is too old"


def test_too_many_beats_of_one_machine_do_not_stop_the_others(engine: NatsEngine) -> None:
    with contextlib.closing(engine.carrier()) as carrier:
        answer = asked(engine.address(), NAMES.beat("any", BOB), b"x" * 100_000)
        assert "error" in answer, "a beat is not as large as a row"
        asyncio.run(_flood(engine.address(), [NAMES.beat("any", f"{number:012}") for number in range(1200)]))
        carrier.beat(door.Machine("", ADA, FIRST))

        assert len(carrier.alive()) <= 1200
        assert carrier.append(ADA, 1, [b"1"]) == FIRST


async def _flood(address: str, subjects: list[str]) -> None:
    connection = await library.connect(address.partition("?")[0])
    try:
        for subject in subjects:
            await connection.publish(subject, b'["x", 1, {}]')
        await connection.request("$JS.API.INFO", b"")
    finally:
        await connection.close()


async def _asked_in_vain(address: str, subject: str, payload: bytes, seed: str) -> None:
    said: list[str] = []

    async def failed(error: Exception) -> None:
        said.append(str(error))

    connection = await library.connect(address.partition("?")[0], nkeys_seed=seed, error_cb=failed)
    try:
        await connection.publish(subject, payload)
        await connection.flush()
        while not any("permissions violation" in text for text in said):
            await asyncio.sleep(0.01)
    finally:
        await connection.close()
    raise TimeoutError


def test_the_name_of_a_machine_is_one_word(engine: NatsEngine) -> None:
    with contextlib.closing(engine.keeper()) as keeper:
        for name in ("", "any", "a.b", "a*", "a b", "ü", "x" * 65, '"'):
            with pytest.raises(InvalidMachine.error):
                keeper.enroll(name)


def test_a_restored_backup_is_found_by_the_digest_although_the_log_grew_again(engine: NatsEngine) -> None:
    with contextlib.closing(engine.carrier()) as carrier:
        for number in range(1, 4):
            carrier.append(ADA, number, [b"%d" % number])
        backup = engine.server.backup()
        for number in range(4, 7):
            carrier.append(ADA, number, [b"%d" % number])
        before = everything(carrier)
        engine.server.rewind(backup)
        with contextlib.closing(engine.carrier()) as other:
            assert other.head().place == FIRST + 2
            other.append(BOB, 1, [b"1"])
            other.append(ADA, 4, [b"4"])
            other.append(ADA, 5, [b"5", b"6"])

        assert carrier.head().place == before[-1].place
        (row,) = carrier.read(before[-1].place - 1, 1)
        assert row.digest != before[-1].digest
        assert carrier.read(FIRST - 1, 3) == before[:3]


def test_rows_that_the_server_has_lost_in_between_are_found(engine: NatsEngine) -> None:
    with contextlib.closing(engine.carrier()) as carrier:
        for number in range(1, 6):
            carrier.append(ADA, number, [b"%d" % number])
        asked(engine.address(), f"$JS.API.STREAM.PURGE.{NAMES.log}", json.dumps({"seq": FIRST + 2}).encode())

        with pytest.raises(door.EngineRewound.error):
            carrier.read(FIRST - 1)


def test_what_was_read_outlives_the_connection(engine: NatsEngine) -> None:
    with contextlib.closing(engine.carrier()) as carrier:
        for number in range(1, 1200):
            carrier.append(ADA, number, [b"x"])
        rows = everything(carrier)
    fetched = _counted(engine)
    with contextlib.closing(engine.carrier()) as again:
        assert again.head().digest == rows[-1].digest
        assert again.read(rows[-2].place) == rows[-1:]
        assert again.read(FIRST + 5, 3) == rows[6:9], "with the digests that are remembered"
    assert _counted(engine) - fetched < 100


def _counted(engine: NatsEngine) -> int:
    """How many messages the server has sent so far."""
    return int(str(engine.server.about("varz")["out_msgs"]))


def test_a_log_begins_with_ten_thousand_writers(engine: NatsEngine) -> None:
    heads = {f"{number:012}": number + 1 for number in range(10_000)}
    begun(engine, heads, incarnation="f" * 16)

    with contextlib.closing(engine.carrier(incarnation="f" * 16)) as carrier:
        assert carrier.append(f"{9_999:012}", 10_001, [b"x"]) == FIRST
        with pytest.raises(door.Gap.error) as refusal:
            carrier.append(f"{4_999:012}", 9_000, [b"x"])
        assert refusal.value.details["next"] == 5001


def test_more_lines_than_a_message_holds_become_several_rows(engine: NatsEngine) -> None:
    lines = [bytes([65 + number]) * 400_000 for number in range(7)]
    with contextlib.closing(engine.carrier()) as carrier:
        place = carrier.append(ADA, 1, lines)
        rows = everything(carrier)

    assert place == rows[-1].place > FIRST
    assert b"".join(row.octets for row in rows).split() == lines


def test_a_server_without_tls_gets_no_credentials(engine: NatsEngine) -> None:
    address = engine.address().replace("nats://", "tls://")
    carrier = NatsCarrier(address, REPO, INCARNATION)
    with contextlib.closing(carrier), pytest.raises(door.EngineUnreachable.error) as refusal:
        carrier.head()
    assert "TLS" in refusal.value.message


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_the_certificate_must_be_the_servers(tmp_path: Path, name: str) -> None:
    if not shutil.which("openssl"):
        pytest.skip("openssl makes the certificates")
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    words += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", "key", "-out", "crt"]
    subprocess.run(["openssl", *words], cwd=tmp_path, check=True, capture_output=True)
    more = f'tls: {{cert_file: "{tmp_path}/crt", key_file: "{tmp_path}/key"}}'
    with nats_servers.nats(more=more) as server:
        address = f"tls://{name}:{server.port}?monitor={server.monitor}"
        with contextlib.closing(NatsKeeper(f"{address}&ca={tmp_path}/crt")) as keeper:
            if name == "localhost":
                keeper.begin(REPO, INCARNATION, FIRST, {})
            else:
                with pytest.raises(door.EngineUnreachable.error):
                    keeper.begin(REPO, INCARNATION, FIRST, {})
        with contextlib.closing(NatsKeeper(address)) as keeper, pytest.raises(door.EngineUnreachable.error):
            keeper.logs()


@pytest.mark.parametrize("text", ["nats://u:p@h", "nats://token@h", "nats://h?monitor=http://u:p@h:8222"])
def test_an_address_with_a_secret_is_refused(text: str) -> None:
    with pytest.raises(SecretInNatsAddress.error):
        NatsAddress.parse(text)


@pytest.mark.parametrize(
    "text", ["", "h", "http://h", "nats://", "nats://h:x", "nats://h/x", "nats://h?a=b", "nats://h?replicas=2"]
)
def test_anything_else_is_no_address(text: str) -> None:
    with pytest.raises((InvalidNatsAddress.error, SecretInNatsAddress.error)):
        NatsAddress.parse(text)


def test_tls_is_demanded_of_servers_elsewhere() -> None:
    assert not NatsAddress.parse("nats://127.0.0.1,localhost:4223,[::1]").needs_tls
    assert NatsAddress.parse("nats://127.0.0.1,db.example.org").needs_tls
    assert NatsAddress.parse("nats://127.example.org").needs_tls
    assert NatsAddress.parse("tls://127.0.0.1").needs_tls
    assert not NatsAddress.parse("nats://db.example.org?tls=no").needs_tls


def test_credentials_come_from_files_and_contexts(tmp_path: Path) -> None:
    folder = tmp_path / "nats" / "context"
    folder.mkdir(parents=True)
    (folder / "fleet.json").write_text(json.dumps({"creds": "/x.creds", "url": "nats://elsewhere", "user": ""}))
    env = {"XDG_CONFIG_HOME": str(tmp_path)}

    assert NatsAddress.parse("nats://h?context=fleet").secrets(env) == {"creds": "/x.creds"}
    assert NatsAddress.parse("nats://h").secrets(env | {"NATS_CREDS": "/y.creds"}) == {"creds": "/y.creds"}
    for name in ("absent", "../x"):
        with pytest.raises(InvalidNatsAddress.error):
            NatsAddress.parse(f"nats://h?context={name}").secrets(env)


def test_a_log_that_is_closed_while_it_is_pruned_stays_closed(
    engine: NatsEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = nats_keeper.LogReader.checkpoint_at

    def slow(reader: nats_keeper.LogReader, info: Any, place: int) -> Any:
        found = read(reader, info, place)
        monkeypatch.setattr(nats_keeper.LogReader, "checkpoint_at", read)
        with contextlib.closing(engine.keeper()) as other:
            assert other.end(REPO, INCARNATION).is_closed
        return found

    with contextlib.closing(engine.carrier()) as carrier, contextlib.closing(engine.keeper()) as keeper:
        for number in range(1, 6):
            carrier.append(ADA, number, [b"x"])
        monkeypatch.setattr(nats_keeper.LogReader, "checkpoint_at", slow)

        assert keeper.prune(REPO, INCARNATION, FIRST + 2) == 3

        assert carrier.head().is_closed
        with pytest.raises(door.FleetEnded.error):
            carrier.append(ADA, 6, [b"y"])
        assert [row.place for row in carrier.read(FIRST + 2)] == [FIRST + 3, FIRST + 4]


def test_an_update_that_opens_a_log_again_at_the_moment_of_its_end_is_noticed(
    engine: NatsEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with contextlib.closing(engine.carrier()) as carrier, contextlib.closing(engine.keeper()) as keeper:
        carrier.append(ADA, 1, [b"x"])
        made = asked(engine.address(), f"$JS.API.STREAM.INFO.{NAMES.log}", b"")["config"]

        def open_again(_: float) -> None:
            monkeypatch.undo()
            asked(engine.address(), f"$JS.API.STREAM.UPDATE.{NAMES.log}", json.dumps(made).encode())

        monkeypatch.setattr(nats_keeper, "time", SimpleNamespace(sleep=open_again))

        assert keeper.end(REPO, INCARNATION).is_closed
        assert carrier.head().is_closed
