"""`bb attach`: one's own terminal on that of an actor, byte for byte, until one detaches or the program ends.

What the program has switched on in the terminal that it takes for its own is switched off again at the end, and the
terminal is left as it was found, whatever happens.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

from bb.cli.calls import carry, say
from bb.cli.calls.rounds import ending
from bb.cli.programs import attach_keys
from bb.cli.programs.terminal_modes import Switches
from bb.kernel.errors import BbError, Busy, Usage
from bb.kernel.outside import Outside
from bb.ledger.local import machine_registry as knowns
from bb.ops import catalogue
from bb.ops.desk import desk as desks
from bb.ops.desk.live_daemon import DaemonUnavailable
from bb.ops.groups.terminals import MOST_CELLS
from bb.wire import client

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from typing import Any

BLOCK = 1 << 16
TO_RESIZE = 1.0  # seconds
SETTLING = 0.5  # seconds in which one's own terminal answers what was asked of another in what is repeated
INPUT, OUTPUT = 0, 1


class NeedsTerminal(Usage):
    """Attaching needs a terminal to type at."""

    code = "NEEDS_TERMINAL"
    hint = "`--read-only` copies what is shown into a pipe; `bb actor tail ACTOR` shows the last of it"


class DaemonGone(Busy):
    """The daemon has ended, and its actors with it."""

    code = "DAEMON_GONE"
    hint = "`bb daemon logs` says why; `bb daemon start` starts it again, and the actors that are to run"


def attach(actor: str | None, group: str | None, *, read_only: bool) -> int:
    """Show an actor's terminal, and type at it unless one only wants to read."""
    is_at_terminal = os.isatty(INPUT) and os.isatty(OUTPUT)
    if not (read_only or is_at_terminal):
        raise NeedsTerminal
    if is_at_terminal and os.name == "nt":
        raise NeedsTerminal("attaching needs a terminal as Linux and macOS have them")
    home, wanted = knowns.home(os.environ), _request(actor, group, read_only=read_only)
    if is_at_terminal and not read_only:
        size = dict(zip(("cols", "rows"), os.get_terminal_size(OUTPUT), strict=True))
        wanted |= size if all(0 < cells <= MOST_CELLS[name] for name, cells in size.items()) else {}
    connection, found, rest = client.upgrade(home, "term_attach", wanted)
    with connection:
        if not is_at_terminal:
            _copy(connection, rest)
            _refuse_if_lost(home)
            return 0
        is_writer = not read_only and found.get("writer") is not False
        name = str(Outside(wanted["actor_id"]))
        say.lines([_greeting(name, is_writer=is_writer, read_only=read_only)], sys.stderr)
        sys.stderr.flush()
        resize = _resizer(home, wanted) if is_writer else None
        has_left = _at_terminal(connection, rest, resize, read_only=read_only)
    if not has_left:
        _refuse_if_lost(home)
    say.lines(
        [f"Detached from {name}, which goes on" if has_left else f"The terminal of {name} has closed"], sys.stderr
    )
    return 0


def _refuse_if_lost(home: str) -> None:
    """A terminal that closes is no failure. If it was the daemon that went, nobody knows what became of it."""
    for _ in range(2):  # a daemon that is just ending may still be connected to, and says nothing any more
        try:
            client.ask(home, "ping", {}, patience=TO_RESIZE)
        except DaemonUnavailable as error:
            raise DaemonGone from error
        except client.OutcomeUnknown:
            continue
        except BbError:
            pass  # it refuses, so it is there
        return


def _request(actor: str | None, group: str | None, *, read_only: bool) -> dict[str, Any]:
    op = catalogue.find("term_attach")
    given = {"actor_id": actor, "group_id": group, "read_only": read_only}
    desk = desks.here()
    try:
        return carry.request(op, desk, catalogue.bind(op, given))
    finally:
        desk.close()


def _greeting(name: str, *, is_writer: bool, read_only: bool) -> str:
    if read_only:
        return f"Watching {name}. Ctrl-\\, Ctrl-C or q ends it."
    others = (
        "" if is_writer else " Somebody else types: you watch. When they leave the bell rings, and your keys count."
    )
    return f"Attached to {name}.{others} Ctrl-\\ detaches."


def _copy(connection: socket.socket, octets: bytes) -> None:
    """Copy what is shown to standard output, as long as any comes."""
    while octets or (octets := _received(connection)):
        say.octets(octets)
        say.flush()
        octets = b""


def _resizer(home: str, wanted: dict[str, Any]) -> Callable[[], None]:
    """What tells the actor's program how large the terminal is that it is seen on."""
    whose = {name: wanted[name] for name in ("group_id", "actor_id")}

    def resize() -> None:
        with contextlib.suppress(BbError, OSError):  # it may have ended; whoever looks sees it
            columns, rows = os.get_terminal_size(OUTPUT)
            client.ask(home, "term_resize", {**whose, "cols": columns, "rows": rows}, patience=TO_RESIZE)

    return resize


def _at_terminal(connection: socket.socket, rest: bytes, resize: Callable[[], None] | None, *, read_only: bool) -> bool:
    """Pass on what comes from either side until one ends it; whether it was this one."""
    with ending(), _signalled() as bell, _raw() as switches:
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
                    typed = attach_keys.without_answers(typed)
                if typed and not read_only:
                    with contextlib.suppress(OSError):  # it has hung up; that is read next
                        connection.sendall(typed)
                if is_last:
                    return True


def _typed(*, read_only: bool) -> tuple[bytes, bool]:
    """What has been typed for the actor, and whether that was the last."""
    try:
        octets = os.read(INPUT, BLOCK)
    except OSError:  # the terminal is gone
        octets = b""
    typed, is_let_go = attach_keys.until(attach_keys.LEAVE if read_only else attach_keys.DETACH, octets)
    return typed, is_let_go or not octets


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(BLOCK)
    except OSError:
        return b""


def _show(octets: bytes, switches: Switches) -> None:
    switches.follow(octets)
    while octets:
        octets = octets[os.write(OUTPUT, octets) :]


# -- one's own terminal


@contextlib.contextmanager
def _raw() -> Iterator[Switches]:
    """Every key as it is pressed, until the end; then all is as it was."""
    import termios  # noqa: PLC0415
    import tty  # noqa: PLC0415  (neither is there on Windows)

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
    """A file that can be read once the terminal has another size."""
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
