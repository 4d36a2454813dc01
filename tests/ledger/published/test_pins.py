"""pins.json: large mappings have lines of their own, and are read when they are needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.coordination.holdings.admission import Admitted, Grant
from bb.kernel.errors import BbError
from bb.ledger.published import pins, saved_mapping
from bb.ledger.published.charter import Charter
from bb.ledger.published.fleet_results import FleetResults
from bb.ledger.published.pins import Pin, Pins
from bb.ledger.published.saved_mapping import SavedMapping
from bb.ledger.published.tip import Compacted, Head, SavedHeads, Tip

WRITERS = [f"writer{number:06}".translate(str.maketrans("0189", "abcd")) for number in range(5)]
HEADS = {writer: Head(n, 1) for n, writer in enumerate(WRITERS, 1)}
TIP = Tip("c" * 40, 7, Charter("0fba2ae713d9"), HEADS, frozenset(), Compacted({WRITERS[0]: 1}, 1, ("s" * 32,), 1))
RESULTS = Admitted(
    {f"{WRITERS[0]}.1": Grant("amber-otter", "src", False, False, 3)},
    {f"{WRITERS[1]}.2": 4},
    {"amber-otter": (f"{WRITERS[0]}.1",)},
)
KNOWN = Pins({"origin": Pin(TIP, publishes=True)}, "origin", TIP, RESULTS, arbiter="origin")


@pytest.mark.parametrize("few", [0, 2, 300])
def test_what_is_saved_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int):
    monkeypatch.setattr(saved_mapping, "FEW", few)
    pins.write(str(tmp_path), KNOWN)

    again = pins.read(str(tmp_path))

    assert again == KNOWN
    pins.write(str(tmp_path), again)
    assert pins.read(str(tmp_path)) == KNOWN


@pytest.mark.parametrize(("read_up_to", "is_relays"), [(6, False), (7, True), (8, True)])
def test_the_results_of_a_relay_are_in_force_unless_the_archive_is_further(read_up_to: int, is_relays: bool):
    relays = FleetResults("0" * 16, read_up_to, read_up_to, "", 0, Admitted(names={"relay": ("a",)}))

    found = KNOWN.replace(fleet=relays).in_force

    assert found == (relays.admitted if is_relays else RESULTS)


def test_few_entries_are_on_the_one_line_of_the_file(tmp_path: Path):
    pins.write(str(tmp_path), KNOWN)

    assert (tmp_path / "pins.json").read_bytes().count(b"\n") == 1


def test_many_entries_are_not_read_before_they_are_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(saved_mapping, "FEW", 0)
    pins.write(str(tmp_path), KNOWN)

    tip = pins.read(str(tmp_path)).remote("origin").tip
    assert tip is not None
    assert tip.events == 15
    assert (tip.last_line(WRITERS[3]), tip.last_line("nobodyknows2")) == (4, 0)

    assert isinstance(tip.heads, SavedHeads)
    assert not tip.heads.is_read
    assert dict(tip.heads) == HEADS


def test_a_mapping_that_is_saved_again_need_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(saved_mapping, "FEW", 0)
    pins.write(str(tmp_path), KNOWN)
    known = pins.read(str(tmp_path))

    pins.write(str(tmp_path), known.replace(home=None))

    grants = known.admitted.grants
    assert isinstance(grants, SavedMapping)
    assert not grants.is_read
    assert pins.read(str(tmp_path)).admitted == RESULTS


def test_a_damaged_line_is_told_when_it_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(saved_mapping, "FEW", 0)
    pins.write(str(tmp_path), KNOWN)
    path = tmp_path / "pins.json"
    path.write_bytes(path.read_bytes().replace(b'"amber-otter",', b'"amber-otter'))

    admitted = pins.read(str(tmp_path)).admitted

    with pytest.raises(BbError) as refusal:
        dict(admitted.grants)
    assert refusal.value.code == "PINS_DAMAGED"
