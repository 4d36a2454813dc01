"""Who may call itself what (Operative Protocol §3.3)."""

from __future__ import annotations

import pytest

from bb.coordination.agents import identity
from bb.coordination.agents.identity import (
    AdoptionNeeded,
    AgentNotFound,
    AgentRetired,
    DuplicateAgentId,
    InvalidDisplayName,
    InvalidRole,
)
from bb.coordination.agents.roster import Agent
from bb.coordination.facts import Registered, Updated

ADA = Agent(agent_id="ada", role="builder", title="Ada L.", created_at=0, heard_at=0, is_retired=False, changes=1)
RETIRED = ADA.replace(is_retired=True)


# -- register


def test_3_3_a_name_that_nobody_has_may_be_taken():
    assert identity.register(None, "ada", "builder", "Ada L.", force=False, state="active") == Registered(
        "ada", "builder", "Ada L."
    )


def test_an_agent_without_a_display_name_is_shown_by_its_id():
    assert identity.register(None, "ada", "builder", None, force=False, state="active") == Registered(
        "ada", "builder", "ada"
    )


def test_a_forced_update_of_nobody_registers():
    assert identity.register(None, "ada", "builder", None, force=True, state="active") == Registered(
        "ada", "builder", "ada"
    )


@pytest.mark.parametrize(("present", "state"), [(ADA, "registered"), (RETIRED, "retired")])
def test_3_3_a_name_that_is_or_was_taken_is_refused(present: Agent, state: str):
    with pytest.raises(DuplicateAgentId.error) as refusal:
        identity.register(present, "ada", "tester", None, force=False, state="active")

    error = refusal.value
    assert (error.code, error.exit_status) == ("DUPLICATE_AGENT_ID", 7)
    assert error.message == f"ada is already {state}"
    assert error.details == {"agent_id": "ada"}
    assert "--force-update" in (error.hint or "")


def test_a_forced_update_changes_role_and_display_name():
    assert identity.register(ADA, "ada", "tester", "Countess", force=True, state="active") == Updated(
        "ada", "tester", "Countess"
    )


def test_a_forced_update_without_a_display_name_leaves_the_one_there_is():
    assert identity.register(ADA, "ada", "tester", None, force=True, state="active") == Updated("ada", "tester", None)


@pytest.mark.parametrize("state", ["stale", "evicted"])
def test_3_3_2_who_comes_back_to_a_silent_identity_must_adopt_it(state: str):
    with pytest.raises(AdoptionNeeded.error) as caught:
        identity.register(ADA, "ada", "tester", None, force=True, state=state)
    assert (caught.value.code, caught.value.exit_status) == ("ADOPTION_NEEDED", 4)
    assert "bb init --adopt" in (caught.value.hint or "")


def test_3_3_2_who_comes_back_to_a_retired_identity_must_adopt_it():
    with pytest.raises(AgentRetired.error) as caught:
        identity.register(RETIRED, "ada", "tester", "New", force=True, state="evicted")
    assert "bb init --adopt" in (caught.value.hint or "")


# -- known, in service


def test_an_agent_that_is_not_registered_is_not_found():
    for rule in (identity.registered, identity.in_service):
        with pytest.raises(AgentNotFound.error, match="ada") as refusal:
            rule(None, "ada")
        assert (refusal.value.code, refusal.value.exit_status) == ("AGENT_NOT_FOUND", 3)
        assert refusal.value.details == {"agent_id": "ada"}


def test_a_retired_agent_is_known_but_not_in_service():
    assert identity.registered(RETIRED, "ada") == RETIRED
    with pytest.raises(AgentRetired.error, match="ada") as refusal:
        identity.in_service(RETIRED, "ada")
    assert (refusal.value.code, refusal.value.exit_status) == ("AGENT_RETIRED", 4)
    assert refusal.value.details == {"agent_id": "ada"}


def test_a_registered_agent_is_known_and_in_service():
    assert identity.registered(ADA, "ada") == identity.in_service(ADA, "ada") == ADA


# -- roles and display names

RULES = pytest.mark.parametrize(
    ("rule", "longest", "refused", "code"),
    [
        (identity.role, 64, InvalidRole, "INVALID_ROLE"),
        (identity.title, 80, InvalidDisplayName, "INVALID_DISPLAY_NAME"),
    ],
    ids=["role", "display name"],
)


@RULES
def test_one_line_is_taken_without_the_blanks_around_it(rule, longest, refused, code):
    assert rule("  Code reviewer, 2nd \n") == "Code reviewer, 2nd"
    assert rule("x") == "x"
    assert rule("Prüferin 審査") == "Prüferin 審査"


@RULES
def test_the_longest_is_taken_and_one_character_more_refused(rule, longest, refused, code):
    assert rule("é" * longest) == "é" * longest
    assert rule(" " + "é" * longest + " ") == "é" * longest
    with pytest.raises(refused.error):
        rule("é" * (longest + 1))


@RULES
@pytest.mark.parametrize("text", ["", " ", "\t\n", "a\nb", "a\x1b[2Jb", "a\x00b", "\u202eevil", "a\u2028b", "a\x7fb"])
def test_what_is_blank_or_would_steer_a_terminal_is_refused(rule, longest, refused, code, text):
    with pytest.raises(refused.error) as refusal:
        rule(text)
    assert (refusal.value.code, refusal.value.exit_status) == (code, 2)
    assert str(longest) in refusal.value.message
