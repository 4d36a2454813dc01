"""Starts and stops the daemon."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from bb.coordination.agents import callers
from bb.daemon.actors.supervisor import Supervisor
from bb.daemon.automation.automation import Automation
from bb.daemon.clients.connection import Connection
from bb.daemon.clients.endpoint import Endpoint
from bb.daemon.clients.home_watch import HomeWatch
from bb.daemon.clients.server import Server
from bb.daemon.clients.streams import HEARTBEAT, Streams
from bb.daemon.fleet import metrics, metrics_server
from bb.daemon.fleet.metrics_server import MetricsServer
from bb.daemon.fleet.relays import Relays
from bb.daemon.loop.log import Log
from bb.daemon.loop.loop import Loop
from bb.kernel import clock, digest
from bb.ledger.local import machine_registry as knowns
from bb.ledger.local.descriptor import LOG
from bb.ops.desk.desk import Desk

GARBAGE = 50_000  # allocations before the garbage collector runs
LAST_WORDS = 8.0  # seconds for programs to end before the daemon exits
CHECK_IDLE = 1.0


class Daemon:
    """One daemon, for one home directory."""

    def __init__(self, env: Mapping[str, str], idle_seconds: float | None = None) -> None:
        self.home = knowns.home(env)
        # The agent that started the daemon is not the caller of its requests.
        self._env = {
            name: value for name, value in callers.without_session_variables(env).items() if name != "BB_AGENT"
        }
        self._idle_seconds = idle_seconds
        self.endpoint = Endpoint(self.home, env)

    def run(self) -> None:
        """Serve until asked to stop. Refused if another daemon is running."""
        self.endpoint.claim()
        try:
            self._serve()
        finally:
            self.endpoint.leave()

    def _serve(self) -> None:
        log = Log(os.path.join(self.endpoint.folder, LOG))
        self._loop = loop = Loop()
        loop.on_error = log.trace
        self._desk = desk = Desk(self.home, self._env, is_served=True)
        self._streams = streams = Streams(loop)
        self._house = house = Supervisor(self.home, loop, desk, streams, log)
        desk.serve_actors(house)
        house.on_start = Automation(loop, desk, streams, house, log).attend
        self._relays = relays = Relays(self.endpoint.folder, loop, desk, log)
        house.on_attend = relays.attend
        log.level = str(house.observability()["log_level"])
        self._heed_signals()  # before clients can find the daemon, since one may stop it at once
        listener = self.endpoint.listen(desk.now())
        self._server = Server(
            *(loop, listener, desk, streams, log, self._upgrade, self.endpoint.token), on_recorded=relays.wake
        )
        for warning in self.endpoint.warnings:
            log.warning(warning)
            sys.stderr.write(f"WARNING: {warning}\n")
        self._metrics = self._begin_metrics(log)
        log.info(f"listening, process {os.getpid()}")
        loop.later(0, house.begin)
        loop.later(0, relays.begin)
        loop.later(HEARTBEAT, self._heartbeat)
        loop.later(CHECK_IDLE, self._check_idle)
        HomeWatch(self.endpoint, loop, self._leave_home)
        loop.at_end_of_turn.append(self._check_over)
        _collect_less_garbage()
        digest.use_openssl()
        try:
            loop.run()
        finally:
            self._end(log)

    def _begin_metrics(self, log: Log) -> MetricsServer | None:
        """Serve numbers about the relays, if that is asked for."""
        port = metrics_server.port_of(self._env.get(metrics_server.SETTING, ""))
        if port is None:
            return None
        self._house.about()["metrics"] = port
        return MetricsServer(port, partial(metrics.text, self._relays), log)

    def _upgrade(self, op: str, connection: Connection, args: dict[str, Any]) -> None:
        if op == "term_attach":
            group_id, actor_id = str(args["group_id"]), str(args["actor_id"])
            size = (args["cols"], args["rows"]) if args.get("cols") else None
            self._house.attach(connection, group_id, actor_id, only_watches=args.get("read_only") is True, size=size)

    def _heed_signals(self) -> None:
        def heard(*_: object) -> None:
            self._house.shut_down()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, heard)
        if hasattr(signal, "SIGPIPE"):
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.set_wakeup_fd(self._loop.wakeup_fd, warn_on_full_buffer=False)

    def _heartbeat(self) -> None:
        self._streams.heartbeat(clock.text(self._desk.now()))
        self._loop.later(HEARTBEAT, self._heartbeat)

    def _check_idle(self) -> None:
        quiet = time.monotonic() - self._server.last_asked
        is_needed = self._server.is_busy or self._house.has_work or self._relays.has_work
        if self._idle_seconds is not None and not is_needed and quiet > self._idle_seconds:
            self._house.shut_down()
        self._loop.later(CHECK_IDLE, self._check_idle)

    def _leave_home(self) -> None:
        sys.stderr.write(f"WARNING: {self.home} was deleted, so the daemon ends\n")
        self._house.shut_down()

    def _check_over(self) -> None:
        if self._house.is_over:
            self._loop.end()

    def _end(self, log: Log) -> None:
        """Answer pending requests, stop all programs and exit."""
        if self._metrics:
            self._metrics.close()
        self._relays.stop()
        self._server.close()
        self._streams.close()
        self._house.close()
        deadline = time.monotonic() + LAST_WORDS
        while not self._house.is_empty and time.monotonic() < deadline:
            self._loop.later(0.05, lambda: None)
            self._loop.turn()
        self._desk.close()
        signal.set_wakeup_fd(-1)
        self._loop.close()
        log.info("ended")


def _collect_less_garbage() -> None:
    """What exists at the start lives as long as the daemon. A relay that folds rows makes many values and no cycles,
    and the garbage collector took a tenth of its time."""
    gc.freeze()
    gc.set_threshold(GARBAGE)
