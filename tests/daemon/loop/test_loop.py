"""One loop for everything: who is ready is called, what is due is done, and a bug in one of them stops nobody else."""

from __future__ import annotations

import os
import threading

import pytest

from bb.daemon.loop.loop import READ, Loop


@pytest.fixture
def loop() -> Loop:
    made = Loop()
    made.later(5, made.end)  # should a test wait in vain
    return made


def ended(loop: Loop) -> None:
    loop.run()
    loop.close()


def test_what_is_due_is_done_in_the_order_in_which_it_is_due(loop: Loop):
    done: list[str] = []
    loop.later(0.02, lambda: done.append("later"))
    loop.later(0, lambda: done.append("first"))
    loop.later(0, lambda: done.append("second"))
    cancelled = loop.later(0.01, lambda: done.append("cancelled"))
    cancelled.cancel()
    loop.call_soon(lambda: done.append("soon"))
    loop.later(0.03, loop.end)
    ended(loop)

    assert done == ["soon", "first", "second", "later"]


def test_who_is_ready_is_called_until_it_is_forgotten(loop: Loop):
    there, here = os.pipe()
    heard: list[bytes] = []

    def ready(events: int) -> None:
        assert events == READ
        heard.append(os.read(there, 1))
        if len(heard) == 2:
            loop.forget(there)
            loop.call_soon(loop.end)

    os.write(here, b"abc")
    loop.watch(there, READ, ready)
    ended(loop)

    assert heard == [b"a", b"b"]
    os.close(there)
    os.close(here)


def test_another_thread_wakes_it(loop: Loop):
    threading.Timer(0.02, lambda: loop.call_from_thread(loop.end)).start()
    before = loop.now()
    ended(loop)

    assert loop.now() - before < 2


def test_a_bug_in_one_stops_nobody_else_and_is_said(loop: Loop):
    told: list[str] = []
    loop.on_error = lambda error: told.append(type(error).__name__)
    there, here = os.pipe()
    os.write(here, b"abc")
    done: list[str] = []
    loop.watch(there, READ, lambda _: 1 // 0)
    loop.call_soon(lambda: 1 // 0)
    loop.call_soon(lambda: done.append("soon"))
    loop.later(0, lambda: 1 // 0)
    loop.later(0, lambda: done.append("due"))
    loop.call_from_thread(lambda: 1 // 0)
    loop.later(0.05, loop.end)
    ended(loop)

    assert done == ["soon", "due"]
    assert told == ["ZeroDivisionError"] * 4, "whoever was ready is not called again"
    os.close(there)
    os.close(here)


def test_a_bug_at_the_end_of_a_turn_ends_nothing(loop: Loop):
    told: list[Exception] = []
    loop.on_error = told.append
    loop.at_end_of_turn.append(lambda: 1 // 0)
    loop.later(0, loop.end)
    ended(loop)

    assert [type(each) for each in told] == [ZeroDivisionError]


def test_where_nobody_is_told_a_bug_ends_it(loop: Loop):
    loop.call_soon(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        loop.run()
    loop.close()
