"""Accepting a commit: the holder, or the person, agrees to what CI found, whether it is recorded or not."""

from __future__ import annotations

from bb.coordination.facts import ACCEPTED, CI
from bb.coordination.guards import ci, ci_findings
from bb.coordination.holdings import incursions as rules
from bb.kernel import ids
from bb.kernel.errors import NotFound
from bb.ledger.views.code_source import CodeSource
from bb.ledger.views.protocol_events import Events
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.guards import ci as check
from bb.ops.holdings import incursions
from bb.ops.holdings.incursions import Resolution
from bb.ops.params import AgentOrPerson, Text, UncheckedText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.coordination.holdings.held import Held
    from bb.ops.desk.desk import Desk

NothingToAccept = NotFound.declare(
    "NOTHING_TO_ACCEPT",
    "That commit changes nothing that you hold or held",
    hint="the holder or the person accepts it; if the reservation is not known here: `bb sync --pull`",
)


@op(
    "protocol.accept",
    screen="protocol_events",
    examples=(
        "bb protocol accept 1a2b3c4 --agent amber-otter",
        "bb protocol accept 1a2b3c4 --agent user --note 'It was agreed by mail.'",
    ),
)
def accept(
    desk: Desk, commit: UncheckedText, *, agent: AgentOrPerson | None = None, note: UncheckedText | None = None
) -> list[dict[str, Any]]:
    """Accept a commit that changed paths which you held or hold. `bb ci check` then only warns.

    The person (`--agent user`) accepts it for every holder. The reservation may have ended long ago. If the change is
    not recorded as an incursion yet, it is recorded first. The agent that made the commit is notified. `bb sync`
    publishes the answer to CI. A rebase makes another commit, which must be accepted again.

    Parameters:
        commit (COMMIT): The commit, as `bb ci check` names it.
        agent: The holder. Default: the caller.
        note: A note to the agents concerned.
    """
    who = AgentOrPerson(signs_of_life.caller(desk, agent, may_be_person=True))
    rules.note(note)
    found = _found(desk, commit, who)
    accepted: list[dict[str, Any]] = []
    for (incoming, name), touched in found.items():
        incursions.report(desk, incoming, CI, touched, name)
        index = desk.store.caught_up()
        known = Events(index, desk.holdings(index, desk.now()), "").incident_by_key
        accepted += [
            incursions.resolve(desk, Text(incident.id), agent=who, as_=Resolution(ACCEPTED), note=note)
            for incident in rules.recorded(incoming, CI, touched, name, known)
        ]
    return accepted


def _found(desk: Desk, commit: str, who: str) -> dict[tuple[str, str], Sequence[tuple[str, Held]]]:
    """The paths of WHO that the commit changed, each with its reservation, by author and commit."""
    desk.store.require_ledger()
    held = desk.holdings(desk.store.caught_up(), desk.now())
    with CodeSource(desk.place, None, may_fetch=False) as code:
        change = code.commit(commit)
        known = check.known_here(desk, code).replace(agreements=frozenset())
        findings = ci.judge(change.commits, known, ci.Wanted(now=desk.now(), ignore_case=check.IGNORE_CASE))
    touched = check.touched(held, filter(ci_findings.is_incursion, findings))
    mine = {
        by: [(path, one) for path, one in met if who in (one.reservation.agent, ids.PERSON)]
        for by, met in touched.items()
    }
    if not any(mine.values()):
        holder = "an agent" if who == ids.PERSON else who
        raise NothingToAccept(f"commit {change.head[:12]} changes nothing that {holder} holds or held")
    return {by: met for by, met in mine.items() if met}
