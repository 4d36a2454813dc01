"""Whatever is published where, moved or re-created: clones whose digests are equal give equal verdicts."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.kernel import clock
from bb.kernel.errors import Busy, Conflict, Forbidden, NotFound, Refused
from bb.ledger.published import pins
from tests.examples import examples
from tests.stories.travel.travel_support import Clone, clone, hub
from tests.support import NOON

NAMES = ("amber-otter", "amber-otter", "cobalt-harbor")  # two clones register one name
SCOPES = ("src", "src/parser", "docs")
HUBS = ("fork", "upstream")
DEEDS = ("hold", "hold", "everywhere", "everywhere", "everywhere", "release", "sync", "sync", "sync", "sync", "settle")
REFUSALS = (Busy, Conflict, Forbidden, NotFound, Refused)


class World:
    """Clones that reach a fork, the repository that it was made from, or both, and know one ledger."""

    def __init__(self, folder: Path) -> None:
        self.hubs = {name: hub(folder / f"{name}.git") for name in HUBS}
        self.clones = [clone(self.hubs["fork"], f"clone-{number}") for number in range(len(NAMES))]
        self._now = clock.parse(NOON)
        for each in self.clones:
            each.git("remote", "rename", "origin", "fork")
        for each in self.clones[1:]:
            each.git("remote", "add", "upstream", str(self.hubs["upstream"]))
        self.clones[2].git("remote", "remove", "fork")
        self.agents = list(NAMES)
        self.clones[1].ask("agent.register", name=NAMES[1], role="builder")
        for name in HUBS:
            self.clones[1].sync(publish=True, remote=name)
        for each, agent in ((self.clones[0], NAMES[0]), (self.clones[2], NAMES[2])):
            each.ask("agent.register", name=agent, role="builder")
            self.sync(each, "fork" if each is self.clones[0] else "upstream")

    @property
    def now(self) -> str:
        return clock.text(self._now)

    def act(self, deed: str, who: int, scope: str, at: str) -> None:
        """Let somebody do something, and perhaps be refused."""
        self._now += clock.MINUTE
        here, agent = self.clones[who], self.agents[who]
        try:
            if deed == "hold":
                here.ask("agent.reserve", now=self.now, agent=agent, scope=[scope], bead="bb-1")
            elif deed == "everywhere":
                here.ask("agent.reserve", now=self.now, agent=agent, scope=[scope], bead="bb-1", **{"global": True})
            elif deed == "release":
                here.ask("agent.release", now=self.now, agent=agent, all=True)
            elif deed == "sync":
                self.sync(here, at)
            elif deed == "settle":
                self.settle_name(who)
            elif deed == "move":
                here.ask("ledger.arbiter", now=self.now, remote=at, reason="as decided", agent="user")
            elif deed == "re-create":
                self.re_create(here, at)
        except REFUSALS:
            return

    def settle_name(self, who: int) -> None:
        """Take another name, if the own one is another agent's."""
        other = f"{self.agents[who]}-{who}"
        self.clones[who].ask("agent.rename", now=self.now, to=other, agent=self.agents[who])
        self.agents[who] = other

    def re_create(self, here: Clone, at: str) -> None:
        """The branch is lost, and a clone publishes it again."""
        if at in here.git("remote").split():
            Clone(self.hubs[at]).git("update-ref", "-d", "refs/heads/bb-ledger")
            here.sync(now=self.now, publish=True, remote=at)

    def sync(self, here: Clone, at: str) -> int:
        answer = here.sync(now=self.now, publish=True, remote=at)
        return int(answer["came"]) + int(answer["went"])

    def carry_over(self) -> None:
        """Everybody syncs through every hub it reaches, until nothing comes and nothing goes."""
        for _ in range(8):
            moved = 0
            for each in self.clones:
                for at in each.git("remote").split():
                    try:
                        moved += self.sync(each, at)
                    except (Conflict, Refused):
                        continue
            if not moved:
                return
        raise AssertionError("it never became quiet")

    def verdicts(self, here: Clone) -> list[tuple[str, str, Any]]:
        """How every reservation stands."""
        found = here.ask("agent.status", now=self.now)["reservations"]
        return sorted((one["reservation_id"], one["state"], one.get("token")) for one in found)


def equal_digests_mean_equal_verdicts(world: World) -> None:
    known = [(each.digest, world.verdicts(each)) for each in world.clones]
    for (digest, verdicts), (other, others) in itertools.combinations(known, 2):
        assert digest != other or verdicts == others


def nothing_is_granted_twice(world: World) -> None:
    """Of two agents, only one holds a path in every clone, in the eyes of each clone."""
    for each in world.clones:
        grants = pins.read(str(each.store)).in_force.grants.values()
        for one, other in itertools.combinations([grant for grant in grants if grant.ended is None], 2):
            meet = one.scope.startswith(other.scope) or other.scope.startswith(one.scope)
            assert one.agent == other.agent or not meet


deeds = st.lists(
    st.tuples(st.sampled_from((*DEEDS, "move")), st.integers(0, 2), st.sampled_from(SCOPES), st.sampled_from(HUBS)),
    min_size=4,
    max_size=14,
)


@examples(15)
@given(deeds)
def test_forks_and_arbiters_converge(course: list[tuple[str, int, str, str]]):
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        for deed in course:
            world.act(*deed)
            equal_digests_mean_equal_verdicts(world)

        world.carry_over()

        equal_digests_mean_equal_verdicts(world)
        nothing_is_granted_twice(world)
        assert len({each.lines for each in world.clones}) == 1, "all have the same lines"
        readers = [each for each in world.clones if not pins.read(str(each.store)).is_elsewhere]
        assert readers, "somebody reads the arbiter"
        assert len({each.digest for each in readers}) == 1, "and whoever does agrees"


@examples(10)
@given(deeds, st.sampled_from(HUBS), st.integers(0, 2))
def test_digests_mean_the_same_after_a_hub_was_re_created(course: list[tuple[str, int, str, str]], at: str, who: int):
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        half = len(course) // 2
        for deed in (*course[:half], ("re-create", who, "src", at), *course[half:]):
            world.act(*deed)
        world.carry_over()
        equal_digests_mean_equal_verdicts(world)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
def test_long_courses_with_forks_and_arbiters_converge(tmp_path: Path, seed: int):
    import random

    chance = random.Random(seed)
    world = World(tmp_path)
    for _ in range(80):
        deed = chance.choice((*DEEDS, *DEEDS, "move"))
        world.act(deed, chance.randrange(3), chance.choice(SCOPES), chance.choice(HUBS))
    world.carry_over()

    equal_digests_mean_equal_verdicts(world)
    nothing_is_granted_twice(world)
    assert len({each.lines for each in world.clones}) == 1
