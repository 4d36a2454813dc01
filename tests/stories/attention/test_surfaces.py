"""What platforms send, through the door of `bb chat ingest`, to what an agent sees; and what agents say, back again."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest

from tests.near import near
from tests.support import ROOT, Ran, Scratch

OTTER, HERON = "amber-otter", "blue-heron"
STORED = ROOT / "tests" / "data" / "surfaces"
NOW = "2026-11-20T10:00:10Z"


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    made = near(tmp_path / "repo", BB_NOW=NOW)
    for name in (OTTER, HERON):
        assert made.bb("agent", "register", "--name", name, "--role", "builder").status == 0
    return made


def stored(platform: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((STORED / platform / f"{name}.json").read_text())
    return found


def taken(repo: Scratch, platform: str, *names: str) -> Ran:
    """Saved payloads of a platform, one on a line."""
    lines = "\n".join(json.dumps(stored(platform, name)) for name in names)
    return repo.json("chat", "ingest", "--format", platform, stdin=lines)


def decided(repo: Scratch, agent: str) -> dict[str, str]:
    """What each event is to an agent."""
    rows = repo.json("chat", "list", "--agent", agent, "--include-silent").data["events"]
    return {row["eventId"]: f"{row['directedness']}/{row['policy']}/{row['injection']}" for row in rows}


def test_a_comment_on_github_calls_who_is_bound_and_knocks_at_the_team(repo: Scratch):
    repo.bb("chat", "bind", OTTER, "--handle", "github:bo-k")
    repo.bb("chat", "bind", HERON, "--role", "@acme/stokers")

    (told,) = taken(repo, "github", "comment-created").data["events"]

    assert decided(repo, OTTER)[told["eventId"]] == "to_me/must_respond/buffered"
    assert decided(repo, HERON)[told["eventId"]] == "to_my_role/may_respond/notify"
    assert repo.json("chat", "explain", told["eventId"], "--agent", OTTER).data["inputs"]["mentions"] == [
        "bo-k",
        "@acme/stokers",
    ]


def slack(name: str, **event: Any) -> str:
    """A saved payload of Slack, with other members of its event."""
    saved = stored("slack", name)
    saved["body"]["event"] |= event
    return json.dumps(saved)


def test_an_answer_to_a_mention_on_slack_goes_into_the_thread_of_that_message_and_a_short_yes_comes_back(repo: Scratch):
    repo.bb("chat", "bind", OTTER, "--handle", "slack:U0BRIDGE")
    repo.bb("chat", "arrange", "C0KETTLE", "--external", "--platform", "slack")
    mention = taken(repo, "slack", "message-that-names-the-bot").data["events"][0]["eventId"]
    words = ("--visibility", "thread", "--directedness", "to_other", "--idempotency-key", "k", "--agent", OTTER)

    sent = repo.json("chat", "send", "It is off. Shall I put it on?", "--in-reply-to", mention, *words).data

    (post,) = repo.json("chat", "outbox").data
    ts = mention.rpartition(":")[2]
    assert post["target"] == {
        "workspace": "T0ACME",
        "conversation": "C0KETTLE",
        "kind": "channel",
        "thread": ts,
        "replyTo": ts,
        "recipient": None,
    }
    repo.json("chat", "outbox", "ack", sent["messageId"], "--platform-id", "1795168890.000100")
    yes = {"text": "yes", "ts": "1795168950.000300", "thread_ts": ts, "client_msg_id": "c2"}
    own = {"user": "U0BRIDGE", "ts": "1795168890.000100", "thread_ts": ts, "bot_id": "B1", "client_msg_id": "c3"}
    told = repo.json(
        "chat",
        "ingest",
        "--format",
        "slack",
        stdin="\n".join([slack("answer-in-a-thread", **own), slack("answer-in-a-thread", **yes)]),
        BB_NOW="2026-11-20T10:02:35Z",
    ).data["events"]
    assert [each["status"] for each in told] == ["duplicate", "recorded"], "what bb posted is known when it comes back"
    shown = repo.json("chat", "inject", "--agent", OTTER, BB_NOW="2026-11-20T10:02:45Z").data["blocks"]
    answer = next(block for block in shown if block["eventId"] == told[1]["eventId"])
    assert (answer["policy"], answer["reason"]) == ("must_respond", "answer")
    assert answer["answers"]["content"] == [{"type": "text", "text": "It is off. Shall I put it on?"}]
    assert "| It is off. Shall I put it on?\nMESSAGE\nyes\n" in answer["text"]


def test_a_redelivery_is_nothing_new_and_an_edit_and_a_deletion_are(repo: Scratch):
    repo.bb("chat", "bind", OTTER, "--handle", "github:bo-k")

    first = taken(repo, "github", "comment-created", "comment-created").data["counts"]
    edited = taken(repo, "github", "comment-edited").data["events"]
    deleted = taken(repo, "github", "comment-deleted").data["events"]

    assert first == {"recorded": 1, "duplicate": 1}
    assert [each["status"] for each in edited + deleted] == ["edited", "deleted"]
    assert repo.json("chat", "inject", "--agent", OTTER).data["blocks"] == []
    (row,) = repo.json("chat", "list", "--agent", OTTER).data["events"]
    assert (row["disposition"], row["deleted"]) == ("superseded", True)


def test_names_in_quotations_and_code_call_nobody(repo: Scratch):
    repo.bb("chat", "bind", OTTER, "--handle", "github:bo-k")

    (told,) = taken(repo, "github", "comment-with-quotes-and-code").data["events"]

    quoted = repo.json("chat", "explain", told["eventId"], "--agent", OTTER).data["inputs"]["mentions"]
    assert ("bo-k" in quoted) is (decided(repo, OTTER)[told["eventId"]] == "to_me/must_respond/buffered")


def test_an_issue_that_is_assigned_is_an_assignment_and_a_review_a_request(repo: Scratch):
    for name in ("bo-k", "kit-r"):
        assert name
    assigned = taken(repo, "github", "issue-assigned").data["events"]
    asked = taken(repo, "github", "pull-review-requested").data["events"]

    inputs = [repo.json("chat", "explain", e["eventId"], "--agent", OTTER).data["inputs"] for e in assigned + asked]

    assert [each["intent"] for each in inputs] == ["assignment", "approval_request"]


def test_a_mention_on_slack_comes_twice_and_is_one_event(repo: Scratch):
    told = taken(repo, "slack", "message-that-names-the-bot", "mention-of-the-bot").data

    assert told["counts"] == {"recorded": 1, "duplicate": 1}


@pytest.mark.parametrize("platform", ["github", "slack", "discord", "matrix"])
def test_every_stored_payload_is_taken_in_and_leaves_no_event_without_a_policy(repo: Scratch, platform: str):
    hiding = {"join-rules", "member-removed", "repository-privatized"}  # after these, only members see anything
    names = sorted({path.stem for path in (STORED / platform).glob("*.json")} - hiding)

    told = taken(repo, platform, *names)

    assert told.status == 0, told.out
    for agent in (OTTER, HERON):
        rows = repo.json("chat", "list", "--agent", agent, "--include-silent", "--limit", "200").data["events"]
        assert rows
        assert all(row["policy"] and row["directedness"] and row["injection"] for row in rows)


# -- signatures

SECRET = {"HOOK_SECRET": "shhh"}


def signed(repo: Scratch, tmp_path: Path, body: str, secret: str = "shhh") -> tuple[str, ...]:
    mark = hmac.new(secret.encode(), body.encode(), hashlib.sha256).hexdigest()
    headers = stored("github", "comment-created")["headers"] | {"X-Hub-Signature-256": f"sha256={mark}"}
    (tmp_path / "headers.json").write_text(json.dumps(headers))
    return ("chat", "ingest", "--format", "github", "--headers", str(tmp_path / "headers.json"))


def test_a_signed_payload_is_taken_in_and_one_that_was_changed_is_not(repo: Scratch, tmp_path: Path):
    body = json.dumps(stored("github", "comment-created")["body"])
    words = (*signed(repo, tmp_path, body), "--secret-env", "HOOK_SECRET")

    changed = repo.json(*words, stdin=body.replace("can you", "will you"), **SECRET)
    as_it_is = repo.json(*words, stdin=body, **SECRET)

    assert (changed.status, changed.code) == (5, "BAD_SIGNATURE")
    assert as_it_is.data["counts"] == {"recorded": 1}


def test_without_a_secret_nothing_that_has_to_be_signed_is_taken_in(repo: Scratch, tmp_path: Path):
    body = json.dumps(stored("github", "comment-created")["body"])

    refused = repo.json(*signed(repo, tmp_path, body), "--secret-env", "HOOK_SECRET", stdin=body)

    assert (refused.status, refused.code) == (2, "NO_SECRET")


@pytest.mark.parametrize("text", ["", "{", "[1]", '"x"', '{"body": 1}', "\x00"])
def test_what_is_no_payload_is_refused_or_says_nothing(repo: Scratch, text: str):
    told = repo.json("chat", "ingest", "--format", "github", stdin=text)

    assert told.status in (0, 2)
    assert told.status == 2 or told.data["counts"] == {}


# -- back again


def test_what_an_agent_says_outside_waits_for_a_bridge_that_confirms_it(repo: Scratch):
    repo.bb("chat", "bind", OTTER, "--handle", "github:bo-k")
    (told,) = taken(repo, "github", "comment-created").data["events"]
    repo.bb("chat", "arrange", "acme/kettle", "--external")
    words = ("--in-reply-to", told["eventId"], "--visibility", "thread", "--directedness", "to_other")

    sent = repo.json("chat", "send", "I am on it now.", "--by", OTTER, *words, "--idempotency-key", "k").data
    (due,) = repo.json("chat", "outbox").data

    assert (sent["state"], due["state"]) == ("pending", "pending")
    assert due["target"]["conversation"] == "acme/kettle"
    assert due["target"]["thread"] == "17"
    assert due["content"] == [{"type": "text", "text": "I am on it now."}]
    assert repo.json("chat", "outbox", "ack", due["id"], "--platform-id", "github:acme/kettle:comment:9").status == 0
    assert repo.json("chat", "outbox").data == []
    again = repo.json("chat", "send", "I am on it now.", "--by", OTTER, *words, "--idempotency-key", "k").data
    assert (again["state"], again["deduplicated"]) == ("sent", True)


def test_a_bridge_that_only_pipes_gets_one_object_a_line(repo: Scratch):
    repo.bb("chat", "arrange", "C1", "--external", "--platform", "slack")
    words = ("--conversation", "C1", "--visibility", "channel", "--directedness", "ambient", "--idempotency-key", "k")
    assert repo.bb("chat", "send", "Good morning.", "--by", OTTER, *words).status == 0

    (line,) = repo.json("chat", "outbox").data

    assert line["content"] == [{"type": "text", "text": "Good morning."}]
    assert line["marker"] == line["id"]


def test_our_own_words_that_come_back_are_known_as_ours(repo: Scratch):
    repo.bb("chat", "arrange", "C1", "--external", "--platform", "slack")
    words = ("--conversation", "C1", "--visibility", "channel", "--directedness", "ambient", "--idempotency-key", "k")
    sent = repo.json("chat", "send", "Good morning.", "--by", OTTER, *words).data
    back = {
        "eventId": "slack:T:C1:9.1",
        "source": {"platform": "slack"},
        "conversation": {"id": "C1", "kind": "channel"},
        "author": {"id": "UBOT", "kind": "agent"},
        "text": "Good morning.",
        "marker": sent["messageId"],
    }

    told = repo.json("chat", "ingest", stdin=json.dumps(back)).data

    assert told["counts"] == {"own": 1}
    assert repo.json("chat", "outbox").data == []
