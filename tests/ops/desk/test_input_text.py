"""Where a text comes from: no more of a file is read than may be, and nothing that could keep a daemon waiting."""

from __future__ import annotations

import io
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from bb.kernel.errors import BbError, Refusal, Usage
from bb.ops.attention import payloads, replay
from bb.ops.chat import blobs
from bb.ops.desk import input_text
from bb.ops.desk.desk import Desk
from bb.ops.desk.input_text import FileNotRead, FileOrText, NoStdin


class TooLarge(Usage):
    """It is too large."""


def refused(name: str, size: int) -> BbError:
    return TooLarge(name, size=size)


def desk(cwd: Path, stdin: Any = None) -> Desk:
    return Desk(str(cwd), {}, stdin=stdin)


@pytest.mark.parametrize("octets", [b"", b"a\r\nb\x00\xff", b"x" * 10])
def test_octets_come_unchanged(tmp_path: Path, octets: bytes):
    (tmp_path / "text").write_bytes(octets)
    found = input_text.file_or_text(desk(tmp_path), "text", None, 10, refused)
    assert found == input_text.Source("text", octets)


def test_what_is_too_large_is_refused_by_its_size_alone(tmp_path: Path):
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(TooLarge) as refusal:
        input_text.read(desk(tmp_path), "huge", 10, refused)
    assert refusal.value.details == {"size": 1 << 40}


def test_of_what_does_not_tell_its_size_no_more_is_read_than_needed(tmp_path: Path):
    class Endless(io.RawIOBase):
        taken = 0

        def read(self, size: int = -1) -> bytes:
            self.taken += size
            return b"x" * size

    endless = Endless()
    with pytest.raises(TooLarge):
        input_text.read(desk(tmp_path, endless), "-", 3 << 20, refused)
    assert endless.taken == (3 << 20) + 1


@pytest.mark.parametrize(("file", "text"), [(None, None), ("a", "b"), ("-", "")])
def test_a_text_comes_from_one_place(tmp_path: Path, file: str | None, text: str | None):
    with pytest.raises(FileOrText.error):
        input_text.file_or_text(desk(tmp_path), file, text, 10, refused)


@pytest.mark.parametrize("name", ["nowhere", ".", "text/below", "a\0b", "x" * 5000])
def test_what_is_no_file_is_refused_in_few_words(tmp_path: Path, name: str):
    (tmp_path / "text").write_text("x")
    with pytest.raises(FileNotRead.error) as refusal:
        input_text.read(desk(tmp_path), name, 10, refused)
    assert len(refusal.value.message) < 300
    assert "\0" not in refusal.value.message


def test_a_daemon_reads_no_stdin(tmp_path: Path):
    with pytest.raises(NoStdin.error):
        input_text.read(desk(tmp_path), "-", 10, refused)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such files")
def test_a_daemon_waits_at_no_pipe(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileNotRead.error):
        input_text.read(desk(tmp_path), "pipe", 10, refused)


def test_the_text_itself_is_measured_in_octets(tmp_path: Path):
    assert input_text.file_or_text(desk(tmp_path), None, "éé", 4, refused).octets == "éé".encode()
    with pytest.raises(TooLarge):
        input_text.file_or_text(desk(tmp_path), None, "éé", 3, refused)


@pytest.mark.parametrize(("name", "is_there"), [("text", True), ("nowhere", False), (".", False), ("a\0b", False)])
def test_whether_a_file_lies_beside_is_only_asked(tmp_path: Path, name: str, is_there: bool):
    (tmp_path / "text").write_text("x")
    assert input_text.file_exists(desk(tmp_path), name) is is_there


PIPES = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such files")
READERS = [
    pytest.param(blobs.read, FileNotRead, id="attachment"),
    pytest.param(payloads._headers, payloads.InvalidPayload, id="headers"),
    pytest.param(replay._text, replay.NoScript, id="script"),
]


@PIPES
@pytest.mark.parametrize(("read", "refusal"), READERS)
@pytest.mark.parametrize("what", ["pipe", "link", "."])
def test_whatever_else_a_daemon_reads_it_waits_at_no_pipe(tmp_path: Path, read: Any, refusal: Refusal, what: str):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    waker = threading.Timer(10, lambda: os.close(os.open(tmp_path / "pipe", os.O_RDWR | os.O_NONBLOCK)))
    waker.start()
    try:
        with pytest.raises(refusal.error):
            read(desk(tmp_path), what)
        assert waker.is_alive(), "it waited for somebody to write into the pipe"
    finally:
        waker.cancel()


@PIPES
@pytest.mark.parametrize(("read", "_"), READERS)
def test_at_a_terminal_a_pipe_is_a_file_like_any_other(tmp_path: Path, read: Any, _: Refusal):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text('{"A": "b"}'))
    writer.start()

    assert read(desk(tmp_path, io.BytesIO()), "pipe") in (b'{"A": "b"}', {"a": "b"}, '{"A": "b"}')
    writer.join()


@pytest.mark.parametrize(("read", "refusal"), READERS)
def test_a_name_that_can_be_no_files_is_refused(tmp_path: Path, read: Any, refusal: Refusal):
    with pytest.raises(refusal.error):
        read(desk(tmp_path), "a\0b")
