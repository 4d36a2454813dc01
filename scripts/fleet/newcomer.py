"""A machine that comes to a fleet with a long log, and what a reader of the git archive alone computes."""

from __future__ import annotations

import os
import time
from pathlib import Path

from bb.coordination.facts import Released, Reserved
from bb.kernel import clock, ids
from bb.kernel.event import Event
from bb.ledger.carrier.postgres import PostgresCarrier
from bb.ledger.journal import line as lines
from bb.ledger.published import pins
from bb.ledger.published.fleet_terms import FleetTerms
from bb.ledger.records.drafts import draft_of
from scripts.fleet.scene import Machine, Scene, git, join, place_of

IN_A_ROW = 500  # lines
LATEST = 600.0  # seconds


def times(scene: Scene, count: int) -> list[tuple[str, float, float | None]]:
    """How long a newcomer takes to read COUNT lines from the engine: only to get them, and until they are checked and
    in its journals. The log is another one, so that the machines of SCENE do not read it."""
    folder = scene.folder / "newcomer"
    folder.mkdir()
    apart = Scene(folder, scene.server, database="newcomer")
    with apart.proxy:
        apart.begin()
        first = apart.machines[0]
        first.bb("daemon", "stop")
        repo, terms = _fleet_of(first)
        carrier = PostgresCarrier(apart.address("postgres", None), repo, terms.incarnation)
        began = time.monotonic()
        _fill(carrier, count, terms.incarnation)
        filled = time.monotonic() - began
        began, place = time.monotonic(), terms.first - 1
        while rows := carrier.read(place):
            place = rows[-1].place
        read = time.monotonic() - began
        carrier.close()
        new = Machine(apart, 1, None)
        apart.enroll([new.name])
        began = time.monotonic()
        join(new)
        try:
            new.ask("fresh", LATEST)
            checked = time.monotonic() - began
        finally:
            new.bb("daemon", "stop")
    scene.server.sql("drop database newcomer")
    scene.server.sql("checkpoint")  # now, and not during what is measured next
    return [
        ("made, and appended in rows of 500", filled, None),
        ("read", read, 30),
        ("joined, read and checked", checked, 60),
    ]


def _fill(carrier: PostgresCarrier, count: int, incarnation: str) -> None:
    """Append COUNT lines of one writer: its agents reserve something, one after the other, and release it."""
    writer, link = ids.writer_id(os.urandom(8)), lines.START
    ts = clock.text(time.time_ns() // 1_000_000)
    batch: list[bytes] = []
    first = 1
    for n in range(1, count + 1):
        agent = f"a0-{(n + 1) // 2 % 20}"
        fact = (
            Reserved(agent, f"work/{n % 999}", "no-bead", 120, order=incarnation)
            if n % 2
            else Released(agent, ids.event_id(writer, n - 1))
        )
        draft = draft_of(fact, agent)
        event = Event(ids.event_id(writer, n), link.lamport + 1, ts, draft.kind, agent, draft.data)
        raw, link = lines.write(event, link, lines.salt(n.to_bytes(5, "big")))
        batch.append(raw.rstrip(b"\n"))
        if len(batch) == IN_A_ROW or n == count:
            carrier.append(writer, first, batch)
            first, batch = n + 1, []


def states(scene: Scene, first: Machine) -> list[tuple[str, bool]]:
    """Whether a newcomer, and a clone that reads only the git archive, have the state of a machine of the fleet."""
    first.ask("archive", 120)
    here = place_of(first)
    new = Machine(scene, len(scene.machines), None)
    scene.enroll([new.name])
    join(new)
    new.ask("fresh", 120)
    scene.machines.append(new)
    archive = Machine(scene, len(scene.machines), None)
    git(scene.folder, "clone", "--quiet", str(scene.hub), str(archive.clone))
    archive.bb("sync", "--pull")
    known = pins.read(archive.store)
    tip = known.remote(known.home or "").tip
    assert tip is not None
    of_first, of_new = (_open_grants(Path(machine.store)) for machine in (first, new))
    return [
        ("a newcomer", place_of(new) == here and of_new == of_first),
        (
            "a reader of the git archive",
            (tip.generation, tip.digest) == here and _open_grants(Path(archive.store)) == of_first,
        ),
    ]


def _open_grants(store: Path) -> dict[str, object]:
    grants = pins.read(str(store)).in_force.grants
    return {name: grant.replace(seen=0) for name, grant in grants.items() if grant.ended is None}


def _fleet_of(machine: Machine) -> tuple[str, FleetTerms]:
    known = pins.read(machine.store)
    tip = known.remote(known.home or "").tip
    assert tip is not None
    assert tip.charter.fleet is not None
    return tip.charter.repo, tip.charter.fleet
