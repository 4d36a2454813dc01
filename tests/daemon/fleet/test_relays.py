"""The daemon runs the relays of clones: it listens for their questions, remembers them, and ends them in order."""

from __future__ import annotations

import json
import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from bb.daemon.fleet import clone_relay, metrics, remembered_clones
from bb.daemon.fleet.clone_relay import NotInFleet
from bb.daemon.fleet.metrics_server import MetricsServer
from bb.daemon.fleet.relays import Relays
from bb.daemon.loop.log import Log
from bb.daemon.loop.loop import Loop
from bb.kernel.errors import BbError
from bb.ledger.files.lock import is_held, taken_for_good
from bb.ledger.fleet import asking, settings
from bb.ledger.fleet.settings import EngineAddress
from bb.ledger.git.place import Place
from bb.ledger.local import fleet_files
from bb.ops.desk.desk import Desk
from tests.waiting import until

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs Unix sockets")

Answer = Callable[[dict[str, Any]], None]


class Scripted:
    """A relay that answers each kind of question with what the test has set, or keeps it."""

    answers: ClassVar[dict[str, dict[str, Any]]] = {}
    kept: ClassVar[list[Answer]] = []
    made: ClassVar[list[Scripted]] = []
    fails = 0

    def __init__(self, *_: Any) -> None:
        self._over = threading.Event()
        self.asked: list[Mapping[str, Any]] = []
        Scripted.made.append(self)

    def run(self) -> None:
        if Scripted.fails:
            Scripted.fails -= 1
            raise RuntimeError("a bug of the test")
        self._over.wait(60)

    def stop(self) -> None:
        for answer in self.kept:
            answer({"ok": False, "error": {"code": "RELAY_STOPPED", "exit_status": 6}})
        self._over.set()

    def ask(self, question: Mapping[str, Any], answer: Answer) -> None:
        self.asked.append(question)
        if question["ask"] == "bug":
            raise RuntimeError("another bug of the test")
        if question["ask"] in self.answers:
            answer({"ok": True, "result": self.answers[question["ask"]]})
        else:
            self.kept.append(answer)


class Stand:
    """The relays of one daemon, in a loop that turns while a test waits."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "daemon").mkdir(exist_ok=True)
        self.log = folder / "log"
        self.loop = Loop()
        self.desk = Desk(str(folder), {"CCCC_HOME": str(folder)})
        self.relays = Relays(str(folder / "daemon"), self.loop, self.desk, Log(str(self.log), "DEBUG"))

    def turns(self) -> None:
        self.loop.later(0.005, lambda: None)
        self.loop.turn()

    def until(self, is_so: Callable[[], Any]) -> Any:
        return until(is_so, pause=self.turns)

    def asked(self, store: str, **question: Any) -> Callable[[], Any]:
        """Ask from another thread, as another process would. Returns what waits for the answer, or the refusal."""
        found: list[Any] = []

        def ask() -> None:
            try:
                found.append(asking.ask(store, question, patience=30))
            except BbError as refusal:
                found.append(refusal)

        threading.Thread(target=ask, daemon=True).start()
        return lambda: self.until(lambda: found)[0]

    def close(self) -> None:
        self.relays.stop()
        self.loop.close()


@pytest.fixture
def stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stand]:
    monkeypatch.setattr(clone_relay, "Relay", Scripted)
    monkeypatch.setattr(clone_relay, "FIRST_PAUSE", 0.01)
    Scripted.answers, Scripted.kept, Scripted.made, Scripted.fails = {}, [], [], 0
    made = Stand(tmp_path)
    yield made
    made.close()


def clone(folder: Path, name: str = "clone") -> Place:
    """A clone that has joined a fleet."""
    store = folder / name / ".git" / "bb"
    store.mkdir(parents=True)
    settings.write(str(store), EngineAddress("postgres", "service=none"))
    return Place(str(store.parent), str(folder / name), str(store.parent))


def test_a_question_is_answered_by_the_relay_of_its_clone(stand: Stand):
    place = clone(stand.folder)
    Scripted.answers = {"settle": {"place": 9}}

    assert stand.relays.attend(place)["started"] is True
    assert stand.asked(place.store, ask="settle", events=["x.1"])() == {"place": 9}
    assert Scripted.made[0].asked[0] == {"ask": "settle", "events": ["x.1"], "patience": 30}
    assert stand.relays.attend(place)["started"] is False


def test_the_socket_is_for_its_user_only(stand: Stand):
    place = clone(stand.folder)
    stand.relays.attend(place)

    for name in (fleet_files.ADDRESS, fleet_files.SOCKET):
        assert os.stat(fleet_files.path(place.store, name)).st_mode & 0o077 == 0


def test_a_socket_whose_path_would_be_too_long_is_elsewhere(stand: Stand):
    place = clone(stand.folder, "a" * 100)
    Scripted.answers = {"status": {}}
    stand.relays.attend(place)

    where = json.loads(Path(fleet_files.path(place.store, fleet_files.ADDRESS)).read_text())["path"]
    assert not where.startswith(place.store)
    assert stand.asked(place.store, ask="status")() == {}
    stand.relays.stop()
    assert not os.path.exists(os.path.dirname(where))


def test_a_clone_without_an_engine_has_no_relay(stand: Stand):
    place = clone(stand.folder)
    settings.remove(place.store)

    with pytest.raises(NotInFleet.error):
        stand.relays.attend(place)


def test_one_process_at_a_time_runs_the_relay_of_a_clone(stand: Stand):
    place = clone(stand.folder)
    lock = taken_for_good(fleet_files.path(place.store, fleet_files.LOCK))
    assert lock is not None

    assert stand.relays.attend(place) | {"store": ""} == {
        "attended": True,
        "started": False,
        "elsewhere": True,
        "store": "",
    }
    os.close(lock)
    assert stand.relays.attend(place)["started"] is True


def test_a_lock_that_cannot_be_opened_is_a_refusal(stand: Stand):
    place = clone(stand.folder)
    os.mkdir(fleet_files.path(place.store, fleet_files.LOCK))

    with pytest.raises(BbError) as refused:
        stand.relays.attend(place)

    assert fleet_files.LOCK in str(refused.value)


@pytest.mark.parametrize("line", [b"nonsense\n", b"[]\n", b'{"ask": 7}\n', b"{" * 60_000 + b"\n"])
def test_what_is_no_question_is_refused_and_others_are_served(stand: Stand, line: bytes):
    place = clone(stand.folder)
    Scripted.answers = {"status": {}}
    stand.relays.attend(place)

    with socket.socket(socket.AF_UNIX) as client:
        client.connect(fleet_files.path(place.store, fleet_files.SOCKET))
        client.sendall(line)
        client.setblocking(False)
        answered = bytearray()

        def has_come() -> bool:
            try:
                answered.extend(client.recv(1 << 16))
            except BlockingIOError:
                return False
            return answered.endswith(b"\n")

        stand.until(has_come)
    assert json.loads(answered)["ok"] is False
    assert stand.asked(place.store, ask="status")() == {}


def test_a_bug_in_the_relay_is_an_answer(stand: Stand):
    place = clone(stand.folder)
    stand.relays.attend(place)

    assert stand.asked(place.store, ask="bug")().code == "INTERNAL_ERROR"
    assert stand.relays.has_work is False


def test_a_relay_that_fails_starts_again(stand: Stand):
    place = clone(stand.folder)
    Scripted.fails, Scripted.answers = 2, {"status": {"is": "well"}}
    stand.relays.attend(place)

    stand.until(lambda: len(Scripted.made) == 3)
    assert stand.asked(place.store, ask="status")() == {"is": "well"}
    assert "a bug of the test" in stand.log.read_text()


def test_a_relay_that_moves_begins_again_at_once_however_often_it_moves(stand: Stand, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(clone_relay, "FIRST_PAUSE", 1000.0)
    place = clone(stand.folder)
    stand.relays.attend(place)

    for number in range(2, 8):
        settings.write(place.store, EngineAddress("postgres", f"service=number-{number}"))
        stand.relays.attend(place)
        stand.until(lambda wanted=number: len(Scripted.made) == wanted)


def test_after_a_long_time_without_a_failure_the_next_pause_is_short(stand: Stand, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(clone_relay, "LONGEST_PAUSE", 0.0)
    place = clone(stand.folder)
    stand.relays.attend(place)
    (running,) = stand.relays.all_relays
    running._pause = 1000.0

    Scripted.made[0]._over.set()

    stand.until(lambda: len(Scripted.made) == 2)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_a_relay_whose_socket_cannot_be_made_leaves_no_thread_and_no_lock(stand: Stand):
    place = clone(stand.folder)
    address = Path(fleet_files.path(place.store, fleet_files.ADDRESS))
    (address / "in the way").mkdir(parents=True)
    files, threads = len(os.listdir("/proc/self/fd")), threading.active_count()

    for _ in range(3):
        with pytest.raises(BbError):
            stand.relays.attend(place)

    assert Scripted.made == []
    assert threading.active_count() == threads
    assert len(os.listdir("/proc/self/fd")) == files
    assert not is_held(fleet_files.path(place.store, fleet_files.LOCK))
    shutil.rmtree(address)
    assert stand.relays.attend(place)["started"] is True


@pytest.mark.parametrize("name", [fleet_files.SOCKET, fleet_files.ADDRESS])
@pytest.mark.parametrize("asks", [True, False])
def test_a_socket_that_was_removed_is_made_anew(stand: Stand, name: str, asks: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bb.daemon.fleet.relays.LOOK_AGAIN", 0.01)
    place = clone(stand.folder)
    Scripted.answers = {"status": {}}
    stand.relays.begin()
    stand.relays.attend(place)
    waits = stand.asked(place.store, ask="waits")
    stand.until(lambda: Scripted.kept)
    os.unlink(fleet_files.path(place.store, name))

    if asks:
        stand.relays.attend(place)
    else:
        stand.until(lambda: os.path.exists(fleet_files.path(place.store, name)))

    assert stand.asked(place.store, ask="status")() == {}
    assert len(Scripted.made) == 1
    Scripted.kept.pop()({"ok": True, "result": {"still": "connected"}})
    assert waits() == {"still": "connected"}


def test_there_is_work_while_a_command_waits_and_its_end_is_an_answer(stand: Stand):
    place = clone(stand.folder)
    stand.relays.attend(place)
    answer = stand.asked(place.store, ask="settle")
    stand.until(lambda: Scripted.kept)

    assert stand.relays.has_work
    stand.relays.stop()
    assert answer().code == "RELAY_STOPPED"
    assert not os.path.exists(fleet_files.path(place.store, fleet_files.ADDRESS))
    assert not is_held(fleet_files.path(place.store, fleet_files.LOCK))


def test_the_next_daemon_resumes_the_relays_and_forgets_clones_that_have_left(stand: Stand):
    stays, leaves = clone(stand.folder, "stays"), clone(stand.folder, "leaves")
    for place in (stays, leaves):
        stand.relays.attend(place)
    stand.relays.stop()
    settings.remove(leaves.store)

    following = Stand(stand.folder)
    following.relays.begin()
    try:
        assert [one.place.store for one in following.relays.all_relays] == [stays.store]
    finally:
        following.close()
    third = Stand(stand.folder)
    third.relays.begin()
    assert [one.place.store for one in third.relays.all_relays] == [stays.store]
    third.close()


@pytest.mark.parametrize("written", ["", "[]", '{"clones": 7}', '{"clones": [7, {"common": "relative"}, {}]}'])
def test_a_damaged_list_of_clones_is_an_empty_one(stand: Stand, written: str):
    (stand.folder / "daemon" / "fleet_clones.json").write_text(written)

    stand.relays.begin()

    assert stand.relays.all_relays == []


def test_a_clone_that_leaves_its_fleet_has_no_relay_any_more(stand: Stand, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bb.daemon.fleet.relays.LOOK_AGAIN", 0.01)
    place = clone(stand.folder)
    stand.relays.begin()
    stand.relays.attend(place)

    settings.remove(place.store)

    stand.until(lambda: not stand.relays.all_relays)
    stand.until(lambda: not is_held(fleet_files.path(place.store, fleet_files.LOCK)))


def test_the_relay_of_a_clone_that_is_away_ends_and_begins_again_when_the_clone_is_back(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("bb.daemon.fleet.relays.LOOK_AGAIN", 0.01)
    place, away = clone(stand.folder), stand.folder / "away"
    stand.relays.begin()
    stand.relays.attend(place)

    os.rename(stand.folder / "clone", away)
    stand.until(lambda: not stand.relays.all_relays)
    assert not (stand.folder / "clone").exists(), "nothing is made where it was"

    os.rename(away, stand.folder / "clone")
    stand.until(lambda: stand.relays.all_relays)
    assert is_held(fleet_files.path(place.store, fleet_files.LOCK))


def test_a_clone_that_stays_away_is_forgotten(stand: Stand, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bb.daemon.fleet.relays.LOOK_AGAIN", 0.01)
    monkeypatch.setattr("bb.daemon.fleet.relays.REMEMBERED", 0.0)
    place = clone(stand.folder)
    stand.relays.begin()
    stand.relays.attend(place)

    shutil.rmtree(stand.folder / "clone")

    stand.until(lambda: remembered_clones.read(str(stand.folder / "daemon")) == [])


def test_a_clone_that_was_deleted_and_made_anew_has_a_new_relay(stand: Stand):
    place = clone(stand.folder)
    Scripted.answers = {"status": {}}
    stand.relays.attend(place)
    shutil.rmtree(stand.folder / "clone")
    clone(stand.folder)

    assert stand.relays.attend(place)["started"] is True
    assert len(Scripted.made) == 2
    assert stand.asked(place.store, ask="status")() == {}


def test_the_end_of_the_relay_of_a_deleted_clone_leaves_the_files_of_another_process_alone(stand: Stand):
    place = clone(stand.folder)
    stand.relays.attend(place)
    shutil.rmtree(stand.folder / "clone")
    clone(stand.folder)
    other = taken_for_good(fleet_files.path(place.store, fleet_files.LOCK))
    assert other is not None
    address = Path(fleet_files.path(place.store, fleet_files.ADDRESS))
    address.write_text("of another process")

    assert stand.relays.attend(place)["elsewhere"] is True
    assert address.read_text() == "of another process"
    os.close(other)


def test_metrics_have_numbers_and_no_path_for_this_machine_only(stand: Stand):
    place = clone(stand.folder, 'odd"name\\')
    Scripted.answers = {"status": {"place": 41, "imported": 40, "unsent": 2}}
    stand.relays.attend(place)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    serving = MetricsServer(port, lambda: metrics.text(stand.relays), Log(str(stand.log)))
    try:
        text = fetched(stand, port, "GET /metrics", "localhost:1")
        assert text.startswith("HTTP/1.1 200 OK")
        assert 'bb_fleet_place{clone="odd\\"name\\\\"} 41' in text
        assert str(stand.folder) not in text
        assert fetched(stand, port, "GET /metrics", "evil.example").startswith("HTTP/1.1 403")
        assert fetched(stand, port, "GET /other", "127.0.0.1").startswith("HTTP/1.1 404")
        assert fetched(stand, port, "POST /metrics", "[::1]:9").startswith("HTTP/1.1 405")
        assert fetched(stand, port, "nonsense", "127.0.0.1").startswith("HTTP/1.1 403")
    finally:
        serving.close()


def fetched(stand: Stand, port: int, what: str, host: str) -> str:
    """The answer to a request, while the loop turns."""
    got: list[str] = []

    def fetch() -> None:
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(f"{what} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            client.shutdown(socket.SHUT_WR)
            got.append(client.makefile("rb").read().decode())

    threading.Thread(target=fetch, daemon=True).start()
    return str(stand.until(lambda: got)[0])
