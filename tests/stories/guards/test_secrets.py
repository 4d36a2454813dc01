"""Secrets at every door by which text gets on a line or into an attachment, and one odd line among many."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.stories.agents.agents_support import HARBOR, OTTER, crew, log, nothing_written
from tests.support import Ran, Scratch

SECRET = "hf" + "_" + "aZ09" * 9


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    return crew(tmp_path / "repo", OTTER, HARBOR)


def details(ran: Ran) -> dict[str, Any]:
    found: dict[str, Any] = ran.envelope["error"]["details"]
    return found


def everything(repo: Scratch) -> bytes:
    return b"".join(path.read_bytes() for path in repo.store.rglob("*") if path.is_file() and "sqlite" not in path.name)


SEND = ("agent", "send", "--from", OTTER, "--to", HARBOR, "--bead", "b", "--category", "INFO")
HANDOFF = ("protocol", "handoff", "--from", OTTER, "--to", HARBOR, "--bead", "b", "--subject", "s", "--summary", "x")
DOORS = {
    "a bead": ("agent", "reserve", "--agent", OTTER, "--scope", "src", "--bead", SECRET),
    "a scope": ("agent", "reserve", "--agent", OTTER, "--scope", f"src/{SECRET}", "--bead", "b"),
    "a key": ("agent", "reserve", "--agent", OTTER, "--scope", "src", "--bead", "b", "--key", SECRET),
    "mail": (*SEND, "--subject", "s", "--body", SECRET),
    "a subject": (*SEND, "--body", "s", "--subject", SECRET),
    "a hand-off": (*HANDOFF, "--next-action", SECRET),
    "a role": ("agent", "register", "--name", "dusty-wren", "--role", SECRET),
    "a title": ("agent", "register", "--name", "dusty-wren", "--role", "dev", "--display", SECRET),
    "a name": ("agent", "register", "--name", "sk-" + "ant-" + "a1b2" * 6, "--role", "dev"),
    "chat": ("chat", "send", SECRET, "--by", "user"),
    "a title of a group": ("group", "create", "--title", SECRET),
    "a topic of a group": ("group", "create", "--title", "x", "--topic", SECRET),
    "a topic that is changed": ("group", "update", "--patch", json.dumps({"topic": SECRET})),
    "a freeze": ("freeze", "src", "--why", SECRET),
    "a pause": ("agent", "pause", OTTER, "--why", SECRET),
    "CBCL": ("cbcl", "send", f'(tell @{HARBOR} "{SECRET}")', "--agent", OTTER),
    "a task": (
        *("call", "context_sync", "--args"),
        json.dumps({"by": "user", "ops": [{"op": "task.create", "title": SECRET}]}),
    ),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_secret_is_refused_at_every_door(repo: Scratch, door: str):
    with nothing_written(repo):
        ran = repo.json(*DOORS[door])
    assert ran.code == "SECRET_FOUND", (ran.out, ran.err)
    assert SECRET not in ran.out + ran.err
    assert SECRET.encode() not in everything(repo)


@pytest.mark.parametrize("form", ["utf-8", "utf-16", "utf-32"])
def test_an_attachment_with_a_secret_in_it_is_refused_unless_somebody_says_why(repo: Scratch, form: str):
    (repo.path / "notes.bin").write_bytes(f"HF_TOKEN={SECRET}\n".encode(form))

    for words in (["blob", "put", "notes.bin"], ["chat", "send", "see there", "--attach", "notes.bin", "--by", "user"]):
        ran = repo.json(*words)
        assert (ran.code, details(ran)["kinds"]) == ("SECRET_FOUND", ["Hugging Face token"])
        assert "bb blob put FILE --allow-secret" in ran.envelope["error"]["hint"]
    assert not (repo.store / "blobs").exists() or not list((repo.store / "blobs").iterdir())

    kept = repo.json("blob", "put", "notes.bin", "--allow-secret", "it was revoked").data
    assert kept["secret_allowed"] == "it was revoked"
    words = ["chat", "send", "see there", "--by", "user", "--to", OTTER, "--attachments", json.dumps([kept])]
    said = repo.json(*words).data["event"]["data"]
    assert said["attachments"][0]["secret_allowed"] == "it was revoked"


def test_an_attachment_in_a_request_and_the_name_of_a_file_are_looked_at_too(repo: Scratch):
    import base64

    words = ["--data-base64", base64.b64encode(SECRET.encode()).decode(), "--name", "x.txt"]
    assert repo.json("blob", "put", *words).code == "SECRET_FOUND"
    (repo.path / SECRET).write_text("nothing")
    assert repo.json("blob", "put", SECRET).code == "SECRET_FOUND"


def test_a_secret_that_is_split_over_two_fields_is_none(repo: Scratch):
    half = SECRET[:18]
    words = ["--subject", half, "--body", SECRET[18:], "--category", "INFO", "--bead", "b"]
    assert repo.json("agent", "send", "--from", OTTER, "--to", HARBOR, *words).status == 0


def test_a_directory_that_is_called_like_a_secret_can_have_a_ledger_that_does_not_repeat_it(tmp_path: Path):
    repo = crew(tmp_path / SECRET, OTTER)
    assert [each["data"]["title"] for each in log(repo) if each["kind"] == "group.create"] == ["[Hugging Face token]"]
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in repo.store.glob("j/*/*.jsonl"))


def line(name: str, *, author: str = "U1", text: str = "hello") -> dict[str, Any]:
    return {
        "type": "message",
        "eventId": name,
        "source": {"platform": "slack"},
        "conversation": {"id": "C1", "kind": "channel"},
        "author": {"id": author, "kind": "human"},
        "content": [{"type": "text", "text": text}],
    }


def test_one_odd_line_never_refuses_a_whole_batch(repo: Scratch):
    lines = [
        line("1"),
        line("2", author=SECRET),
        line("3", text="x" * 70_000),
        line("4"),
        line("5", text=f"a {SECRET}"),
    ]

    ran = repo.json("chat", "ingest", stdin="\n".join([*map(json.dumps, lines), "{no json"]))

    assert ran.status != 0
    assert details(ran)["counts"] == {"recorded": 3}
    told = {each["line"]: each["code"] for each in details(ran)["refused"]}
    assert told == {2: "SECRET_FOUND", 3: "INVALID_ENVELOPE", 6: "INVALID_LINE"}
    texts = [each["data"]["text"] for each in log(repo) if each["kind"] == "chat.message"]
    assert sorted(texts) == ["a [Hugging Face token]", "hello", "hello"]
    assert SECRET.encode() not in everything(repo)


def test_a_line_that_grows_too_long_for_the_ledger_stops_no_other(repo: Scratch):
    large = line("2") | {"extension": {f"x{each}": "\N{SNOWMAN}" * 9000 for each in range(38)}}
    ran = repo.json("chat", "ingest", stdin="\n".join(map(json.dumps, [line("1"), large, line("3")])))
    recorded = details(ran)["counts"] if ran.status else ran.data["counts"]
    assert recorded["recorded"] >= 2


def test_one_payload_of_a_platform_that_is_none_stops_no_other(repo: Scratch):
    good = (Path(__file__).parents[2] / "data" / "surfaces" / "github" / "comment-created.json").read_text()
    flat = json.dumps(json.loads(good))

    ran = repo.json("chat", "ingest", "--format", "github", stdin=f'no json\n{flat}\n[]\n"\\ud800"')

    assert details(ran)["counts"] == {"recorded": 1}
    assert [each["line"] for each in details(ran)["refused"]] == [1, 3, 4]
    assert {each["code"] for each in details(ran)["refused"]} == {"INVALID_PAYLOAD"}
