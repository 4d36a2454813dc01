"""Whatever is done in which clone, and whoever syncs when and through which hub: in the end all know the same."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from bb.coordination.holdings import holdings
from bb.kernel import clock
from bb.kernel.errors import Busy, Conflict, Forbidden, NotFound, Refused
from bb.ledger.git.place import find
from bb.ledger.published import layout, pins, tip
from bb.ledger.records.store import Store
from tests.stories.travel.branch_support import Branch, File, chains
from tests.stories.travel.travel_support import Clone, agents_at_work, clone, hub
from tests.support import NOON

AGENTS = ("amber-otter", "cobalt-harbor", "coral-heron", "dusky-falcon")
SCOPES = ("src", "src/parser", "docs", "docs/guide.md", "src/**/*.py", "web")
SYNCS: tuple[dict[str, Any], ...] = ({}, {}, {"pull": True}, {"push": True}, {"publish": True})
HAPPENING = {"actor.add", "chat.message", "x.bb.reserved", "x.bb.released"}
REFUSALS = (Busy, Conflict, Forbidden, NotFound, Refused)  # whatever stands in somebody's way; never a usage error


class World:
    """Clones with an agent each, and a chance that says what is done next. Time goes on
    by three minutes with each step, so that whoever does nothing for five of them has fallen silent."""

    def __init__(self, folder: Path, seed: int, clones: int) -> None:
        self.chance = random.Random(seed)
        self.origin = hub(folder / "hub.git")
        self.second = hub(folder / "second.git")
        self.clones = agents_at_work(self.origin, *AGENTS[:clones])
        self.at = dict(zip(AGENTS, self.clones, strict=False))
        self._now = clock.parse(NOON)
        for each in self.clones[:2]:  # the first two have a second way to each other
            each.git("remote", "add", "second", str(self.second))
            each.sync(remote="second", publish=True)

    @property
    def now(self) -> str:
        return clock.text(self._now)

    def begin(self) -> None:
        """One of everything that the others must come to know, whatever chance brings afterwards."""
        agent, here = next(iter(self.at.items()))
        here.ask("agent.reserve", now=self.now, agent=agent, scope=[SCOPES[0]], bead="bb-1", **{"global": True})
        here.ask("agent.release", now=self.now, agent=agent, scope=[SCOPES[0]])
        here.ask("agent.reserve", now=self.now, agent=agent, scope=[SCOPES[0]], bead="bb-1")

    def step(self) -> None:
        """Somebody does something, or syncs; and is perhaps refused."""
        self._now += 3 * clock.MINUTE
        agent = self.chance.choice(list(self.at))
        deeds = (self.hold, self.hold, self.hold_everywhere, self.let_go, self.write, self.read, self.change, self.sync)
        deeds = (*deeds, self.pass_on, self.order)
        deed = self.chance.choice([*deeds, self.sync, self.sync, self.sync, self.take_back, self.begin_anew])
        try:
            deed(agent, self.at[agent])
        except REFUSALS:
            return

    def hold(self, agent: str, here: Clone, **given: Any) -> None:
        takes = {"takeover_stale": True} if self.chance.random() < 0.3 else {}
        shares = {"shared": True} if self.chance.random() < 0.2 else {}
        scope = [self.chance.choice(SCOPES)]
        here.ask("agent.reserve", now=self.now, agent=agent, scope=scope, bead="bb-1", **takes, **shares, **given)

    def hold_everywhere(self, agent: str, here: Clone) -> None:
        self.hold(agent, here, **{"global": True})

    def let_go(self, agent: str, here: Clone) -> None:
        verb = self.chance.choice(("agent.release", "agent.release", "agent.renew"))
        here.ask(
            verb, now=self.now, agent=self.chance.choice((agent, agent, "user")), scope=[self.chance.choice(SCOPES)]
        )

    def pass_on(self, agent: str, here: Clone) -> None:
        held = here.ask("agent.status", now=self.now)["reservations"]
        scope = self.chance.choice([each["scope"] for each in held] or SCOPES)
        by, to = self.chance.choice((agent, "user")), self.chance.choice(list(self.at))
        here.ask("agent.transfer", now=self.now, agent=by, scope=[scope], to=to)

    def order(self, agent: str, here: Clone) -> None:
        """The person freezes or thaws something, pauses somebody or lets them go on."""
        whom = {"all": True} if self.chance.random() < 0.2 else {"name": agent}
        what = {"scope": [self.chance.choice(SCOPES)]}
        verb, given = self.chance.choice(
            [
                *[("freeze", what | {"minutes": 9, "why": "wait"}), ("thaw", {"all": True})],
                *[("agent.pause", whom), ("agent.unpause", whom), ("agent.unpause", {"all": True})],
            ]
        )
        here.ask(verb, now=self.now, **given)

    def write(self, agent: str, here: Clone) -> None:
        to = self.chance.choice([other for other in self.at if other != agent])
        about = {"bead": "bb-1", "category": self.chance.choice(("INFO", "BLOCKED", "HANDOFF"))}
        given = {"from": agent, "to": to, "subject": "Which format?", "body": "Two are in use."} | about
        here.ask("agent.send", now=self.now, **given)

    def read(self, agent: str, here: Clone) -> None:
        for message in here.ask("agent.inbox", now=self.now, agent=agent)[:2]:
            here.ask(
                self.chance.choice(("agent.read", "agent.ack")),
                now=self.now,
                agent=agent,
                message=message["message_id"],
            )

    def change(self, agent: str, here: Clone) -> None:
        """Another role; or, rarely, the end of an agent, for whoever is retired does nothing any more."""
        if self.chance.random() < 0.05:
            here.ask("agent.retire", now=self.now, agent=agent)
        role = self.chance.choice(("builder", "reviewer", "tester"))
        here.ask("agent.register", now=self.now, name=agent, role=role, force_update=True)

    def take_back(self, agent: str, here: Clone) -> None:
        """Something that was said, or a reservation, by whoever recorded it or by the person."""
        told = here.ask("ledger.log", now=self.now, kind=["chat.message", "x.bb.reserved"])
        event = self.chance.choice(told or [{"id": "aaaaaaaaaaaa.1"}])["id"]
        here.ask("ledger.redact", now=self.now, event=event, reason="a slip", agent=self.chance.choice((agent, "user")))

    def begin_anew(self, agent: str, here: Clone) -> None:
        here.ask("ledger.rotate", now=self.now, reason="too long", agent=self.chance.choice((agent, "user")))

    def sync(self, agent: str, here: Clone) -> None:
        through = {"remote": "second"} if here in self.clones[:2] and self.chance.random() < 0.3 else {}
        here.sync(now=self.now, **self.chance.choice(SYNCS), **through)

    def settle(self) -> None:
        """Everybody syncs, through every hub it has, until nothing comes and nothing goes."""
        self._now += clock.MINUTE
        for _ in range(6):
            moved = 0
            for each in self.clones:
                for through in ({}, {"remote": "second"}) if each in self.clones[:2] else ({},):
                    answer = each.sync(now=self.now, **through)
                    moved += answer["came"] + answer["went"]
            if not moved:
                return
        raise AssertionError("it never became quiet")

    def states(self, here: Clone) -> dict[str, str]:
        """How every reservation stands."""
        found = here.ask("agent.status", now=self.now)["reservations"]
        return {str(each["reservation_id"]): str(each["state"]) for each in found}

    def known(self, here: Clone) -> dict[str, Any]:
        """What HERE knows that all must agree on. How alive somebody seems is what each has heard itself."""
        status = here.ask("agent.status", now=self.now)
        held = [
            {
                name: value
                for name, value in each.items()
                if name not in ("owner_liveness", "expires_at", "seconds_left")
            }
            | {"state": "active" if each["state"] in ("expired", "contested") else each["state"]}
            for each in status["reservations"]
        ]
        return {
            "paused": {each["agent_id"]: each.get("paused") for each in here.ask("agent.list", now=self.now)},
            "digest": here.digest,
            "held": sorted(held, key=lambda each: str(each["reservation_id"])),
            "owed": status["unacked_required_messages"],
            "settled": settled(here),
        }


class StrayWorld(World):
    """A world in which somebody without bb pushes onto the branch now and then."""

    def __init__(self, folder: Path, seed: int, clones: int) -> None:
        super().__init__(folder, seed, clones)
        self.strays = 0

    def step(self) -> None:
        if self.chance.random() < 0.15:
            self.stray(Branch(self.chance.choice((self.origin, self.origin, self.second))))
        super().step()

    def stray(self, branch: Branch) -> None:
        files, tip, parents = branch.files(), branch.tip, branch.parents()
        gone = self.chance.choice(sorted(map(str, files)) or [""])
        foreign = files | {"NOTES.md": File(b"%d\n" % self.strays)}
        code = branch.commit({"x": File(b"x")}, [])
        older = branch.files(parents[0]) if parents else files
        edit = branch.commit(older | {"NOTES.md": File(b"x")}, parents[:1] or [tip])
        forged = dict(files)
        for chain in chains(files):
            octets = files.get(chain.path, File()).octets
            forged[chain.path] = File(octets + chain.forged(p="0" * 32) + b"\n")
        made = self.chance.choice(
            [
                (foreign, [tip]),
                ({}, [tip]),
                ({name: file for name, file in files.items() if name != gone}, [tip]),
                (files, [code, tip]),
                (foreign, [edit, tip]),
                (foreign, [tip, edit]),
                (older, [tip]),
                (forged, [tip]),
            ]
        )
        branch.point_at(branch.commit(*made))
        self.strays += 1


def kinds_in(here: Clone) -> set[str]:
    """What kinds of things have happened."""
    raws = [raw for file in here.store.glob("j/*/*.jsonl") for raw in file.read_bytes().splitlines()]
    return {json.loads(raw)["kind"] for raw in raws}


def settled(here: Clone) -> dict[str, Any]:
    """What publication to the hub has settled, and up to where HERE knows that."""
    known = pins.read(str(here.store))
    last = known.remote("origin").tip
    assert last is not None
    store = Store(find(str(here.path), {}))
    live = [name for name, _ in store.caught_up().entries_by_term(holdings.NAME, "live")]
    store.close()
    return known.admitted.keeping(live).as_json() | {"tip": last.commit, "generation": last.generation}


@pytest.fixture(autouse=True)
def compacted_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are archived and snapshots made after few lines, as they else are after thousands."""
    monkeypatch.setattr(layout, "MOST_LINES", 8)
    monkeypatch.setattr(tip, "AT_LEAST", 20)


@pytest.mark.parametrize(
    ("seed", "clones", "steps"),
    [
        (8, 3, 60),
        pytest.param(5, 4, 80, marks=pytest.mark.long),
        *(pytest.param(seed, 4, 400, marks=pytest.mark.long) for seed in range(10, 40)),
    ],
)
def test_all_come_to_know_the_same(tmp_path: Path, seed: int, clones: int, steps: int):
    world = World(tmp_path, seed, clones)
    world.begin()
    for _ in range(steps):
        world.step()

    world.settle()

    assert kinds_in(world.clones[0]) >= HAPPENING, "else there is little to agree on"
    first, *others = [world.known(each) for each in world.clones]
    assert first["settled"]["grants"]
    for other in others:
        assert other == first
    for each in world.clones:
        each.ask("ledger.verify", published=True)
    assert_that_contests_are_decided_alike([world.states(each) for each in world.clones])
    assert_that_whoever_comes_late_knows_it_too(world, first)
    assert_that_it_is_found_again(world, first)


@pytest.mark.parametrize(
    ("seed", "clones", "steps"),
    [
        (1, 3, 40),
        *(pytest.param(seed, 4, 200, marks=pytest.mark.long) for seed in range(2, 20)),
    ],
)
def test_all_come_to_know_the_same_although_somebody_pushes_something_else(
    tmp_path: Path, seed: int, clones: int, steps: int
):
    world = StrayWorld(tmp_path, seed, clones)
    for _ in range(steps):
        world.step()

    world.settle()

    assert world.strays > 3
    first, *others = [world.known(each) for each in world.clones]
    for other in others:
        assert other == first
    for each in world.clones:
        each.ask("ledger.verify", published=True)
    assert_that_contests_are_decided_alike([world.states(each) for each in world.clones])
    assert_that_whoever_comes_late_knows_it_too(world, first)
    assert_that_it_is_found_again(world, first)


def assert_that_contests_are_decided_alike(states: list[dict[str, str]]) -> None:
    """Whose time is over is contested no more, and each clone finds that out when it hears no more of the holder."""
    for reservation in states[0]:
        found = {each[reservation] for each in states} - {"expired"}
        assert len(found) < 2, reservation


def assert_that_whoever_comes_late_knows_it_too(world: World, expected: dict[str, Any]) -> None:
    fresh = clone(world.origin, "fresh")
    fresh.sync(now=world.now, pull=True)
    assert world.known(fresh) == expected


def assert_that_it_is_found_again(world: World, expected: dict[str, Any]) -> None:
    """By whoever has lost the index, or what was remembered of the hub."""
    here = world.clones[0]
    here.ask("ledger.rebuild")
    assert world.known(here) == expected
    there = world.clones[-1]
    (there.store / pins.NAME).unlink()
    there.sync(now=world.now, pull=True)
    assert world.known(there) == expected
