"""A disk whose power can be cut: an ext4 file system in an image file, mounted over a loop device.

`cut` is ext4's own shutdown without a flush of its journal (EXT4_IOC_SHUTDOWN, which xfstests use for the same). From
then on no write of a file reaches the image, so what was not on the disk is gone: dirty pages, and the transaction that
the journal had open. `restore` mounts the image again, which replays the journal, as after a real power failure.

It proves that whoever wrote had asked for the right fsyncs before it said that something is safe. It says nothing about
disks that lie about their own cache.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import until

SHUTDOWN = 0x8004587D  # _IOR('X', 125, __u32)
NO_FLUSH = 2
SIZE = 600 << 20


class Disk:
    """The file system is mounted at PATH."""

    def __init__(self, folder: Path) -> None:
        self.image, self.path = folder / "image", folder / "disk"
        self.path.mkdir()
        with open(self.image, "wb") as file:
            file.truncate(SIZE)
        _must("mkfs.ext4", "-q", "-F", self.image)

    def mount(self) -> None:
        _must("mount", "-o", "loop", self.image, self.path)

    def unmount(self) -> None:
        """Unmount it, and wait until nothing of it is left in memory. A process that began meanwhile with mounts of its
        own, as a browser does, keeps a copy; a new mount would then go on with the file system whose power was cut."""
        until(lambda: subprocess.run(["umount", self.path], capture_output=True).returncode == 0, "umount")
        until(lambda: not self._loops(), "the end of every mount of the disk")

    def _loops(self) -> bytes:
        """The loop devices of the image."""
        return subprocess.run(["losetup", "-j", self.image], capture_output=True, check=True).stdout

    def cut(self) -> None:
        """The power fails now."""
        fd = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, SHUTDOWN, struct.pack("I", NO_FLUSH))
        finally:
            os.close(fd)

    def restore(self) -> None:
        """The power is back. No process may have a file of the disk open any more."""
        self.unmount()
        self.mount()


@contextlib.contextmanager
def disk() -> Iterator[Disk]:
    """A disk that is mounted. Skips the test where one may not mount."""
    with tempfile.TemporaryDirectory(prefix="bb-disk-") as folder:
        os.chmod(folder, 0o755)  # the server runs as another user
        try:
            made = Disk(Path(folder))
            made.mount()
        except (OSError, AssertionError) as error:
            pytest.skip(f"no file system can be mounted over a loop device here: {error}")
        try:
            yield made
        finally:
            made.unmount()


def _must(*words: str | Path) -> None:
    done = subprocess.run(words, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
