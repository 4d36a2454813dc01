"""What the user of a real host sees in a repository with bb. Each host works for one day; tests look at the results."""

from __future__ import annotations

import json

import pytest

from tests.hosts.bench import FREE, HELD, HOLDER, Bench
from tests.hosts.stories import NO_SESSION, hosts

pytestmark = pytest.mark.hosts


@hosts()
def test_the_session_has_a_name_and_the_model_is_told(day: Bench):
    assert day.ran.status == 0, day.ran.err
    assert f"you are {day.agent}" in day.model.turns[0].text


@hosts()
def test_an_edit_of_a_held_file_is_prevented_and_the_model_is_told_who_holds_it(day: Bench):
    assert day.text(HELD) == "x = 1\n"
    told = day.told_after(f"{HELD} is reserved by {HOLDER}")
    assert f"bb reserve {HELD} --queue" in told
    assert f"bb send {HOLDER}" in told


@hosts()
def test_a_free_file_is_changed_and_reserved(day: Bench):
    assert day.text(FREE) == "x = 2\n"
    assert (day.agent, FREE) in day.reserved


@hosts()
def test_a_shell_command_that_writes_a_held_file_is_prevented(day: Bench):
    (asked,) = [call for call in day.calls("hook pre-tool") if "echo 'x = 3'" in call.heard]
    assert f"{HELD} is reserved by {HOLDER}" in asked.said
    assert day.model.turns[-1].text.count(f"{HELD} is reserved by {HOLDER}") >= 2


@hosts(opencode=NO_SESSION)
def test_the_mcp_tool_session_knows_the_agent_of_the_hooks(day: Bench):
    assert day.mcp_answer("session").get("agent_id") == day.agent


@hosts()
def test_bb_in_the_shell_of_the_host_knows_the_agent_of_the_hooks(day: Bench):
    (shell,) = day.calls("resume")
    assert (json.loads(shell.said)["data"] or {}).get("agent_id") == day.agent


@hosts()
def test_at_the_end_of_the_session_nobody_has_to_wait_for_its_agent(day: Bench):
    assert day.bb("agent", "show", "--agent", day.agent)["liveness"] == "stale"
