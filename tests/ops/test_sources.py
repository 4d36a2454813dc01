"""Where a text comes from: no more of a file is read than may be, and nothing that could keep a daemon waiting."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from bb.kernel.errors import BbError, Usage
from bb.ops import sources
from bb.ops.desk import Desk
from bb.ops.sources import FileOrText, NoStdin, TextNotRead


class TooLarge(Usage):
    """It is too large."""


def refused(name: str, size: int) -> BbError:
    return TooLarge(name, size=size)


def desk(cwd: Path, *, is_served: bool = False) -> Desk:
    made = Desk(str(cwd), {})
    made.is_served = is_served
    return made


@pytest.mark.parametrize("octets", [b"", b"a\r\nb\x00\xff", b"x" * 10])
def test_octets_come_unchanged(tmp_path: Path, octets: bytes):
    (tmp_path / "text").write_bytes(octets)
    found = sources.given(desk(tmp_path), "text", None, 10, refused)
    assert found == sources.Source("text", octets)


def test_what_is_too_large_is_refused_by_its_size_alone(tmp_path: Path):
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(TooLarge) as refusal:
        sources.read(desk(tmp_path), "huge", 10, refused)
    assert refusal.value.details == {"size": 1 << 40}


def test_of_what_does_not_tell_its_size_no_more_is_read_than_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class Endless(io.RawIOBase):
        taken = 0

        def read(self, size: int = -1) -> bytes:
            self.taken += size
            return b"x" * size

    endless = Endless()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=endless))
    with pytest.raises(TooLarge):
        sources.read(desk(tmp_path), "-", 3 << 20, refused)
    assert endless.taken == (3 << 20) + 1


@pytest.mark.parametrize(("file", "text"), [(None, None), ("a", "b"), ("-", "")])
def test_a_text_comes_from_one_place(tmp_path: Path, file: str | None, text: str | None):
    with pytest.raises(FileOrText):
        sources.given(desk(tmp_path), file, text, 10, refused)


@pytest.mark.parametrize("name", ["nowhere", ".", "text/below", "a\0b", "x" * 5000])
def test_what_is_no_file_is_refused_in_few_words(tmp_path: Path, name: str):
    (tmp_path / "text").write_text("x")
    with pytest.raises(TextNotRead) as refusal:
        sources.read(desk(tmp_path), name, 10, refused)
    assert len(refusal.value.message) < 300
    assert "\0" not in refusal.value.message


def test_a_daemon_reads_no_stdin(tmp_path: Path):
    with pytest.raises(NoStdin):
        sources.read(desk(tmp_path, is_served=True), "-", 10, refused)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such files")
def test_a_daemon_waits_at_no_pipe(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TextNotRead):
        sources.read(desk(tmp_path, is_served=True), "pipe", 10, refused)


def test_the_text_itself_is_measured_in_octets(tmp_path: Path):
    assert sources.given(desk(tmp_path), None, "éé", 4, refused).octets == "éé".encode()
    with pytest.raises(TooLarge):
        sources.given(desk(tmp_path), None, "éé", 3, refused)


@pytest.mark.parametrize(("name", "is_there"), [("text", True), ("nowhere", False), (".", False), ("a\0b", False)])
def test_whether_a_file_lies_beside_is_only_asked(tmp_path: Path, name: str, is_there: bool):
    (tmp_path / "text").write_text("x")
    assert sources.beside(desk(tmp_path), name) is is_there
