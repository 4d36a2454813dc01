"""What became of a line that has a place, as the answer to the agent that recorded it."""

from __future__ import annotations

from bb.coordination.facts import Reserved
from bb.coordination.holdings import ordered_admission
from bb.coordination.holdings.admission import Grant
from bb.kernel import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bb.coordination.holdings.admission import Admitted
    from bb.coordination.holdings.ordered_admission import Changes, Refusal
    from bb.ledger.carrier.door import Row

MOST = 20_000  # verdicts in memory
REASONS = {
    ordered_admission.OTHER_INCARNATION: "it was made for another log of the engine, which no longer decides",
    ordered_admission.BEFORE_SWITCH: "it was made for the git remote, which no longer decides",
    ordered_admission.RIVAL: "another clone registered the agent's name first",
    ordered_admission.GIVEN_BACK: "it was released before it had a place",
    ordered_admission.OPEN: "an open reservation is never admitted for every clone",
    ordered_admission.UNREADABLE: "its scope has a form that does not count",
    ordered_admission.REPEATED: "it had a place before",
    ordered_admission.FORGOTTEN: "its place is so old that nobody knows any more what became of it",
}
ENDED = "it was admitted, and has ended since: it was released, or another agent took it over"
IN_WAY = (ordered_admission.IN_THE_WAY, ordered_admission.HOLDER_WORKS)


class Verdicts:
    """The verdicts of the rows folded so far. RESULTS has the saved results, for lines of earlier processes; FACT_ON
    tells the fact on a line of this clone."""

    def __init__(
        self, incarnation: str, results: Callable[[], Admitted | None], fact_on: Callable[[str], object]
    ) -> None:
        self._incarnation = incarnation
        self._results = results
        self._fact_on = fact_on
        self._known: dict[str, dict[str, Any]] = {}
        self._of_others: dict[str, dict[str, Any]] = {}  # events that have our numbers and are not ours

    def note(self, place: int, changes: Changes, grant: Callable[[str], Grant | None]) -> None:
        """Note the verdicts of one row, after it was folded. GRANT tells a grant by its name."""
        for event in changes.generations:
            self._known[event] = _shown(changes.verdict(event), place, grant)
        while len(self._known) > MOST:
            del self._known[next(iter(self._known))]

    def are_of_another(self, row: Row, reason: str) -> None:
        """ROW has lines with numbers of a writer of ours, which another machine has recorded: a copy of this one. What
        became of them is not what became of our lines with these numbers."""
        for n in range(row.first, row.last + 1):
            self._of_others[ids.event_id(row.writer, n)] = {"state": "void", "place": row.place, "reason": reason}

    def of(self, event: str, place: int, grant: Grant | None) -> dict[str, Any]:
        """What became of EVENT, which has a place up to PLACE, and the GRANT there. A grant that has ended since is no
        grant any more: whoever asks late must not take it for one."""
        if other := self._of_others.get(event):
            return other
        if grant is not None and grant.ended is not None:
            return {"state": "void", "place": grant.ended, "reason": ENDED}
        known = self._known.get(event)
        if known is None:
            return self._earlier(event, place)
        if grant is None and known["state"] == "admitted":  # it has ended, and is forgotten
            return {"state": "void", "place": known["place"], "reason": ENDED}
        return known

    def _earlier(self, event: str, place: int) -> dict[str, Any]:
        results = self._results()
        if results is None:
            return {"state": "sent", "place": place}
        grant = results.grants.get(event)
        if grant is not None:
            return _shown(grant, grant.token, results.grants.get)
        at = results.generations.get(event)
        if at is None:
            return {"state": "sent", "place": place}
        fact = self._fact_on(event)
        if not isinstance(fact, Reserved) or not fact.is_global:
            return {"state": "sent", "place": at}
        return _shown(ordered_admission.why_not(results, self._incarnation, event, fact), at, results.grants.get)


def _shown(verdict: Grant | Refusal | None, place: int, grant_of: Callable[[str], Grant | None]) -> dict[str, Any]:
    if verdict is None:
        return {"state": "sent", "place": place}
    if isinstance(verdict, Grant):
        return {"state": "admitted", "token": verdict.token, "place": place}
    if verdict.reason not in IN_WAY:
        return {"state": "void", "place": place, "reason": REASONS.get(verdict.reason, verdict.reason)}
    named = [(name, grant_of(name)) for name in verdict.by]
    by = [
        {"reservation_id": name, "agent_id": grant.agent, "scope": grant.scope, "token": grant.token}
        for name, grant in named
        if grant is not None
    ]
    return {"state": "refused", "place": place, "by": by, "holder_works": verdict.reason == IN_WAY[1]}
