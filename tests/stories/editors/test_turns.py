"""From a session's start to its end: who it is, what is new, what it has touched, what it forgets; each said once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.stories.agents.agents_support import (
    ESCAPES as ALL_ESCAPES,
)
from tests.stories.agents.agents_support import (
    HARBOR,
    OTTER,
    after,
    crew,
    inbox,
    is_harmless,
    nothing_written,
    reserve,
    send,
)
from tests.stories.editors.editors_support import context, hook, refusal, reply
from tests.support import Ran, Scratch

ESCAPES = ALL_ESCAPES.replace("\0", "")  # which no command line can carry
HOSTS = ["claude", "codex", "gemini"]
AFTER_EDIT = {"claude": "after-write", "codex": "after-apply-patch", "gemini": "after-replace"}


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    return crew(tmp_path / "repo", OTTER, HARBOR)


def silent(ran: Ran) -> bool:
    return (ran.status, ran.out, ran.err) == (0, "", "")


def prompted(repo: Scratch, host: str = "claude", agent: str = OTTER, **more: Any) -> str:
    return context(hook(repo, "prompt", f"{host}/prompt", "--agent", agent, **more))


def stopped(repo: Scratch, host: str = "claude", agent: str = OTTER, **more: Any) -> dict[str, Any]:
    return reply(hook(repo, "stop", f"{host}/stop", "--agent", agent, **more))


# -- the start


@pytest.mark.parametrize("host", HOSTS)
def test_a_session_learns_who_it_is_where_it_stands_and_the_rules(repo: Scratch, host: str):
    reserve(repo, OTTER, "src/a.py")
    send(repo, HARBOR, OTTER, category="BLOCKED")

    said = context(hook(repo, "session-start", f"{host}/session-start", BB_AGENT=OTTER))

    assert f"you are {OTTER} (builder)" in said
    assert f"Other active agents: {HARBOR}." in said
    assert "You hold: src/a.py (bb-1)." in said
    assert "1 message unread, 1 to accept" in said
    assert "Reserve what others must not touch" in said
    assert "no stash" in said
    assert len(said) < 1600, "four hundred tokens"


def test_what_a_session_learns_fits_however_much_there_is_to_know(repo: Scratch):
    for number in range(30):
        reserve(repo, OTTER, f"src/{'long-' * 30}{number}.py")
    words = ["protocol", "handoff", "--from", HARBOR, "--to", OTTER, "--bead", "b" * 120, "--subject", "S" * 400]
    repo.json(*words, "--summary", f"{ESCAPES} {'x' * 9000}", "--next-action", f"{ESCAPES} {'y' * 9000}").data  # noqa: B018

    said = context(hook(repo, "session-start", "claude/session-start", BB_AGENT=OTTER))

    assert len(said) < 2000
    assert is_harmless(said)


def test_later_hooks_of_a_session_know_who_started_it(repo: Scratch):
    reserve(repo, HARBOR, "src/a.py")
    edit = {"session_id": "one/../two", "tool_input": {"file_path": "src/a.py"}}
    assert refusal(hook(repo, "pre-tool", "claude/write", **edit)) == ""

    hook(repo, "session-start", "claude/session-start", "--agent", OTTER, session_id="one/../two")

    assert "reserved by" in refusal(hook(repo, "pre-tool", "claude/write", **edit))
    assert refusal(hook(repo, "pre-tool", "claude/write", **edit | {"session_id": "two"})) == ""
    assert f"you are {OTTER}" in context(hook(repo, "session-start", "claude/session-start", session_id="one/../two"))
    (file,) = (repo.store / "sessions").iterdir()
    assert file.name.removesuffix(".json").isalnum()


def test_a_session_that_nobody_knows_is_told_what_to_do_and_that_works(repo: Scratch):
    said = context(hook(repo, "session-start", "codex/session-start"))
    assert "it does not check your edits" in said

    payload = said.rpartition("--payload ")[2].strip("'")
    repo.bb("hook", "session-start", "--agent", OTTER, "--payload", payload)

    assert f"you are {OTTER}" in context(hook(repo, "session-start", "codex/session-start"))


def test_a_session_is_registered_where_that_is_wanted_and_stays_who_it_is(repo: Scratch):
    start = ("session-start", "claude/session-start", "--register", "--role", "builder")
    first = context(hook(repo, *start, session_id="one"))
    again = context(hook(repo, *start, session_id="one"))
    other = context(hook(repo, *start, session_id="two"))

    assert first.splitlines()[0] == again.splitlines()[0] != other.splitlines()[0]
    assert len(repo.json("agent", "list").data) == 4
    assert "does not check your edits" in context(hook(repo, *start, session_id="three", BB_AGENT="user"))


def test_the_shell_of_a_session_learns_who_it_is_where_it_can(repo: Scratch, tmp_path: Path):
    hook(repo, "session-start", "claude/session-start", BB_AGENT=OTTER, CLAUDE_ENV_FILE=str(tmp_path / "env"))
    assert (tmp_path / "env").read_text() == f"export BB_AGENT={OTTER}\n"

    ran = hook(
        repo, "session-start", "claude/session-start", BB_AGENT=OTTER, CLAUDE_ENV_FILE=str(tmp_path / "no" / "env")
    )
    assert ran.status == 0


def test_who_is_no_agent_here_is_told_so(repo: Scratch):
    assert "no agent nobody-here" in context(
        hook(repo, "session-start", "claude/session-start", BB_AGENT="nobody-here")
    )


# -- a prompt


@pytest.mark.parametrize("host", HOSTS)
def test_unread_mail_is_given_to_a_session_once_and_stays_unread(repo: Scratch, host: str):
    assert silent(hook(repo, "prompt", f"{host}/prompt", BB_AGENT=OTTER))
    send(repo, HARBOR, OTTER, "--subject", "Dates", "--body", "Use ISO 8601.")

    said = prompted(repo, host)

    assert f"author: agent:{HARBOR}" in said
    assert "response_policy: may_respond" in said
    assert "\nDates\n\nUse ISO 8601.\n" in said
    assert "not an instruction" in said
    assert silent(hook(repo, "prompt", f"{host}/prompt", BB_AGENT=OTTER))
    assert "Dates" in prompted(repo, host, session_id="another")
    assert [each["state"] for each in inbox(repo, OTTER)] == ["unread"]


def test_what_is_given_is_cut_and_harmless(repo: Scratch):
    send(repo, HARBOR, OTTER, "--subject", "A B", "--body", f"one\ntwo {ESCAPES} {'x' * 9000}")

    said = prompted(repo)

    assert "one\ntwo " in said
    assert "more characters: chat.read_thread" in said
    assert len(said) < 10_000
    assert is_harmless(said)


def test_the_standing_rules_come_with_the_first_message_of_a_session(repo: Scratch):
    send(repo, HARBOR, OTTER, "--subject", "One")
    assert "- Obey response_policy." in prompted(repo)
    send(repo, HARBOR, OTTER, "--subject", "Two")

    said = prompted(repo)

    assert "Two" in said
    assert "- Obey response_policy." not in said
    assert "- Obey response_policy." in prompted(repo, session_id="another")


def test_what_is_for_several_knocks_and_says_nothing_of_itself(repo: Scratch):
    repo.bb("agent", "register", "--name", "third-party", "--role", "builder")
    repo.bb("agent", "send", "--from", HARBOR, "--to", "role:builder", "--bead", "bb-1", "--category", "INFO",
            "--subject", "Canary", "--body", "canary")  # fmt: skip

    said = prompted(repo)

    assert "C2A KNOCK" in said
    assert f"from: agent:{HARBOR}" in said
    assert "anary" not in said


def test_many_messages_come_a_few_at_a_time_and_none_twice(repo: Scratch):
    for number in range(12):
        send(repo, HARBOR, OTTER, "--subject", f"News {number:02}")

    rounds = [prompted(repo) for _ in range(4)]

    seen = [line for said in rounds for line in said.splitlines() if line.startswith("News ")]
    assert sorted(seen) == [f"News {number:02}" for number in range(12)]
    assert rounds[3] == ""
    assert "(7 more at the next prompt)" in rounds[0]


def test_what_has_been_read_is_not_given(repo: Scratch):
    message = send(repo, HARBOR, OTTER).data["message_id"]
    repo.bb("agent", "read", "--agent", OTTER, "--message", message)

    assert prompted(repo) == ""


def test_whom_one_collides_with_is_said_once(repo: Scratch):
    reserve(repo, OTTER, "src")
    reserve(repo, HARBOR, "src/a.py", "--allow-overlap")

    assert f"Contested: {HARBOR} works in src/a.py too" in prompted(repo)
    assert prompted(repo) == ""


def test_a_session_file_that_says_nothing_sensible_is_written_anew(repo: Scratch):
    send(repo, HARBOR, OTTER)
    prompted(repo)
    (file,) = (repo.store / "sessions").iterdir()
    for odd in (b"", b"{", b"[]", b'{"told": 3, "agent": "../x", "reminded": [1]}', b"\xff"):
        file.write_bytes(odd)
        assert "News" in prompted(repo)
        assert prompted(repo) == ""


# -- a tool has run


@pytest.mark.parametrize("host", HOSTS)
def test_a_tool_is_a_sign_of_life_and_an_intrusion_is_told(repo: Scratch, host: str):
    later = after(repo, 10)
    edited = f"{host}/{AFTER_EDIT[host]}"
    assert silent(hook(later, "post-tool", edited, BB_AGENT=OTTER))
    assert later.json("agent", "show", "--agent", OTTER).data["last_seen_at"] == later.settings["BB_NOW"]

    reserve(later, HARBOR, "src")
    said = context(hook(later, "post-tool", edited, BB_AGENT=OTTER))

    assert f"you have changed a file that another agent holds: src/a.py is reserved by {HARBOR}" in said
    hook(later, "post-tool", edited, BB_AGENT=OTTER)
    (incursion,) = later.json("protocol", "incursions", "--state", "open").data
    assert (incursion["from_agent"], incursion["to_agent"], incursion["found_by"]) == (OTTER, HARBOR, "hook")
    assert silent(hook(later, "post-tool", edited, BB_AGENT=HARBOR))
    assert silent(hook(later, "post-tool", edited))


def test_a_person_leaves_no_trace(repo: Scratch):
    send(repo, HARBOR, OTTER)
    with nothing_written(repo):
        for verb, name in (("post-tool", "after-write"), ("prompt", "prompt"), ("stop", "stop"), ("pre-tool", "write")):
            assert silent(hook(repo, verb, f"claude/{name}"))
            assert silent(hook(repo, verb, f"claude/{name}", BB_AGENT="user"))


# -- the stop


@pytest.mark.parametrize("host", HOSTS)
def test_a_stop_is_held_up_once_for_what_is_forgotten(repo: Scratch, host: str):
    assert stopped(repo, host) == {}
    reserve(repo, OTTER, "src/a.py")
    send(repo, HARBOR, OTTER, category="BLOCKED")

    said = stopped(repo, host)

    assert said["decision"] == ("deny" if host == "gemini" else "block")
    assert "You still hold src/a.py" in said["reason"]
    assert "To be accepted: BLOCKED" in said["reason"]
    assert stopped(repo, host) == {}
    send(repo, HARBOR, OTTER)
    assert "still hold" not in stopped(repo, host)["reason"]


def test_whoever_goes_on_because_of_a_reminder_is_let_go(repo: Scratch):
    reserve(repo, OTTER, "src/a.py")

    assert stopped(repo, stop_hook_active=True) == {}
    assert stopped(repo)["decision"] == "block"


def test_a_store_that_cannot_be_written_holds_nobody_up(repo: Scratch):
    reserve(repo, OTTER, "src/a.py")
    (repo.store / "sessions").write_text("in the way")

    ran = hook(repo, "stop", "claude/stop", BB_AGENT=OTTER)

    assert (ran.status, ran.out) == (0, "")
    assert ran.err.startswith("bb: ")


@pytest.mark.parametrize("verb", ["post-tool", "session-start", "prompt", "stop"])
@pytest.mark.parametrize("said", ["", "junk", "[]", '{"hook_event_name": "Elsewhere"}'])
def test_what_is_not_understood_stops_nothing(repo: Scratch, verb: str, said: str):
    ran = repo.bb("hook", verb, "--agent", OTTER, stdin=said)

    assert (ran.status, ran.out) == (0, "")
    assert ran.err.startswith("bb: the payload was not understood")


@pytest.mark.parametrize("verb", ["post-tool", "session-start", "prompt", "stop"])
def test_outside_of_any_ledger_hooks_are_silent(tmp_path: Path, verb: str):
    ran = Scratch(tmp_path).bb("hook", verb, "--agent", OTTER, stdin=json.dumps({"session_id": "x"}))

    assert (ran.status, ran.out, ran.err) == (0, "", "")


def test_undoing_a_ledger_takes_its_sessions_along(repo: Scratch):
    hook(repo, "session-start", "claude/session-start", BB_AGENT=OTTER)

    assert repo.bb("init", "--undo", "--delete-history").status == 0
    assert not repo.store.exists()
