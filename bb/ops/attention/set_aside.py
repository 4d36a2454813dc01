"""Lines of a platform that bb could not process. They are set aside, and all other lines are imported."""

from __future__ import annotations

from bb.kernel.errors import BbError, Usage

NotProcessed = Usage.declare(
    "LINE_NOT_PROCESSED",
    "bb could not process the line",
    hint="this is a bug of bb: please report it with the line; all other lines were imported",
)


def unprocessed(error: Exception) -> BbError:
    """The refusal of a line that made bb fail. The text of ERROR may quote the line, so only its type is shown."""
    return NotProcessed(f"bb could not process the line: {type(error).__name__}")
