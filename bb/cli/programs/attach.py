"""`bb attach`: connects the user's terminal to an actor's, byte for byte, until the user detaches or the program ends.

At the end, terminal modes that the program has switched on are switched off, and the terminal is restored, also after
an error.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bb.cli.calls import output, to_daemon
from bb.cli.calls.polling import exit_on_signals
from bb.cli.programs.terminal_modes import Switches
from bb.kernel.errors import BbError, Busy, Usage
from bb.kernel.foreign import Foreign
from bb.ledger.local import machine_registry as knowns
from bb.ops import callers, catalogue
from bb.ops.desk import desk as desks
from bb.ops.desk.live_daemon import DaemonUnavailable
from bb.ops.groups.terminals import MOST_CELLS
from bb.wire import client

BLOCK = 1 << 16
TO_RESIZE = 1.0  # seconds
SETTLING = 0.5  # seconds in which the terminal may answer queries contained in the replayed output
INPUT, OUTPUT = 0, 1
# Ctrl-\ detaches, because shells and editors rarely use it, and users expect it to end a program. A terminal in an
# extended keyboard mode sends it as an escape sequence.
# The plain control character; the kitty protocol, with or without lock keys; xterm's modifyOtherKeys.
DETACH = re.compile(rb"\x1c|\x1b\[92(?::\d*)*;(?:5|69|133|197)(?::[12])?(?:;[\d:]*)?u|\x1b\[27;5;92~")
LEAVE = re.compile(DETACH.pattern + rb"|[\x03qQ]|\x1b\[99(?::\d*)*;(?:5|69|133|197)(?::[12])?u")
# A terminal's answers to queries for its type, cursor position and colours.
ANSWER = re.compile(
    rb"\x1b\[[?>=]?[\d;:]*(?:c|R|n|t|\$y)|\x1b\[\?[\d;]*u|\x1b[\]P_][^\x07\x1b]*(?:\x07|\x1b\\)",
)

NeedsTerminal = Usage.declare(
    "NEEDS_TERMINAL",
    "Attaching needs a terminal on stdin and stdout",
    hint="`--read-only` copies the output into a pipe; `bb actor tail ACTOR` shows its end",
)

DaemonGone = Busy.declare(
    "DAEMON_GONE",
    "The daemon has ended, with its actors",
    hint="`bb daemon logs` shows why; `bb daemon start` starts the daemon and its actors again",
)


def attach(given: Mapping[str, Any]) -> int:
    """Show an actor's terminal and pass keys to it, unless GIVEN says `read_only`."""
    read_only = bool(given.get("read_only"))
    is_at_terminal = os.isatty(INPUT) and os.isatty(OUTPUT)
    if not (read_only or is_at_terminal):
        raise NeedsTerminal()
    if is_at_terminal and os.name == "nt":
        raise NeedsTerminal("attaching needs a terminal of Linux or macOS")
    home, request = knowns.home(os.environ), _request(given)
    if is_at_terminal and not read_only:
        size = dict(zip(("cols", "rows"), os.get_terminal_size(OUTPUT), strict=True))
        request |= size if all(0 < cells <= MOST_CELLS[name] for name, cells in size.items()) else {}
    connection, answer, rest = client.upgrade(home, "term_attach", request)
    with connection:
        if not is_at_terminal:
            _copy(connection, rest)
            _refuse_if_lost(home)
            return 0
        is_writer = not read_only and answer.get("writer") is not False
        name = str(Foreign(request["actor_id"]))
        output.lines([_greeting(name, is_writer=is_writer, read_only=read_only)], sys.stderr)
        sys.stderr.flush()
        resize = _resizer(home, request) if is_writer else None
        is_client_gone = _at_terminal(connection, rest, resize, read_only=read_only)
    if not is_client_gone:
        _refuse_if_lost(home)
    output.lines(
        [f"Detached from {name}, which keeps running" if is_client_gone else f"The terminal of {name} has closed"],
        sys.stderr,
    )
    return 0


def _refuse_if_lost(home: str) -> None:
    """Refuse if the daemon has ended. A terminal that closes while the daemon runs is not a failure."""
    for _ in range(2):  # a daemon that is ending may still accept a connection, but not answer
        try:
            client.ask(home, "ping", {}, patience=TO_RESIZE)
        except DaemonUnavailable.error as error:
            raise DaemonGone() from error
        except client.OutcomeUnknown.error:
            continue
        except BbError:
            pass  # a refusal shows that the daemon runs
        return


def _request(given: Mapping[str, Any]) -> dict[str, Any]:
    op = catalogue.find("term_attach")
    desk = desks.desk_here()
    try:
        named, _ = callers.split(op.parameters, given)
        return to_daemon.request(op, desk, catalogue.bind(op, named))
    finally:
        desk.close()


def _greeting(name: str, *, is_writer: bool, read_only: bool) -> str:
    if read_only:
        return f"Watching {name}. Ctrl-\\, Ctrl-C or q ends it."
    others = (
        ""
        if is_writer
        else " Another user is typing; you watch. When that user leaves, the bell rings and you can type."
    )
    return f"Attached to {name}.{others} Ctrl-\\ detaches."


def _copy(connection: socket.socket, octets: bytes) -> None:
    """Copy the terminal's output to standard output until it ends."""
    while octets or (octets := _received(connection)):
        output.octets(octets)
        output.flush()
        octets = b""


def _resizer(home: str, wanted: dict[str, Any]) -> Callable[[], None]:
    """A function that sends the size of this terminal to the actor's program."""
    whose = {name: wanted[name] for name in ("group_id", "actor_id")}

    def resize() -> None:
        with contextlib.suppress(BbError, OSError):  # the actor may have ended; the read loop notices that
            columns, rows = os.get_terminal_size(OUTPUT)
            client.ask(home, "term_resize", {**whose, "cols": columns, "rows": rows}, patience=TO_RESIZE)

    return resize


def _at_terminal(connection: socket.socket, rest: bytes, resize: Callable[[], None] | None, *, read_only: bool) -> bool:
    """Copy bytes in both directions until one side ends; return whether the user detached."""
    with exit_on_signals(), _signalled() as bell, _raw() as switches:
        settled_at = time.monotonic() + SETTLING
        if resize:
            resize()
        _show(rest, switches)
        while True:
            ready, _, _ = select.select([INPUT, connection.fileno(), bell], [], [])
            if bell in ready and os.read(bell, BLOCK) and resize:
                resize()
            if connection.fileno() in ready:
                if not (octets := _received(connection)):
                    return False
                _show(octets, switches)
            if INPUT in ready:
                typed, is_last = _typed(read_only=read_only)
                if time.monotonic() < settled_at:
                    typed = without_answers(typed)
                if typed and not read_only:
                    with contextlib.suppress(OSError):  # the other side has closed; the next read shows that
                        connection.sendall(typed)
                if is_last:
                    return True


def _typed(*, read_only: bool) -> tuple[bytes, bool]:
    """The bytes typed for the actor, and whether the user has detached."""
    try:
        octets = os.read(INPUT, BLOCK)
    except OSError:  # the terminal is gone
        octets = b""
    typed, is_let_go = until(LEAVE if read_only else DETACH, octets)
    return typed, is_let_go or not octets


def until(key: re.Pattern[bytes], octets: bytes) -> tuple[bytes, bool]:
    """OCTETS before KEY, and whether KEY was found."""
    match = key.search(octets)
    return (octets[: match.start()], True) if match else (octets, False)


def without_answers(octets: bytes) -> bytes:
    """OCTETS without the terminal's own answers."""
    return ANSWER.sub(b"", octets)


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(BLOCK)
    except OSError:
        return b""


def _show(octets: bytes, switches: Switches) -> None:
    switches.follow(octets)
    while octets:
        octets = octets[os.write(OUTPUT, octets) :]


# -- the user's terminal


@contextlib.contextmanager
def _raw() -> Iterator[Switches]:
    """Put the terminal into raw mode, and restore it at the end."""
    import termios  # noqa: PLC0415
    import tty  # noqa: PLC0415  (Windows has neither)

    switches = Switches()
    before = termios.tcgetattr(INPUT)
    try:
        tty.setraw(INPUT)
        yield switches
    finally:
        with contextlib.suppress(OSError):
            _show(switches.off() + b"\r\n", Switches())
        with contextlib.suppress(OSError, termios.error):
            termios.tcsetattr(INPUT, termios.TCSAFLUSH, before)


@contextlib.contextmanager
def _signalled() -> Iterator[int]:
    """A file that becomes readable when the terminal's size changes."""
    bell, ring = os.pipe()
    os.set_blocking(ring, False)

    def heard(*_: object) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(ring, b"!")

    before = signal.signal(signal.SIGWINCH, heard)
    try:
        yield bell
    finally:
        signal.signal(signal.SIGWINCH, before)
        os.close(bell)
        os.close(ring)
