"""The result of one check of `bb doctor`."""

from __future__ import annotations

from bb.kernel.record import Record

GOOD, ODD, BROKEN = "good", "odd", "broken"


class Finding(Record):
    """The result of one check."""

    name: str
    state: str
    text: str
    mend: str | None = None
