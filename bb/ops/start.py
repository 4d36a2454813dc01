"""Starting a session: `bb init --register` and `--adopt` (Operative Protocol §3.2 to §3.4, §7)."""

from __future__ import annotations

from bb.coordination import adoption, changes, identity, liveness, names, protocol, reservations, roster
from bb.coordination import beads as rules
from bb.coordination.adoption import Evidence
from bb.coordination.facts import Registered, Resumed, Updated
from bb.kernel import ids
from bb.kernel.errors import BbError
from bb.kernel.show import quoted
from bb.ledger import beads, git
from bb.ops import agent as agents
from bb.ops import life
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
    if adopt is not None and register is not None:
        raise adoption.AdoptOrRegister
    if adopt is not None:
        return _adopt(desk, ids.actor_id(adopt), scope, bead, may_ask=not non_interactive)
    if register is not None:
        return _register(desk, ids.agent_id(register), identity.role(ROLE if role is None else role))
    raise adoption.AmbiguousSession


def advice(desk: Desk) -> dict[str, Any]:
    """What to do when nobody said: start under a free name, always the same one for the same ledger."""
    taken = {name for name, _ in desk.store.caught_up().states(roster.NAME)} if desk.store.exists else set()
    free = names.free(desk.place.title, taken)
    why = "no identity was asked for; every session starts under a name of its own"
    return adoption.recommend(adoption.REGISTER, adoption.NO_IDENTITY, free, why)


REASONS = {
    "AMBIGUOUS_SESSION": adoption.NO_IDENTITY,
    "DUPLICATE_AGENT_ID": adoption.NAME_TAKEN,
    "ADOPTION_REJECTED": adoption.NO_EVIDENCE,
    "AGENT_NOT_FOUND": adoption.UNKNOWN_AGENT,
    "NOT_A_REPOSITORY": adoption.NOT_A_REPOSITORY,
}


def advise(desk: Desk, refusal: BbError, role: str | None) -> None:
    """Add to a REFUSAL what to do instead, and for which reason: for programs among the details, for people as hint."""
    reason = REASONS.get(refusal.code, adoption.NOT_UNDERSTOOD)
    why = refusal.message
    if reason == adoption.NOT_A_REPOSITORY:
        refusal.details["recommendation"] = adoption.recommend(adoption.STOP, reason, None, why)
        return
    if reason == adoption.NAME_TAKEN:
        why = f"{why}; {adoption.ANOTHER}: bb init --adopt {refusal.details['agent_id']}"
    given = advice(desk)
    if reason != adoption.NO_IDENTITY:
        given |= {"reason": reason, "why": why}
    if role:
        given["command"] += f" --role {quoted(role)}"
    refusal.details["recommendation"] = given
    about = f"{adoption.ANOTHER}: " if reason == adoption.NAME_TAKEN else f"{refusal.hint}; " if refusal.hint else ""
    refusal.hint = f"{about}{given['command']}"


def _register(desk: Desk, name: str, role: str) -> dict[str, Any]:
    is_new = not desk.store.exists
    answer = agents.register(desk, name=name, role=role)  # type: ignore[arg-type]
    recommendation = adoption.recommend(adoption.REGISTER, adoption.NAME_FREE, name, f"{name} was free")
    return {
        "created": is_new,
        "agent_id": name,
        "mode": adoption.REGISTER,
        "agent": answer,
        "recommendation": recommendation,
    }


def _adopt(desk: Desk, name: str, scope: Sequence[str], bead: str | None, *, may_ask: bool) -> dict[str, Any]:
    index = life.index_of(desk, name)
    known = life.registered(index, name)
    about = None if bead is None else reservations.bead(bead)
    held = desk.holdings(index, desk.now())
    given = [desk.scope(each) for each in scope]
    claims = [(each, None) for each in given] or held.claimed_by(name)
    claimed = [each for each, _ in claims]
    changed, note = _changed(desk, held, claimed)
    tracker = beads.of(desk.place, desk.env)
    owned = [each.id for each in rules.owned_by(tracker.beads, name)]
    if given:
        owned = [each for each in owned if held.worked_in(name, each, given) is not False]
    evidence = adoption.weigh(
        name, changed=changed, claimed=[each.text for each in claimed], in_progress=owned, bead=about
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
    with_changes = [claim for claim in claims if any(held.lies_in(path, claim[0]) for path in changed)]
    linked = [about, *evidence.beads, *(its_bead for _, its_bead in with_changes)]
    resumed = _resumed(
        desk,
        index,
        known,
        evidence,
        beads=tuple(dict.fromkeys(each for each in linked if each)),
        scope=with_changes[0][0].text if with_changes else None,
        was=held.liveness_of(name),
    )
    return resumed | {"evidence": evidence.text, "looked_at": looked_at}


def _vouched_for(desk: Desk, name: str, looked_at: dict[str, Any], *, may_ask: bool) -> Evidence:
    """A person's word, where there is a person to ask; else the adoption is rejected."""
    why = f"nothing shows that work of {name} lies here unfinished"
    if may_ask and desk.ask and desk.ask(f"{why.capitalize()}. Adopt {name} all the same?"):
        return adoption.vouched_for(name)
    raise adoption.AdoptionRejected(f"{name} cannot be adopted: {why}", **looked_at)


def _resumed(
    desk: Desk,
    index: Index,
    known: Agent,
    evidence: Evidence,
    *,
    beads: tuple[str, ...],
    scope: str | None,
    was: str,
) -> dict[str, Any]:
    """Record the RESUME (§3.4), and that the identity is at work again."""
    name = known.agent_id
    adopter = desk.env.get("BB_AGENT", "")
    is_other = ids.is_actor_id(adopter) and index.state(roster.NAME, adopter) is not None
    fact = Resumed(
        agent=adopter if is_other else name,
        prior=name,
        adopted=name,
        reason=evidence.reason,
        evidence=evidence.text,
        bead=beads[0] if beads else protocol.NO_BEAD,
        beads=beads,
        scope=scope,
    )
    back = Registered(name, known.role, known.title) if known.is_retired else Updated(name)
    recorded = desk.store.record(lambda _: [back, fact], by=fact.agent, now=desk.now())
    life.beat(desk, life.in_service(desk.store.caught_up(), name), desk.now())
    why = f"allowed by {evidence.reason}: {evidence.text}"
    return {
        "agent_id": name,
        "mode": adoption.ADOPT,
        "reason": evidence.reason,
        "agent": agents.show(desk, agent=name),  # type: ignore[arg-type]
        "resume_event": next(event.id for event in recorded if event.kind == "system.notify"),
        "beads": list(beads),
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
