"""A text that looks like a secret is refused with a way on that can be gone (decision 35)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.near import Near, near
from tests.support import NOON

SECRET = "ghp_" + "aZ09" * 9
VOUCHED = ["--allow-secret", "an example of the manual"]
MAIL = ["agent", "send", "--bead", "b", "--category", "INFO", "--subject", "s"]
AMBER, COBALT = "amber-otter", "cobalt-harbor"


@pytest.fixture
def repo(tmp_path: Path) -> Near:
    made = near(tmp_path / "repo", BB_NOW=NOON)
    for agent in (AMBER, COBALT):
        assert made.bb("agent", "register", "--name", agent, "--role", "builder").status == 0
    return made


@pytest.mark.parametrize(
    "words",
    [
        [*MAIL, "--from", AMBER, "--to", COBALT, "--body", SECRET],
        ["chat", "send", SECRET, "--by", AMBER],
        ["chat", "notify", SECRET, "--by", AMBER],
        ["chat", "notify", "--title", SECRET, "--by", AMBER],
        ["chat", "notify", "see", "--context", f'{{"seen": "{SECRET}"}}', "--by", AMBER],
    ],
    ids=["mail", "chat", "notification", "title", "context"],
)
def test_where_somebody_can_vouch_for_it_the_hint_says_so_and_leads_on(repo: Near, words: list[str]):
    refused = repo.json(*words)

    assert refused.code == "SECRET_FOUND"
    assert "--allow-secret" in refused.envelope["error"]["hint"]
    assert repo.bb(*words, *VOUCHED).status == 0


def test_where_nobody_can_the_hint_does_not_say_so(repo: Near):
    words = ["actor", "add", "peer-1", "--title", SECRET, "--runtime", "custom", "--command", "true"]
    refused = repo.json(*words)

    assert refused.code == "SECRET_FOUND"
    assert "--allow-secret" not in refused.envelope["error"]["hint"]
    assert repo.bb(*words, *VOUCHED).status == 2


def test_the_reason_is_recorded_with_a_notification(repo: Near):
    event = repo.json("chat", "notify", SECRET, "--by", AMBER, *VOUCHED).data["event"]

    assert event["data"]["message"] == SECRET
    assert event["data"]["secret_allowed"] == VOUCHED[1]


# -- C2A: what looks like a secret is masked (C2A, Security and Trust), so that nobody has to vouch for it

C2A = ["--recipient", COBALT, "--visibility", "dm", "--directedness", "to_me", "--intent", "question", "--by", AMBER]


def asked(repo: Near, text: str = "Is it out?", key: str = "k1") -> str:
    found: str = repo.json("chat", "send", text, *C2A, "--conversation", "c1", "--idempotency-key", key).data[
        "messageId"
    ]
    return found


@pytest.mark.parametrize(
    "words",
    [
        ["chat", "react", "EVENT", "--signal", "queued", "--note", SECRET, "--by", COBALT],
        ["chat", "react", "EVENT", "--signal", "queued", "--eta", SECRET, "--by", COBALT],
        ["chat", "defer", "EVENT", "--reason", SECRET, "--agent", COBALT],
        ["chat", "defer", "EVENT", "--reason", "later", "--eta", SECRET, "--agent", COBALT],
        ["chat", "resolve", "EVENT", "--note", SECRET, "--agent", COBALT],
        ["chat", "progress", "deploy", "--progress", "1", "--message", SECRET, "--agent", COBALT],
        ["chat", "cancel", "EVENT", "--reason", SECRET, "--agent", AMBER],
        ["chat", "send", SECRET, *C2A, "--conversation", "c1", "--idempotency-key", "k2"],
    ],
    ids=["note", "eta", "why", "when", "remark", "progress", "cancel", "message"],
)
def test_what_c2a_says_in_words_is_masked_and_takes_nobody_to_vouch_for_it(repo: Near, words: list[str]):
    event = asked(repo)
    words = [event if word == "EVENT" else word for word in words]

    vouched = repo.json(*words, *VOUCHED)
    assert vouched.code == ("NOT_OF_C2A" if words[1] == "send" else "UNKNOWN_OPTION")
    assert repo.json(*words).status == 0
    assert SECRET not in written(repo)


@pytest.mark.parametrize(
    "words",
    [
        ["chat", "send", "hello", *C2A, "--conversation", SECRET, "--idempotency-key", "k2"],
        ["chat", "send", "hello", *C2A, "--conversation", "c1", "--idempotency-key", SECRET],
        ["chat", "progress", SECRET, "--progress", "1", "--agent", COBALT],
    ],
    ids=["conversation", "key", "token"],
)
def test_a_name_is_not_masked_but_refused_with_a_hint_that_can_be_followed(repo: Near, words: list[str]):
    refused = repo.json(*words)

    assert refused.code == "SECRET_FOUND"
    assert "--allow-secret" not in refused.envelope["error"]["hint"]
    assert "another name" in refused.envelope["error"]["hint"]
    assert SECRET not in written(repo)


def test_a_message_of_c2a_refuses_to_be_vouched_for_and_says_that_it_is_masked(repo: Near):
    refused = repo.json("chat", "send", SECRET, *C2A, "--conversation", "c1", "--idempotency-key", "k2", *VOUCHED)

    assert refused.code == "NOT_OF_C2A"
    assert "replaced by the name of its type" in refused.envelope["error"]["hint"]


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["--to", COBALT], "--to"),
        (["--priority", "attention"], "--priority"),
        (["--message-mode", "mail"], "--message-mode"),
        (["--refs", "[]"], None),
        (["--refs", '[{"kind": "task_ref"}]'], "--refs"),
        (["--client-id", "mine"], "--client-id"),
        (["--reply-required"], "--reply-required"),
    ],
)
def test_a_message_of_c2a_takes_no_option_only_to_ignore_it(repo: Near, words: list[str], option: str | None):
    said = repo.json("chat", "send", "hello", *C2A, "--conversation", "c1", "--idempotency-key", "k2", *words)

    assert said.status == (2 if option else 0)
    if option:
        assert said.code == "NOT_OF_C2A"
        assert option in said.envelope["error"]["message"]


def written(repo: Near) -> str:
    """All that is recorded."""
    found = repo.bb("ledger", "export").out
    assert COBALT in found
    return found
