"""A journal that is damaged here is mended from the published copy, and goes on under its own name."""

from __future__ import annotations

from pathlib import Path

from tests.stories.travel.travel_support import AMBER, Clone, settle


def journal(at: Clone) -> Path:
    """The journal that this clone writes."""
    writer = at.ask("ledger.status")["writer"]
    (found,) = (at.store / "j" / writer).glob("*.jsonl")
    return found


def flip(path: Path, line: int) -> None:
    """Change one octet in the payload of a line."""
    raws = path.read_bytes().split(b"\n")
    raws[line] = raws[line][:-6] + bytes([raws[line][-6] ^ 1]) + raws[line][-5:]
    path.write_bytes(b"\n".join(raws))


def test_what_is_published_is_put_back_and_what_was_recorded_since_stays(pair: list[Clone]):
    here, there = pair
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    settle(pair)
    here.ask("agent.reserve", agent=AMBER, scope=["docs"], bead="bb-1")
    before, whole = here.digest, journal(here).read_bytes()
    flip(journal(here), 1)

    assert here.refused("ledger.verify").code == "LEDGER_DAMAGED"
    mended = here.ask("doctor", fix=True)["mended"]

    assert any("from the published copy" in each for each in mended), mended
    assert journal(here).read_bytes() == whole
    assert here.digest == before
    settle(pair)
    assert here.digest == there.digest


def test_where_the_damage_is_not_published_yet_the_journal_is_retired(pair: list[Clone]):
    here, there = pair
    settle(pair)
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    here.ask("agent.reserve", agent=AMBER, scope=["docs"], bead="bb-1")
    flip(journal(here), -3)

    mended = here.ask("doctor", fix=True)["mended"]

    assert any("retired" in each for each in mended), mended
    settle(pair)
    assert here.digest == there.digest
    assert (AMBER, "docs", "active") in there.holds()
