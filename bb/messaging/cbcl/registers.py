"""The registers in which an agent's CBCL conversations are kept, and the kinds of entries."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

Part: TypeAlias = "tuple[str, str, Any]"  # the register, FIRST or LAST, and the value

MESSAGE, EXPECTED, OBLIGED, PEER, TAKEN = "message", "expected", "obliged", "peer", "taken"
BELIEF, ENTRY, CONVERSATION = "belief", "entry", "conversation"
UNHEARD, NAMED, SENT_IN = "unheard", "named", "from"
FIRST, LAST = "first", "last"
