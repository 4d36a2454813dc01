"""The contents that bb keeps have git's ids and git's format."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bb.ledger.lines.contents import COMPRESSED, Contents
from tests.support import Scratch, environment

CONTENTS = [b"", b"x\n", b"\0\1\2", b"caf\xc3\xa9\r\n", bytes(range(256)) * 7, b"long line\n" * 10_000]
FORMATS = {"sha1": 40, "sha256": 64}


@pytest.fixture(params=FORMATS)
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Scratch, Contents]:
    made = Scratch(tmp_path)
    made.git("init", "-q", f"--object-format={request.param}")
    return made, Contents(str(tmp_path / "objects"), FORMATS[request.param])


@pytest.mark.parametrize("octets", CONTENTS, ids=len)
def test_a_content_has_the_id_that_git_gives_it_and_git_can_read_it(repo: tuple[Scratch, Contents], octets: bytes):
    made, contents = repo
    env = environment(GIT_ALTERNATE_OBJECT_DIRECTORIES=str(made.path / "objects"))

    blob = contents.id_of(octets)
    contents.keep(blob, octets)

    for words, given, out in (
        (["hash-object", "--stdin"], octets, f"{blob}\n".encode()),
        (["cat-file", "blob", blob], b"", octets),
    ):
        done = subprocess.run(["git", *words], cwd=made.path, env=env, input=given, capture_output=True, check=True)
        assert done.stdout == out
    assert contents.read(blob) == octets
    assert contents.names() == [blob]


def test_a_content_that_is_not_there_is_none(repo: tuple[Scratch, Contents]):
    _, contents = repo
    assert contents.read(contents.id_of(b"x")) is None
    assert contents.names() == []


@pytest.mark.parametrize("damage", [b"", b"junk", b"\x78\x9c"])
def test_a_damaged_content_is_none_and_is_written_anew(repo: tuple[Scratch, Contents], damage: bytes):
    made, contents = repo
    blob = contents.id_of(b"x\n")
    contents.keep(blob, b"x\n")
    file = made.path / "objects" / blob[:2] / blob[2:]
    file.chmod(0o644)
    file.write_bytes(damage)

    assert contents.read(blob) is None
    contents.keep(blob, b"x\n")
    assert contents.read(blob) == b"x\n"


def test_a_content_that_is_forgotten_is_gone(repo: tuple[Scratch, Contents]):
    _, contents = repo
    for octets in (b"x", b"y" * COMPRESSED * 2):
        contents.keep(contents.id_of(octets), octets)

    contents.forget(contents.id_of(b"x"))
    contents.forget(contents.id_of(b"x"))

    assert contents.names() == [contents.id_of(b"y" * COMPRESSED * 2)]
