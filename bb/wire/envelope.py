"""The answer envelope of every face, for success and failure: `{"ok","command","data","error"}`.

If rows are left out of the data, the member `more` says so. It does not change the data."""

from __future__ import annotations

from bb.kernel.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.kernel.errors import BbError

AnswerTooLarge = Refused.declare("ANSWER_TOO_LARGE", "The answer is too large", hint="request fewer items")


def success(command: str, data: object) -> dict[str, Any]:
    answer = {"ok": True, "command": command, "data": data, "error": None}
    more = getattr(data, "more", None)
    return answer if more is None else answer | {"more": more}


def failure(command: str, error: BbError) -> dict[str, Any]:
    described = {"code": error.code, "message": error.message, "hint": error.hint, "details": error.details}
    return {"ok": False, "command": command, "data": None, "error": described}
