"""Runs a relay in this process: `main`. Each line on stdin is a request, and each on stdout an answer.

At the step with that number, the process kills itself, as a power failure of the process would.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import queue
import signal
import sys
import threading
from typing import Any

from bb.ledger.carrier.postgres import PostgresCarrier
from bb.ledger.files import disk
from bb.ledger.fleet import clone_state, results_file
from bb.ledger.fleet.relay import Relay
from bb.ledger.git import place
from bb.ledger.published import pins

COUNTED = ("head", "append", "read", "beat")
_steps = itertools.count(1)
_last = [0]


def step() -> None:
    if next(_steps) == _last[0]:
        os.kill(os.getpid(), signal.SIGKILL)


def with_steps(work: Any) -> Any:
    @functools.wraps(work)
    def stepping(*args: Any, **kwargs: Any) -> Any:
        step()
        found = work(*args, **kwargs)
        step()
        return found

    return stepping


def write_in_two(fd: int, octets: bytes) -> None:
    """A write that a kill can cut in the middle."""
    step()
    half = len(octets) // 2
    plain_write(fd, octets[:half])
    step()
    plain_write(fd, octets[half:])
    step()


plain_write = disk.write_all


def main(path: str, conninfo: str, killed_at: str) -> None:
    at = place.find(path, {})
    _last[0] = int(killed_at)
    for name in COUNTED:
        setattr(PostgresCarrier, name, with_steps(getattr(PostgresCarrier, name)))
    for name in ("save", "make"):
        setattr(results_file.ResultsFile, name, with_steps(getattr(results_file.ResultsFile, name)))
    for name in ("take", "write_lines", "leave", "record_again"):
        setattr(clone_state.CloneState, name, with_steps(getattr(clone_state.CloneState, name)))
    disk.write_all = write_in_two
    disk.replace = with_steps(disk.replace)

    def open_carrier() -> PostgresCarrier:
        known = pins.read(at.store)
        tip = known.remote(known.home or "").tip
        assert tip
        assert known.terms
        return PostgresCarrier(conninfo, tip.charter.repo, known.terms.incarnation)

    relay = Relay(at, os.environ, open_carrier, lambda text: print(text, file=sys.stderr))
    working = threading.Thread(target=relay.run)
    working.start()
    answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    for line in sys.stdin:
        relay.ask(json.loads(line), answers.put)
        print(json.dumps(answers.get()), flush=True)
    relay.stop()
    working.join()
    print(next(_steps), flush=True)
