"""Engines of a fleet for tests: real servers on a Unix socket and on loopback, and a proxy in front of one.

A server can be killed at once, started again with what its disk has, and put back to an earlier copy of its data. The
proxy can cut connections, hold what passes, and lose answers. Everything ends with the process that started it.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

import pytest

from tests.servers import Server, folder_of_a_server
from tests.support import made_for_all

IS_NEEDED = bool(os.environ.get("BB_TESTS_NEED_POSTGRES"))  # as in CI, which installs one
SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "max_connections": "160",
    "shared_buffers": "64MB",
    "dynamic_shared_memory_type": "mmap",  # a server that is killed leaves it; here, in its own folder
    "wal_level": "replica",
    "max_wal_size": "1GB",
    "logging_collector": "off",
    "log_min_messages": "warning",
    "autovacuum_naptime": "60s",
}
HBA = "local all all trust\nlocal replication all trust\nhost all all 127.0.0.1/32 trust\n"


@functools.cache
def programs() -> Path | None:
    """The folder of the PostgreSQL that BB_TESTS_POSTGRES names, or of the newest one on this machine."""
    if wanted := os.environ.get("BB_TESTS_POSTGRES"):
        return Path(wanted)
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda each: float(each.parts[-3]))
    named = shutil.which("initdb")
    return found[-1].parent if found else Path(named).parent if named else None


def need_postgres() -> Path:
    """The folder of PostgreSQL's programs. Without one, the test is skipped, or fails where one must be."""
    found = programs()
    if found is None and not IS_NEEDED:
        pytest.skip("no PostgreSQL server is installed")
    assert found is not None, "BB_TESTS_NEED_POSTGRES is set, and no PostgreSQL server is installed"
    return found


class Postgres(Server):
    """A cluster of PostgreSQL. Its folder has its socket, too."""

    ends_at_once_by = "QUIT"
    stops_by = signal.SIGINT

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str] | None = None,
        hba: str = HBA,
        data: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(folder, data)
        self._settings, self._hba = SETTINGS | dict(settings or {}), hba
        self._environment = {**os.environ, **(environment or {})}
        self._names = iter(range(1_000_000))

    def make(self) -> None:
        """Make an empty cluster. `initdb` takes four times as long as a copy of what it made once."""
        self.own(self.folder)
        subprocess.run(["cp", "-a", _empty_cluster(), self.data], check=True)

    def make_anew(self) -> None:
        """Make an empty cluster that no other is a copy of."""
        self.own(self.folder)
        self.run("initdb", "--no-sync", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-D", self.data)

    def conninfo(self, database: str = "postgres", user: str = "postgres", *, tcp: bool = False) -> str:
        """Where a client connects: over the Unix socket, or TCP."""
        host = "127.0.0.1" if tcp else self.folder
        return f"host={host} port={self.port} dbname={database} user={user}"

    def database(self) -> str:
        """The name of a new database."""
        name = f"t{os.getpid()}_{next(self._names)}"
        self.sql(f"create database {name}")
        return name

    def sql(self, statement: str, database: str = "postgres") -> str:
        """What psql prints for a STATEMENT of the superuser."""
        words = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", self.conninfo(database), "-c", statement]
        return self.run("psql", *words).strip()

    def is_running(self) -> bool:
        """Whether its first process goes on. If that has ended by itself, the server can be started again."""
        if self._server is None or self._server.poll() is None:
            return self._server is not None
        self._end(signal.SIGKILL)
        return False

    def change(self, **settings: str) -> None:
        """Change settings of the server while it runs. It reads them soon afterwards."""
        self._settings.update(settings)
        self._write_settings()
        self.sql("select pg_reload_conf()")

    def backup(self) -> Path:
        """A copy of the data as they are now, made while the server runs."""
        copy = self.folder / f"backup-{next(self._names)}"
        self.run("pg_basebackup", "-d", self.conninfo(), "-D", copy, "--checkpoint=fast", "--no-sync", "-X", "stream")
        return copy

    def standby(self, folder: Path) -> Postgres:
        """A second server in FOLDER that follows this one asynchronously. Its `promote` makes it a primary."""
        other = Postgres(folder, self._settings, self._hba)
        other.own(folder)
        words = ["-D", other.data, "-R", "--checkpoint=fast", "--no-sync", "-X", "stream"]
        self.run("pg_basebackup", "-d", self.conninfo(), *words)
        other.start_again()
        return other

    def promote(self) -> None:
        self.sql("select pg_promote(true, 60)")

    def own(self, folder: Path) -> None:
        """Give a folder to the user that runs the server."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")

    def own_file(self, path: Path) -> None:
        """Give a file to the user that runs the server, which alone may read it."""
        path.chmod(0o600)
        if os.geteuid() == 0:
            shutil.chown(path, "postgres", "postgres")

    def run(self, program: str, *words: str | Path) -> str:
        """What a program of PostgreSQL prints."""
        done = subprocess.run([need_postgres() / program, *words], capture_output=True, cwd="/", **self._as_user())
        assert done.returncode == 0, f"{program}: {done.stderr.decode()}"
        return done.stdout.decode()

    def _as_user(self) -> dict[str, object]:
        """PostgreSQL refuses to run as root."""
        return {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}

    def _write_settings(self) -> None:
        lines = [f"{name} = '{value}'\n" for name, value in self._settings.items()]
        (self.data / "postgresql.conf").write_text("listen_addresses = '127.0.0.1'\n" + "".join(lines))
        (self.data / "pg_hba.conf").write_text(self._hba)

    def _command(self) -> Sequence[str | Path]:
        return [need_postgres() / "postgres", "-D", self.data, "-k", self.folder, "-p", str(self.port)]

    def _how(self) -> Mapping[str, object]:
        return {"env": self._environment, **self._as_user()}

    def _answers(self) -> bool:
        words = [need_postgres() / "pg_isready", "-q", "-h", self.folder, "-p", str(self.port)]
        return subprocess.run(words).returncode == 0


@functools.cache
def _empty_cluster() -> Path:
    """The data of the cluster that every other is a copy of."""

    def make(folder: Path) -> None:
        with folder_of_a_server() as own:
            Postgres(own).make_anew()
            subprocess.run(["cp", "-a", own / "data", folder], check=True)  # with its owner

    return made_for_all("empty-cluster", make) / "data"


@contextlib.contextmanager
def postgres(
    settings: Mapping[str, str] | None = None,
    hba: str = HBA,
    under: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Postgres]:
    """A new cluster that runs, in memory, or in a folder UNDER another one. ENVIRONMENT is that of its processes."""
    need_postgres()
    with folder_of_a_server(under) as folder:
        cluster = Postgres(folder, settings, hba, environment=environment)
        try:
            cluster.make()
            cluster.start_again()
            yield cluster
        finally:
            cluster.kill_hard()


_SHARED: dict[int, Postgres] = {}


def shared_postgres() -> Postgres:
    """The cluster of this process's ordinary tests, each of which makes a database of its own. Never stop it."""
    if os.getpid() not in _SHARED:
        kept = contextlib.ExitStack()
        _SHARED[os.getpid()] = kept.enter_context(postgres({"fsync": "on"}))
        atexit.register(_close_in, os.getpid(), kept)
    return _SHARED[os.getpid()]


def _close_in(pid: int, kept: contextlib.ExitStack) -> None:
    if os.getpid() == pid:  # not in what it has forked
        kept.close()


class Proxy:
    """A TCP proxy on loopback, at PORT, in front of TARGET: a host and a port, or the path of a Unix socket.

    All of these may be set at any time, from any thread: `delay` (seconds, each way), `is_held` (nothing passes, and
    connections stay), `loses_answers` (what the server says is thrown away), `change` (what becomes of the octets of an
    answer: lost, doubled, in another order).
    """

    def __init__(self, target: tuple[str, int] | str) -> None:
        self.target, self.port = target, 0
        self.delay, self.is_held, self.loses_answers = 0.0, False, False
        self.change: Callable[[bytes], bytes] | None = None
        self._is_cut = False
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._call(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self) -> None:
        """End every connection, and take no others, until `mend`."""
        self._is_cut = True
        self._call(self._drop())

    def drop(self) -> None:
        """End every connection. New ones are taken."""
        self._call(self._drop())

    def mend(self) -> None:
        """Let everything pass again."""
        self.delay, self.is_held, self.loses_answers, self.change, self._is_cut = 0.0, False, False, None, False

    @property
    def connections(self) -> int:
        return len(self._open) // 2

    def _call(self, work: object) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(60)  # type: ignore[arg-type]

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _drop(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()

    async def _close(self) -> None:
        self._server.close()
        await self._drop()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for _ in range(3):
            await asyncio.sleep(0)  # the loop closes the sockets of what was ended in its next rounds

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        try:
            to = self.target
            opened = asyncio.open_unix_connection(to) if isinstance(to, str) else asyncio.open_connection(*to)
            answers, requests = await opened
        except OSError:
            writer.transport.abort()
            return
        both = {writer, requests}
        if self._is_cut:  # meanwhile
            for each in both:
                each.transport.abort()
            return
        self._open |= both
        try:
            await asyncio.gather(self._pump(reader, requests, False), self._pump(answers, writer, True))
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._open -= both
            for each in both:
                each.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_answer: bool) -> None:
        while octets := await reader.read(1 << 16):
            if self.delay:
                await asyncio.sleep(self.delay)
            while self.is_held:
                await asyncio.sleep(0.01)
            if is_answer and self.change is not None:
                octets = self.change(octets)
            if not (is_answer and self.loses_answers):
                writer.write(octets)
                await writer.drain()
        raise ConnectionResetError
