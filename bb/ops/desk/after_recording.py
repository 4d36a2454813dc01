"""What follows a record: notes beside the ledger. If they cannot be written, the record stands and is acknowledged.

A refusal says that nothing was recorded. So after a record, a full disk must not refuse: presence files and sessions
are written again with the next sign of life, and the ledger knows what they repeat.
"""

from __future__ import annotations

from bb.kernel.errors import BbError, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ops.desk.desk import Desk

OF_THE_DISK = frozenset(["DISK_FULL", "DISK_FAILED", "STORE_READ_ONLY", "NO_PERMISSION", "TOO_MANY_FILES"])

PartlyRecorded = Refused.declare(
    "PARTLY_RECORDED",
    "A part of the request was recorded before the disk failed",
    hint="free some space; `bb ledger log` shows what was recorded; then do what is missing",
)


class AfterRecording:
    """`with AfterRecording(desk):` a disk that fails refuses nothing, if the call has recorded something before."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        return isinstance(error, BbError) and error.code in OF_THE_DISK and self._desk.has_recorded
