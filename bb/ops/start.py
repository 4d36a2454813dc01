"""Starting a session: `bb init --register` and `--adopt` (Operative Protocol §3.2 to §3.4, §7)."""

from __future__ import annotations

from bb.coordination import adoption, changes, identity, liveness, names, protocol, roster
from bb.coordination import beads as rules
from bb.coordination.adoption import Evidence
from bb.coordination.facts import Resumed, Updated
from bb.kernel import ids
from bb.kernel.errors import BbError
from bb.ledger import beads, git
from bb.ops import agent as agents
from bb.ops import life
from bb.ops.params import Role
from bb.ops.sessions import provenance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.coordination.roster import Agent
    from bb.coordination.scopes import Scope
    from bb.ledger.holdings import Holdings
    from bb.ledger.index import Index
    from bb.ops.desk import Desk

ROLE = "agent"  # of an identity that says no other


def session(
    desk: Desk,
    *,
    adopt: str | None,
    register: str | None,
    role: str | None,
    scope: Sequence[str],
    bead: str | None,
    non_interactive: bool,
) -> dict[str, Any]:
    """Give this session its identity: an earlier one, or a new one."""
    if adopt is not None:
        return _adopt(desk, adopt, scope, bead, may_ask=not non_interactive)
    return _register(desk, register or "", role)


def advice(desk: Desk) -> dict[str, Any]:
    """What to do when nobody said: start under a free name, always the same one for the same ledger."""
    taken = {name for name, _ in desk.store.caught_up().states(roster.NAME)} if desk.store.exists else set()
    free = names.free(desk.place.title, taken)
    why = "no identity was asked for; every session starts under a name of its own"
    return adoption.recommend(adoption.REGISTER, adoption.NO_IDENTITY, free, why)


def _register(desk: Desk, name: str, role: str | None) -> dict[str, Any]:
    try:
        answer = agents.register(desk, name=ids.agent_id(name), role=Role(role or ROLE))  # type: ignore[arg-type]
    except identity.DuplicateAgentId as taken:
        free = advice(desk)["agent_id"]
        why = f"{name} is taken; if its work is yours to go on with, adopt it: bb init --adopt {name}"
        taken.details["recommendation"] = adoption.recommend(adoption.REGISTER, adoption.NAME_TAKEN, free, why)
        raise
    why = f"{name} was free"
    recommendation = adoption.recommend(adoption.REGISTER, adoption.NAME_FREE, name, why)
    return {"agent_id": name, "mode": adoption.REGISTER, "agent": answer, "recommendation": recommendation}


def _adopt(desk: Desk, name: str, scope: Sequence[str], bead: str | None, *, may_ask: bool) -> dict[str, Any]:
    index = life.index_of(desk, name)
    known = identity.in_service(roster.agent(name, index.state(roster.NAME, name)), name)
    held = desk.holdings(index, desk.now())
    claimed = [desk.scope(each) for each in scope] or held.claimed_by(name)
    changed, note = _changed(desk, held, claimed)
    tracker = beads.of(desk.place, desk.env)
    owned = [each.id for each in rules.owned_by(tracker.beads, name)]
    evidence = adoption.weigh(
        name, changed=changed, claimed=[each.text for each in claimed], in_progress=owned, bead=bead
    )
    looked_at = {
        "claimed": [each.text for each in claimed],
        "changed": changed,
        "in_progress": owned,
        "beads": provenance(tracker),
        "note": note,
    }
    if evidence is None:
        evidence = _vouched_for(desk, name, looked_at, may_ask=may_ask)
    return _resumed(desk, index, held, known, evidence, bead) | {"evidence": evidence.text, "looked_at": looked_at}


def _vouched_for(desk: Desk, name: str, looked_at: dict[str, Any], *, may_ask: bool) -> Evidence:
    """A person's word, where there is a person to ask; else the adoption is rejected."""
    why = f"nothing shows that work of {name} lies here unfinished"
    if may_ask and desk.ask and desk.ask(f"{why.capitalize()}. Adopt {name} all the same?"):
        return adoption.vouched_for(name)
    recommendation = advice(desk) | {"reason": adoption.NO_EVIDENCE, "why": why}
    raise adoption.AdoptionRejected(f"{name} cannot be adopted: {why}", recommendation=recommendation, **looked_at)


def _resumed(
    desk: Desk, index: Index, held: Holdings, known: Agent, evidence: Evidence, bead: str | None
) -> dict[str, Any]:
    """Record the RESUME (§3.4), and that the identity is at work again."""
    name = known.agent_id
    adopter = desk.env.get("BB_AGENT", "")
    is_other = ids.is_agent_id(adopter) and index.state(roster.NAME, adopter) is not None
    reservations = [each.reservation.bead for each in held.of(name)] or [each.bead for each in held.ever_of(name)]
    linked = [*([bead] if bead else []), *evidence.beads, *reservations]
    was = held.liveness_of(name)
    fact = Resumed(
        agent=adopter if is_other else name,
        prior=name,
        adopted=name,
        reason=evidence.reason,
        evidence=evidence.text,
        bead=linked[0] if linked else protocol.NO_BEAD,
        beads=tuple(dict.fromkeys(linked)),
    )
    recorded = life.act(desk, name, lambda _, __: [Updated(name), fact], by=fact.agent)
    why = f"allowed by {evidence.reason}: {evidence.text}"
    return {
        "agent_id": name,
        "mode": adoption.ADOPT,
        "reason": evidence.reason,
        "agent": agents.show(desk, agent=name),  # type: ignore[arg-type]
        "resume_event": next(event.id for event in recorded if event.kind == "system.notify"),
        "warning": f"{name} was seen lately; make sure no other session works under it"
        if was == liveness.ACTIVE
        else None,
        "recommendation": adoption.recommend(adoption.ADOPT, evidence.reason, name, why),
    }


def _changed(desk: Desk, held: Holdings, claimed: Sequence[Scope]) -> tuple[list[str], str | None]:
    """Files with uncommitted changes inside what was CLAIMED; and a note where that cannot be told."""
    if desk.place.work_tree is None:
        return [], "this repository has no work tree"
    if not claimed:
        return [], "it held nothing, and no --scope was given"
    try:
        paths = changes.changed_paths(git.changed(desk.place.work_tree))
    except BbError as error:
        return [], f"git could not tell what has changed: {error.message}"
    return [path for path in paths if any(held.lies_in(path, scope) for scope in claimed)], None
