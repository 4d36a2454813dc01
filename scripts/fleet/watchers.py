"""How long a line takes from one clone to the journals of all others."""

from __future__ import annotations

import os
import threading
import time

from bb.coordination.facts import Released
from bb.kernel import ids
from bb.ledger.fleet import waking
from scripts.fleet import load
from scripts.fleet.scene import Machine

GLANCE = 0.005  # seconds between two looks of a watcher
LATEST = 20.0


def times(machines: list[Machine], messages: int, seconds: float = 15) -> list[float]:
    """The seconds that each of some MESSAGES, sent within SECONDS by machines in turn, took to each other clone."""
    came: list[float] = []
    senders = [load.Machine(str(machine.clone)) for machine in machines[: min(5, len(machines))]]
    for n in range(messages):
        began = time.monotonic()
        sender = senders[n % len(senders)]
        [event] = sender.record([Released("a0-0", ids.event_id(sender.store.writer or "", 1))])
        waking.wake(sender.store.path, ".", {"BB_SYNC": "off"})
        writer = ids.split_event_id(event)[0]
        others = [machine for machine in machines if machine.store != sender.store.path]
        came += _arrivals(others, writer, event.encode(), began)
        time.sleep(max(began + seconds / messages - time.monotonic(), 0))
    return came


def _arrivals(machines: list[Machine], writer: str, event: bytes, began: float) -> list[float]:
    missing = {machine.name: os.path.join(machine.store, "received", writer) for machine in machines}
    came: list[float] = []
    while missing:
        now = time.monotonic()
        if now - began > LATEST:
            return came + [LATEST] * len(missing)
        there = [name for name, folder in missing.items() if _has(folder, event)]
        came += [now - began] * len(there)
        for name in there:
            del missing[name]
        threading.Event().wait(GLANCE)
    return came


def _has(folder: str, event: bytes) -> bool:
    """Whether the end of a received journal has an event."""
    try:
        last = os.path.join(folder, max(os.listdir(folder)))
        with open(last, "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - 4096, 0))
            return b'"%s"' % event in file.read()
    except (OSError, ValueError):
        return False
