"""Ops of bb that may take long, such as a sync: each runs in a thread of its own, at a desk of its own."""

from __future__ import annotations

import os
import threading

from bb.kernel import json_text
from bb.kernel.errors import BbError, Busy
from bb.ledger.local import machine_registry as knowns
from bb.ops import catalogue
from bb.ops.desk.desk import Desk
from bb.ops.params import invalid
from bb.wire import cccc, ndjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from bb.daemon.clients.connection import Connection
    from bb.daemon.loop.log import Log
    from bb.daemon.loop.loop import Loop
    from bb.ops.catalogue import Op

    T = TypeVar("T")

MOST = 64  # requests at once; most of them wait for something
MOST_BYTES = ndjson.MOST_ANSWER - 500_000  # of items; what surrounds them is not so long


class TooManyWait(Busy):
    """Too many clients wait for something that takes long."""

    code = "TOO_MANY_WAIT"
    hint = "try again when some of them have been answered"


class Beside:
    """What runs beside the loop of one daemon."""

    def __init__(self, loop: Loop, desk: Desk, log: Log) -> None:
        self._loop = loop
        self._desk = desk
        self._log = log
        self.working = 0  # how much of it is under way

    def answer(self, connection: Connection, op: Op, args: dict[str, Any]) -> None:
        """Run an op of bb, and let CONNECTION have what it answers."""
        if self.working >= MOST:
            connection.answer(cccc.failure(TooManyWait(), is_lower=False))
        else:
            connection.expect_leaving()
            self.do(lambda: self._answered(connection, op, args), connection.answer)

    def do(self, work: Callable[[], T], then: Callable[[T], None]) -> None:
        """Do WORK in a thread of its own, and THEN something in the loop with what has come of it.

        It may take as long as a client is willing to wait. So it keeps nobody else waiting, and the daemon ends without
        it when it must: what it has recorded by then is on the disk, and nobody was told anything else.
        """

        def run() -> None:
            came = work()
            self._loop.call(lambda: done(came))

        def done(came: T) -> None:
            self.working -= 1
            then(came)

        self.working += 1
        threading.Thread(target=run, name="bb-op", daemon=True).start()

    def _answered(self, connection: Connection, op: Op, args: dict[str, Any]) -> bytes:
        desk = Desk(self._desk.cwd, self._desk.env)
        try:
            where, given = self._where(op, args)
            desk = Desk(where, self._desk.env)
            desk.is_served, desk.has_left = True, lambda: not connection.is_open
            answer = op.answer(desk, _with_an_end(catalogue.bind(op, given, is_typed=True)))
            if op.streams and not isinstance(answer, dict):
                answer = list(_bounded(answer))
            return cccc.success(answer if isinstance(answer, dict) else {"items": answer})
        except BbError as refusal:
            return cccc.failure(refusal, is_lower=False)
        except Exception as error:
            return cccc.failure(self._log.bug(op.name, error))
        finally:
            desk.close()

    def _where(self, op: Op, args: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The directory that an op of bb is to work in, that of the group or the one that its request names; and what
        is left of the request."""
        own = {parameter.name for parameter in op.parameters}
        given = {name: value for name, value in args.items() if name in own or name not in ("group_id", "cwd")}
        if isinstance(cwd := args.get("cwd"), str) and os.path.isdir(cwd):
            return cwd, given
        if group_id := args.get("group_id"):
            known = knowns.read(knowns.home(self._desk.env), str(group_id))
            if known is None:
                raise knowns.GroupNotFound(f"there is no group {str(group_id)[:64]!r}")
            place = known.place
            return place.work_tree or place.common, given
        return self._desk.cwd, given


def _with_an_end(arguments: dict[str, Any]) -> dict[str, Any]:
    """ARGUMENTS, unless they ask for what never ends."""
    if arguments.get("follow") is True:
        raise invalid("one answer cannot go on: events_stream does", "follow")
    return arguments


def _bounded(items: Any) -> Any:
    """As many items as fit into one answer."""
    room = MOST_BYTES
    for item in items:
        shown = item.decode("utf-8", "backslashreplace") if isinstance(item, bytes) else item
        room -= len(json_text.dumps_ascii(shown)) + 1
        if room < 0:
            return
        yield shown
