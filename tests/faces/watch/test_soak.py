"""What `bb watch` costs while nothing changes: measured on a process of its own, over half a minute."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bb.coordination.facts import Registered, Reserved
from bb.ledger.git import place as places
from bb.ledger.records.store import Store
from bb.messaging.facts import Sent
from tests.near import Near, near
from tests.terminals import Terminal

pytestmark = [pytest.mark.long, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]
AGENTS, EVENTS, AT_ONCE = 20, 10_000, 250
SECONDS, MOST = 30.0, 0.02  # of one core
GROWTH = 1 << 20  # bytes


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Near:
    """Twenty agents, what they hold, and ten thousand things that have happened."""
    repo = near(tmp_path_factory.mktemp("crowd") / "repo")
    assert repo.bb("init").status == 0
    store = Store(places.find(str(repo.path), {}))
    names = [f"agent-{n:02}" for n in range(AGENTS)]
    facts: list[Any] = [Registered(name, "builder", name) for name in names]
    facts += [Reserved(name, f"src/{name}/{n}", f"bb-{n}", 120) for name in names for n in range(2)]
    while len(facts) < EVENTS:
        n = len(facts)
        to, bead = (names[n % 7],), f"bb-{n % 50}"
        facts.append(Sent(names[n % AGENTS], to, "INFO", f"Part {n}", "It is done.", bead, f"bead:{bead}", False))
    now = time.time_ns() // 1_000_000
    for start in range(0, len(facts), AT_ONCE):
        some = facts[start : start + AT_ONCE]
        store.record(lambda _, some=some: some, by="user", now=now, author=_author)
    store.close()
    for name in names:
        assert repo.bb("agent", "heartbeat", "--agent", name).status == 0
    return repo


def _author(fact: Any) -> str:
    return str(fact.sender if isinstance(fact, Sent) else fact.agent)


def used(pid: int) -> tuple[float, int]:
    """Seconds of a processor that a process has taken, and bytes of memory that it has."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    seconds = (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")
    return seconds, int(after_name[21]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("view", ["all", "problems", "agents", "held", "timeline"])
def test_it_takes_less_than_a_fiftieth_of_a_core_while_nothing_changes(crowd: Near, view: str):
    with Terminal(crowd, "watch", "--view", view, columns=120, lines=40) as terminal:
        terminal.shows("q quit")
        terminal.rests(2)
        seconds, memory = used(terminal.child.pid)
        terminal.rests(SECONDS)
        later, more = used(terminal.child.pid)

    assert (later - seconds) / SECONDS < MOST
    assert more - memory < GROWTH
