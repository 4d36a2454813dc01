"""The git remote behind the door to an engine, beyond what all carriers do (`test_all_carriers.py`).

`git_carrier.CANNOT` names what it cannot do, and every name there is tried here.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bb.ledger.carrier import door
from bb.ledger.travel import git_carrier
from tests.contracts.sides import AtRemote, at_remote
from tests.stories.travel import travel_support


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    return travel_support.hub(tmp_path / "hub.git")


@pytest.fixture
def both(hub: Path) -> Iterator[tuple[AtRemote, AtRemote]]:
    with at_remote(hub) as made:
        yield made


@pytest.fixture
def here(both: tuple[AtRemote, AtRemote]) -> AtRemote:
    return both[0]


@pytest.fixture
def there(both: tuple[AtRemote, AtRemote]) -> AtRemote:
    return both[1]


def test_only_a_tip_that_was_looked_at_can_be_published_on(here: AtRemote, there: AtRemote) -> None:
    here.carrier.look(), there.carrier.look()
    here.record()
    there.record()

    assert there.carrier.append_on_tip() is not None
    assert here.carrier.append_on_tip() is None
    here.carrier.look()
    assert here.carrier.append_on_tip() == there.carrier.head().place


def test_an_answer_that_was_lost_means_that_nothing_is_known(hub: Path, here: AtRemote) -> None:
    """The push arrives; neither its answer nor a look does."""
    here.carrier.look()
    here.record()
    hook = hub / "hooks" / "post-receive"
    hook.write_text(f"#!/bin/sh\nmv {hub}/HEAD {hub}/HEAD.away\n")  # from now on it is no repository
    hook.chmod(0o755)

    with contextlib.suppress(door.AppendUnknown.error):
        here.carrier.append_on_tip()
        with pytest.raises(door.EngineUnreachable.error):
            here.carrier.head()
    hook.unlink()
    (hub / "HEAD.away").rename(hub / "HEAD")

    n = len(here.lines())
    assert here.carrier.append(here.writer, n, here.lines()[n - 1 :]) == here.carrier.head().place


def test_what_a_remote_cannot_do_is_named(here: AtRemote) -> None:
    machine = door.Machine("box", here.writer, 1)
    for call in (lambda: here.carrier.beat(machine), here.carrier.alive):
        with pytest.raises(git_carrier.NotOnGit.error) as refusal:
            call()
        assert git_carrier.CANNOT["beat"] in refusal.value.message
    assert here.carrier.health()["durable"] is None
    head = here.carrier.head()
    assert not head.is_closed
    assert here.carrier.lead(), "the lease of each push keeps two right"
    assert abs(head.now - time.time() * 1000) < 600_000
    assert len(head.digest) == 40, "the id of a commit"
