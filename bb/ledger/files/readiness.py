"""Wait until file descriptors can be read or written.

`select.select` refuses descriptors above 1023, and a daemon with many clients has them. Windows has no `poll`; there,
`select` takes sockets only, and any number of them.
"""

from __future__ import annotations

import errno
import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection


def readable(fds: Collection[int], seconds: float) -> set[int]:
    """The descriptors that can be read, or whose other end is closed. Empty if none can within SECONDS."""
    return ready(fds, (), seconds)[0]


def ready(reads: Collection[int], writes: Collection[int], seconds: float) -> tuple[set[int], set[int]]:
    """The descriptors of READS that can be read, and those of WRITES that can be written, as `select.select` has it."""
    if not hasattr(select, "poll"):
        can_be_read, can_be_written, _ = select.select(reads, writes, [], max(seconds, 0))
        return set(can_be_read), set(can_be_written)
    poll = select.poll()
    for fd in {*reads, *writes}:
        poll.register(fd, (select.POLLIN if fd in reads else 0) | (select.POLLOUT if fd in writes else 0))
    found = dict(poll.poll(max(seconds, 0) * 1000))
    if any(events & select.POLLNVAL for events in found.values()):
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    ended = select.POLLHUP | select.POLLERR  # reading or writing tells what has happened
    return (
        {fd for fd, events in found.items() if fd in reads and events & (select.POLLIN | ended)},
        {fd for fd, events in found.items() if fd in writes and events & (select.POLLOUT | ended)},
    )
