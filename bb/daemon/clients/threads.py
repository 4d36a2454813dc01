"""Runs bb ops that may take long, such as a sync. Each has its own thread and its own desk."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from bb.daemon.clients.connection import Connection
from bb.daemon.loop.log import Log
from bb.daemon.loop.loop import Loop
from bb.kernel import json_text
from bb.kernel.errors import BbError, Busy
from bb.ledger.local import machine_registry as knowns
from bb.ops import catalogue
from bb.ops.catalogue import Op
from bb.ops.desk.desk import Desk
from bb.ops.params import invalid
from bb.wire import cccc, ndjson

T = TypeVar("T")

MOST = 64  # concurrent requests; most of them wait for a lock or a message
MOST_BYTES = ndjson.MOST_ANSWER - 500_000  # of items; the rest of the answer is shorter than the margin

TooManyWait = Busy.declare(
    "TOO_MANY_WAIT", "Too many long operations are running", hint="try again when some of them have finished"
)


class ThreadedOps:
    """The operations that run beside the loop of one daemon."""

    def __init__(self, loop: Loop, desk: Desk, log: Log) -> None:
        self._loop = loop
        self._desk = desk
        self._log = log
        self.working = 0  # number of running operations
        self.on_recorded: Callable[[str], None] = lambda _: None  # called in the loop with a store that has new events

    def answer(self, connection: Connection, op: Op, args: dict[str, Any]) -> None:
        """Run an op and send its answer to CONNECTION."""
        if self.working >= MOST:
            connection.answer(cccc.failure(TooManyWait(), is_lower=False))
        else:
            connection.expect_leaving()
            self.do(lambda: self._answered(connection, op, args), connection.answer)

    def do(self, work: Callable[[], T], then: Callable[[T], None]) -> None:
        """Run WORK in its own thread, then call THEN in the loop with the result.

        WORK may take as long as its client waits, without delaying other clients. At shutdown, the daemon does not wait
        for it: events that it has recorded are on disk, and its client has no answer yet.
        """

        def run() -> None:
            came = work()
            self._loop.call_from_thread(lambda: done(came))

        def done(came: T) -> None:
            self.working -= 1
            then(came)

        self.working += 1
        threading.Thread(target=run, name="bb-op", daemon=True).start()

    def _answered(self, connection: Connection, op: Op, args: dict[str, Any]) -> bytes:
        desk = Desk(self._desk.cwd, self._desk.env)
        try:
            where, arguments = self._where(op, args)
            desk = Desk(where, self._desk.env, is_served=True, is_client_gone=lambda: not connection.is_open)
            answer = op.run(desk, _with_an_end(catalogue.bind(op, arguments, is_typed=True)))
            if op.streams and not isinstance(answer, dict):
                answer = list(_bounded(answer))
            if desk.has_recorded:
                store = desk.store.path
                self._loop.call_from_thread(lambda: self.on_recorded(store))
            return cccc.success(answer if isinstance(answer, dict) else {"items": answer})
        except BbError as refusal:
            return cccc.failure(refusal, is_lower=False)
        except Exception as error:
            return cccc.failure(self._log.bug(op.name, error))
        finally:
            desk.close()

    def _where(self, op: Op, args: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The op's working directory, from the request's `cwd` or its group, and the remaining arguments."""
        own = {parameter.name for parameter in op.parameters}
        arguments = {name: value for name, value in args.items() if name in own or name not in ("group_id", "cwd")}
        if isinstance(cwd := args.get("cwd"), str) and os.path.isdir(cwd):
            return cwd, arguments
        if group_id := args.get("group_id"):
            group = knowns.read(knowns.home(self._desk.env), str(group_id))
            if group is None:
                raise knowns.GroupNotFound(f"there is no group {str(group_id)[:64]!r}")
            place = group.place
            return place.work_tree or place.common, arguments
        return self._desk.cwd, arguments


def _with_an_end(arguments: dict[str, Any]) -> dict[str, Any]:
    """ARGUMENTS; refused if they ask for an endless answer."""
    if arguments.get("follow") is True:
        raise invalid("follow needs a stream: use events_stream", "follow")
    return arguments


def _bounded(items: Any) -> Any:
    """The items that fit into one answer."""
    room = MOST_BYTES
    for item in items:
        json_item = item.decode("utf-8", "backslashreplace") if isinstance(item, bytes) else item
        room -= len(json_text.dumps_ascii(json_item)) + 1
        if room < 0:
            return
        yield json_item
