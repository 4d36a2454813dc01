"""Compare-and-swap publication, in every interleaving: whatever is lost, late, doubled or killed, no two hold the same.

A second opinion writes down what the hub took, and knows nothing of the rules that are tested.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bb.coordination.holdings import admission
from bb.coordination.holdings.admission import Admitted
from bb.coordination.holdings.reservations import Wanted
from bb.coordination.holdings.scopes import Scope
from bb.kernel.errors import BbError
from tests.coordination.cas_support import (
    ANSWERED,
    NOT_SENT,
    PERSON,
    UNANSWERED,
    UNDER_WAY,
    Attempt,
    Clone,
    Hub,
    finished,
)
from tests.coordination.publication_support import SCOPES, Book, Had, have_a_path_in_common
from tests.examples import examples

HOMES = {"ada": 0, "bo1": 1, "cyd": 2, "dot": 2}  # which clone each agent works in; two share one
agents = st.sampled_from(sorted(HOMES))
places = st.integers(0, 2)
FATES = (NOT_SENT, UNANSWERED, UNDER_WAY)
steps = st.integers(1, 5)


class Publication(RuleBasedStateMachine):
    """Three clones, four agents and a hub. Every rule is a moment at which something else can come next."""

    def __init__(self) -> None:
        super().__init__()
        self.hub = Hub()
        self.clones = [Clone(letter * 12, self.hub) for letter in "abc"]
        self.book = Book()
        self.read = [copy.deepcopy(self.book.had)]  # by number of commits, what the book said then
        for agent, place in HOMES.items():  # so that there is a commit to check anything against
            self.clones[place].record(*Clone("z" * 12, self.hub).decide(wanting(agent, f"home/{agent}")))
        self.sync(0)
        self.run_to_the_end(0)

    # -- agents

    @rule(agent=agents, scope=st.sampled_from(SCOPES), shared=st.booleans(), steps=steps)
    def reserve(self, agent: str, scope: str, shared: bool, steps: int) -> None:
        """Begin to, and come so far; one attempt at a time in a clone."""
        clone = self.clones[HOMES[agent]]
        if clone.attempt is None:
            clone.attempt = Attempt(wanting(agent, scope, shared=shared))
            self.go_on(HOMES[agent], ANSWERED, 0, steps)

    @rule(agent=agents, data=st.data(), steps=steps)
    def take_over(self, agent: str, data: st.DataObject, steps: int) -> None:
        """Begin to take what somebody holds who seems to have fallen silent: paused, or not synced for long."""
        clone = self.clones[HOMES[agent]]
        clone.take_in(len(self.hub.commits))
        there = sorted({(held.agent, *held.where) for held in self.book.live().values() if held.agent != agent})
        if clone.attempt is None and there:
            holder, scope, _ = data.draw(st.sampled_from(there))
            clone.silent.add(holder)
            clone.attempt = Attempt(wanting(agent, scope, takeover=True))
            self.go_on(HOMES[agent], ANSWERED, 0, steps)

    @rule(agent=agents, scope=st.sampled_from(SCOPES), shared=st.booleans())
    def reserve_in_this_clone_only(self, agent: str, scope: str, shared: bool) -> None:
        clone = self.clones[HOMES[agent]]
        try:
            clone.record(*clone.decide(wanting(agent, scope, shared=shared)))
        except BbError:
            return

    @rule(agent=agents, data=st.data())
    def release(self, agent: str, data: st.DataObject) -> None:
        clone = self.clones[HOMES[agent]]
        if mine := sorted(name for name, held in clone.live().items() if held.agent == agent):
            clone.release(agent, data.draw(st.just(mine) | st.sampled_from([[name] for name in mine])))

    @rule(place=places, data=st.data())
    def a_person_releases(self, place: int, data: st.DataObject) -> None:
        if there := sorted(self.clones[place].live()):
            self.clones[place].release(PERSON, [data.draw(st.sampled_from(there))])

    @rule(place=places, agent=agents)
    def fall_silent(self, place: int, agent: str) -> None:
        """As that clone sees it: the agent is paused, or has not synced."""
        self.clones[place].silent.add(agent)

    # -- clones

    @rule(place=places)
    def sync(self, place: int) -> None:
        """Begin to: with a push where there is something to publish."""
        clone = self.clones[place]
        if clone.attempt is None:
            clone.attempt = Attempt(next="build" if clone.pinned and clone.unpublished() else "look")

    @precondition(lambda self: any(clone.attempt for clone in self.clones))
    @rule(place=places, fate=st.sampled_from([ANSWERED, *FATES]), lag=st.sampled_from([0, 0, 0, 1, 2]), steps=steps)
    def go_on(self, place: int, fate: str, lag: int, steps: int) -> None:
        """So many steps of what is on its way there; a fetch may be shown how the hub was some commits ago."""
        clone = self.clones[place]
        for _ in range(steps):
            if clone.attempt:
                clone.go_on(fate, max(0, len(self.hub.commits) - lag))

    @precondition(lambda self: any(clone.attempt and clone.attempt.next == "push" for clone in self.clones))
    @rule(fate=st.sampled_from(FATES), data=st.data())
    def lose_the_answer(self, fate: str, data: st.DataObject) -> None:
        """To a push: it was not sent, has arrived, or is under way."""
        clone = data.draw(
            st.sampled_from([each for each in self.clones if each.attempt and each.attempt.next == "push"])
        )
        clone.go_on(fate, 0)

    @rule(place=places)
    def run_to_the_end(self, place: int) -> None:
        assert len(list(finished(self.clones[place]))) < 20, "with nobody else about, it comes to an end"

    @rule(place=places)
    def crash(self, place: int) -> None:
        self.clones[place].crash()

    @rule(place=places)
    def crash_between_the_lines_and_the_pin(self, place: int) -> None:
        self.clones[place].take_in(len(self.hub.commits), is_pinned=False)
        self.clones[place].crash()

    @rule(place=places)
    def interrupt(self, place: int) -> None:
        self.clones[place].give_up()

    @precondition(lambda self: self.hub.under_way)
    @rule(data=st.data())
    def arrive_late(self, data: st.DataObject) -> None:
        """And perhaps once more: it stays under way."""
        self.hub.take(data.draw(st.sampled_from(self.hub.under_way)))

    # -- what holds after every step

    def write_down(self) -> None:
        """What the hub has taken since."""
        for commit in self.hub.commits[len(self.book.commits) - 1 :]:
            self.book.enter(commit.name, commit.lines)
            self.read.append(copy.deepcopy(self.book.had))

    @invariant()
    def no_two_hold_the_same(self) -> None:
        self.write_down()
        assert self.book.meetings() == []

    @invariant()
    def all_who_are_at_the_same_commit_agree(self) -> None:
        self.write_down()
        for clone in self.clones:
            assert as_had(clone.admitted) == self.read[clone.pinned]

    @invariant()
    def nobody_believes_what_is_void(self) -> None:
        self.write_down()
        for clone in self.clones:
            for name, (agent, token) in clone.believed.items():
                assert (self.book.had[name].agent, self.book.had[name].token) == (agent, token)

    @invariant()
    def whoever_still_believes_what_was_taken_is_fenced_off(self) -> None:
        self.write_down()
        truth = self.everything()
        believed = [(name, *each) for clone in self.clones for name, each in clone.believed.items()]
        for name, agent, token in believed:
            mine = self.book.had[name]
            for held in self.book.live().values():
                is_other = held.agent != agent and not (held.shared and mine.shared)
                if is_other and have_a_path_in_common(held.where, mine.where):
                    assert mine.ended is not None
                    assert token < held.token
                    if held.shared and self.shares(agent, token, held):
                        continue  # whatever else it has lost under that token, there it may be
                    assert admission.fenced(truth, agent, token, Scope(*held.where)) is not None

    def shares(self, agent: str, token: int, held: Had) -> bool:
        """Whether AGENT has, under the same TOKEN, shared what is HELD."""
        same = (each for each in self.book.had.values() if (each.agent, each.token) == (agent, token))
        return any(each.shared and have_a_path_in_common(each.where, held.where) for each in same)

    @invariant()
    def what_is_published_is_the_beginning_of_what_each_has_recorded(self) -> None:
        for clone in self.clones:
            out = [line for commit in self.hub.commits if commit.writer == clone.writer for line in commit.lines]
            assert [name for name, _ in out] == [f"{clone.writer}.{n}" for n in range(1, len(out) + 1)]
            assert all(clone.lines[name] == fact for name, fact in out)

    def everything(self) -> Admitted:
        """What whoever reads all that the hub has would know."""
        known = Admitted()
        for number, commit in enumerate(self.hub.commits, 1):
            known = admission.admit(known, commit.parent, number, commit.lines)
        return known

    # -- and in the end

    def teardown(self) -> None:
        """Everybody syncs: all know the same, and what is given back can be had."""
        for place in (0, 1, 2, 0, 1, 2):
            self.clones[place].crash()
            self.sync(place)
            self.run_to_the_end(place)
        self.settle()
        ever = [clone.reservations() for clone in self.clones]
        assert ever[0] == ever[1] == ever[2]
        for name in self.book.live():
            assert ever[0][name].state == "active", "nobody is kept out by what has been given back"
        for agent in HOMES:
            clone = self.clones[HOMES[agent]]
            clone.release(agent, [name for name, held in clone.live().items() if held.agent == agent])
        self.settle()
        assert self.book.live() == {}
        self.clones[0].attempt = Attempt(wanting("ada", "."))
        self.run_to_the_end(0)
        assert [agent for agent, _ in self.clones[0].believed.values()] == ["ada"]

    def settle(self) -> None:
        for place in (0, 1, 2, 0, 1, 2):
            self.sync(place)
            self.run_to_the_end(place)
        self.no_two_hold_the_same()
        self.all_who_are_at_the_same_commit_agree()
        assert all(not clone.unpublished() and clone.pinned == len(self.hub.commits) for clone in self.clones)


def wanting(agent: str, scope: str, **flags: bool) -> Wanted:
    return Wanted(agent, (Scope(scope),), "bb-1", 120, **flags)


def as_had(known: Admitted) -> dict[str, Any]:
    return {
        name: Had(grant.agent, (grant.scope, grant.is_file), grant.shared, grant.token, grant.ended)
        for name, grant in known.grants.items()
    }


class TestPublication(Publication.TestCase):  # type: ignore[misc]
    settings = examples(60, stateful_step_count=40)


@pytest.mark.long
class TestPublicationAtLength(Publication.TestCase):  # type: ignore[misc]
    settings = examples(7_000, stateful_step_count=80)
