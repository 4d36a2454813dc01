"""`bb chat serve`: serves harnesses on stdin and stdout, or on a socket (C2A).

One loop waits for input, for writable connections, and for changes of the ledger. Facts of other processes and due
events are handed over within a moment. All state is in the ledger, so this process may be killed at any time.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import time

from bb.cli.calls import bug, output
from bb.cli.programs.peers import MOST_UNSENT, Line, Peer, Socket, pipes
from bb.coordination.agents import callers
from bb.kernel.escaping import sentence
from bb.ops.attention.ledger_watch import GLANCE, LedgerWatch
from bb.ops.desk import desk
from bb.ops.desk.desk import Desk
from bb.wire import c2a
from bb.wire.listening import Listener, TooManyHarnesses

MOST_PEERS = 64
PATIENCE = 30.0  # seconds within which a harness must name its agent
LAST_WORDS = 2.0  # seconds for a harness to read the last output


def on_stdio(agent: str | None) -> int:
    """Serve the parent process until it closes our stdin."""
    at = desk.desk_here()
    at.env = callers.without_session_variables(at.env, keeps_own=True)
    server = Server(at, at.actor(agent) or None)
    out = os.dup(1)
    os.dup2(2, 1)  # other output goes to stderr, because stdout carries messages only
    server.join(pipes(0, out))
    return server.run()


def on_socket(path: str, agent: str | None, *, as_json: bool) -> int:
    """Serve clients of the socket at PATH until interrupted."""
    at = desk.desk_here()
    if agent:
        at.actor(agent)
    # Each harness names its agent, and has a session of its own.
    at.env = {name: value for name, value in callers.without_session_variables(at.env).items() if name != "BB_AGENT"}
    server = Server(at, agent)
    with Listener(path) as listener:
        if as_json:
            output.success("chat serve", {"socket": listener.path, "pid": os.getpid()}, as_json=True)
            output.flush()
        note(f"harnesses are served at {listener.path}")
        return server.run(listener)


class Server:
    """The connected harnesses and the ledger."""

    def __init__(self, at: Desk, agent: str | None) -> None:
        self._desk, self._agent = at, agent
        self._listener: Listener | None = None
        self._watch = LedgerWatch(at, note, _report)
        self._peers: list[Peer] = []
        self._is_ending = False
        signal.signal(signal.SIGTERM, self._end)

    def join(self, line: Line) -> None:
        """Add a new connection."""
        self._peers.append(Peer(line, self._desk, self._agent, note, _report, self._look))

    def run(self, listener: Listener | None = None) -> int:
        """Serve until all connections are closed or, with a LISTENER, until told to end; return the exit status."""
        self._listener = listener
        try:
            while not self._is_ending and (self._listener or self._peers):
                self._turn()
            self._say_the_rest()
        finally:
            for peer in self._peers:
                peer.close()
        self._desk.sync_later()
        self._desk.close()
        return 0

    def _end(self, *_: object) -> None:
        self._is_ending = True

    def _turn(self) -> None:
        reading: list[Line | socket.socket] = [peer.line for peer in self._peers if not peer.is_ending]
        if self._listener:
            reading.append(self._listener.socket)
        writing = [peer.line.writes for peer in self._peers if peer.unsent and peer.line.tells]
        ready, free, _ = select.select(reading, writing, [], self._patience())
        for peer in list(self._peers):
            if peer.line.writes in free or not peer.line.tells:
                peer.flush()
            if peer.is_open and peer.line in ready:
                self._hear(peer)
        if self._listener and self._listener.socket in ready:
            self._accept(self._listener)
        self._look()
        self._tidy()

    def _patience(self) -> float:
        """The seconds to wait for input."""
        dues = [self._watch.tick_at, *(peer.seat.due for peer in self._peers)]
        moments = [due for due in dues if due is not None]
        if any(peer.unsent and not peer.line.tells for peer in self._peers):
            return 0
        if self._desk.env.get("BB_NOW") or not moments:
            return GLANCE
        return min(GLANCE, max(min(moments) - self._desk.now(), 1) / 1000)

    # -- connections

    def _accept(self, listener: Listener) -> None:
        sock = listener.accept()
        if sock is None:
            return
        self.join(Socket(sock))
        if len(self._peers) > MOST_PEERS:
            peer = self._peers[-1]
            peer.say(c2a.failure(None, TooManyHarnesses()))
            peer.is_ending = True

    def _hear(self, peer: Peer) -> None:
        for line in peer.heard():
            was_known = peer.seat.hosting is not None
            try:
                peer.seat.take(line)
            except Exception as error:  # a bug: close this connection and keep serving the others
                _report(error)
                peer.close()
                return
            peer.is_waiting = True
            if not was_known and peer.seat.hosting:
                self._supersede(peer)
            if peer.seat.is_over:
                peer.is_ending = True
                return
        self._answer(peer)

    def _answer(self, peer: Peer) -> None:
        """Write the answers before the next deliveries are planned and recorded, which takes longer."""
        if peer.unsent and (not peer.line.tells or select.select([], [peer.line.writes], [], 0)[1]):
            peer.flush()

    def _supersede(self, new: Peer) -> None:
        """Close older harnesses of the same agent, so that only the newest one receives deliveries."""
        taking = [peer for peer in self._peers if peer.seat.takes_deliveries and not peer.is_ending]
        for other in taking if new in taking else ():
            if other is not new and other.agent == new.agent:
                other.seat.supersede()
                other.is_ending = True

    def _tidy(self) -> None:
        """Close connections that have ended, timed out or do not read."""
        now = time.monotonic()
        for peer in self._peers:
            is_silent = self._listener and peer.seat.hosting is None and now - peer.since > PATIENCE
            is_done = peer.is_ending and (not peer.unsent or now - peer.ending_since > LAST_WORDS)
            if is_silent or is_done or len(peer.unsent) > MOST_UNSENT:
                peer.close()
        self._peers = [peer for peer in self._peers if peer.is_open]

    def _say_the_rest(self) -> None:
        deadline = time.monotonic() + LAST_WORDS
        while (waiting := [peer for peer in self._peers if peer.unsent]) and time.monotonic() < deadline:
            writing = [peer.line.writes for peer in waiting if peer.line.tells]
            free = select.select([], writing, [], deadline - time.monotonic())[1] if writing else []
            for peer in waiting:
                if peer.line.writes in free or not peer.line.tells:
                    peer.flush()
            self._tidy()

    # -- the ledger, and time

    def _look(self) -> None:
        """Check for new facts and due events, and hand them over. This also runs before each answer, so that a harness
        receives earlier events before the answer to its request."""
        has_changed = self._watch.look([peer.seat.hosting for peer in self._peers if peer.seat.hosting])
        now = self._desk.now()
        for peer in self._peers:
            peer.is_waiting |= has_changed or (peer.seat.due is not None and now >= peer.seat.due)
            self._hand_over(peer)

    def _hand_over(self, peer: Peer) -> None:
        try:
            peer.hand_over_if_due()
        except Exception as error:
            _report(error)
            peer.close()


def note(text: str) -> None:
    """Print a note for the operator on stderr, without blocking."""
    try:
        _, is_free, _ = select.select([], [2], [], 0)
    except (OSError, ValueError):
        is_free = [2]
    if is_free:
        with contextlib.suppress(OSError, output.OutputFailed):  # stderr is closed
            output.lines([f"bb: {sentence(text)}"], sys.stderr)
            sys.stderr.flush()


def _report(error: Exception) -> None:
    bug.report(error, ["chat", "serve"])
    with contextlib.suppress(OSError):
        sys.stderr.flush()
