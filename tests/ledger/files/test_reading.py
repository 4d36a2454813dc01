"""What stands where a file should be, and is none: nobody waits for it, and nobody takes it for the file."""

from __future__ import annotations

import os
import socket
import sys
import threading
from pathlib import Path

import pytest

from bb.cli.programs import daemon_log
from bb.kernel.errors import BbError
from bb.ledger.files import disk, disk_refusals, work_tree_files
from bb.ledger.journal.segments import LARGEST, LedgerDamaged, Segment, last_line_feed, lines_backwards
from bb.ledger.records import set_aside
from tests.near import near

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes in folders")


@pytest.fixture(autouse=True)
def _in_time(request: pytest.FixtureRequest):
    """A pipe that is waited for is written to and closed after a while, so that the test fails instead of hanging."""
    pipe = request.getfixturevalue("tmp_path") / "pipe"
    os.mkfifo(pipe)
    waker = threading.Timer(10, lambda: os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK)))
    waker.start()
    yield
    waker.cancel()


def put(kind: str, path: Path) -> None:
    """What is no file, at PATH."""
    if kind == "pipe":
        path.symlink_to(path.parent / "pipe")
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
    else:
        path.symlink_to(kind)


@pytest.mark.parametrize("kind", ["pipe", "folder", "/dev/zero", "/dev/tty"])
def test_what_is_no_file_is_refused_at_once_by_its_name(tmp_path: Path, kind: str):
    put(kind, tmp_path / "it")

    with pytest.raises(disk_refusals.NotAFile.error) as refusal:
        disk.read_small(str(tmp_path / "it"))

    assert str(tmp_path / "it") in refusal.value.message


def test_what_the_system_tells_in_files_is_read_and_no_file_at_all_is_empty():
    assert disk.read_small(os.devnull) == b""
    if os.path.exists("/proc/self/stat"):
        assert disk.read_small("/proc/self/stat")


def test_in_a_work_tree_it_is_in_the_way_like_any_link(tmp_path: Path):
    os.mkfifo(tmp_path / "settings.json")

    with pytest.raises(work_tree_files.LinkInTheWay.error):
        work_tree_files.read(str(tmp_path), "settings.json")


def test_a_pipe_in_the_place_of_a_segment_is_refused_whichever_way_it_is_read(tmp_path: Path):
    segment = Segment(1, str(tmp_path / "pipe"))

    for read in (
        segment.octets,
        segment.is_whole,
        lambda: list(segment.blocks()),
        lambda: list(lines_backwards(segment)),
    ):
        with pytest.raises(BbError) as refusal:
            read()
        assert refusal.value.code == "NOT_A_FILE"


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_segment_with_a_hole_in_it_is_damaged_and_not_read_into_memory(tmp_path: Path, end: bytes):
    with open(tmp_path / "000000000001.jsonl", "wb") as file:
        file.write(b"{}\n")
        file.seek(LARGEST * 16)
        file.write(b"x" + end)
    segment = Segment(1, file.name)

    for read in (segment.octets, lambda: list(lines_backwards(segment))):
        with pytest.raises(LedgerDamaged.error):
            read()
    if not end:
        with pytest.raises(LedgerDamaged.error):
            last_line_feed(segment)


def test_links_that_a_repository_brings_keep_no_command_waiting(tmp_path: Path):
    repo = near(tmp_path / "repo")
    repo.bb("init")
    for name in (".beads/metadata.json", ".claude/settings.json"):
        (repo.path / name).parent.mkdir(exist_ok=True)
        (repo.path / name).symlink_to(tmp_path / "pipe")

    assert repo.bb("sessions", "list", "--json").status == 0
    assert repo.bb("hooks", "status", "--json").code == "LINK_IN_THE_WAY"


@pytest.mark.parametrize("name", ["clone.json", "pins.json", "presence/amber-otter.json"])
def test_pipes_in_a_ledger_keep_no_command_waiting(tmp_path: Path, name: str):
    repo = near(tmp_path / "repo")
    repo.bb("init")
    place = repo.path / ".git" / "bb" / name
    place.unlink(missing_ok=True)
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(tmp_path / "pipe")

    ran = repo.bb("status", "--json")

    assert ran.status == 0 or ran.code == "NOT_A_FILE"


def test_a_pipe_among_what_was_put_aside_keeps_no_sync_waiting(tmp_path: Path):
    (tmp_path / set_aside.FOLDER).mkdir()
    (tmp_path / set_aside.FOLDER / f"aaaaaaaaaaaa-3-00.jsonl{set_aside.UNTOLD}").symlink_to(tmp_path / "pipe")

    with pytest.raises(disk_refusals.NotAFile.error):
        set_aside.unreported_forks(str(tmp_path))


def test_a_pipe_in_the_place_of_the_daemons_log_is_refused(tmp_path: Path):
    where = Path(daemon_log.path(str(tmp_path)))
    where.parent.mkdir(parents=True)
    where.symlink_to(tmp_path / "pipe")

    with pytest.raises(disk_refusals.NotAFile.error):
        daemon_log.last(str(tmp_path), 10)
