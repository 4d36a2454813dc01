"""Sessions of real hosts: prompts, stops, resumption, trust, identity, and the files that a model reads."""

from __future__ import annotations

import json

import pytest

from tests.hosts import tools
from tests.hosts.bench import HELD, HOLDER, Bench
from tests.hosts.programs import TRUSTED
from tests.hosts.stories import NO_STOP, hosts

pytestmark = pytest.mark.hosts

SECTION = "Working beside other agents: bb"  # a heading in AGENTS.md


def on(*names: str) -> pytest.MarkDecorator:
    """Run a test in a fresh repository, for the hosts of these NAMES."""
    return pytest.mark.parametrize("bench", names, indirect=True)


@hosts(opencode=NO_STOP)
def test_before_it_stops_the_agent_is_reminded_once_of_what_it_holds(day: Bench):
    assert "before you stop, handle these points" in day.model.turns[-1].text
    assert [bool(call.said) for call in day.calls("hook stop")] == [True, False]


@hosts("bench")
def test_a_resumed_session_keeps_its_name_and_is_told_of_mail_at_the_prompt(bench: Bench):
    bench.run("Nothing to do.")
    name = bench.agent
    letter = ["--bead", "bb-1", "--category", "INFO", "--subject", "Zebra", "--body", "It has stripes."]
    bench.bb("agent", "send", "--from", HOLDER, "--to", name, *letter)

    ran = bench.run("Nothing to do.", words=bench.host.resuming)

    assert ran.status == 0, ran.err
    assert f"you are {name}" in bench.model.turns[0].text
    assert bench.agent == name
    (prompt, *_) = bench.calls("hook prompt")
    assert "Zebra" in prompt.said
    assert "Zebra" in bench.model.turns[0].text


@on("codex")
def test_codex_calls_no_hook_that_nobody_has_reviewed_and_does_not_say_so(bench: Bench):
    words = tuple(word for word in bench.host.words if word != TRUSTED)

    ran = bench.run(*tools.edit("codex", bench.repo.path / HELD), "Done.", words=words)

    assert bench.text(HELD) == "x = 2\n"
    assert {call.verb for call in bench.calls()} == {"mcp"}
    assert "review" not in ran.out + ran.err


@on("codex", "opencode", "copilot")
def test_some_models_read_agents_md(bench: Bench):
    bench.run("Nothing to do.")

    assert SECTION in bench.model.turns[0].text


@on("claude")
def test_claude_reads_agents_md_unless_the_project_has_a_claude_md_that_does_not_name_it(bench: Bench):
    for text, is_read in ((None, True), ("Use tabs.\n", False), ("Use tabs.\n@AGENTS.md\n", True)):
        if text:
            (bench.repo.path / "CLAUDE.md").write_text(text)
        bench.run("Nothing to do.")
        assert (SECTION in bench.model.turns[0].text) is is_read, text


@on("gemini")
def test_gemini_reads_agents_md_if_its_settings_name_it(bench: Bench):
    settings = bench.repo.path / ".gemini" / "settings.json"
    for named, is_read in ([], False), (["AGENTS.md", "GEMINI.md"], True):
        context = {"context": {"fileName": named}} if named else {"context": {}}
        settings.write_text(json.dumps(json.loads(settings.read_text()) | context))
        bench.run("Nothing to do.")
        assert (SECTION in bench.model.turns[0].text) is is_read, named


@on("opencode")
def test_opencode_lists_the_skill_once(bench: Bench):
    bench.run("Nothing to do.")

    assert bench.model.turns[0].text.count("<name>beadboard-driver</name>") == 1


@on("opencode")
def test_opencode_adds_a_schema_to_its_configuration(bench: Bench):
    before = json.loads(bench.text("opencode.json"))

    bench.run("Nothing to do.")

    assert json.loads(bench.text("opencode.json")) == before | {"$schema": "https://opencode.ai/config.json"}


@on("claude")
def test_claude_passes_its_session_to_hooks_servers_and_shells(bench: Bench):
    bench.run(tools.shell("claude", f"{bench.program} status"), "Done.")

    session = bench.calls("hook prompt")[0].payload["session_id"]
    assert {"hook pre-tool", "mcp", "status"} < {call.verb for call in bench.calls()}
    assert {call.env.get("CLAUDE_CODE_SESSION_ID") for call in bench.calls()} == {session}


@on("codex")
def test_codex_passes_its_session_to_shells_and_with_each_call_of_a_tool(bench: Bench):
    bench.run(tools.shell("codex", f"{bench.program} status"), *tools.mcp("codex", "session"), "Done.")

    session = bench.calls("hook prompt")[0].payload["session_id"]
    (status,), (server,) = bench.calls("status"), bench.calls("mcp")
    (asked,) = [json.loads(line) for line in server.heard.splitlines() if '"tools/call"' in line]
    meta = asked["params"]["_meta"]
    assert status.env["CODEX_THREAD_ID"] == session
    assert meta["threadId"] == meta["x-codex-turn-metadata"]["session_id"] == session
    assert not [name for call in bench.calls() if call.verb != "status" for name in call.env if "THREAD" in name]


@on("copilot")
def test_copilot_runs_the_hooks_of_claude_and_passes_its_session_to_servers_and_shells(bench: Bench):
    bench.run(tools.shell("copilot", f"{bench.program} status"), "Done.")

    session = bench.calls("hook prompt")[0].payload["session_id"]
    (status,), (server,) = bench.calls("status"), bench.calls("mcp")
    assert status.env["COPILOT_AGENT_SESSION_ID"] == server.env["COPILOT_AGENT_SESSION_ID"] == session


@on("gemini")
def test_gemini_passes_its_session_to_hooks_only(bench: Bench):
    bench.run(tools.shell("gemini", f"{bench.program} status"), "Done.")

    variable = "GEMINI_SESSION_ID"
    session = bench.calls("hook prompt")[0].payload["session_id"]
    given = {call.verb: call.env.get(variable) for call in bench.calls()}
    assert {given.pop("mcp"), given.pop("status")} == {None}
    assert set(given.values()) == {session}
