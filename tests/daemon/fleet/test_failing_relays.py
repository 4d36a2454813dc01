"""A system that has no file handle or no thread left, or a disk that fails, for a moment: the relays go on after it."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections.abc import Callable
from typing import Any

import pytest

from bb.daemon.fleet import relays
from bb.ledger.local import fleet_files
from tests.daemon.fleet.test_relays import Scripted, Stand, clone, pytestmark, stand

__all__ = ["pytestmark", "stand"]


def failing_once(do: Callable[..., Any], error: Exception, *, at: int) -> Callable[..., Any]:
    """DO, which fails at the call with that number."""
    calls: list[int] = []

    def called(*given: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) == at:
            raise error
        return do(*given, **named)

    return called


def test_a_relay_starts_again_after_an_attempt_without_a_file_handle(stand: Stand, monkeypatch: pytest.MonkeyPatch):
    error = OSError(errno.EMFILE, "Too many open files")
    monkeypatch.setattr(Scripted, "__init__", failing_once(Scripted.__init__, error, at=2))
    goes_on_after_a_failure(stand, "Too many open files")


def test_a_relay_starts_again_after_an_attempt_without_a_thread(stand: Stand, monkeypatch: pytest.MonkeyPatch):
    begin = failing_once(threading.Thread.start, RuntimeError("can't start new thread"), at=2)

    def start(thread: threading.Thread) -> None:
        (begin if thread.name == "bb-relay" else real)(thread)

    real = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", start)
    goes_on_after_a_failure(stand, "can't start new thread")


def goes_on_after_a_failure(stand: Stand, why: str) -> None:
    place = clone(stand.folder)
    Scripted.fails, Scripted.answers = 1, {"status": {"is": "well"}}
    stand.relays.attend(place)

    stand.until(lambda: why in stand.log.read_text())
    (running,) = stand.relays.all_relays
    stand.until(lambda: not running.has_ended)

    assert stand.asked(place.store, ask="status")() == {"is": "well"}


def test_all_clones_are_looked_at_although_the_disk_of_one_fails(stand: Stand, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(relays, "LOOK_AGAIN", 0.01)
    bad, good = clone(stand.folder, "bad"), clone(stand.folder, "good")
    stand.relays.begin()
    for place in (bad, good):
        stand.relays.attend(place)
    engine = fleet_files.path(bad.store, fleet_files.ENGINE)
    os.rename(engine, engine + "-")
    os.mkdir(engine)
    stand.until(lambda: "cannot be looked after" in stand.log.read_text())

    shutil.rmtree(good.common)
    stand.until(lambda: [one.place for one in stand.relays.all_relays] == [bad])
    assert stand.log.read_text().count("cannot be looked after") == 1, "it is logged once"

    os.rmdir(engine)
    stand.until(lambda: not stand.relays.all_relays)  # that it has left its fleet is seen again
