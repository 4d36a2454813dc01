"""A session of a host is one agent: its hooks, its MCP server and its shell agree, by the host's session id."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bb.ops.desk import session_agent
from bb.ops.desk.desk import Desk
from tests.stories.agents.agents_support import HARBOR, OTTER, crew, reserve
from tests.stories.editors.editors_support import context, hook, refusal
from tests.support import Ran, Scratch, environment
from tests.waiting import PATIENCE

SESSION = "8c35adc1-0000-4000-8000-000000000001"
THREAD = "0199a213-81c0-7800-8aa1-bbab2a035a53"
CLAUDE, CODEX, GEMINI = "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "GEMINI_SESSION_ID"
VARIABLES = {"claude": CLAUDE, "codex": CODEX, "gemini": GEMINI}
TURN = {"threadId": THREAD, "x-codex-turn-metadata": {"session_id": THREAD, "thread_id": THREAD, "turn_id": "1"}}


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """A repository in which another agent holds a file."""
    made = crew(tmp_path / "repo", HARBOR)
    reserve(made, HARBOR, "docs/b.md")
    return made


def begin(repo: Scratch, host: str = "claude", session: str = SESSION, **more: Any) -> str:
    """Start a session of HOST, whose hooks register it; its agent."""
    said = context(hook(repo, "session-start", f"{host}/session-start", "--register", session_id=session, **more))
    return said.split()[3]


def edit(repo: Scratch, path: str = "src/a.py", session: str = SESSION, **more: Any) -> str:
    """Why the session's hook refuses an edit of PATH; empty if it allows it."""
    return refusal(hook(repo, "pre-tool", "claude/write", session_id=session, tool_input={"file_path": path}, **more))


def call(
    repo: Scratch,
    name: str,
    arguments: dict[str, Any] | None = None,
    *,
    client: str = "claude-code",
    meta: dict[str, Any] | None = None,
    **settings: str,
) -> dict[str, Any]:
    """What a tool answers in a server of its own, started by CLIENT with these SETTINGS."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": client, "version": "1"}}
    params = {"name": name, "arguments": arguments or {}} | ({"_meta": meta} if meta else {})
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params},
    ]
    ran = subprocess.run(
        [sys.executable, "-m", "bb", "mcp"],
        cwd=repo.path,
        env=environment(**repo.settings, **settings),
        input="".join(json.dumps(line) + "\n" for line in asked).encode(),
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    (answer,) = [line for line in map(json.loads, ran.stdout.splitlines()) if line["id"] == 2]
    found: dict[str, Any] = answer["result"]["structuredContent"]
    return found


def agents(repo: Scratch) -> set[str]:
    return {agent["agent_id"] for agent in repo.json("agent", "list").data}


def holders(repo: Scratch) -> dict[str, str]:
    return {held["scope"]: held["agent_id"] for held in repo.json("agent", "status").data["reservations"]}


# -- one agent on every path


def test_hooks_mcp_and_shell_of_a_session_are_one_agent_and_its_own_edit_passes(repo: Scratch):
    """The first real run ended otherwise: the model took a second name over MCP and was refused its own edit."""
    who = begin(repo)

    told = call(repo, "session", {}, **{CLAUDE: SESSION})
    assert told["agent_id"] == who
    assert call(repo, "reserve", {"scope": ["src/a.py"], "bead": "bb-2"}, **{CLAUDE: SESSION})["agent_id"] == who
    shell = repo.json("agent", "reserve", "--scope", "src/b.py", "--bead", "bb-2", **{CLAUDE: SESSION})
    assert shell.data["agent_id"] == who

    assert edit(repo, "src/a.py") == edit(repo, "src/b.py") == ""
    assert "reserved by" in edit(repo, "docs/b.md")
    assert agents(repo) == {HARBOR, who}
    assert holders(repo) == {"docs/b.md": HARBOR, "src/a.py": who, "src/b.py": who}


@pytest.mark.parametrize("host", VARIABLES)
def test_a_shell_of_each_host_knows_its_agent(repo: Scratch, host: str):
    who = begin(repo, host, THREAD)
    here = {VARIABLES[host]: THREAD}

    assert repo.json("agent", "show", **here).data["agent_id"] == who
    assert repo.json("resume", **here).data["agent_id"] == who
    assert repo.json("agent", "heartbeat", **here).data["agent_id"] == who
    assert repo.json("check", "docs/b.md", **here).code == "PATH_HELD"
    assert repo.json("agent", "inbox", **here).status == 0
    assert repo.json("agent", "reserve", "--scope", "src", "--bead", "b", **here).data["agent_id"] == who
    assert repo.json("agent", "release", "--all", **here).status == 0
    assert repo.json("agent", "show").code == "NO_AGENT"
    assert repo.json("agent", "show", **{VARIABLES[host]: "another"}).code == "NO_AGENT"


@pytest.mark.parametrize(
    "meta",
    [
        TURN,
        {"threadId": THREAD},
        {"x-codex-turn-metadata": {"session_id": THREAD}},
        {"threadId": "a-subagent", "x-codex-turn-metadata": {"session_id": THREAD, "thread_id": "a-subagent"}},
    ],
)
def test_codex_names_its_session_with_each_call(repo: Scratch, meta: dict[str, Any]):
    who = begin(repo, "codex", THREAD)

    assert call(repo, "session", client="codex-mcp-client", meta=meta)["agent_id"] == who
    assert (
        call(repo, "reserve", {"scope": ["src"], "bead": "b"}, client="codex-mcp-client", meta=meta)["agent_id"] == who
    )


def test_the_metadata_of_other_programs_is_not_taken_for_codexs(repo: Scratch):
    begin(repo, "codex", THREAD)

    assert call(repo, "session", client="some-client", meta={"threadId": THREAD})["code"] == "NO_AGENT"
    for odd in ({"threadId": 7}, {"x-codex-turn-metadata": []}, {"threadId": "a\nb"}, {"threadId": "x" * 999}):
        assert call(repo, "session", client="codex-mcp-client", meta=odd)["code"] == "NO_AGENT", odd


def test_a_session_that_asks_to_be_registered_goes_on_as_its_agent(repo: Scratch):
    who = begin(repo)

    for given in ({"role": "builder"}, {"role": "builder", "agent": "quiet-heron"}):
        assert call(repo, "session", given, **{CLAUDE: SESSION})["agent_id"] == who
    assert agents(repo) == {HARBOR, who}


def test_a_session_that_registers_over_mcp_is_known_to_its_hooks_and_its_shell(repo: Scratch):
    here = {CLAUDE: SESSION}
    assert call(repo, "session", {"agent": OTTER, "role": "builder"}, **here)["agent_id"] == OTTER
    assert call(repo, "reserve", {"scope": ["src"], "bead": "bb-2"}, **here)["agent_id"] == OTTER

    assert begin(repo) == OTTER
    assert edit(repo) == ""
    assert repo.json("agent", "show", **here).data["agent_id"] == OTTER
    assert agents(repo) == {HARBOR, OTTER}


def test_a_session_that_registers_in_its_shell_is_known_to_its_hooks_and_over_mcp(repo: Scratch):
    repo.json("agent", "register", "--name", OTTER, "--role", "builder", **{CLAUDE: SESSION}).data  # noqa: B018

    assert call(repo, "session", **{CLAUDE: SESSION})["agent_id"] == OTTER
    assert begin(repo) == OTTER


def test_a_commit_in_the_sessions_shell_is_judged_as_its_agents(repo: Scratch):
    begin(repo)
    (repo.path / "docs").mkdir()
    (repo.path / "docs" / "b.md").write_text("mine\n")
    repo.git("add", "docs/b.md")

    assert repo.bb("hook", "pre-commit", **{CLAUDE: SESSION}).status != 0
    assert repo.bb("hook", "pre-commit").status == 0, "a person is not stopped"


def test_what_only_the_person_may_do_is_refused_in_an_agents_shell(repo: Scratch):
    begin(repo)

    assert repo.json("freeze", "src", **{CLAUDE: SESSION}).code == "PERSON_ONLY"
    assert repo.json("freeze", "src", "--agent", "user", **{CLAUDE: SESSION}).status == 0


# -- where the id does not reach us


def test_a_call_without_a_session_is_told_to_use_its_name_and_is_offered_no_other(repo: Scratch):
    who = begin(repo)

    refused = call(repo, "session", client="opencode")
    assert refused["code"] == "NO_AGENT"
    assert refused["hint"].startswith('use the name that session-start gave you: pass it as "agent"')
    assert "free name" not in refused["hint"]
    assert call(repo, "session", {"agent": who}, client="opencode")["agent_id"] == who
    typed = repo.json("agent", "reserve", "--scope", "src", "--bead", "b")
    assert typed.envelope["error"]["hint"].startswith("use the name that session-start gave you")


def test_a_free_name_is_offered_where_no_session_with_hooks_is_at_work(repo: Scratch):
    begin(repo, BB_NOW="2026-01-05T11:00:00Z")

    assert "(a free name)" in call(repo, "session", client="opencode")["hint"]


def test_a_server_that_was_started_in_an_earlier_session_believes_the_name(repo: Scratch):
    """Claude Code goes on under another id after /clear or /resume, and its servers keep the one they were given."""
    begin(repo)
    later = begin(repo, session="another")
    old = {CLAUDE: SESSION}

    assert call(repo, "reserve", {"agent": later, "scope": ["src"], "bead": "b"}, **old)["agent_id"] == later
    assert call(repo, "session", {"agent": later}, **old)["agent_id"] == later


# -- programs within programs


def test_a_program_started_in_the_shell_of_another_one_is_an_agent_of_its_own(repo: Scratch):
    outer = begin(repo)
    inner = begin(repo, "codex", THREAD, **{CLAUDE: SESSION})
    both = {CLAUDE: SESSION, CODEX: THREAD}

    assert inner != outer
    assert repo.json("agent", "show", **both).data["agent_id"] == inner
    assert repo.json("agent", "reserve", "--scope", "src", "--bead", "b", **both).data["agent_id"] == inner
    assert repo.json("agent", "show", **{CLAUDE: SESSION}).data["agent_id"] == outer
    assert edit(repo, "src/a.py", THREAD, **{CLAUDE: SESSION}) == ""
    assert inner in edit(repo, "src/a.py")
    assert call(repo, "session", client="codex-mcp-client", meta=TURN, **{CLAUDE: SESSION})["agent_id"] == inner


def test_an_editor_started_in_the_shell_of_a_session_is_not_that_session(repo: Scratch):
    begin(repo)

    for client in ("Visual Studio Code", "cursor-vscode", "gemini-cli-mcp-client", "codex-mcp-client", "opencode"):
        assert call(repo, "session", client=client, **{CLAUDE: SESSION})["code"] == "NO_AGENT", client


def test_whoever_may_be_two_agents_must_say_which(repo: Scratch):
    """A server for terminals that was started in one session, and asked for a terminal by another one."""
    first, second = begin(repo), begin(repo, "gemini", "g")
    shell = {CLAUDE: SESSION, GEMINI: "g"}

    refused = repo.json("agent", "reserve", "--scope", "src", "--bead", "b", **shell)
    assert refused.code == "NO_AGENT"
    assert first in refused.envelope["error"]["message"]
    assert second in refused.envelope["error"]["message"]
    assert repo.json("agent", "heartbeat", "--agent", first, **shell).status == 0


def test_the_environment_file_of_a_session_is_not_written_by_a_program_in_its_shell(repo: Scratch, tmp_path: Path):
    begin(repo, "codex", THREAD, CLAUDE_ENV_FILE=str(tmp_path / "env"))

    assert not (tmp_path / "env").exists()


# -- ends and changes of a session


def test_a_session_whose_agent_has_retired_may_take_another_name(repo: Scratch):
    who, here = begin(repo), {CLAUDE: SESSION}
    repo.json("agent", "retire", **here).data  # noqa: B018
    assert repo.json("agent", "heartbeat", **here).code == "AGENT_RETIRED"

    repo.json("agent", "register", "--name", OTTER, "--role", "builder", **here).data  # noqa: B018

    assert who != OTTER
    assert repo.json("agent", "heartbeat", **here).data["agent_id"] == OTTER
    assert begin(repo) == OTTER


def test_a_session_that_adopts_an_agent_goes_on_as_that_agent(repo: Scratch):
    reserve(repo, HARBOR, "src")
    (repo.path / "src").mkdir()
    (repo.path / "src" / "a.py").write_text("unfinished\n")
    begin(repo)
    later = {"BB_NOW": "2026-01-05T12:20:00Z", CLAUDE: SESSION}

    repo.json("init", "--non-interactive", "--adopt", HARBOR, **later).data  # noqa: B018

    assert repo.json("agent", "show", **later).data["agent_id"] == HARBOR
    assert edit(repo, BB_NOW="2026-01-05T12:21:00Z") == ""


def test_a_file_of_a_session_that_says_anything_names_nobody(repo: Scratch):
    begin(repo)
    (file,) = (repo.store / "sessions").iterdir()

    for odd in ("", "[]", '{"agent": 7}', '{"agent": "user"}', '{"agent": "\\u001b"}', '{"agent": "x", "outer": 3}'):
        file.write_text(odd)
        ran: Ran = repo.json("agent", "reserve", "--scope", "src", "--bead", "b", **{CLAUDE: SESSION})
        assert ran.code in ("NO_AGENT", "AGENT_NOT_FOUND", "INVALID_AGENT_ID"), odd


def ended(repo: Scratch, reason: str, session: str = SESSION) -> None:
    """The host has ended the session, as its hook tells."""
    desk = Desk(str(repo.path), environment(**repo.settings))
    session_agent.end(desk, session, reason)
    desk.close()


def test_an_ended_session_names_nobody_until_it_is_resumed(repo: Scratch):
    who, here = begin(repo), {CLAUDE: SESSION}
    ended(repo, "other")

    assert repo.json("agent", "heartbeat", **here).code == "NO_AGENT", "in a terminal that it has left behind, say"
    assert call(repo, "session", **here)["code"] == "NO_AGENT"
    assert begin(repo, source="resume") == who
    assert repo.json("agent", "heartbeat", **here).data["agent_id"] == who


def test_a_cleared_session_goes_on_as_the_same_agent_under_both_ids(repo: Scratch):
    """Its MCP server keeps the first id, and its name was opened by it."""
    who = begin(repo)
    for number, (before, after) in enumerate([(SESSION, "second"), ("second", "third")]):
        ended(repo, "clear", before)
        assert begin(repo, session=after, source="clear") == who
        for session in (SESSION, after):
            path = f"src/{number}-{session}"
            assert call(repo, "reserve", {"scope": [path], "bead": "b"}, **{CLAUDE: session})["agent_id"] == who
            assert repo.json("agent", "heartbeat", **{CLAUDE: session}).data["agent_id"] == who
            assert edit(repo, path, after) == ""
    assert agents(repo) == {HARBOR, who}


def test_which_session_was_cleared_is_not_guessed(repo: Scratch):
    first, second = begin(repo), begin(repo, session="another")
    ended(repo, "clear", SESSION)
    ended(repo, "clear", "another")

    assert begin(repo, session="third", source="clear") not in (first, second)
    assert begin(repo, session="fourth", source="startup") not in (first, second)


def test_a_plugin_may_name_the_session_in_bb_session(repo: Scratch):
    """As OpenCode's does, which gives its shells no session id."""
    who = begin(repo, session="ses_1")

    assert repo.json("agent", "heartbeat", BB_SESSION="ses_1").data["agent_id"] == who
    repo.json("agent", "register", "--name", OTTER, "--role", "builder", BB_SESSION="mine").data  # noqa: B018
    assert repo.json("agent", "heartbeat", BB_SESSION="mine").code == "NO_AGENT", "several agents may share it"


# -- a host that is known by its process


def gemini(repo: Scratch, session: str, *through: str, **settings: str) -> Ran:
    """Start a session of Gemini CLI, which is the process of this test, or one THROUGH which the hook is called."""
    payload = {"session_id": session, "cwd": str(repo.path), "hook_event_name": "SessionStart", "timestamp": "t"}
    words = [*through, "sh", "-c", f"{sys.executable} -m bb hook session-start --register --host gemini; true"]
    env = environment(**repo.settings, GEMINI_SESSION_ID=session, **settings)
    ran = subprocess.run(words, cwd=repo.path, env=env, input=json.dumps(payload).encode(), capture_output=True)
    return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


THROUGH = (sys.executable, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system shows no processes")
def test_geminis_shell_and_server_have_no_session_id_and_are_known_by_the_process_that_starts_them(repo: Scratch):
    who = context(gemini(repo, "g")).split()[3]
    inside = {"GEMINI_CLI": "1"}

    assert repo.started("agent", "show", "--json", **inside).data["agent_id"] == who
    shell = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m bb agent heartbeat --json; true"],
        cwd=repo.path,
        env=environment(**repo.settings, **inside),
        capture_output=True,
    )
    assert json.loads(shell.stdout)["data"]["agent_id"] == who
    assert call(repo, "session", client="gemini-cli-mcp-client-bb", **inside)["agent_id"] == who
    assert call(repo, "session", client="cursor-vscode", **inside)["code"] == "NO_AGENT"
    assert repo.started("agent", "show", "--json").code == "NO_AGENT", "only where the host says that it is there"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system shows no processes")
def test_another_process_of_gemini_is_another_session(repo: Scratch):
    gemini(repo, "other", *THROUGH)
    inside = {"GEMINI_CLI": "1"}

    assert repo.started("agent", "show", "--json", **inside).code == "NO_AGENT"

    outer = context(gemini(repo, "g")).split()[3]
    program = (
        "import subprocess, sys\n"
        "for words in sys.argv[1:]: subprocess.run(['sh', '-c', words + '; true'], env=dict(__import__('os').environ))"
    )
    payload = json.dumps({"session_id": "inner", "hook_event_name": "SessionStart", "timestamp": "t"})
    bb = f"{sys.executable} -m bb"
    words = [f"echo '{payload}' | {bb} hook session-start --register --host gemini", f"{bb} agent show --json"]
    ran = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=repo.path,
        env=environment(**repo.settings, **inside, GEMINI_SESSION_ID="inner"),
        capture_output=True,
    )

    started, shown = ran.stdout.decode().splitlines()
    inner = json.loads(started)["hookSpecificOutput"]["additionalContext"].split()[3]
    assert json.loads(shown)["data"]["agent_id"] == inner != outer
    assert repo.started("agent", "show", "--json", **inside).data["agent_id"] == outer


# -- the program


def test_a_session_is_told_where_bb_is_if_a_login_shell_may_not_find_it(repo: Scratch, tmp_path: Path):
    """Codex runs commands in a login shell, whose profile may set another PATH."""
    program = tmp_path / "my tools" / "bb"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -c "import sys; sys.argv[0] = \'$0\'; \\\n'
        'from bb.cli.main import main; main()" "$@"\n'
    )
    program.chmod(0o755)
    payload = json.dumps({"session_id": THREAD, "cwd": str(repo.path), "hook_event_name": "SessionStart"})

    ran = subprocess.run(
        [str(program), "hook", "session-start", "--register", "--host", "codex"],
        cwd=repo.path,
        env=environment(**repo.settings),
        input=payload.encode(),
        capture_output=True,
        check=True,
    )

    told = json.loads(ran.stdout)["hookSpecificOutput"]["additionalContext"]
    assert told.splitlines()[1] == f"bb is '{program}'"
    assert "\nbb is " not in context(hook(repo, "session-start", "codex/session-start", session_id=THREAD))
