"""Servers, daemons and functions of tests that start in little time: forked from a process that has imported them.

To import the web server or the daemon takes most of the processor time of a test that needs one. So one process for
each program imports it once, and then forks for every server. Each is a process of its own with its own number,
streams, directory, environment, session and end. What an interpreter settles at its start, and that a command becomes
the program, is shown by tests that start one.

Tests of races and of kills need hundreds of processes that call a function. They are forked in the same way: `call`.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import IO, Any

from tests.forks import run_and_end
from tests.support import ROOT, environment

ONE_AT_A_TIME = threading.Lock()
MOST_OPEN = 4096  # descriptors; no process that forks here has as many
SIZE = 4  # bytes that say how long a request is


class Process:
    """A forked program, as `subprocess.Popen` would have it."""

    def __init__(self, pid: int, status: int, streams: list[IO[Any] | None]) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin, self.stdout, self.stderr = streams
        self._status = status  # a descriptor, which says how the process ended

    def poll(self) -> int | None:
        """The exit status, if it has ended."""
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended; the exit status, or less than nothing for a signal."""
        if self._ended(timeout) is None:
            raise subprocess.TimeoutExpired([str(self.pid)], timeout or 0)
        assert self.returncode is not None
        return self.returncode

    def communicate(self, given: Any = None, timeout: float | None = None) -> tuple[Any, Any]:
        """Write what is GIVEN, close its input, read what it says, and wait for its end. It says less on stderr than a
        pipe can hold. If it goes on for longer than TIMEOUT, it is killed."""
        if self.stdin:
            with contextlib.suppress(BrokenPipeError):
                if given:
                    self.stdin.write(given)
                self.stdin.close()
        said = []
        limit = threading.Timer(timeout or 0, self._kill_at_once)
        if timeout:
            limit.start()
        for stream in (self.stdout, self.stderr):
            said.append(stream.read() if stream and not stream.closed else b"")
            if stream:
                stream.close()
        limit.cancel()
        self.wait(timeout)
        return said[0], said[1]

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _kill_at_once(self) -> None:
        """For another thread: only one may read how it ended."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def _ended(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], seconds)[0]:
            self.returncode = int(os.read(self._status, 100))
            os.close(self._status)
        return self.returncode


def start(
    program: str,
    words: Sequence[str] = (),
    *,
    cwd: str | os.PathLike[str],
    env: Mapping[str, str],
    stdin: int = subprocess.DEVNULL,
    stdout: Any = None,
    stderr: Any = None,
    text: bool = False,
    start_new_session: bool = False,
    umask: int = -1,
) -> Process:
    """Start one of the PROGRAMS with WORDS. The other parameters are those of `subprocess.Popen`."""
    ours: list[IO[Any] | None] = []
    theirs: list[int] = []
    closing: list[int] = []
    for number, wanted in enumerate((stdin, stdout, stderr)):
        if wanted == subprocess.PIPE:
            reads, writes = os.pipe()
            there, here = (reads, writes) if number == 0 else (writes, reads)
            ours.append(os.fdopen(here, ("w" if number == 0 else "r") + ("" if text else "b")))
        else:
            ours.append(None)
            there = os.open(os.devnull, os.O_RDWR) if wanted == subprocess.DEVNULL else _descriptor(wanted, number)
        theirs.append(there)
        if wanted in (subprocess.PIPE, subprocess.DEVNULL):
            closing.append(there)
    ended, told = os.pipe()
    request = [os.fspath(cwd), dict(env), list(words), start_new_session, umask]
    try:
        with ONE_AT_A_TIME:
            server = _server(program)
            octets = json.dumps(request).encode()
            socket.send_fds(server, [len(octets).to_bytes(SIZE, "big")], [*theirs, told])
            server.sendall(octets)
            return Process(int(server.recv(100)), ended, ours)
    finally:
        for each in [*closing, told]:
            os.close(each)


def call(
    function: Callable[..., None], *words: object, env: Mapping[str, str] | None = None, **streams: Any
) -> Process:
    """A process of its own that calls a FUNCTION of a module of tests with WORDS as text."""
    named = [function.__module__, function.__name__, *map(str, words)]
    return start(FUNCTION, named, cwd=ROOT, env=environment() if env is None else env, **streams)


def _descriptor(wanted: Any, number: int) -> int:
    if wanted is None:
        return number
    return wanted if isinstance(wanted, int) else int(wanted.fileno())


@functools.cache
def _server(program: str) -> socket.socket:
    """A connection to the process that has imported a program: one for all tests of a worker."""
    ours, theirs = socket.socketpair()
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.preloaded", program, str(theirs.fileno())],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
    atexit.register(_stop, server, ours)
    return ours


def _stop(server: subprocess.Popen[bytes], connection: socket.socket) -> None:
    connection.close()
    server.wait()


# -- the process that has imported the program


def _daemon() -> Callable[[list[str]], int]:
    from bb.daemon import __main__ as program
    from bb.ops import catalogue

    catalogue.all_ops()
    return lambda _: program.main()


def _web() -> Callable[[list[str]], int]:
    import uvicorn.lifespan.on
    import uvicorn.loops.auto  # noqa: F401  (which a server imports when it starts)

    from bb.ops import catalogue
    from bb.web import __main__ as program
    from bb.web import rendering, serving  # noqa: F401

    catalogue.all_ops()
    templates = rendering._environment()
    for name in templates.list_templates():
        templates.get_template(name)
    return program.main


def _harness_host() -> Callable[[list[str]], int]:
    """`bb chat serve` and `bb chat attach`, and whatever a turn of them may need."""
    import bb.cli.app
    import bb.cli.own_commands
    import bb.cli.programs.chat_attach
    import bb.cli.programs.serve  # noqa: F401
    from bb.cli.main import main
    from bb.ops import catalogue

    catalogue.all_ops()

    def run(words: list[str]) -> int:
        sys.argv = ["bb", *words]
        main()
        return 0

    return run


def _function() -> Callable[[list[str]], int]:
    """A function of tests: the words are its module, its name, and what it is called with."""
    from bb.ops import catalogue

    catalogue.all_ops()

    def run(words: list[str]) -> int:
        getattr(import_module(words[0]), words[1])(*words[2:])
        return 0

    return run


FUNCTION = "a function"
PROGRAMS = {"bb.daemon": _daemon, "bb.web": _web, "bb chat serve": _harness_host, FUNCTION: _function}


def _serve(program: str, number: int) -> None:
    import gc

    main = PROGRAMS[program]()
    gc.freeze()  # so that no fork copies pages only because a collector has counted what is on them
    reads, writes = os.pipe()
    for end in (reads, writes):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(writes)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    children: dict[int, int] = {}
    connection = socket.socket(fileno=number)
    while True:
        ready, _, _ = select.select([connection, reads], [], [])
        if reads in ready:
            os.read(reads, 1000)
            _tell_who_has_ended(children)
        if connection in ready:
            size, descriptors, _, _ = socket.recv_fds(connection, SIZE, 4)
            if not size:
                return
            request = json.loads(connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
            if program == FUNCTION:
                import_module(request[2][0])  # here, once for all that call it
            child = os.fork()
            if child == 0:
                _become(main, request, descriptors[:3])
            children[child] = descriptors[3]
            for each in descriptors[:3]:
                os.close(each)
            connection.send(str(child).encode())


def _tell_who_has_ended(children: dict[int, int]) -> None:
    for child in list(children):
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            told = children.pop(child)
            with contextlib.suppress(BrokenPipeError):  # the test has ended
                os.write(told, str(os.waitstatus_to_exitcode(status)).encode())
            os.close(told)


def _become(main: Callable[[list[str]], int], request: list[Any], streams: list[int]) -> None:
    """Be the program, and end as it ends."""
    cwd, settings, words, has_session, umask = request
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, MOST_OPEN)
    if has_session:
        os.setsid()
    if umask >= 0:
        os.umask(umask)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(settings)
    run_and_end(lambda: main(words))


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]))
