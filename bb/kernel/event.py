"""One event: a CCCS envelope and its place in the total order.

The order is `(lamport, writer, n)`, a function of the event alone, so every clone sorts alike. `ts` is what one
machine's clock said; it is for people, and no rule compares it with another machine's.
"""

from __future__ import annotations

from bb.kernel import ids
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.kernel.ids import Order

# Members of `data` that are never shown: what makes a small payload unguessable from its hash, and, under an
# idempotency key, a digest of what was asked for.
SALT, REQUEST = "_", "_q"
# What is no fact of anybody's: the line that a ledger begins with, one that accounts for lines of others, and one that
# signs all lines before it in its writer's chain.
GENESIS, MERGED, SIGNED = "group.create", "x.bb.merged", "x.bb.signed"
PUT_ASIDE = "put_aside_from"  # the id of an event before it was recorded again under another one


class Event(Record):
    """What one ledger line says."""

    id: str
    lamport: int
    ts: str
    kind: str
    by: str
    data: dict[str, Any]
    group_id: str = ""
    scope_key: str = ""
    key: str | None = None
    seq: int | None = None
    unreadable: str | None = None  # why nothing of it can be shown

    @property
    def order(self) -> Order:
        return ids.order_of(self.lamport, self.id)

    def envelope(self) -> dict[str, Any]:
        """What a client is shown: CCCSEventV1, without chain fields and salt. What could not have been written is
        marked: `data` is as it stands on the line, for whoever looks into it, and must not be shown as text."""
        # `seq` is left out while no line of this clone accounts for the event yet.
        return {
            "v": 1,
            "id": self.id,
            "ts": self.ts,
            **({} if self.seq is None else {"seq": self.seq}),
            "kind": self.kind,
            "group_id": self.group_id,
            "scope_key": self.scope_key,
            "by": self.by,
            **({"unreadable": self.unreadable} if self.unreadable else {}),
            "data": {name: value for name, value in self.data.items() if name not in (SALT, REQUEST)},
        }
