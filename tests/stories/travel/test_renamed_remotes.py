"""`git remote rename` changes nothing for bb: what is known of a remote belongs to its address."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.ledger.published import pins
from tests.stories.travel.travel_support import AMBER, Clone, agents_at_work, hub, settle

GLOBAL = {"global": True}


@pytest.fixture
def here(tmp_path: Path) -> Clone:
    """A clone that publishes to origin, the arbiter, and has a global reservation."""
    (made,) = agents_at_work(hub(tmp_path / "hub.git"), AMBER)
    reserve(made, "src", **GLOBAL)
    settle([made])
    return made


def reserve(at: Clone, scope: str, **how: bool) -> None:
    at.ask("agent.reserve", agent=AMBER, scope=[scope], bead="bb-1", **how)


def refs(at: Clone) -> list[str]:
    return at.git("for-each-ref", "--format=%(refname)", "refs/bb/remote", "refs/bb/incoming").split()


def test_a_renamed_remote_is_synced_with_by_its_new_name(here: Clone):
    here.git("remote", "rename", "origin", "upstream")
    assert here.ask("sync", dry_run=True)["remote"] == "upstream"
    reserve(here, "docs")

    answer = here.sync()

    assert (answer["remote"], answer["went"] > 0, answer["came"]) == ("upstream", True, 0)
    assert here.ask("sync", pull=True)["remote"] == "upstream"
    assert set(pins.read(str(here.store)).remotes) == {"upstream"}
    assert not [ref for ref in refs(here) if "origin" in ref]
    assert here.states_of(AMBER) == {"src": "active", "docs": "active"}


def test_global_reservations_go_on_after_a_rename(here: Clone):
    here.git("remote", "rename", "origin", "upstream")

    reserve(here, "docs", **GLOBAL)

    assert here.states_of(AMBER) == {"src": "active", "docs": "active"}
    assert here.ask("ledger.arbiter")["remote"] == "upstream"


def test_the_former_name_of_another_repository_gets_no_consent_and_no_history(here: Clone, tmp_path: Path):
    """As after a fork: `git remote rename origin upstream; git remote add origin FORK`."""
    fork = hub(tmp_path / "fork" / "hub.git")
    here.git("remote", "rename", "origin", "upstream")
    here.git("remote", "add", "origin", str(fork))

    assert here.refused_or("sync", remote="origin") == "NOT_PUBLISHED"
    assert here.sync()["remote"] == "upstream"
    assert here.ask("sync", remote="origin", publish=True)["went"] > 0


def test_two_remotes_may_swap_their_names(here: Clone, tmp_path: Path):
    here.git("remote", "add", "fork", str(hub(tmp_path / "fork" / "hub.git")))
    here.ask("sync", remote="fork", publish=True)
    known = pins.read(str(here.store)).remotes
    for old, new in (("origin", "x"), ("fork", "origin"), ("x", "fork")):
        here.git("remote", "rename", old, new)

    assert here.sync()["remote"] == "fork"

    after = pins.read(str(here.store)).remotes
    assert (after["fork"].address, after["origin"].address) == (known["origin"].address, known["fork"].address)
    assert here.ask("sync", remote="origin")["came"] == 0


def test_a_remote_with_a_new_url_keeps_what_is_known_of_it(here: Clone, tmp_path: Path):
    moved = tmp_path / "elsewhere.git"
    (tmp_path / "hub.git").rename(moved)
    here.git("remote", "set-url", "origin", str(moved))

    assert here.sync(pull=True)["remote"] == "origin"
    assert pins.read(str(here.store)).remote("origin").publishes


def test_pins_of_earlier_versions_follow_the_arbiter(here: Clone):
    saved = pins.read(str(here.store))
    old = {name: pin.replace(address="") for name, pin in saved.remotes.items()}
    pins.write(str(here.store), saved.replace(remotes=old, compared=""))
    here.git("remote", "rename", "origin", "upstream")

    assert here.sync()["remote"] == "upstream"
