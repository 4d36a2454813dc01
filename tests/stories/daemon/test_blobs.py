"""Attachments: what is put in comes out as it was, for who sits at a terminal and for who speaks to a daemon."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bb.ledger.local import blobs
from bb.ops.chat import blobs as chat_blobs
from bb.wire import client
from tests.stories.daemon.cli_support import home, served, station
from tests.support import Scratch, environment

OCTETS = bytes(range(256)) * 8 + "ñ試\x1b[2J\r\n".encode()


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    return station(tmp_path)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scratch]:
    with served(tmp_path_factory.mktemp("blobs")) as made:
        yield made


def written(repo: Scratch, name: str = "plan.pdf", octets: bytes = OCTETS) -> Path:
    path = repo.path / name
    path.write_bytes(octets)
    return path


def poured(repo: Scratch, path: str, *words: str) -> bytes:
    """What `bb blob get PATH | cat` gives."""
    command = [sys.executable, "-m", "bb", "blob", "get", path, *words]
    return subprocess.run(
        command, cwd=repo.path, env=environment(**repo.settings), capture_output=True, check=True
    ).stdout


# -- at a terminal


def test_a_file_comes_out_as_it_went_in(repo: Scratch):
    written(repo)

    kept = repo.json("blob", "put", "plan.pdf").data

    assert kept["path"] == f"state/blobs/{hashlib.sha256(OCTETS).hexdigest()}_plan.pdf"
    assert (kept["title"], kept["bytes"]) == ("plan.pdf", len(OCTETS))
    assert kept["sha256"] == hashlib.sha256(OCTETS).hexdigest()
    assert kept["group_id"] == repo.json("group", "show").data["group"]["group_id"]
    assert poured(repo, kept["path"]) == OCTETS
    found = repo.json("blob", "get", kept["path"]).data
    assert base64.b64decode(found["data_base64"]) == OCTETS
    assert (found["bytes"], found["offset"], found["next_offset"]) == (len(OCTETS), 0, None)
    assert repo.bb("blob", "get", kept["path"], "--output", "copy").status == 0
    assert (repo.path / "copy").read_bytes() == OCTETS


def test_what_is_kept_is_said_in_a_line(repo: Scratch):
    written(repo)

    told = repo.bb("blob", "put", "plan.pdf").out
    path = told.split()[0]

    assert told == f"{path}  {len(OCTETS):,} bytes\n"
    copied = repo.bb("blob", "get", path, "--output", "copy").out
    assert copied == f"Wrote {len(OCTETS):,} bytes to {repo.path / 'copy'}\n"


def test_the_same_bytes_are_kept_once(repo: Scratch):
    written(repo)

    first, again = (repo.json("blob", "put", "plan.pdf").data for _ in "12")

    assert first == again
    assert len(list((repo.store / "blobs").iterdir())) == 1


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("../../etc/passwd", "passwd"),
        ("a b\x1b[2Jc.txt", "a_b__2Jc.txt"),
        ("..", "file"),
        (".hidden", "hidden"),
        ("x" * 300 + ".pdf", "x" * 116 + ".pdf"),
        ("日本.txt", "__.txt"),
    ],
    ids=ascii,
)
def test_a_name_is_made_one_that_any_file_system_takes(repo: Scratch, name: str, title: str):
    written(repo)

    kept = repo.json("blob", "put", "plan.pdf", "--name", name).data

    assert kept["title"] == title
    assert (repo.store / kept["path"].replace("state/", "")).read_bytes() == OCTETS


def test_bytes_are_no_text_for_a_terminal(repo: Scratch):
    written(repo)
    path = repo.json("blob", "put", "plan.pdf").data["path"]
    ours, theirs = os.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "bb", "blob", "get", path],
            cwd=repo.path,
            env=environment(**repo.settings),
            stdout=theirs,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        os.close(theirs)
        os.close(ours)

    assert (done.returncode, done.stderr[:21]) == (2, "Error: [NEEDS_OUTPUT]")


def test_a_group_is_named_from_anywhere(repo: Scratch, tmp_path: Path):
    group = repo.json("group", "create", "--title", "Elsewhere").data["group_id"]
    (tmp_path / "away").mkdir()
    away = Scratch(tmp_path / "away", repo.settings | {"GIT_CEILING_DIRECTORIES": str(tmp_path)})
    written(away)

    path = away.json("blob", "put", "plan.pdf", "--group-id", group).data["path"]

    assert poured(away, path, "--group-id", group) == OCTETS
    assert repo.json("blob", "get", path).code == "BLOB_NOT_FOUND"


# -- with a message


def test_files_go_with_a_message(repo: Scratch):
    written(repo, "a.txt", b"one")
    written(repo, "b.txt", b"two")

    sent = repo.json("chat", "send", "See these.", "--attach", "a.txt", "--attach", "b.txt").data["event"]

    attached = sent["data"]["attachments"]
    assert [(each["title"], each["bytes"]) for each in attached] == [("a.txt", 3), ("b.txt", 3)]
    assert [poured(repo, each["path"]) for each in attached] == [b"one", b"two"]
    shown = repo.bb("chat", "history").out
    assert re.findall(r"attached: (\S+)", shown) == [each["path"] for each in attached]


def test_a_file_may_be_all_that_is_said(repo: Scratch):
    written(repo)

    (attachment,) = repo.json("chat", "send", "--attach", "plan.pdf").data["event"]["data"]["attachments"]

    assert attachment["bytes"] == len(OCTETS)


def test_a_file_goes_with_a_reply_beside_what_was_attached_already(repo: Scratch):
    written(repo)
    kept = repo.json("blob", "put", "plan.pdf").data
    first = repo.json("chat", "send", "Plan?").data["event"]

    words = ["--attach", "plan.pdf", "--attachments", json.dumps([{"path": kept["path"], "title": "again"}])]
    sent = repo.json("chat", "reply", first["id"], "Here.", *words).data["event"]

    assert [each["title"] for each in sent["data"]["attachments"]] == ["again", "plan.pdf"]


def test_a_file_that_is_not_there_is_not_sent(repo: Scratch):
    before = repo.journal().read_bytes()

    for file in ("nothing", ".", "a\x1b[2J", ""):
        asked, told = (
            repo.json("chat", "send", "See.", "--attach", file),
            repo.bb("chat", "send", "See.", "--attach", file),
        )
        assert (asked.code, asked.status, told.status) == ("FILE_NOT_READ", 3, 3), file
        assert "\x1b" not in told.err

    assert repo.journal().read_bytes() == before


def test_attaching_is_an_option_of_the_commands_alone(repo: Scratch):
    assert "--attach FILE" in repo.bb("chat", "send", "--help").out
    assert repo.json("call", "send", "--args", '{"text": "x", "attach": ["y"]}').code == "UNKNOWN_FIELD"
    assert repo.json("chat", "cross", "x", "--attach", "y").code == "UNKNOWN_OPTION"


# -- in a request


def asked(repo: Scratch, op: str, **args: Any) -> dict[str, Any]:
    return client.ask(str(home(repo)), op, args)


def test_a_client_of_a_daemon_puts_bytes_and_gets_them(running: Scratch):
    group = running.json("group", "show").data["group"]["group_id"]
    text = base64.b64encode(OCTETS).decode()

    kept = asked(running, "blob.put", group_id=group, data_base64=text, name="plan.pdf")

    assert asked(running, "blob.get", group_id=group, path=kept["path"])["data_base64"] == text
    attachment = {"path": kept["path"], "title": "plan"}
    sent = asked(running, "send", group_id=group, text="See.", attachments=[attachment])
    assert sent["event"]["data"]["attachments"][0]["bytes"] == len(OCTETS)


def test_a_group_without_a_directory_has_attachments_too(running: Scratch):
    group = asked(running, "group_create", title="Elsewhere")["group_id"]

    kept = asked(running, "blob.put", group_id=group, data_base64="aGVsbG8=", name="x")

    assert kept["group_id"] == group
    assert asked(running, "blob.get", group_id=group, path=kept["path"])["data_base64"] == "aGVsbG8="
    asked(running, "send", group_id=group, attachments=[{"path": kept["path"]}])


def test_what_does_not_fit_into_an_answer_comes_in_portions(running: Scratch):
    group = running.json("group", "show").data["group"]["group_id"]
    octets = os.urandom(chat_blobs.PORTION * 2 + 5)
    path = running.json("blob", "put", str(written(running, "large", octets))).data["path"]
    found, offset = b"", 0
    while offset is not None:
        answer = asked(running, "blob.get", group_id=group, path=path, offset=offset)
        assert answer["bytes"] == len(octets)
        found += base64.b64decode(answer["data_base64"])
        offset = answer["next_offset"]

    assert found == octets
    assert poured(running, path) == octets
    assert poured(running, path, "--offset", str(len(octets) - 3)) == octets[-3:]


# -- what cannot be

BAD: list[tuple[list[str], str, int]] = [
    (["put"], "INVALID_BLOB", 2),
    (["put", "--data-base64", "aGVsbG8="], "INVALID_BLOB", 2),
    (["put", "plan.pdf", "--data-base64", "aGVsbG8="], "INVALID_BLOB", 2),
    (["put", "--data-base64", "aGVsbG8", "--name", "x"], "INVALID_BLOB", 2),
    (["put", "--data-base64", "a\nGVsbG8=", "--name", "x"], "INVALID_BLOB", 2),
    (["put", "--data-base64", "ñ", "--name", "x"], "INVALID_BLOB", 2),
    (["put", "nothing"], "FILE_NOT_READ", 3),
    (["put", "."], "FILE_NOT_READ", 3),
    (["put", " "], "INVALID_VALUE", 2),
    (["get"], "MISSING_OPTION", 2),
    (["get", "plan.pdf"], "INVALID_ATTACHMENTS", 2),
    (["get", "../../config"], "INVALID_ATTACHMENTS", 2),
    (["get", "state/blobs/../../config"], "INVALID_ATTACHMENTS", 2),
    (["get", f"state/blobs/{'0' * 64}_x/../y"], "INVALID_ATTACHMENTS", 2),
    (["get", f"state/blobs/{'0' * 64}_x"], "BLOB_NOT_FOUND", 3),
    (["get", f"state/blobs/{'0' * 64}_x", "--output", "y"], "BLOB_NOT_FOUND", 3),
    (["get", f"state/blobs/{'0' * 64}_x", "--offset", "-1"], "INVALID_VALUE", 2),
    (["get", f"state/blobs/{'0' * 64}_x", "--group-id", "g_none"], "GROUP_NOT_FOUND", 3),
]


@pytest.mark.parametrize(("words", "code", "status"), BAD, ids=lambda value: str(value)[:60])
def test_a_mistake_is_refused(repo: Scratch, words: list[str], code: str, status: int):
    written(repo)

    asked, told = repo.json("blob", *words), repo.bb("blob", *words)

    assert (asked.code, asked.status, told.status) == (code, status, status)
    assert told.out == ""
    assert not (repo.path / "y").exists()


def test_bytes_that_were_changed_are_not_given_out(repo: Scratch):
    written(repo)
    path = repo.json("blob", "put", "plan.pdf").data["path"]
    file = repo.store / path.replace("state/", "")
    file.write_bytes(b"other")

    for words in ([], ["--output", "copy"], ["--json"]):
        assert repo.bb("blob", "get", path, *words).status == 4
    assert not (repo.path / "copy").exists()


def test_more_than_an_attachment_may_have_is_refused_unread(repo: Scratch):
    with (repo.path / "huge").open("wb") as file:
        file.truncate(blobs.LARGEST + 1)

    assert repo.json("blob", "put", "huge").code == "BLOB_TOO_LARGE"
    assert repo.json("chat", "send", "See.", "--attach", "huge").code == "BLOB_TOO_LARGE"
    assert list(repo.store.glob("blobs/*")) == []


def test_an_output_that_cannot_be_written_is_said(repo: Scratch):
    written(repo)
    path = repo.json("blob", "put", "plan.pdf").data["path"]

    assert repo.json("blob", "get", path, "--output", "no/such/folder").code == "OUTPUT_NOT_WRITTEN"
