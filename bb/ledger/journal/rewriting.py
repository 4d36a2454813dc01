"""The two changes to lines that are already in a journal: moving the last ones out of it, and blanking a payload."""

from __future__ import annotations

import os

from bb.ledger.files import disk
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal
from bb.ledger.journal.segments import NO_FOLLOW


def cut(journal: Journal, n: int, aside: str) -> int:
    """Move all lines from N on into the file ASIDE; return their number. The lock must be held.

    The remaining part becomes a new file with a new inode, so readers notice the change.
    """
    segments = journal.segments()
    home = max((place for place, segment in enumerate(segments) if segment.first <= n), default=0)
    start = journal.offset_of(segments[home], n, is_last=home + 1 == len(segments))
    moved = b"".join([segments[home].octets()[start:], *(segment.octets() for segment in segments[home + 1 :])])
    disk.replace(aside, moved, durable=True)
    for segment in reversed(segments[home + 1 :]):
        disk.remove_if_there(segment.path)
    disk.replace(segments[home].path, segments[home].octets()[:start], durable=True)
    return moved.count(b"\n")


def blank(journal: Journal, n: int) -> bool:
    """Overwrite the payload of line N in place; return whether it was still there. The lock must be held.

    The line keeps its length and its head, so the chain stays valid.
    """
    home = [segment for segment in journal.segments() if segment.first <= n]
    raw = journal.line(n)
    after = None if raw is None else lines.blanked(raw)
    if not home or after is None or after == raw:
        return False
    try:
        fd = os.open(home[-1].path, os.O_RDWR | NO_FOLLOW)
        try:
            os.lseek(fd, journal.offset_of(home[-1], n, is_last=False), os.SEEK_SET)
            disk.write_all(fd, after)
            disk.sync_data(fd)
        finally:
            os.close(fd)
    except OSError as error:
        raise disk.refusal(error) from error
    return True
