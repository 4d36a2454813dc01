"""C2A §Reaction Signals, items 98 to 113 of the checklist: what each of the nine says, and what one's own message is
told by them."""

from __future__ import annotations

from typing import Any

import pytest

from bb.attention.words import SIGNALS
from tests.attention.hosts import AMBER, BLUE, CORAL, HANDLES, CommandLine, Host

NINE = ["seen", "agree", "working", "queued", "claimed", "done", "declined", "blocked", "unclear"]


def reacts(host: Host, signal: str, event: str = "1", agent: str = AMBER, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = host.do(react={"agent": agent, "inReplyTo": event, "signal": signal, **more})
    return found


def everything_said(host: Host) -> list[str]:
    return [row["eventId"] for agent in (AMBER, BLUE) for row in host.do(list={"agent": agent})["events"]]


# -- 98 to 106: the nine


@pytest.mark.parametrize(
    ("number", "signal", "glyph", "becomes", "text"),
    [
        (98, "seen", "👀", "acknowledged", "thanks!"),
        (99, "agree", "👍", "acknowledged", "Please restart the runner."),
        (100, "working", "🔧", "claimed", "Please restart the runner."),
        (101, "queued", "🕐", "deferred", "Please restart the runner."),
        (102, "claimed", "✋", "claimed", "Please restart the runner."),
        (103, "done", "✅", "responded", "Please restart the runner."),
        (104, "declined", "🙅", "ignored", "Please restart the runner."),
        (105, "blocked", "🚧", "deferred", "Please restart the runner."),
        (106, "unclear", "❓", None, "Please restart the runner."),
    ],
)
def the_nine(host: Host, number: int, signal: str, glyph: str, becomes: str | None, text: str) -> None:
    """What a signal makes of a fresh event, without a word; said again, nothing more."""
    host.people()
    host.dm("1", text)
    before = everything_said(host)

    first = reacts(host, signal)

    assert (first["signal"], first["glyph"], first["disposition"]) == (signal, glyph, becomes)
    assert host.disposition("1") == becomes
    (row,) = host.do(list={"agent": AMBER})["events"]
    assert (row["disposition"], row["signal"]) == (becomes, signal)
    steps = host.do(show={"agent": AMBER, "event": "1"})["steps"]
    assert reacts(host, signal)["disposition"] == becomes
    assert host.do(show={"agent": AMBER, "event": "1"})["steps"] == steps
    assert [each for each in everything_said(host) if "esc" not in each] == before
    assert host.do(outbox={}) == []


@pytest.mark.parametrize("signal", ["seen"])
def test_c2a_098_seen_acknowledges(host: Host, signal: str):
    nine(host, signal)


def test_c2a_099_agree_acknowledges(host: Host):
    nine(host, "agree")


def test_c2a_100_working_claims(host: Host):
    nine(host, "working")
    assert host.do(show={"agent": AMBER, "event": "1"})["claim"]["owner"] == AMBER


def test_c2a_101_queued_defers(host: Host):
    nine(host, "queued")


def test_c2a_102_claimed_claims(host: Host):
    nine(host, "claimed")
    assert host.do(show={"agent": AMBER, "event": "1"})["claim"]["owner"] == AMBER


def test_c2a_103_done_responds(host: Host):
    nine(host, "done")


def test_c2a_104_declined_ignores(host: Host):
    nine(host, "declined")


def test_c2a_105_blocked_defers(host: Host):
    nine(host, "blocked")


def test_c2a_106_unclear_settles_nothing(host: Host):
    nine(host, "unclear")
    found = host.do(show={"agent": AMBER, "event": "1"})
    assert (found["open"], found["awaitingClarification"]) == (True, True)
    assert [row["eventId"] for row in host.do(pending=AMBER)["events"]] == ["1"]
