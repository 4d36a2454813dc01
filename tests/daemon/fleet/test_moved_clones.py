"""The relay of a clone that was moved: it answers nothing about the former place, and makes room for the next relay."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bb.daemon.fleet import relays
from bb.ledger.files.lock import is_held
from bb.ledger.git.place import Place
from bb.ledger.local import fleet_files
from tests.daemon.fleet.test_relays import Scripted, Stand, clone, pytestmark, stand

__all__ = ["pytestmark", "stand"]


def moved(place: Place, to: Path) -> Place:
    assert place.work_tree
    os.rename(place.work_tree, to)
    return Place(str(to / ".git"), str(to), str(to / ".git"))


@pytest.mark.parametrize("name", ["clone", "c" * 100])
def test_it_is_served_by_a_new_relay_as_soon_as_the_former_one_has_ended(
    stand: Stand, monkeypatch: pytest.MonkeyPatch, name: str
):
    monkeypatch.setattr(relays, "LOOK_AGAIN", 1000.0)
    Scripted.answers = {"status": {}}
    stand.relays.attend(clone(stand.folder, name))
    place = moved(stand.relays.all_relays[0].place, stand.folder / "moved")

    assert stand.asked(place.store, ask="status")().code in ("RELAY_GONE", "RELAY_STOPPED")
    stand.until(lambda: stand.relays.attend(place)["started"])

    assert stand.asked(place.store, ask="status")() == {}
    assert [one.place for one in stand.relays.all_relays] == [place]
    assert Scripted.made[0].asked == []
    assert is_held(fleet_files.path(place.store, fleet_files.LOCK))
