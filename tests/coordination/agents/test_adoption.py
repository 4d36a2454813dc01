"""Adoption needs evidence (Operative Protocol §3.2): changes inside the claimed scope, or a bead in progress."""

from __future__ import annotations

from typing import Any

import pytest

from bb.coordination.agents import adoption
from bb.coordination.agents.adoption import AdoptionRejected, AdoptOrRegister, AmbiguousSession, Evidence
from bb.coordination.facts import Resumed
from bb.coordination.protocol import events
from bb.kernel.errors import Refusal

FILES = ["src/a.py", "src/b.py"]


def weighed(
    changed: list[str] | None = None, in_progress: list[str] | None = None, bead: str | None = None
) -> Evidence | None:
    return adoption.weigh("ada", changed=changed or [], claimed=["src"], in_progress=in_progress or [], bead=bead)


# -- §3.2 Adoption policy


def test_3_2_without_changes_and_without_a_bead_in_progress_there_is_no_evidence():
    assert weighed() is None


def test_3_2_changes_in_the_claimed_scope_are_evidence():
    found = weighed(FILES)
    assert found is not None
    assert (found.reason, found.beads) == ("uncommitted_scope", ())
    for word in ("2 uncommitted files", "src", "src/a.py", "src/b.py"):
        assert word in found.text


def test_3_2_a_bead_in_progress_is_evidence():
    found = weighed(in_progress=["bb-1", "bb-2"])
    assert found is not None
    assert (found.reason, found.beads) == ("in_progress_ownership", ("bb-1", "bb-2"))
    for word in ("ada", "bb-1", "bb-2"):
        assert word in found.text


def test_3_2_of_both_kinds_of_evidence_the_changes_are_the_reason_and_the_beads_are_linked():
    found = weighed(FILES, ["bb-1"])
    assert found is not None
    assert (found.reason, found.beads) == ("uncommitted_scope", ("bb-1",))


@pytest.mark.parametrize(
    ("bead", "beads"), [(None, ("bb-1", "bb-2")), ("bb-1", ("bb-1",)), ("bb-2", ("bb-2",)), ("bb-3", None)]
)
def test_3_2_with_a_bead_only_that_one_counts(bead: str | None, beads: tuple[str, ...] | None):
    found = weighed(in_progress=["bb-1", "bb-2"], bead=bead)
    assert (found and found.beads) == beads


def test_3_2_changes_are_evidence_whatever_bead_is_named():
    found = weighed(FILES, ["bb-1"], bead="bb-3")
    assert found is not None
    assert (found.reason, found.beads) == ("uncommitted_scope", ())


def test_3_2_a_person_may_vouch_and_the_evidence_says_that_nothing_else_does():
    found = adoption.confirmed_by_person("ada")
    assert (found.reason, found.beads) == ("in_progress_ownership", ())
    assert "confirmed" in found.text
    assert "ada" in found.text


@pytest.mark.parametrize(
    "found",
    [weighed(FILES), weighed(in_progress=["bb-1"]), adoption.confirmed_by_person("ada")],
    ids=lambda found: found.text,
)
def test_3_4_all_evidence_can_be_told_in_a_resume(found: Evidence):
    fact = Resumed("ada", "ada", "ada", found.reason, found.text, "bb-1")
    events.validated(events.event_of_fact(fact, "ada", "ada"))


# -- in words


def test_one_changed_file_is_one_file():
    found = weighed(FILES[:1])
    assert found is not None
    assert "1 uncommitted file in" in found.text


@pytest.mark.parametrize(("count", "more"), [(5, ""), (6, " and 1 more"), (1000, " and 995 more")])
def test_a_sentence_names_five_and_counts_the_rest(count: int, more: str):
    names = [f"file{n}" for n in range(count)]
    found = weighed(names)
    assert found is not None
    assert f"{count} uncommitted files" in found.text
    assert found.text.endswith("file4" + more)


def test_the_list_of_beads_has_them_all_where_the_sentence_has_five():
    found = weighed(in_progress=[f"bb-{n}" for n in range(20)])
    assert found is not None
    assert len(found.beads) == 20
    assert "and 15 more" in found.text


# -- §7 a deterministic recommendation


@pytest.mark.parametrize("action", ["adopt", "register"])
def test_7_the_same_situation_has_the_same_advice_with_a_command_that_asks_nothing(action: str):
    advice: list[dict[str, Any]] = [adoption.recommend(action, "no_evidence", "ada", "nothing") for _ in range(2)]
    assert advice[0] == advice[1]
    assert advice[0] == {
        "action": action,
        "reason": "no_evidence",
        "agent_id": "ada",
        "why": "nothing",
        "command": f"bb init --non-interactive --{action} ada",
    }


@pytest.mark.parametrize(
    ("refusal", "code", "status"),
    [
        (AmbiguousSession, "AMBIGUOUS_SESSION", 2),
        (AdoptOrRegister, "ADOPT_OR_REGISTER", 2),
        (AdoptionRejected, "ADOPTION_REJECTED", 4),
    ],
)
def test_7_what_cannot_be_decided_safely_is_refused_with_a_next_step(refusal: Refusal, code: str, status: int):
    error = refusal()
    assert (error.code, error.exit_status) == (code, status)
    assert error.message
    assert error.hint
