"""`bb start`: one call gives a session its agent, and never takes another session's name silently."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.faces.screens.test_screens import tokens_of
from tests.near import near
from tests.stories.agents.agents_support import HARBOR, OTTER, after, crew, reserve, send
from tests.support import NOON, Scratch, environment, scratch


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    return crew(tmp_path / "repo", OTTER)


def start(repo: Scratch, *words: str, **settings: str) -> dict[str, Any]:
    return repo.json("start", *words, **settings).data


def refused(repo: Scratch, *words: str, **settings: str) -> tuple[str, str]:
    error = repo.json("start", *words, **settings).envelope["error"]
    return error["code"], error["hint"]


def test_a_session_without_a_name_gets_an_unused_one_and_the_line_to_export(tmp_path: Path):
    repo = near(tmp_path / "repo", BB_NOW=NOON)

    first, second = start(repo), start(repo)

    assert first["created"]
    assert not second["created"]
    assert first["agent_id"] != second["agent_id"]
    assert (first["mode"], first["role"]) == ("register", "agent")
    assert first["export"] == f"export BB_AGENT={first['agent_id']}"
    said = repo.bb("start").out.splitlines()
    assert sum(line.startswith("export ") for line in said) == 1


def test_a_name_and_a_role_may_be_chosen(repo: Scratch):
    answer = start(repo, HARBOR, "--role", "tester")

    assert (answer["agent_id"], answer["role"], answer["mode"]) == (HARBOR, "tester", "register")
    assert repo.json("start", "Not A Name").code == "INVALID_AGENT_ID"
    assert repo.json("start", "--role", " ").code == "INVALID_ROLE"


def test_the_name_of_the_environment_is_the_sessions_own(repo: Scratch):
    answer = start(repo, BB_AGENT=OTTER)
    assert (answer["agent_id"], answer["mode"], answer["export"]) == (OTTER, "continue", None)

    assert start(repo, BB_AGENT=HARBOR)["mode"] == "register", "a launcher may have chosen the name"
    assert start(repo, BB_AGENT="user")["mode"] == "register", "the person's shell is no agent"


@pytest.mark.parametrize("variable", ["CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "GEMINI_SESSION_ID"])
def test_a_host_whose_session_is_known_needs_no_export(repo: Scratch, variable: str):
    first = start(repo, **{variable: "one"})
    again = start(repo, **{variable: "one"})

    assert (first["export"], again["export"]) == (None, None)
    assert (again["agent_id"], again["mode"]) == (first["agent_id"], "continue")
    assert repo.json("turn", **{variable: "one"}).data == {}
    assert start(repo, **{variable: "two"})["agent_id"] != first["agent_id"]


def test_who_goes_on_is_told_what_resume_says(repo: Scratch):
    reserve(repo, OTTER, "src")
    send(repo, "user", OTTER)

    answer = start(repo, OTTER, BB_AGENT=OTTER)

    assert answer["resume"] == repo.json("resume", "--agent", OTTER).data
    assert "You hold src for bb-1" in repo.bb("start", BB_AGENT=OTTER).out


def test_a_session_that_has_a_name_takes_no_second_one(repo: Scratch):
    code, hint = refused(repo, HARBOR, BB_AGENT=OTTER)
    assert (code, f"to go on as {OTTER}: `bb start`" in hint) == ("NOT_YOUR_NAME", True)

    mine = start(repo, CLAUDE_CODE_SESSION_ID="one")["agent_id"]
    assert refused(repo, HARBOR, CLAUDE_CODE_SESSION_ID="one") == (
        "NOT_YOUR_NAME",
        f"to go on as {mine}: `bb start`; to register another agent: `bb agent register --name {HARBOR} --role ROLE`",
    )


def test_the_name_of_an_active_agent_is_refused_with_what_to_do(repo: Scratch):
    code, hint = refused(repo, OTTER)

    assert code == "DUPLICATE_AGENT_ID"
    assert hint == f"to start under an unused name: `bb start`; if you are {OTTER}: `export BB_AGENT={OTTER}`"


def test_a_silent_agent_with_unfinished_work_is_adopted_only_if_that_is_said(repo: Scratch):
    reserve(repo, OTTER, "src")
    (repo.path / "src").write_text("x")
    later = after(repo, 60)

    code, hint = refused(later, OTTER)
    assert (code, hint.split("; ")[0]) == (
        "DUPLICATE_AGENT_ID",
        f"to continue its work: `bb start {OTTER} --adopt`",
    )
    answer = start(later, OTTER, "--adopt")
    assert (answer["mode"], answer["resume"]["dirty"]) == ("adopt", ["src"])
    assert answer["export"].startswith(f"export BB_AGENT={OTTER} BB_SESSION=")
    session = answer["export"].partition("BB_SESSION=")[2]
    assert start(later, BB_SESSION=session)["mode"] == "continue"
    assert start(later, BB_SESSION=session, BB_AGENT=OTTER)["export"] is None


def test_a_silent_agent_without_unfinished_work_is_not_offered_and_not_adopted(repo: Scratch):
    later = after(repo, 60)

    assert refused(later, OTTER) == ("DUPLICATE_AGENT_ID", "to start under an unused name: `bb start`")
    assert refused(later, OTTER, "--adopt") == ("ADOPTION_REJECTED", "to start under an unused name: `bb start`")
    assert refused(later, "--adopt")[0] == "MISSING_OPTION"
    assert refused(later, HARBOR, "--adopt")[0] == "AGENT_NOT_FOUND"


def test_a_retired_name_is_not_used_again(repo: Scratch):
    repo.json("agent", "retire", "--agent", OTTER).data  # noqa: B018

    assert refused(repo, OTTER)[0] == "DUPLICATE_AGENT_ID"
    assert start(repo, BB_AGENT=OTTER)["agent_id"] != OTTER


def test_outside_of_a_repository_there_is_nothing_to_start(tmp_path: Path):
    assert Scratch(tmp_path).json("start").code == "NOT_A_REPOSITORY"


def test_what_init_recommends_is_never_the_command_just_run(tmp_path: Path):
    repo = near(tmp_path / "repo", BB_NOW=NOON)
    assert "Next: bb start" in repo.bb("init").out
    begun = repo.json("init", "--non-interactive", "--register", OTTER).data

    assert begun["recommendation"]["command"] == f"bb turn --agent {OTTER}"
    assert repo.bb(*begun["recommendation"]["command"].split()[1:]).status == 0


def test_callers_at_the_same_moment_never_get_the_same_name(tmp_path: Path):
    repo = scratch(tmp_path / "repo")
    starting = [
        subprocess.Popen(
            [sys.executable, "-m", "bb", "start", "--json"],
            cwd=repo.path,
            env=environment(**repo.settings),
            stdout=subprocess.PIPE,
        )
        for _ in range(8)
    ]

    answers = [json.loads(process.communicate()[0])["data"] for process in starting]

    assert len({answer["agent_id"] for answer in answers}) == len(starting)
    assert sum(answer["mode"] == "register" for answer in answers) == len(starting)


def test_a_start_that_goes_on_takes_at_most_500_tokens(repo: Scratch):
    for number in range(30):
        reserve(repo, OTTER, f"src/a-rather-long-directory-name/part-{number}")
        send(repo, "user", OTTER, "--subject", f"Part {number} {'x' * 150}", category="BLOCKED")

    for form in ([], ["--json"]):
        assert tokens_of(repo.bb("start", *form, BB_AGENT=OTTER).out) <= 500
