"""What the screens say: times as one speaks of them, counts with the right noun, one word for one state."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bb.kernel.plurals import counted
from tests.near import Near, near

AMBER, COBALT = "amber-otter", "cobalt-harbor"
BEFORE, NOW = "2026-01-05T11:20:00Z", "2026-01-05T12:00:00Z"
ISO = re.compile(r"\d{4}-\d\d-\d\dT")


@pytest.fixture
def repo(tmp_path: Path) -> Near:
    """Something of everything, recorded forty minutes ago."""
    made = near(tmp_path / "repo", BB_NOW=BEFORE, BB_AGENT_STALE_MINUTES="60")
    for name in (AMBER, COBALT):
        assert made.bb("agent", "register", "--name", name, "--role", "builder").status == 0
    made.bb("reserve", "src", "--bead", "bb-1", "--agent", AMBER)
    assert made.bb("reserve", "src/a", "--bead", "bb-2", "--agent", COBALT).status == 7
    for words in (
        ["reserve", "src", "--bead", "bb-1", "--agent", AMBER],
        ["send", COBALT, "Done.", "--agent", AMBER],
        ["handoff", COBALT, "Done.", "--next-action", "Dates.", "--bead", "bb-1", "--agent", AMBER],
        ["freeze", "web", "--minutes", "90"],
        ["agent", "pause", COBALT],
    ):
        assert made.bb(*words).status == 0, words
    made.settings["BB_NOW"] = NOW
    return made


@pytest.mark.parametrize(
    ("words", "said", "member"),
    [
        (["agent", "list"], "seen 40m ago", "last_seen_at"),
        (["agent", "show", "--agent", AMBER], "seen 40m ago", "last_seen_at"),
        (["agent", "status"], "1h 20m left", "expires_at"),
        (["inbox", "--agent", COBALT], "unread", "created_at"),
        (["read", "INFO", "--agent", COBALT], "40m ago", "created_at"),
        (["protocol", "list"], "40m ago", "created_at"),
        (["protocol", "show", "HANDOFF"], "40m ago", "created_at"),
        (["resume", "--agent", AMBER], "1h 20m left", "expires_at"),
        (["agent", "heartbeat", "--agent", COBALT], "user paused you 40m ago", "last_seen_at"),
    ],
)
def test_times_are_relative_in_text_and_iso_in_json(repo: Near, words: list[str], said: str, member: str):
    mail = repo.json("inbox", "--agent", COBALT).data
    ids = {each["category"]: each["message_id"] for each in mail}
    typed = [ids.get(word, word) for word in words]

    asked, told = repo.json(*typed), repo.bb(*typed)

    assert told.status == 0
    assert said in told.out
    assert not ISO.search(told.out)
    assert re.search(rf'"{member}":"{ISO.pattern}', asked.out)


def test_the_state_of_an_accepted_message_is_called_accepted(repo: Near):
    handoff = repo.json("protocol", "list", "--type", "handoff").data[0]["id"]
    repo.bb("agent", "unpause", COBALT)

    accepted = repo.bb("ack", handoff, "--agent", COBALT)

    assert accepted.out == f"{handoff} to {COBALT}: accepted\n"
    for words in (["inbox"], ["protocol", "list"], ["protocol", "show", handoff], ["resume"]):
        told = repo.bb(*words, "--agent", COBALT).out
        assert "accepted" in told, words
        assert "acked" not in told, words
    assert repo.json("inbox", "--agent", COBALT, "--state", "acked").data[0]["state"] == "acked"


def test_nobody_is_called_idle(repo: Near):
    for words in (["agent", "show", "--agent", AMBER], ["agent", "list"], ["status"], ["agent", "status"]):
        assert "idle" not in repo.bb(*words).out
    assert repo.json("agent", "show", "--agent", AMBER).data["status"] == "idle"


def test_a_request_that_may_wait_is_not_called_refused(repo: Near):
    told = repo.bb("timeline").out

    assert f"{COBALT}  asked for src/a, held by {AMBER}" in told
    assert "was refused" not in told


def test_the_timeline_says_what_it_omits(repo: Near):
    since = ["timeline", "--since", "2h"]
    count = len(repo.json(*since).data)

    assert (
        repo.bb(*since, "--limit", str(count - 2)).err
        == f"Note: 2 older events omitted; --limit {4 * (count - 2)} shows more\n"
    )
    assert "Note: 1 older event omitted" in repo.bb(*since, "--limit", str(count - 1)).err
    assert repo.bb("timeline", "--limit", "2").err == "Note: older events omitted; --limit 8 shows more\n"


def test_the_status_says_that_all_have_retired(repo: Near):
    repo.bb("agent", "unpause", COBALT)
    assert repo.bb("agent", "retire", "--agent", AMBER).out == f"{AMBER} is retired; 1 reservation released\n"
    repo.bb("agent", "retire", "--agent", COBALT)

    assert "  all have retired\n" in repo.bb("status").out
    assert repo.json("status").data["retired_agents"] == 2


def test_a_status_without_agents_says_so(tmp_path: Path):
    repo = near(tmp_path / "repo", BB_NOW=NOW)
    repo.bb("init")

    assert "  no registered agents\n" in repo.bb("status").out


@pytest.mark.parametrize(("count", "text"), [(0, "0 events"), (1, "1 event"), (2, "2 events"), (1200, "1,200 events")])
def test_a_count_has_the_right_noun(count: int, text: str):
    assert counted(count, "event") == text


def test_a_ledger_of_one_event_is_one_event(tmp_path: Path):
    repo = near(tmp_path / "repo", BB_NOW=NOW)
    repo.bb("init")

    assert repo.bb("ledger", "status").out.startswith("1 event, ")
    assert "1 writer, " in repo.bb("ledger", "status").out
    assert "1 line, head" in repo.bb("ledger", "verify").out
