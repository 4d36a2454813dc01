"""The roles of a group's actors are the same, whether one is looked up or all are read."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.agents import roster
from bb.coordination.facts import Registered, Retired, Started, Stopped, Updated
from bb.groups.actors import actors
from bb.ledger.index.index import Index
from bb.ledger.records import creation
from bb.ops.desk import group_desk
from bb.ops.desk.group_roles import Roles
from tests.examples import examples
from tests.ledger.ledger_support import NOW, opened, repository

NAMES = ["ada-fox", "bob-fox", "cyd-fox"]
FACTS = st.one_of(
    st.builds(lambda name: Registered(name, "builder", name), st.sampled_from(NAMES)),
    st.builds(Retired, st.sampled_from(NAMES)),
    st.builds(Started, st.sampled_from(NAMES)),
    st.builds(Stopped, st.sampled_from(NAMES)),
    st.builds(lambda name: Updated(name, profile={"enabled": False}), st.sampled_from(NAMES)),
)


def all_roles(index: Index) -> dict[str, str]:
    agents = roster.in_order(index.states(roster.NAME))
    return actors.roles([(agent.agent_id, group_desk.profile_of(agent).enabled) for agent in agents])


@examples(20)
@given(st.lists(FACTS, max_size=12))
def test_looking_up_one_actor_says_what_reading_all_of_them_says(history: list[object]):
    with tempfile.TemporaryDirectory() as folder, opened(repository(Path(folder, "here"))) as store:
        creation.make(store, "test", "user", NOW)
        for fact in history:
            store.record(lambda _, fact=fact: [fact], by="user", now=NOW)  # type: ignore[misc]
        index = store.caught_up()
        roles = Roles(index)

        assert {name: roles[name] for name in NAMES if name in roles} == all_roles(index)
        assert list(roles) == list(all_roles(index))
        assert len(roles) == len(all_roles(index))
