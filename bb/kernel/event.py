"""One event: a CCCS envelope and its position in the total order.

The order is `(lamport, writer, n)`. It depends only on the event, so all clones sort alike. `ts` is the time of one
machine's clock; it is for people, and no rule compares it with another machine's time.
"""

from __future__ import annotations

from bb.kernel import ids
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.kernel.ids import Order

# Members of `data` that are never shown: a salt that makes small payloads unguessable from their hash, and, with an
# idempotency key, a digest of the request.
SALT, REQUEST = "_", "_q"
# Kinds of lines that record no agent's fact: the first line of a ledger, a line that lists received lines of other
# writers, and a line that signs all earlier lines of its writer's chain.
GENESIS, MERGED, SIGNED = "group.create", "x.bb.merged", "x.bb.signed"
PUT_ASIDE = "put_aside_from"  # the earlier id of an event that was recorded again under a new id


class Event(Record):
    """The content of one ledger line."""

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
    unreadable: str | None = None  # the reason why its content cannot be shown

    @property
    def order(self) -> Order:
        return ids.order_of(self.lamport, self.id)

    def envelope(self) -> dict[str, Any]:
        """The event for clients: CCCSEventV1, without chain fields and salt. An event that bb could not have written is
        marked as unreadable: its `data` is as on the line, for debugging, and must not be shown as text."""
        # `seq` is omitted until a line of this clone lists the event as received.
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
