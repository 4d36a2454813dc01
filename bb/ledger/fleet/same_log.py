"""Whether an engine still has the log that the published ledger is the archive of."""

from __future__ import annotations

from bb.ledger.carrier.door import AnotherEngine, EngineRewound, Pruned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.carrier.door import Carrier, Head
    from bb.ledger.published.tip import Tip


def check(carrier: Carrier, head: Head, tip: Tip) -> None:
    """Refuse an engine whose log, which ends at HEAD, does not have the history that is archived at TIP."""
    terms = tip.charter.fleet
    if terms is None:
        return
    if head.incarnation != terms.incarnation:
        raise AnotherEngine(f"the fleet's log is {terms.incarnation}, and the engine has the log {head.incarnation}")
    if head.place < tip.place:
        raise EngineRewound(f"the archive has the rows up to place {tip.place}, and the engine ends at {head.place}")
    if not tip.digest or tip.place < max(terms.first, head.oldest):
        return
    try:
        rows = carrier.read(tip.place - 1, 1)
    except Pruned.error:
        return  # the relay compares what it reads later
    if not rows or rows[0].digest != tip.digest:
        raise AnotherEngine(f"the engine has another row at place {tip.place} than the archive")
