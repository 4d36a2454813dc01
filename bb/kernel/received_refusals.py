"""Refusals in the answer of another process of bb, raised again as if this process had refused.

The answer is checked, because it may come from another version of bb, or from another program.
"""

from __future__ import annotations

from bb.kernel.errors import BbError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

IN_CODE = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
LONGEST_CODE = 64
STATUSES = range(1, 8)


def refusal_from(described: object) -> BbError:
    """The refusal that the `error` member of an answer describes. The hint and the exit status are members of it, or of
    its details, as in an answer of the daemon."""
    members: dict[str, Any] = described if type(described) is dict else {}
    details = dict(found) if type(found := members.get("details")) is dict else {}
    hint, status = (members.get(name, details.pop(name, None)) for name in ("hint", "exit_status"))
    refusal = BbError(str(members.get("message") or "") or None, hint=hint if type(hint) is str else None)
    refusal.details = details
    code = members.get("code")
    if type(code) is str and 0 < len(code) <= LONGEST_CODE and not code.upper().strip(IN_CODE) and code[0].isalpha():
        refusal.code = code.upper()
    if type(status) is int and status in STATUSES:
        refusal.exit_status = status
    return refusal
