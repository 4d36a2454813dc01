"""`bb chat attach`: runs an agent program over the Agent Client Protocol, as the harness of one agent (C2A).

One loop takes the agent's output, what a person types and signals from one queue, and looks at the ledger between
them. What must not be lost is in the ledger: a turn that this program does not finish is repeated by the next one.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from bb.cli.calls import bug
from bb.cli.programs.agent_process import AgentProcess
from bb.cli.programs.agent_turns import Turns
from bb.cli.programs.attach_report import Report
from bb.cli.programs.extras import with_source
from bb.cli.programs.permissions import Permissions
from bb.coordination.agents import callers
from bb.kernel.errors import Busy, Refused, Usage
from bb.kernel.escaping import name, quotation
from bb.kernel.record import Record
from bb.ops.attention import attaching, connected
from bb.ops.attention.ledger_watch import GLANCE, LedgerWatch
from bb.ops.desk import desk as desks
from bb.ops.desk.desk import Desk
from bb.start import ALONE
from bb.wire import acp, jsonrpc
from bb.wire.acp_client import BUSY, AcpClient, Asked, Ended, Event, Ready, TurnFailed, Unreadable, Worked

WORDS = ["chat", "attach"]
GREETS_IN = 60.0  # seconds for an agent to open a session
LAST_TURN = 5.0  # seconds for the running turn to end when this program ends
RESTS = (1.0, 2.0, 4.0, 8.0, 16.0)  # seconds before an agent that has ended is started again
AT_ONCE = 100  # blocks, lines and signals between two looks at the ledger
MOST_UNREADABLE = 3  # lines that are reported
SIGNALS = {"SIGINT": 130, "SIGTERM": 0, "SIGHUP": 0}  # and the exit status that each gives

NoAgentCommand = Usage.declare(
    "NO_AGENT_COMMAND", "`bb chat attach` needs the command of an agent", hint="`bb chat attach -- gemini --acp`"
)
AlreadyConnected = Busy.declare(
    "HARNESS_CONNECTED",
    "Another harness of this agent is connected, and gets its messages",
    hint="end that one first: `bb chat attach`, `bb chat serve` or an editor's session in another terminal",
)
AgentKeepsEnding = Refused.declare(
    "AGENT_KEEPS_ENDING", "The agent's process ended again and again", hint="run the command without bb to see why"
)


class Options(Record):
    """What the caller chose."""

    permissions: str
    wake: str
    lease: int | None  # seconds; None for that of the host
    tools_only: bool
    session: str
    as_json: bool


def run(words: Sequence[str] | None, agent: str | None, options: Options) -> int:
    """Attach the program WORDS as the harness of AGENT until it is interrupted; the exit status."""
    if not words or not words[0]:
        raise NoAgentCommand()
    desk = desks.desk_here()
    desk.env = callers.without_session_variables(desk.env, keeps_own=True)
    who = desk.caller(agent)
    if connected.is_connected(desk.ledger.path, who):
        raise AlreadyConnected(f"another harness of {who} is connected, and gets its messages", agent_id=who)
    attachment = Attachment(desk, who, words, options)
    try:
        return attachment.run()
    finally:
        attachment.close()
        desk.sync_later()
        desk.close()


class Attachment:
    """One agent and its program."""

    def __init__(self, desk: Desk, agent: str, words: Sequence[str], options: Options) -> None:
        self._desk, self._agent, self._words, self._options = desk, agent, list(words), options
        self._report = Report(as_json=options.as_json)
        self._inbox: queue.SimpleQueue[tuple[Any, Any]] = queue.SimpleQueue()
        self._hosting = attaching.begin(desk, agent)
        lease = float(options.lease) if options.lease else attaching.turn_lease(self._hosting)
        wake, tools_only = options.wake, options.tools_only
        clock = time.monotonic
        self._turns = Turns(self._hosting, self._report, clock, lease=lease, wake=wake, tools_only=tools_only)
        self._watch = LedgerWatch(desk, self._note, _report_bug)
        is_watched = not options.as_json and _is_person_at_terminal(desk)
        self._permissions = Permissions(
            options.permissions, self._hosting, self._report, clock, self._decide, is_watched=is_watched
        )
        self._process: AgentProcess | None = None
        self._client: AcpClient | None = None
        self._framer = jsonrpc.Framer()
        self._session = options.session
        self._is_new = False  # whether the program has opened a session and got nothing yet
        self._is_known = False  # whether the program has ever opened a session
        self._start_at = self._greets_by = 0.0
        self._ends, self._completed = 0, 0  # how often it ended since it last completed a turn
        self._unreadable = 0
        self._is_told = False  # whether a signal has come
        self._status: int | None = None  # the exit status, once this program has to end
        if is_watched:
            threading.Thread(target=self._listen, daemon=True).start()

    # -- the loop

    def run(self) -> int:
        """Run until a signal; the exit status."""
        for signal_name, status in SIGNALS.items():
            if hasattr(signal, signal_name):
                number = getattr(signal, signal_name)
                signal.signal(number, lambda *_, status=status: self._signalled(status))
        while self._status is None:
            self._start_if_due()
            self._take_all(self._patience())
            self._look()
        self._finish()
        return self._status

    def _signalled(self, status: int) -> None:
        """Tell the loop to end. The second signal ends the program at once, whatever the loop waits for."""
        if self._is_told and self._process:
            self._process.kill()
        self._is_told = True
        self._inbox.put((None, status))

    def _patience(self) -> float:
        dues = [due for due in (self._turns.due, self._watch.tick_at) if due is not None]
        if self._desk.env.get("BB_NOW") or not dues:
            return GLANCE
        return min(GLANCE, max(min(dues) - self._desk.now(), 1) / 1000)

    def _take_all(self, patience: float) -> None:
        """Wait for something to happen, and process what has happened, so that the ledger is looked at soon."""
        with contextlib.suppress(queue.Empty):
            self._take(*self._inbox.get(timeout=patience))
            for _ in range(AT_ONCE):
                self._take(*self._inbox.get_nowait())

    def _take(self, source: Any, what: Any) -> None:
        if source is None:
            self._status = what
        elif isinstance(source, str):
            self._turns.sign()
            self._permissions.heard(source)
        elif source is self._process:
            self._heard(self._process, what)

    def _look(self) -> None:
        has_changed = self._watch.look([self._hosting])
        self._permissions.look(has_changed=has_changed)
        if self._permissions.is_waiting:
            self._turns.sign()
        if self._client and self._client.session and self._status is None:
            if has_changed or self._is_new or self._turns.is_due():
                self._is_new = False
                self._turns.collect()
            self._turns.go_on()
        is_late = time.monotonic() > self._greets_by
        if self._process and is_late and not self._is_known:
            raise acp.NotAnAcpAgent(f"{name(self._words[0])} did not open a session within {GREETS_IN:g} seconds")
        if self._process and (is_late or self._turns.must_restart()):
            self._ended(self._process)

    # -- the agent's process

    def _start_if_due(self) -> None:
        if self._process or time.monotonic() < self._start_at:
            return
        env = callers.without_session_variables(os.environ) | {"BB_AGENT": self._agent}
        self._process = AgentProcess(self._words, self._desk.cwd, env, lambda *what: self._inbox.put(what))
        self._framer = jsonrpc.Framer()
        servers = [_server(self._agent, self._desk.cwd)]
        self._client = AcpClient(self._process.say, self._words, self._desk.cwd, servers, self._session)
        self._greets_by = time.monotonic() + GREETS_IN
        self._client.start()
        self._report.starting(" ".join(map(name, self._words)), self._agent, self._process.pid)

    def _heard(self, process: AgentProcess, octets: bytes | None) -> None:
        if octets is None:
            self._ended(process)
            return
        process.note_processed()
        try:
            for line in self._framer.feed(octets):
                for event in self._client.take(line) if self._client else ():
                    self._happened(event)
        except jsonrpc.FramingLost:
            self._ended(process)

    def _ended(self, process: AgentProcess) -> None:
        """The process has ended, or has to end. It is started again after a while."""
        self._process = None
        status, last = process.end(), process.last_words()
        self._permissions.forget()
        self._turns.gone()
        if not self._is_known:
            said = f": {quotation(last[-1])}" if last else ""
            raise acp.NotAnAcpAgent(
                f"{name(self._words[0])} ended with status {status} before it opened a session{said}", stderr=last
            )
        self._ends = 1 if self._turns.completed > self._completed else self._ends + 1
        self._completed = self._turns.completed
        if self._ends > len(RESTS):
            raise AgentKeepsEnding(
                f"the agent ended {self._ends} times without completing a turn, at last with status {status}",
                stderr=last,
            )
        rest = RESTS[self._ends - 1]
        self._start_at = time.monotonic() + rest
        if self._status is None:
            self._report.restarting(status, rest, last)

    # -- what the agent says

    def _happened(self, event: Event) -> None:
        match event:
            case Ready():
                self._is_known, self._session, self._greets_by = True, event.session, float("inf")
                assert self._client  # noqa: S101  (it has just spoken)
                self._turns.attach(self._client, is_loaded=event.is_loaded)
                self._is_new = True
                self._report.ready(self._agent, event.agent, event.session, is_loaded=event.is_loaded)
            case Worked(title=title):
                self._turns.worked(title)
            case Asked(request=request, permission=permission):
                self._turns.sign()
                self._permissions.ask(request, permission, self._turns.event)
            case Ended():
                self._permissions.forget()
                self._turns.ended(event)
            case TurnFailed():
                self._permissions.forget()
                self._turns.failed(event)
            case Unreadable():
                self._unreadable += 1
                if self._unreadable <= MOST_UNREADABLE:
                    self._report.unreadable(event.reason, event.line)

    def _decide(self, request: jsonrpc.Id, option: str | None) -> None:
        if self._client:
            self._client.decide(request, option)

    # -- the end

    def _finish(self) -> None:
        """Cancel the running turn, and wait for its end for a short time."""
        self._turns.stop()
        deadline = time.monotonic() + LAST_TURN
        while self._client and self._client.state in BUSY and self._process and time.monotonic() < deadline:
            self._take_all(GLANCE)
        if self._turns.is_running:
            self._turns.gone()

    def close(self) -> None:
        """End the agent's process, whatever has happened."""
        self._hosting.leave()
        if self._process:
            self._process.end()
            self._process = None

    def _listen(self) -> None:
        """Read what the person types. Not by `sys.stdin`: its lock would keep this process from ending."""
        rest = b""
        with contextlib.suppress(OSError):
            while octets := os.read(0, 4096):
                *lines, rest = (rest + octets).split(b"\n")
                for line in lines:
                    self._inbox.put((line.decode("utf-8", "replace"), None))

    def _note(self, text: str) -> None:
        self._report.say("note", text, note=text)


def _server(agent: str, folder: str) -> dict[str, Any]:
    """bb's own MCP server, which acts for AGENT."""
    words = [ALONE, "-m", "bb.mcp", f"--agent={agent}", f"--directory={folder}"]
    env = {"PYTHONPATH": with_source(os.environ)["PYTHONPATH"], "BB_AGENT": agent}
    return acp.server(attaching.SERVER, sys.executable, words, env)


def _is_person_at_terminal(desk: Desk) -> bool:
    """Whether this process may ask the person at its terminal. If BB_AGENT is set, the terminal is an agent's."""
    return sys.stdin is not None and sys.stdin.isatty() and not desk.env.get("BB_AGENT")


def _report_bug(error: Exception) -> None:
    bug.report(error, WORDS)
