"""`bb fleet status`: the state of the fleet as this clone sees it."""

from __future__ import annotations

from bb.ledger.fleet import overview
from bb.ops.catalogue import op
from bb.ops.ledger.sync import must_exist

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ops.desk.desk import Desk


@op("fleet.status", reads=True, screen="fleet", examples=("bb fleet status", "bb fleet status --json"))
def status(desk: Desk) -> dict[str, Any]:
    """Show the engine, how far this clone has read and sent, the machines of the fleet, and what makes it durable.

    The relay of this clone answers. If it does not run, the engine is asked directly; without an engine, the answer is
    what this clone has saved. `lag` is the number of rows that are not read yet, `unsent` the number of lines that have
    no place yet. A machine is alive for 45 seconds after its last beat, by the engine's clock.
    """
    must_exist(desk)
    return overview.overview(desk.place, desk.now())
