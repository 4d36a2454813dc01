"""What a bridge starts: `bb chat outbox --results` and `bb chat ingest --follow`, as processes with pipes."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bb.ops.attention.payloads import LARGEST
from tests.near import near
from tests.support import Scratch, environment

OTTER = "amber-otter"


class Started:
    """A running command."""

    def __init__(self, repo: Scratch, *words: str, **settings: str) -> None:
        pipes: dict[str, int] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        env = environment(**settings)
        command = [sys.executable, "-m", "bb", "chat", *words, "--json"]
        self.process = subprocess.Popen(command, cwd=repo.path, env=env, **pipes)

    def write(self, line: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write((line if isinstance(line, str) else json.dumps(line)).encode() + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def ask(self, line: Any) -> dict[str, Any]:
        self.write(line)
        return self.read()

    def end(self) -> tuple[int, str]:
        out, err = self.process.communicate()
        return self.process.returncode, (out + err).decode()


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    made = near(tmp_path / "repo")
    assert made.bb("agent", "register", "--name", OTTER, "--role", "builder").status == 0
    for conversation, platform in (("C1", "slack"), ("!r:x", "matrix")):
        assert made.bb("chat", "arrange", conversation, "--external", "--platform", platform).status == 0
    return made


@pytest.fixture
def start(repo: Scratch) -> Iterator[Any]:
    running: list[Started] = []

    def started(*words: str, **settings: str) -> Started:
        running.append(Started(repo, *words, **settings))
        return running[-1]

    yield started
    for each in running:
        each.process.kill()
        with contextlib.suppress(BrokenPipeError, ValueError):  # it may have been ended and closed
            each.process.communicate()


def say(repo: Scratch, text: str, conversation: str = "C1") -> str:
    how = ("--conversation", conversation, "--visibility", "channel", "--directedness", "ambient")
    ran = repo.json("chat", "send", text, "--by", OTTER, *how, "--idempotency-key", text)
    return str(ran.data["messageId"])


def states(repo: Scratch) -> dict[str, str]:
    return {item["id"]: item["state"] for item in repo.json("chat", "outbox").data}


def test_an_item_is_marked_before_it_is_shown_and_the_next_one_comes_after_its_result(repo: Scratch, start: Any):
    one, two = say(repo, "One."), say(repo, "Two.")
    say(repo, "Elsewhere.", "!r:x")
    outbox = start("outbox", "--platform", "slack", "--follow", "--results")

    shown = outbox.read()
    assert (shown["id"], shown["state"], states(repo)[one]) == (one, "pending", "unknown")
    assert outbox.ask({"platformId": "slack:T:C1:1.1"})["id"] == two
    outbox.write({"failed": "is_archived"})
    three = say(repo, "Three.")

    assert outbox.read()["id"] == three
    assert list(states(repo)) == [next(name for name in states(repo) if name not in (one, two, three)), three]


def test_an_item_whose_result_is_unclear_comes_again_and_says_so(repo: Scratch, start: Any):
    one = say(repo, "One.")
    outbox = start("outbox", "--follow", "--results")

    assert outbox.read()["state"] == "pending"
    for again in (None, 0, "0.01", "Fri, 31 Dec 1999 23:59:59 GMT", "nan"):
        shown = outbox.ask({"again": again})
        assert (shown["id"], shown["state"]) == (one, "unknown")


def test_a_bridge_that_was_killed_is_told_at_its_next_start(repo: Scratch, start: Any):
    one = say(repo, "One.")
    first = start("outbox", "--follow", "--results")
    assert first.read()["state"] == "pending"
    first.process.kill()
    first.process.communicate()

    shown = start("outbox", "--follow", "--results").read()

    assert (shown["id"], shown["state"]) == (one, "unknown")


def test_a_message_that_its_agent_withdraws_is_left_out_or_deleted_afterwards(repo: Scratch, start: Any):
    one, two = say(repo, "One."), say(repo, "Two.")
    outbox = start("outbox", "--follow", "--results")
    assert outbox.read()["id"] == one
    for name in (one, two):
        assert repo.bb("chat", "cancel", name, "--agent", OTTER, "--reason", "wrong").status == 0

    deletion = outbox.ask({"platformId": "slack:T:C1:1.1"})

    assert (deletion["type"], deletion["onMessage"]) == ("delete", "slack:T:C1:1.1")
    assert list(states(repo)) == [deletion["id"]]


def test_the_end_of_the_bridge_ends_the_outbox(repo: Scratch, start: Any):
    say(repo, "One.")
    outbox = start("outbox", "--follow", "--results")
    outbox.read()

    assert outbox.end() == (0, "")


@pytest.mark.parametrize(
    "line", ["", "{", "[]", "{}", '{"platformId": ""}', '{"failed": null}', '{"again": true}', '{"a": 1}', '"x"']
)
def test_an_invalid_result_is_refused_and_records_nothing(repo: Scratch, start: Any, line: str):
    one = say(repo, "One.")
    outbox = start("outbox", "--follow", "--results")
    outbox.read()
    outbox.write(line)

    status, err = outbox.end()

    assert (status, states(repo)[one]) == (2, "unknown")
    assert "Traceback" not in err


@pytest.mark.parametrize("words", [("outbox", "--results"), ("outbox", "ack", "x", "--platform", "slack")])
def test_options_that_do_not_go_together_are_refused(repo: Scratch, words: tuple[str, ...]):
    assert repo.json("chat", *words).status == 2


# -- ingest


def line(event: str, text: str = "hello") -> dict[str, Any]:
    place = {"source": {"platform": "slack"}, "conversation": {"id": "C9", "kind": "channel"}}
    return {"eventId": event, **place, "author": {"id": "U1"}, "text": text}


def test_each_line_is_recorded_and_answered_at_once(repo: Scratch, start: Any):
    inbox = start("ingest", "--follow", "--external")

    first = inbox.ask(line("1"))
    again = inbox.ask(line("1"))
    odd = inbox.ask({"eventId": "2"})
    inbox.write("")
    last = inbox.ask(line("3"))

    assert (first["code"], first["counts"]) == (None, {"recorded": 1})
    assert again["counts"] == {"duplicate": 1}
    assert odd["counts"] == {} or odd["code"]
    assert last["counts"] == {"recorded": 1}
    assert repo.json("chat", "arrange", "C9").data["is_external"] is True
    assert inbox.end() == (0, "")


def test_the_rest_of_a_line_that_is_too_long_is_no_line_of_its_own(repo: Scratch, start: Any):
    inbox = start("ingest", "--follow")
    hidden = json.dumps(line("hidden"))

    for long in (1 << 20, (1 << 20) + 1, LARGEST):
        assert inbox.ask("x" * long + hidden)["code"] == "INVALID_LINE"
    assert inbox.ask(line("1"))["counts"] == {"recorded": 1}
    assert inbox.end() == (0, "")
    assert repo.json("chat", "show", "slack:hidden", "--agent", OTTER).code == "NOT_FOUND"


def signed(body: str, secret: str = "shhh") -> dict[str, Any]:
    mark = hmac.new(secret.encode(), body.encode(), hashlib.sha256).hexdigest()
    return {"headers": {"X-GitHub-Event": "ping", "X-Hub-Signature-256": f"sha256={mark}"}, "body": body}


def test_each_line_is_checked_against_its_own_signature(repo: Scratch, start: Any):
    inbox = start("ingest", "--follow", "--format", "github", "--secret-env", "HOOK", HOOK="shhh")
    body = json.dumps({"zen": "Ünïcode.", "at": time.time()}, ensure_ascii=False)

    assert inbox.ask(signed(body))["code"] is None
    assert inbox.ask(signed(body, "another"))["code"] == "BAD_SIGNATURE"
    assert inbox.ask(signed(body) | {"body": body + " "})["code"] == "BAD_SIGNATURE"
    assert inbox.ask({"headers": signed(body)["headers"], "body": json.loads(body)})["code"] == "INVALID_PAYLOAD"
    assert inbox.ask(json.loads(body))["code"] == "INVALID_PAYLOAD"
    assert inbox.ask(signed("[1]"))["code"] == "INVALID_PAYLOAD"
    assert inbox.ask(signed(body))["code"] is None


def test_without_the_secret_nothing_is_taken_in(repo: Scratch, start: Any):
    inbox = start("ingest", "--follow", "--format", "github", "--secret-env", "HOOK")
    inbox.write(signed("{}"))

    status, err = inbox.end()

    assert status == 2
    assert "Traceback" not in err
