"""A reservation needs no bead. It is shown as what it is, and whatever lists, filters or tells of beads stands that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bb.kernel.validation import NO_BEAD, is_bead, shown_bead
from bb.ledger.journal import kinds
from tests.stories.agents.agents_support import HARBOR, OTTER, WREN, after, crew, inbox, incursions, log
from tests.support import Ran, Scratch


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    return crew(tmp_path / "repo", OTTER, HARBOR)


def reserve(repo: Scratch, agent: str, scope: str, *more: str) -> Ran:
    return repo.json("agent", "reserve", "--agent", agent, "--scope", scope, *more)


def test_the_bead_is_null_in_the_answer_and_nothing_in_text(repo: Scratch):
    assert reserve(repo, OTTER, "src").data["bead_id"] is None

    for words in (["agent", "status"], ["status"], ["timeline"], ["agent", "renew", "--agent", OTTER, "--all"]):
        shown = repo.bb(*words).out
        assert "src" in shown
        assert "[]" not in shown
        assert "None" not in shown
        assert "[-]" not in shown


def test_an_earlier_version_reads_the_line_and_keeps_others_out(repo: Scratch):
    """It refused every reservation line without a bead, so a word that it takes for one is recorded."""
    reserve(repo, OTTER, "src")
    (line,) = [each for each in log(repo) if each["kind"] == "x.bb.reserved"]

    assert line["data"]["bead_id"] == NO_BEAD
    assert is_bead(NO_BEAD)
    assert shown_bead("bb-1") == "bb-1"
    assert kinds.fact_of("x.bb.reserved", {**line["data"], "bead_id": None}, OTTER) is None


def test_only_reservations_with_that_bead_are_listed_for_a_bead(repo: Scratch):
    reserve(repo, OTTER, "src")
    reserve(repo, OTTER, "docs", "--bead", "bb-1")

    def scopes(*words: str) -> list[str]:
        return [each["scope"] for each in repo.json("agent", "status", *words).data["reservations"]]

    assert scopes("--bead", "bb-1") == ["docs"]
    assert scopes("--bead", NO_BEAD) == []
    assert len(scopes()) == 2
    assert {task["id"] for group in repo.json("sessions", "list").data["feed"] for task in group["tasks"]} == {"bb-1"}


def test_a_conflict_records_an_incursion_that_names_the_holders_bead_or_none(repo: Scratch):
    reserve(repo, OTTER, "src", "--bead", "bb-1")
    reserve(repo, OTTER, "docs")
    assert reserve(repo, HARBOR, "src").code == "RESERVATION_CONFLICT"
    assert reserve(repo, HARBOR, "docs").code == "RESERVATION_CONFLICT"

    beads = {each["held"]: each["bead_id"] for each in incursions(repo)}

    assert beads == {"src": "bb-1", "docs": NO_BEAD}
    assert repo.json("timeline", "--bead", NO_BEAD).data == []
    assert repo.bb("protocol", "incursions").status == 0


def test_a_takeover_and_the_persons_orders_are_told_without_a_bead(repo: Scratch):
    reserve(repo, OTTER, "src")
    later = after(repo, 40)
    assert later.json("agent", "register", "--name", WREN, "--role", "builder").status == 0
    assert reserve(later, WREN, "src", "--takeover-stale").status == 0
    assert later.json("agent", "release", "--agent", "user", "--scope", "src").status == 0

    for agent in (OTTER, WREN):
        (letter,) = inbox(later, agent)
        assert (letter["bead_id"], letter["thread_id"]) == ("", "reservations")
    for words in (["problems"], ["timeline"], ["agent", "inbox", "--agent", WREN]):
        assert "None" not in later.bb(*words).out


def test_a_transfer_keeps_that_there_is_no_bead(repo: Scratch):
    reserve(repo, OTTER, "src")

    given = repo.json("agent", "transfer", "--agent", OTTER, "--scope", "src", "--to", HARBOR).data

    assert given["bead_id"] is None
    (letter,) = inbox(repo, HARBOR)
    shown = repo.json("agent", "read", "--agent", HARBOR, "--message", letter["message_id"]).data
    assert "None" not in json.dumps(shown)


def test_a_pause_and_a_freeze_concern_holders_without_a_bead(repo: Scratch):
    reserve(repo, OTTER, "src")

    assert repo.json("freeze", "src").data["told"] == [OTTER]
    assert repo.json("agent", "pause", OTTER).data["told"] == [OTTER]


@pytest.mark.parametrize("bead", ["", " ", "a\nb", "x" * 129])
def test_a_bead_that_is_named_must_be_one(repo: Scratch, bead: str):
    assert reserve(repo, OTTER, "src", "--bead", bead).code == "INVALID_ARGS"
