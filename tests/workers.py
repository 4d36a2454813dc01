"""Several tests at a time: `-n N`. The tests are collected once, and then processes are forked that run them.

A worker takes one file after the other, in the order that `tests/times.py` gives them. So what the tests of a file
share is made once. With fewer files than workers, the tests of all files are dealt out in small parts.

pytest-xdist would collect all tests in each worker, which takes longer than the tests of most rooms.
"""

from __future__ import annotations

import atexit
import itertools
import mmap
import os
import pickle
import selectors
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import FOR_ALL

NUMBER = "BB_TESTS_WORKER"  # the environment variable that has the number of the worker
PARTS = 8  # of the tests for each worker, if there are few files
SIZE, PLACE = 4, 4  # bytes
Unit = list[pytest.Item]


def count(wanted: str) -> int:
    """How many workers `-n WANTED` means. Where no process can be forked, pytest runs the tests itself."""
    if not hasattr(os, "fork"):
        return 1
    if wanted != "auto":
        return int(wanted)
    return (os.cpu_count() or 1) + 3  # the files that are started first wait for browsers, terminals and time


def run(session: pytest.Session, number: int) -> None:
    """Run all tests of SESSION in NUMBER processes, and report them here."""
    top = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # now: it would empty it
    for_all = top / "for-all"
    for_all.mkdir()
    os.environ[FOR_ALL] = str(for_all)
    sys.stdout.flush()
    pool = _Pool(session, _units(session.items, number))
    with pool.selector:
        for _ in range(min(number, len(pool.units))):
            pool.start([])
        try:
            pool.listen()
        except BaseException:
            pool.stop()
            raise


def _units(items: list[pytest.Item], number: int) -> list[Unit]:
    """What a worker takes at once."""
    files = [list(each) for _, each in itertools.groupby(items, lambda item: item.nodeid.partition("::")[0])]
    if len(files) >= number:
        return files
    size = max(1, len(items) // (number * PARTS))
    return [items[first : first + size] for first in range(0, len(items), size)]


class _Worker:
    """A forked process as its parent sees it."""

    def __init__(self, name: str, pid: int) -> None:
        self.name, self.pid = name, pid
        self.octets = bytearray()
        self.left: list[Unit] = []  # what it has taken and not finished
        self.is_done = False


class _Pool:
    def __init__(self, session: pytest.Session, units: list[Unit]) -> None:
        self.session, self.config, self.units = session, session.config, units
        self.selector = selectors.DefaultSelector()
        self.has_failed = mmap.mmap(-1, 1)  # shared with the workers: they stop before the next test
        self._names = (f"gw{number}" for number in itertools.count())
        self._queue, filled = os.pipe()
        os.set_blocking(filled, False)  # fails rather than waits, should there ever be more files than it can hold
        os.write(filled, b"".join(place.to_bytes(PLACE, "big") for place in range(len(units))))
        os.close(filled)
        self._reporter = session.config.pluginmanager.getplugin("terminalreporter")
        if self._reporter:
            self._reporter.showfspath = False

    def start(self, first: list[Unit]) -> None:
        """Fork a worker, which runs the units in FIRST and then takes others."""
        name = next(self._names)
        reads, writes = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reads)
            for key in list(self.selector.get_map().values()):
                os.close(key.fd)
            _be(name, self, first, writes)
        os.close(writes)
        worker = _Worker(name, pid)
        worker.left = list(first)
        self.selector.register(reads, selectors.EVENT_READ, worker)

    def taken(self) -> Unit | None:
        """The next unit from the queue that all workers share."""
        place = os.read(self._queue, PLACE)
        return self.units[int.from_bytes(place, "big")] if place else None

    def listen(self) -> None:
        """Report what the workers say until all have ended."""
        while self.selector.get_map():
            for key, _ in self.selector.select():
                octets = os.read(key.fd, 1 << 16)
                if octets:
                    for message in _messages(key.data.octets, octets):
                        self._heard(key.data, *message)
                else:
                    self.selector.unregister(key.fd)
                    os.close(key.fd)
                    _, status = os.waitpid(key.data.pid, 0)
                    if not key.data.is_done:
                        self._has_crashed(key.data, os.waitstatus_to_exitcode(status))
            if self.session.shouldfail or self.session.shouldstop:
                self.has_failed[0] = 1

    def stop(self) -> None:
        """Let the workers end after the tests that they run."""
        self.has_failed[0] = 1
        for key in list(self.selector.get_map().values()):
            while os.read(key.fd, 1 << 16):
                pass
            os.waitpid(key.data.pid, 0)

    def _heard(self, worker: _Worker, kind: str, what: Any) -> None:
        hook = self.config.hook
        if kind == "taken":
            worker.left.append(list(self.units[what]))
        elif kind == "start":
            if self._reporter and self._reporter.verbosity <= 0:
                hook.pytest_runtest_logstart(nodeid=what[0], location=what[1])
        elif kind == "passed":
            hook.pytest_runtest_logreport(report=pytest.TestReport(*what))
        elif kind == "report":
            report = hook.pytest_report_from_serializable(config=self.config, data=what)
            hook.pytest_runtest_logreport(report=report)
        elif kind == "finish":
            hook.pytest_runtest_logfinish(nodeid=what[0], location=what[1])
            worker.left[0].pop(0)
            if not worker.left[0]:
                worker.left.pop(0)
        elif kind == "warning":
            hook.pytest_warning_recorded.call_historic(kwargs=what)
        elif kind == "done":
            worker.is_done = True
        else:
            raise RuntimeError(f"worker {worker.name}: {what}")

    def _has_crashed(self, worker: _Worker, status: int) -> None:
        """Blame the test that it ran, and let another worker run what it has left."""
        if not worker.left:
            raise RuntimeError(f"worker {worker.name} ended with status {status}")
        item = worker.left[0].pop(0)
        said = f"worker {worker.name} ended with status {status} while it ran this test"
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", said, "call")
        self.config.hook.pytest_runtest_logreport(report=report)
        self.start([unit for unit in worker.left if unit])


def _messages(kept: bytearray, octets: bytes) -> Iterator[tuple[str, Any]]:
    kept += octets
    while len(kept) >= SIZE and len(kept) >= (end := SIZE + int.from_bytes(kept[:SIZE], "big")):
        message = pickle.loads(kept[SIZE:end])
        del kept[:end]
        yield message


# -- in a worker


class _Sender:
    """Tells the parent what pytest reports here."""

    def __init__(self, config: pytest.Config, out: int) -> None:
        self._config, self._out = config, out
        self._waiting = bytearray()

    def send(self, kind: str, what: Any = None) -> None:
        """Tell WHAT has happened. The parts of a test are told when it has ended."""
        octets = pickle.dumps((kind, what))
        self._waiting += len(octets).to_bytes(SIZE, "big") + octets
        if kind not in ("start", "passed", "report"):
            while self._waiting:
                del self._waiting[: os.write(self._out, self._waiting)]

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self.send("start", (nodeid, location))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.passed and not (report.sections or report.user_properties or hasattr(report, "wasxfail")):
            # Nearly all are like that, and the general way takes several times as long.
            times = report.duration, report.start, report.stop
            self.send("passed", (report.nodeid, report.location, {}, "passed", None, report.when, (), *times))
            return
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self.send("report", data)

    def pytest_runtest_logfinish(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self.send("finish", (nodeid, location))

    def pytest_warning_recorded(self, warning_message: Any, when: str, nodeid: str, location: Any) -> None:
        told = {"when": when, "nodeid": nodeid, "location": location}
        self.send("warning", {"warning_message": warning_message, **told})


def _be(name: str, pool: _Pool, first: list[Unit], out: int) -> None:
    """Be a worker, and end."""
    status = 1
    atexit._clear()  # what the parent has to do at its end
    sender = _Sender(pool.config, out)
    try:
        _settle(name, pool.config, sender)
        _work(pool, first, sender.send)
        sender.send("done")
        status = 0
    except BrokenPipeError:  # the parent is gone
        pass
    except BaseException:
        sender.send("broken", traceback.format_exc())
    finally:
        try:
            atexit._run_exitfuncs()
            sys.stdout.flush()
        finally:
            os._exit(status)


def _settle(name: str, config: pytest.Config, sender: _Sender) -> None:
    """Have one's own temporary folder and captured output, and report to the parent alone."""
    os.environ[NUMBER] = name
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(sender, "sender")
    factory = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = Path(factory.getbasetemp()) / name
    factory._basetemp.mkdir(mode=0o700)
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture.is_capturing() or capture.is_globally_capturing():
        capture.stop_global_capturing()
        capture.start_global_capturing()
        capture.suspend_global_capture()


def _work(pool: _Pool, first: list[Unit], send: Callable[..., None]) -> None:
    session = pool.session
    waiting = list(first)

    def following() -> Unit | None:
        if waiting:
            return waiting.pop(0)
        unit = pool.taken()
        if unit:
            send("taken", pool.units.index(unit))
        return unit

    unit = following()
    while unit:
        behind = None
        for place, item in enumerate(unit):
            if place + 1 == len(unit):  # a fixture of the session stays, if there is another file
                behind = following()
            after = unit[place + 1] if place + 1 < len(unit) else behind[0] if behind else None
            if pool.has_failed[0] or session.shouldfail or session.shouldstop:
                session._setupstate.teardown_exact(None)
                return
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        unit = behind
