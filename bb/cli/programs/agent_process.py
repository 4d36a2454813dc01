"""An agent program as our child: what it writes is put into a queue, what it is told is written by a thread.

Its last lines on stderr are kept, for the case that it ends unexpectedly. It has a process group of its own, so ^C
reaches bb alone, and ending it ends what it has started.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from bb.kernel.errors import BbError, NotFound, Refused

BLOCK = 1 << 16
MOST_BLOCKS = 64  # that are read ahead; then the agent has to wait
LAST_LINES, LONGEST_LINE = 20, 2000
ENDS_IN, STOPS_IN = 2.0, 3.0  # seconds for the end of its stdin, and for SIGTERM, to take effect

AgentNotFound = NotFound.declare(
    "AGENT_COMMAND_NOT_FOUND",
    "The agent's command was not found",
    hint="check the spelling and the PATH; `bb chat attach -- COMMAND` starts COMMAND as it is",
)
AgentNotStarted = Refused.declare(
    "AGENT_NOT_STARTED", "The agent's command cannot be started", hint="try it without bb first"
)


class AgentProcess:
    """One run of the program WORDS. PUT gets its output: bytes, and None at the end."""

    def __init__(
        self,
        words: Sequence[str],
        folder: str,
        env: Mapping[str, str],
        put: Callable[[AgentProcess, bytes | None], None],
    ) -> None:
        self._put = put
        self._free = threading.Semaphore(MOST_BLOCKS)
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._last: deque[str] = deque(maxlen=LAST_LINES)
        self._is_over = False  # whether its output is of no interest any more
        self._process = _started(words, folder, env)
        self._readers = [threading.Thread(target=work, daemon=True) for work in (self._read, self._read_errors)]
        for thread in (*self._readers, threading.Thread(target=self._write, daemon=True)):
            thread.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def say(self, octets: bytes) -> None:
        """Write OCTETS to its stdin, in order, without waiting."""
        self._lines.put(octets)

    def note_processed(self) -> None:
        """One block of its output was processed, so another one may be read."""
        self._free.release()

    def last_words(self) -> list[str]:
        """Its last lines on stderr."""
        self._readers[1].join(0.2)
        return list(self._last)

    def end(self) -> int | None:
        """End it and what it has started: first by the end of its stdin, then by signals. Its exit status."""
        self._is_over = True
        self._lines.put(None)
        self._free.release(MOST_BLOCKS)
        for wait, signal_name in ((ENDS_IN, "SIGTERM"), (STOPS_IN, "SIGKILL")):
            try:
                self._process.wait(wait)
            except subprocess.TimeoutExpired:
                self._signal(signal_name)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOPS_IN)
        self._signal("SIGKILL")  # what it has started and left behind
        return self._process.returncode

    def kill(self) -> None:
        """End it at once."""
        self._signal("SIGKILL")

    def _signal(self, name: str) -> None:
        with contextlib.suppress(OSError):
            if os.name == "nt":
                self._process.kill()
            else:
                os.killpg(self._process.pid, getattr(signal, name))

    def _read(self) -> None:
        assert self._process.stdout  # noqa: S101  (a pipe)
        while octets := _block(self._process.stdout.fileno()):
            if not self._is_over:
                self._free.acquire()
                self._put(self, octets)
        self._put(self, None)

    def _read_errors(self) -> None:
        assert self._process.stderr  # noqa: S101  (a pipe)
        for line in iter(lambda: self._process.stderr.readline(LONGEST_LINE), b""):  # type: ignore[union-attr]
            if text := line.decode("utf-8", "replace").strip():
                self._last.append(text)

    def _write(self) -> None:
        assert self._process.stdin  # noqa: S101  (a pipe)
        with contextlib.suppress(OSError, ValueError):  # it no longer reads
            while (octets := self._lines.get()) is not None:
                self._process.stdin.write(octets)
                self._process.stdin.flush()
        with contextlib.suppress(OSError):
            self._process.stdin.close()


def _block(number: int) -> bytes:
    try:
        return os.read(number, BLOCK)
    except OSError:
        return b""


def _started(words: Sequence[str], folder: str, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    program = words[0]
    if os.name == "nt":  # there, only `which` knows about scripts such as `gemini.cmd`
        program = shutil.which(program, path=env.get("PATH")) or program
    try:
        return subprocess.Popen(  # noqa: S603  (the caller's own command)
            [program, *words[1:]],
            cwd=folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (FileNotFoundError, NotADirectoryError) as error:
        raise AgentNotFound(f"{words[0]} was not found", command=words[0]) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise _not_started(words, why) from error


def _not_started(words: Sequence[str], why: str) -> BbError:
    return AgentNotStarted(f"{words[0]} cannot be started: {why}", command=words[0])
