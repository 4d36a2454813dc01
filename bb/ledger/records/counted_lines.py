"""`counted.json`: how far each writer's lines counted at the last report by a sync or `bb ledger verify`.

The next report lists lines that have begun to count since. A message among them may come before the messages that an
agent has read already, so no inbox shows it (docs/signing.md).

The file belongs to this clone and may be lost. Then the next report lists nothing and writes the file again.
"""

from __future__ import annotations

import os

from bb.kernel import ids, json_text
from bb.kernel.errors import BbError
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.git import ownership
from bb.ledger.index import counting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.records.store import Store

NAME = "counted.json"
LARGEST = 16 << 20


class NewlyCounted(Record):
    """Lines of one writer that were here at the last report without counting, and that count now."""

    writer: str
    first: int
    last: int


def since_last_report(store: Store) -> list[NewlyCounted]:
    """The lines that have begun to count since the last report. Calling this makes them reported."""
    path = os.path.join(store.path, NAME)
    before, index = _read(path), store.caught_up()
    law = index.law
    if law is None and not before:  # as in most repositories
        return []
    heads = index.heads()
    if law is None:
        reach, now = heads, {}  # all lines count
    else:
        signed = counting.signatures(index, law.repo)
        reach = {writer: min(n, law.reach(writer, signed).upto) for writer, n in heads.items()}
        now = {writer: [reach[writer], n] for writer, n in heads.items()}
    if now != before and ownership.is_ours(store.place):
        _write(path, now)
    return [
        NewlyCounted(writer, counted + 1, last)
        for writer, (counted, total) in before.items()
        if (last := min(reach.get(writer, 0), total)) > counted
    ]


def _write(path: str, now: dict[str, list[int]]) -> None:
    try:
        disk.replace(path, json_text.dumps(now).encode())
    except BbError:  # with read-only access, the same lines are reported each time
        return


def _read(path: str) -> dict[str, list[int]]:
    try:
        content: Any = json_text.read(disk.read_small(path, LARGEST) or b"{}")
        return {
            str(writer): [counted, total]
            for writer, (counted, total) in content.items()
            if ids.is_writer_id(writer) and type(counted) is type(total) is int
        }
    except (ValueError, TypeError, AttributeError):
        return {}
