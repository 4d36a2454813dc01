"""Which agents made a commit, by its message and its addresses."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.agents import addresses, roster
from bb.coordination.facts import Registered, Retired, Updated
from bb.coordination.guards import commit_authors
from bb.coordination.guards.commit_authors import Author, Signed, blocks
from bb.kernel.errors import BbError
from tests.examples import examples

OTTER, HARBOR, ROBIN = "amber-otter", "cobalt-harbor", "tidy-robin"
BOT, ADA = "renovate[bot]@users.noreply.github.com", "ada@people.example"
KNOWN = {BOT: (ROBIN,), "otter@agents.example": (OTTER,), "shared@agents.example": (OTTER, HARBOR)}
SQUASHES = Path(__file__).parents[2] / "data" / "squash"


def author(message: str = "", by: str = "", committer: str = "", otherwise: str | None = None) -> Author:
    return commit_authors.author(Signed(blocks(message), by, committer), KNOWN, otherwise)


@pytest.mark.parametrize(
    ("name", "agents", "named", "token"),
    [
        ("github-several-commits", {OTTER, HARBOR}, {OTTER, HARBOR, ROBIN}, 7),
        ("github-one-commit", {OTTER}, {OTTER}, None),
        ("github-without-trailers", {ROBIN}, {ROBIN}, None),
        ("gitlab-all-commits", {OTTER, HARBOR}, {OTTER, HARBOR, ROBIN}, 7),
        ("git-merge-squash", {OTTER, HARBOR}, {OTTER, HARBOR}, 7),
    ],
)
def test_a_squash_names_the_agents_of_all_its_commits(name: str, agents: set[str], named: set[str], token: int | None):
    message = (SQUASHES / f"{name}.txt").read_bytes().decode()

    found = author(message, by=ADA, committer="noreply@github.com")

    assert (set(found.agents), set(found.named), found.token) == (agents, named, token)
    assert found.doubts == ()
    assert len(found.notes) == (len(agents) > 1)


def test_a_trailer_counts_before_co_authors_and_they_before_the_author_and_it_before_the_committer():
    co_author = f"Change\n\nCo-authored-by: Bot <{BOT}>"

    assert author(f"{co_author}\nBB-Agent: {HARBOR}", by="otter@agents.example").agents == (HARBOR,)
    assert author(co_author, by="otter@agents.example").agents == (ROBIN,)
    assert author("Change", by="otter@agents.example", committer=BOT).agents == (OTTER,)
    assert author("Change", by=ADA, committer=BOT).agents == (ROBIN,)
    assert author("Change", by=ADA, committer=ADA, otherwise=HARBOR).agents == (HARBOR,)
    assert author("Change", by=ADA, committer=ADA) == Author()


def test_whoever_is_named_anywhere_is_judged_and_the_first_is_shown():
    found = author(f"Change\n\nBB-Agent: {HARBOR}", by="otter@agents.example", committer=BOT)

    assert (found.agent, set(found.named)) == (HARBOR, {HARBOR, OTTER, ROBIN})


def test_a_trailer_that_names_the_person_hides_no_agent():
    assert author("Change\n\nBB-Agent: user", by=ADA) == Author()
    found = author("Change\n\nBB-Agent: user", by=BOT)
    assert (found.agents, found.named, found.agent) == ((), (ROBIN,), ROBIN)


def test_an_address_of_two_agents_excuses_neither():
    found = author("Change", by="shared@agents.example")

    assert (found.agents, set(found.named), len(found.notes)) == ((), {OTTER, HARBOR}, 1)
    assert found.shown == f"{OTTER} or {HARBOR}"


@pytest.mark.parametrize(
    ("message", "count"),
    [
        (f"BB-Agent: {OTTER}", 0),
        (f"Change\n\nBB-Agent: {OTTER}\n\nThe end.", 1),
        (f"Change\n\nAs in\nBB-Agent: {OTTER}", 0),
        (f"Change\n\n> BB-Agent: {OTTER}", 0),
        (f"Change\n\n```\nBB-Agent: {OTTER}\n```", 0),
        (f"Change\n\nBB-Agent: {OTTER}\n(cherry picked from commit 1a2b3c4)", 1),
        (f"Change\n\nSigned-off-by: A <a@b.example>\n  and more\nBB-Agent : {OTTER}", 1),
        (f"Change\r\n\r\nBB-Agent: {OTTER}\r\n", 1),
        (f"Change\n\n------\nBB-Agent: {OTTER}", 1),
        ("", 0),
    ],
)
def test_only_a_paragraph_of_trailers_names_an_agent(message: str, count: int):
    assert len(author(message).agents) == count


def test_what_git_itself_takes_for_trailers_counts_too():
    found = commit_authors.blocks("Change\n\nText\nSigned-off-by: A <a@b>", (("BB-Agent", OTTER),))

    assert found == ((("BB-Agent", OTTER),),)


@examples(200)
@given(st.text(alphabet=" \n\r\t:-*>aB<@", max_size=60))
def test_no_message_is_too_odd(message: str):
    author(message)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("Otter@Agents.Example", "otter@agents.example", True),
        ("49699333+dependabot[bot]@users.noreply.github.com", "dependabot[bot]@users.noreply.github.com", True),
        ("12-ada@users.noreply.gitlab.com", "ada@users.noreply.gitlab.com", True),
        ("12-ada@users.noreply.github.com", "ada@users.noreply.github.com", False),
        ("12+ada@people.example", "ada@people.example", False),
        ("ada+1@people.example", "ada@people.example", False),
    ],
)
def test_noreply_addresses_are_compared_without_the_number_of_the_account(one: str, other: str, is_same: bool):
    assert (addresses.canonical(one) == addresses.canonical(other)) is is_same


@pytest.mark.parametrize("text", ["", "otter", "@b", "a@", "A <a@b>", "a b@c", "a@b\n", "a@" + "b" * 300])
def test_what_git_cannot_write_as_an_address_is_refused(text: str):
    with pytest.raises(BbError) as refusal:
        addresses.address(text + "\x07" if text.endswith("\n") else text)
    assert refusal.value.code == "INVALID_EMAIL"


def test_an_agent_in_service_has_an_address_before_a_retired_one():
    def agent(name: str, *after: Updated | Retired) -> roster.Agent:
        state = None
        facts = (Registered(name, "bot", name, emails=["bot@agents.example"]), *after)
        for number, fact in enumerate(facts, 1):
            state = roster.step(state, fact, [number, "aaaaaaaaaaaa", number], "2026-01-05T12:00:00.000Z")
        found = roster.agent(name, state)
        assert found
        return found

    gone, here = agent(OTTER, Retired(OTTER)), agent(HARBOR)

    assert addresses.by_address([gone, here]) == {"bot@agents.example": (HARBOR,)}
    assert addresses.by_address([gone]) == {"bot@agents.example": (OTTER,)}
    assert addresses.by_address([agent(OTTER, Updated(OTTER, emails=[]))]) == {}
    assert addresses.by_address([agent(OTTER, Updated(OTTER, "tester"))]) == {"bot@agents.example": (OTTER,)}
