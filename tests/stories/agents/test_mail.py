"""Saying something to another agent, to a role, to everybody or to the person; and what becomes of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.stories.agents.agents_support import (
    ESCAPES,
    HARBOR,
    OTTER,
    WREN,
    after,
    crew,
    inbox,
    is_harmless,
    log,
    moment,
    nothing_written,
    send,
)
from tests.support import NOON, Ran, Scratch, environment
from tests.waiting import PATIENCE


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    return crew(tmp_path / "repo", OTTER, HARBOR)


def read(repo: Scratch, agent: str, message: str) -> Ran:
    return repo.json("agent", "read", "--agent", agent, "--message", message)


def ack(repo: Scratch, agent: str, message: str) -> Ran:
    return repo.json("agent", "ack", "--agent", agent, "--message", message)


def test_a_message_says_who_to_whom_about_what(repo: Scratch):
    sent = send(repo, OTTER, HARBOR).data

    assert sent.pop("recipients") == [HARBOR]
    assert inbox(repo, HARBOR) == [sent]
    assert sent == {
        "message_id": log(repo)[-1]["id"],
        "thread_id": "bead:bb-1",
        "bead_id": "bb-1",
        "from_agent": OTTER,
        "to_agent": HARBOR,
        "category": "INFO",
        "subject": "News",
        "body": "Parser is done.",
        "state": "unread",
        "requires_ack": False,
        "created_at": NOON,
        "read_at": None,
        "acked_at": None,
        "scope": None,
        "payload": None,
    }


@pytest.mark.parametrize(
    ("category", "asks"), [("HANDOFF", True), ("BLOCKED", True), ("DECISION", False), ("INFO", False)]
)
def test_handoffs_and_blockers_ask_to_be_accepted(repo: Scratch, category: str, asks: bool):
    assert send(repo, OTTER, HARBOR, category=category).data["requires_ack"] is asks
    owed = repo.json("agent", "status").data["unacked_required_messages"]
    assert [message["category"] for message in owed] == ([category] if asks else [])


def test_reading_never_consumes(repo: Scratch):
    send(repo, OTTER, HARBOR)

    with nothing_written(repo):
        looks = [inbox(repo, HARBOR) for _ in range(3)]
        repo.json("resume", "--agent", HARBOR)
        repo.json("timeline")
        repo.bb("agent", "inbox", "--agent", HARBOR)

    assert looks[0] == looks[1] == looks[2]
    assert looks[0][0]["state"] == "unread"


def test_a_message_is_unread_then_read_then_acked_and_the_first_times_count(repo: Scratch):
    message = send(repo, OTTER, HARBOR, category="HANDOFF").data["message_id"]

    seen = [read(after(repo, minute), HARBOR, message).data for minute in (1, 2)]
    taken = [ack(after(repo, minute), HARBOR, message).data for minute in (3, 4)]
    later = read(after(repo, 5), HARBOR, message).data

    assert [(each["state"], each["read_at"], each["acked_at"]) for each in seen] == [("read", moment(1), None)] * 2
    assert [(each["state"], each["acked_at"]) for each in taken] == [("acked", moment(3))] * 2
    assert (later["state"], later["read_at"], later["acked_at"]) == ("acked", moment(1), moment(3))
    assert len([event for event in log(repo) if event["kind"] in ("chat.reaction", "chat.ack")]) == 2


def test_what_is_accepted_unread_counts_as_read_at_the_same_time(repo: Scratch):
    message = send(repo, OTTER, HARBOR, category="HANDOFF").data["message_id"]

    accepted = ack(after(repo, 3), HARBOR, message).data

    assert (accepted["state"], accepted["read_at"], accepted["acked_at"]) == ("acked", moment(3), moment(3))


def test_what_does_not_ask_for_it_may_be_accepted_too(repo: Scratch):
    message = send(repo, OTTER, HARBOR).data["message_id"]

    assert ack(repo, HARBOR, message).data["state"] == "acked"


@pytest.mark.parametrize(("verb", "code"), [("read", "READ_FORBIDDEN"), ("ack", "ACK_FORBIDDEN")])
def test_only_the_recipient_reads_and_accepts(tmp_path: Path, verb: str, code: str):
    repo = crew(tmp_path / "repo", OTTER, HARBOR, WREN)
    message = send(repo, OTTER, HARBOR, category="HANDOFF").data["message_id"]

    with nothing_written(repo):
        for who in (OTTER, WREN, "user"):
            refused = repo.json("agent", verb, "--agent", who, "--message", message)
            assert (refused.code, refused.status) == (code, 5), who

    assert inbox(repo, HARBOR)[0]["state"] == "unread"


def test_everybody_of_a_role_has_a_copy_of_its_own_and_the_sender_none(tmp_path: Path):
    repo = crew(tmp_path / "repo", OTTER, HARBOR, WREN)

    sent = send(repo, HARBOR, "role:tester").data
    assert sent["recipients"] == [WREN]
    sent = send(repo, OTTER, "role:tester", category="HANDOFF").data
    assert sent["recipients"] == [HARBOR, WREN]

    theirs, others = inbox(repo, HARBOR)[0], inbox(repo, WREN)[0]
    assert theirs["message_id"] != others["message_id"]
    assert read(repo, HARBOR, others["message_id"]).code == "READ_FORBIDDEN"
    ack(repo, HARBOR, theirs["message_id"])
    assert inbox(repo, HARBOR)[0]["state"] == "acked"
    assert inbox(repo, WREN)[0]["state"] == "unread"
    assert inbox(repo, OTTER) == []


def test_a_broadcast_goes_to_all_in_service_but_the_sender(tmp_path: Path):
    repo = crew(tmp_path / "repo", OTTER, HARBOR, WREN)
    repo.json("agent", "retire", "--agent", WREN)

    assert send(repo, OTTER, "broadcast").data["recipients"] == [HARBOR]
    assert inbox(repo, WREN) == []


@pytest.mark.parametrize("to", ["role:", "Not An Id", "nobody-here", "../x", ""])
def test_there_must_be_somebody_to_send_it_to(repo: Scratch, to: str):
    """No blank role; nobody unknown; no malformed name."""
    with nothing_written(repo):
        refused = send(repo, OTTER, to)

    assert (refused.code, refused.status) == ("UNKNOWN_RECIPIENT", 3)


@pytest.mark.parametrize("to", ["broadcast", "role:reviewer", "role:builder"])
def test_what_no_other_agent_can_receive_is_recorded_for_the_person(tmp_path: Path, to: str):
    repo = crew(tmp_path / "repo", OTTER)

    sent = send(repo, OTTER, to).data

    assert (sent["recipients"], sent["recorded_only"]) == (["user"], True)
    assert [message["message_id"] for message in inbox(repo, "user")] == [sent["message_id"]]
    assert "it is recorded" in repo.bb("send", to, "Evidence.", BB_AGENT=OTTER).out


@pytest.mark.parametrize("sender", ["nobody-here", "Not An Id", "../../x", "A" * 300, "\x1b[31m"])
def test_nobody_unknown_sends(repo: Scratch, sender: str):
    with nothing_written(repo):
        refused = send(repo, sender, HARBOR)

    assert (refused.code, refused.status) == ("UNKNOWN_SENDER", 3)


def test_a_retired_agent_neither_sends_nor_gets_mail(repo: Scratch):
    repo.json("agent", "retire", "--agent", HARBOR)

    with nothing_written(repo):
        assert send(repo, HARBOR, OTTER).code in ("UNKNOWN_SENDER", "AGENT_RETIRED")
        assert send(repo, OTTER, HARBOR).code == "UNKNOWN_RECIPIENT"


def test_the_first_thing_wrong_is_named_sender_recipient_bead_category_text(repo: Scratch):
    def code(sender: str, to: str, *more: str, category: str = "NEWS") -> str:
        return send(repo, sender, to, *more, category=category).code

    with nothing_written(repo):
        assert code("nobody", "nobody", "--bead", " ", "--subject", " ") == "UNKNOWN_SENDER"
        assert code(OTTER, "nobody", "--bead", " ", "--subject", " ") == "UNKNOWN_RECIPIENT"
        assert code(OTTER, HARBOR, "--bead", " ", "--subject", " ") == "MISSING_BEAD_ID"
        assert code(OTTER, HARBOR, "--subject", " ") == "INVALID_CATEGORY"
        assert code(OTTER, HARBOR, "--subject", " ", category="INFO") == "INVALID_MESSAGE"
        assert code(OTTER, HARBOR, "--body", " \n ", category="INFO") == "INVALID_MESSAGE"


def test_a_message_repeated_under_its_key_is_one_message(repo: Scratch):
    first = send(repo, OTTER, HARBOR, "--key", "k1").data
    ledger = repo.journal().read_bytes()

    assert send(repo, OTTER, HARBOR, "--key", "k1").data == first
    assert repo.journal().read_bytes() == ledger
    with nothing_written(repo):
        other = send(repo, OTTER, HARBOR, "--subject", "Something else", "--key", "k1")
    assert other.status in (2, 7)


def test_one_senders_key_is_not_anothers(repo: Scratch):
    send(repo, OTTER, HARBOR, "--key", "k1")
    send(repo, HARBOR, OTTER, "--key", "k1")

    assert (len(inbox(repo, HARBOR)), len(inbox(repo, OTTER))) == (1, 1)


def test_an_inbox_is_newest_first_and_narrowed_by_state_bead_and_number(repo: Scratch):
    ids = [send(repo, OTTER, HARBOR, "--bead", f"bb-{number}").data["message_id"] for number in (1, 2, 1)]
    read(repo, HARBOR, ids[0])

    def found(*words: str) -> list[str]:
        return [message["message_id"] for message in inbox(repo, HARBOR, *words)]

    assert found() == ids[::-1]
    assert found("--state", "unread") == [ids[2], ids[1]]
    assert found("--state", "read") == [ids[0]]
    assert found("--state", "acked") == []
    assert found("--bead", "bb-1") == [ids[2], ids[0]]
    assert found("--bead", "bb-1", "--limit", "1") == [ids[2]]
    assert found("--limit", "2") == [ids[2], ids[1]]


@pytest.mark.parametrize("limit", ["0", "501", "-1", "1.5", "abc", "", "1e2", "٣"])
def test_a_limit_is_a_whole_number_from_1_to_500(repo: Scratch, limit: str):
    refused = repo.json("agent", "inbox", "--agent", HARBOR, f"--limit={limit}")

    assert (refused.code, refused.status) == ("INVALID_LIMIT", 2)


def test_a_state_is_unread_read_or_acked(repo: Scratch):
    assert repo.json("agent", "inbox", "--agent", HARBOR, "--state", "UNREAD").status == 0
    for state in ("", "new"):
        refused = repo.json("agent", "inbox", "--agent", HARBOR, "--state", state)
        assert (refused.code, refused.status) == ("INVALID_STATE", 2)


@pytest.mark.parametrize("verb", ["read", "ack"])
@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("", "MESSAGE_NOT_FOUND"),
        (" ", "MESSAGE_NOT_FOUND"),
        ("aaaaaaaaaaaa.99", "MESSAGE_NOT_FOUND"),
        ("msg_1", "MESSAGE_NOT_FOUND"),
        ("../../etc/passwd", "INVALID_MESSAGE_ID"),
        ("a b", "INVALID_MESSAGE_ID"),
        ("a\x1b[31m", "INVALID_MESSAGE_ID"),
        ("ä.1", "INVALID_MESSAGE_ID"),
    ],
)
def test_an_id_that_is_no_messages_is_refused(repo: Scratch, verb: str, message: str, code: str):
    with nothing_written(repo):
        refused = repo.json("agent", verb, "--agent", HARBOR, "--message", message)

    assert (refused.code, refused.status) == (code, 2 if code == "INVALID_MESSAGE_ID" else 3)


def test_an_event_that_is_no_message_is_none(repo: Scratch):
    event = log(repo)[0]["id"]

    assert read(repo, HARBOR, event).code == "MESSAGE_NOT_FOUND"


def test_who_only_reads_its_mail_shows_that_it_is_alive(repo: Scratch):
    message = send(repo, OTTER, HARBOR).data["message_id"]
    later = after(repo, 14)

    read(later, HARBOR, message)

    assert later.json("agent", "show", "--agent", HARBOR).data["last_seen_at"] == moment(14)
    assert later.json("agent", "show", "--agent", OTTER).data["last_seen_at"] == NOON


def test_an_agent_may_write_to_itself_and_to_the_person(repo: Scratch):
    send(repo, OTTER, OTTER)
    send(repo, OTTER, "user", category="DECISION")

    assert [message["from_agent"] for message in inbox(repo, OTTER)] == [OTTER]
    (asked,) = inbox(repo, "user")
    assert read(repo, "user", asked["message_id"]).data["state"] == "read"


def test_the_person_writes_too(repo: Scratch):
    sent = send(repo, "user", OTTER).data

    assert (sent["from_agent"], inbox(repo, OTTER)[0]["from_agent"]) == ("user", "user")


def test_a_body_is_read_from_stdin(repo: Scratch):
    body = "one\ntwo\nthree – ünïcode\n"

    send(repo, OTTER, HARBOR, "--body", "-", stdin=body)

    assert inbox(repo, HARBOR)[0]["body"] == body


def test_a_body_of_100_kb_arrives_whole(repo: Scratch):
    body = "".join(f"line {number} – ü\n" for number in range(7000))
    assert len(body.encode()) > 100_000

    send(repo, OTTER, HARBOR, "--body", "-", stdin=body)
    send(repo, OTTER, HARBOR, "--body", "x" * 100_000)

    assert [message["body"] for message in inbox(repo, HARBOR)] == ["x" * 100_000, body]
    assert repo.json("ledger", "verify").status == 0


def test_a_body_too_long_a_subject_too_long_or_of_two_lines_is_refused(repo: Scratch):
    with nothing_written(repo):
        for more, stdin in (
            (["--body", "-"], "x" * 262_145),
            (["--subject", "x" * 501], None),
            (["--subject", "one\ntwo"], None),
            (["--subject", "bell\x07"], None),
        ):
            assert send(repo, OTTER, HARBOR, *more, stdin=stdin).code == "INVALID_MESSAGE", more


def test_what_is_no_text_is_refused(repo: Scratch):
    with nothing_written(repo):
        refused = repo.json(
            "agent", "send", "--from", OTTER, "--to", HARBOR, "--bead", "bb-1", "--category", "INFO",
            "--subject", "News", "--body", b"\xff\xfe",
        )  # fmt: skip

    assert refused.status == 2


def test_escapes_in_a_body_are_kept_and_shown_harmless(repo: Scratch):
    body = f"first\n{ESCAPES}"
    send(repo, OTTER, HARBOR, "--body", "-", category="HANDOFF", stdin=body)

    assert inbox(repo, HARBOR)[0]["body"] == body
    for words in (
        ["agent", "inbox", "--agent", HARBOR],
        ["agent", "wait", "--agent", HARBOR],
        ["resume", "--agent", HARBOR],
        ["sessions", "show", "bb-1"],
        ["protocol", "list"],
        ["protocol", "show", log(repo)[-1]["id"]],
        ["timeline"],
        ["status"],
        ["problems"],
        ["agent", "status"],
        ["ledger", "log"],
    ):
        shown = repo.bb(*words)
        assert is_harmless(shown.out), (words, shown.out)
        assert is_harmless(shown.err), (words, shown.err)


# -- waiting


def test_who_has_unread_mail_need_not_wait(repo: Scratch):
    sent = send(repo, OTTER, HARBOR).data

    answer = repo.json("agent", "wait", "--agent", HARBOR, "--timeout", "60").data

    assert [message["message_id"] for message in answer["messages"]] == [sent["message_id"]]
    assert inbox(repo, HARBOR)[0]["state"] == "unread"


def test_nothing_came(repo: Scratch):
    with nothing_written(repo):
        refused = repo.json("agent", "wait", "--agent", HARBOR, "--timeout", "0")
    assert (refused.code, refused.status) == ("NOTHING_CAME", 6)

    send(repo, OTTER, HARBOR)
    assert repo.json("agent", "wait", "--agent", HARBOR, "--new", "--timeout", "0").code == "NOTHING_CAME"


def test_who_waits_is_woken_by_the_next_message_to_it(repo: Scratch):
    waiting = subprocess.Popen(
        [sys.executable, "-m", "bb", "agent", "wait", "--agent", HARBOR, "--timeout", "30", "--json"],
        cwd=repo.path,
        env=environment(**repo.settings),
        stdout=subprocess.PIPE,
    )
    try:
        send(repo, HARBOR, OTTER)
        send(repo, OTTER, HARBOR, "--subject", "Wake up")
        out, _ = waiting.communicate(timeout=PATIENCE)
    finally:
        waiting.kill()

    answer = Ran(waiting.returncode, out.decode(), "").data
    assert [message["subject"] for message in answer["messages"]] == ["Wake up"]
