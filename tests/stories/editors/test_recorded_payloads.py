"""What real hosts gave to their hooks (tests/hosts/recording.py) is understood, and judged as its tool deserves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bb.coordination.wiring import editors
from bb.coordination.wiring.editors import PRE_TOOL, SESSION_START, STOP
from tests.stories.agents.agents_support import HARBOR, OTTER, crew, reserve
from tests.stories.editors.editors_support import DATA, context, refusal, reply
from tests.support import Ran, Scratch

MOMENTS = {name: moment for host in editors.HOSTS for name, moment in editors.called_by(host)}
RECORDED = {f"{file.parent.name}/{file.stem}": file for file in sorted(DATA.glob("recorded/*/*.json"))}
MOMENT_OF = {name: MOMENTS[json.loads(file.read_text())["hook_event_name"]] for name, file in RECORDED.items()}
HARMLESS = ("/bash", "/shell", "/mcp-bb-session")  # they run COMMAND, and a tool of bb


def of(*moments: str) -> list[str]:
    return [name for name, moment in MOMENT_OF.items() if moment in moments]


def play(repo: Scratch, name: str, *words: str, **settings: str) -> Ran:
    """What `bb hook` answers to a recorded payload."""
    host, moment = name.partition("-")[0], MOMENT_OF[name]
    said = RECORDED[name].read_text().replace("CWD", json.dumps(str(repo.path))[1:-1])
    ran = repo.bb("hook", moment, "--host", host, *words, stdin=said, **settings)
    assert ran.status == 0, ran.err
    return ran


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """Where cobalt-harbor holds src/a.py."""
    made = crew(tmp_path / "repo", OTTER, HARBOR)
    (made.path / "src").mkdir()
    (made.path / "src" / "a.py").write_text("x = 1\n")
    assert reserve(made, HARBOR, "src/a.py").status == 0
    return made


def test_every_recorded_host_is_recorded_at_every_moment():
    hosts = {name.partition("/")[0] for name in RECORDED}
    assert {host.partition("-")[0] for host in hosts} == {"claude", "codex", "gemini"}
    for host in hosts:
        assert {MOMENT_OF[name] for name in RECORDED if name.startswith(host)} == set(editors.MOMENTS)


@pytest.mark.parametrize("name", RECORDED)
def test_every_payload_is_understood_without_being_told_the_host(name: str):
    payload = json.loads(RECORDED[name].read_text())
    heard = editors.parse_payload(payload, MOMENT_OF[name])
    if not name.startswith("codex") or "model" in payload:  # the end of a session of Codex looks like one of Claude
        assert heard.host == name.partition("-")[0]
    assert (heard.session, heard.cwd) == (payload["session_id"], "CWD")


@pytest.mark.parametrize("name", of(*editors.MOMENTS))
def test_nothing_recorded_is_reported_as_odd(repo: Scratch, name: str):
    assert play(repo, name, BB_AGENT=HARBOR).err == ""


@pytest.mark.parametrize("name", of(PRE_TOOL))
def test_a_tool_that_writes_what_another_agent_holds_is_refused_and_others_are_not(repo: Scratch, name: str):
    why = refusal(play(repo, name, BB_AGENT=OTTER))

    assert (f"src/a.py is reserved by {HARBOR}" in why) is not name.endswith(HARMLESS)
    assert refusal(play(repo, name, BB_AGENT=HARBOR)) == ""


@pytest.mark.parametrize("name", of(SESSION_START))
def test_the_start_of_a_session_gives_it_a_name_that_its_next_hooks_know(repo: Scratch, name: str):
    told = context(play(repo, name, "--register"))
    again = context(play(repo, name, "--register"))

    assert "you are " in told
    assert told.partition("(")[0] == again.partition("(")[0]


@pytest.mark.parametrize("name", of(STOP))
def test_a_stop_is_delayed_once_by_what_is_still_held(repo: Scratch, name: str):
    said = reply(play(repo, name, BB_AGENT=HARBOR))

    assert ("You still hold src/a.py" in said.get("reason", "")) is not name.endswith("again")
