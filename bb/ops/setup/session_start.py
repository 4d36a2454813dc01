"""Starting a session: `bb init --register` and `--adopt` (Operative Protocol §3.2 to §3.4, §7)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from bb.coordination.agents import adoption, callers, identity, liveness, names, roster
from bb.coordination.agents import beads as rules
from bb.coordination.agents.adoption import Evidence
from bb.coordination.agents.roster import Agent
from bb.coordination.facts import NameSettled, Registered, Resumed, Updated
from bb.coordination.guards import changes
from bb.coordination.holdings import reservations, scopes
from bb.coordination.holdings.scopes import Scope
from bb.coordination.protocol import events
from bb.kernel import clock, ids
from bb.kernel.errors import BbError
from bb.kernel.escaping import quoted
from bb.ledger.git import git
from bb.ledger.index.index import Index
from bb.ledger.local import beads, editor_sessions, presence
from bb.ledger.views.holdings import Holdings
from bb.ops.agents import agent as agents
from bb.ops.desk import registered_names, session_agent, signs_of_life
from bb.ops.desk.desk import Desk
from bb.ops.overview.sessions import provenance

ROLE = "agent"  # the default role


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
    """Give this session its identity: an earlier agent or a new one."""
    if adopt is not None and register is not None:
        raise adoption.AdoptOrRegister()
    if adopt is not None:
        return adopt_agent(desk, ids.actor_id(adopt), scope, bead, may_ask=not non_interactive)
    if register is not None:
        return _register(desk, ids.agent_id(register), identity.role(ROLE if role is None else role))
    raise adoption.AmbiguousSession()


def advice(desk: Desk) -> dict[str, Any]:
    """The recommendation without --register or --adopt: a free name, always the same for the same ledger."""
    free = names.free(desk.place.title, registered_names.of(desk.store))
    why = "no identity was requested; every session needs its own name"
    return adoption.recommend(adoption.REGISTER, adoption.NO_IDENTITY, free, why)


REASONS = {
    "AMBIGUOUS_SESSION": adoption.NO_IDENTITY,
    "DUPLICATE_AGENT_ID": adoption.NAME_TAKEN,
    "ADOPTION_REJECTED": adoption.NO_EVIDENCE,
    "AGENT_NOT_FOUND": adoption.UNKNOWN_AGENT,
    "NOT_A_REPOSITORY": adoption.NOT_A_REPOSITORY,
}


def add_recommendation(desk: Desk, refusal: BbError, role: str | None) -> None:
    """Add a recommendation and its reason to a REFUSAL: as details for programs, as the hint for people."""
    reason = refusal.details.get("reason") or REASONS.get(refusal.code, adoption.NOT_UNDERSTOOD)
    why = refusal.message
    if reason == adoption.NOT_A_REPOSITORY:
        refusal.details["recommendation"] = adoption.recommend(adoption.STOP, reason, None, why)
        return
    if reason == adoption.NAME_TAKEN:
        why = f"{why}; {adoption.ANOTHER}: bb init --adopt {refusal.details['agent_id']}"
    recommended = advice(desk)
    if reason != adoption.NO_IDENTITY:
        recommended |= {"reason": reason, "why": why}
    if role:
        recommended["command"] += f" --role {quoted(role)}"
    refusal.details["recommendation"] = recommended
    about = f"{adoption.ANOTHER}: " if reason == adoption.NAME_TAKEN else f"{refusal.hint}; " if refusal.hint else ""
    refusal.hint = f"{about}{recommended['command']}"


def _register(desk: Desk, name: str, role: str) -> dict[str, Any]:
    is_new = not desk.store.exists
    answer = agents.register(desk, name=name, role=role)  # type: ignore[arg-type]
    recommendation = adoption.recommend(adoption.REGISTER, adoption.NAME_FREE, name, f"{name} was free", is_done=True)
    return {
        "created": is_new,
        "agent_id": name,
        "mode": adoption.REGISTER,
        "agent": answer,
        "recommendation": recommendation,
    }


def adopt_agent(desk: Desk, name: str, scope: Sequence[str], bead: str | None, *, may_ask: bool) -> dict[str, Any]:
    """Continue as an earlier agent, if there is evidence of its unfinished work and no other session has its name."""
    index = signs_of_life.index_of(desk, name)
    agent = signs_of_life.registered(index, name)
    about = None if bead is None else reservations.bead(bead)
    held = desk.holdings(index, desk.now())
    given_scopes = [desk.scope(text) for text in scope]
    claims = held.claimed_by(name)
    weighed, looked_at = _weighed(desk, held, name, given_scopes, about)
    changed = looked_at["changed"]
    evidence, waived = _doubted(desk, agent, weighed, looked_at, may_ask=may_ask)
    with_changes = [(claim, its) for claim, its in claims if any(held.lies_in(path, claim) for path in changed)]
    linked = [about, *(its for _, its in with_changes), *evidence.beads]
    where = [one for one in given_scopes if any(held.lies_in(path, one) for path in changed)]
    resumed = _resumed(
        desk,
        agent,
        evidence,
        beads=tuple(dict.fromkeys(its_bead for its_bead in linked if its_bead)),
        scope=next((one.text for one in [*where, *(claim for claim, _ in with_changes)]), None),
        was=held.liveness_of(name),
        still=lambda index: _must_still_hold(desk, index, name, evidence, looked_at, waived),
    )
    return resumed | {"looked_at": looked_at}


def evidence_of(desk: Desk, index: Index, name: str) -> Evidence | None:
    """The evidence that NAME left unfinished work here, if there is any and its session is not known to be alive."""
    agent = signs_of_life.registered(index, name)
    if _alive_at(desk, agent) is not None:
        return None
    found, _ = _weighed(desk, desk.holdings(index, desk.now()), name, (), None)
    return found


def _weighed(
    desk: Desk, held: Holdings, name: str, given_scopes: Sequence[Scope], about: str | None
) -> tuple[Evidence | None, dict[str, Any]]:
    """The evidence for adopting NAME, and what was looked at to find it."""
    claimed = given_scopes or [claim for claim, _ in held.claimed_by(name)]
    dirty, note = _changed(desk, held, claimed)
    changed = _own(held, name, dirty)
    tracker = beads.read_beads(desk.place, desk.env)
    owned = [one.id for one in rules.owned_by(tracker.beads, name)]
    if given_scopes:
        owned = [its_bead for its_bead in owned if held.worked_in(name, its_bead, given_scopes) is not False]
    looked_at = {
        "claimed": [claim.text for claim in claimed],
        "changed": changed,
        "held_by_others": [path for path in dirty if path not in set(changed)],
        "in_progress": owned,
        "beads": provenance(tracker, desk.now()),
        "note": note,
    }
    scopes_claimed = [claim.text for claim in claimed]
    return adoption.weigh(name, changed=changed, claimed=scopes_claimed, in_progress=owned, bead=about), looked_at


def _doubted(
    desk: Desk, known: Agent, found: Evidence | None, looked_at: dict[str, Any], *, may_ask: bool
) -> tuple[Evidence, str | None]:
    """The evidence, and the session that the person declares ended. In doubt, the person is asked; without a person,
    the adoption is rejected. No lock is held during the question."""
    name = known.agent_id
    doubts = [] if found else [_no_evidence(name, looked_at)]
    is_taken = _alive_at(desk, known) is not None
    if is_taken:
        doubts.append(_is_at_work(desk, known))
    if not doubts:
        return found or adoption.confirmed_by_person(name), None
    question = "; and ".join(doubts)
    if may_ask and desk.ask_person and desk.ask_person(f"{question[0].upper()}{question[1:]}. Adopt {name} anyway?"):
        evidence = found or adoption.confirmed_by_person(name)
        return (adoption.confirmed(evidence), known.session) if is_taken else (evidence, None)
    raise (adoption.session_alive_refusal if found else adoption.no_evidence_refusal)(name, doubts[0], **looked_at)


def _must_still_hold(
    desk: Desk, index: Index, name: str, evidence: Evidence, looked_at: dict[str, Any], waived: str | None
) -> Agent:
    """The agent NAME, checked again under the ledger's lock. Refused if another session was faster, or if another agent
    has reserved the changed files meanwhile."""
    agent = signs_of_life.registered(index, name)
    if agent.session != waived and _alive_at(desk, agent) is not None:
        raise adoption.session_alive_refusal(name, _is_at_work(desk, agent), **looked_at)
    if evidence.reason == adoption.UNCOMMITTED_SCOPE:
        own = _own(desk.holdings(index, desk.now()), name, looked_at["changed"])
        if not own:
            raise adoption.no_evidence_refusal(name, _no_evidence(name, looked_at), **looked_at)
    return agent


def _alive_at(desk: Desk, known: Agent) -> int | None:
    last = presence.read(desk.place.store, known.agent_id, desk.now())
    if last and last.has_ended and known.session_at <= last.ended_at:
        return None
    return callers.alive_at(known, desk.sessions, last.seen_at if last else 0, desk.now())


def _is_at_work(desk: Desk, known: Agent) -> str:
    ago = (desk.now() - (_alive_at(desk, known) or desk.now())) // clock.SECOND
    return f"another session works as {known.agent_id}; its last sign of life was {ago} s ago"


def _no_evidence(name: str, looked_at: dict[str, Any]) -> str:
    others: list[str] = looked_at["held_by_others"]
    but = f"; the changed files are in other agents' reservations: {others[0]}" if others else ""
    more = f" and {len(others) - 1} more" if len(others) > 1 else ""
    return f"there is no evidence of unfinished work of {name} here{but}{more}"


def _own(held: Holdings, name: str, paths: Sequence[str]) -> list[str]:
    """The changed PATHS that are in no other agent's live reservation."""
    return [path for path in paths if not _is_anothers(held, name, path)]


def _is_anothers(held: Holdings, name: str, path: str) -> bool:
    met = (overlap.held for overlap in held.overlaps([scopes.existing(path)]))
    return any(one.reservation.agent not in (name, ids.PERSON) and not one.is_over for one in met)


def _resumed(
    desk: Desk,
    known: Agent,
    evidence: Evidence,
    *,
    beads: tuple[str, ...],
    scope: str | None,
    was: str,
    still: Callable[[Index], Agent],
) -> dict[str, Any]:
    """Record the RESUME (§3.4) and the new session of the name, if STILL allows it under the ledger's lock."""
    name, text = known.agent_id, adoption.summary(evidence, beads)
    named = None if desk.sessions else callers.generated_session_id(os.urandom(8))
    session = session_agent.to_open(desk) or f"{ids.NAMED_BY_BB}{callers.session_digest(named or '')}"

    def decide(index: Index) -> list[Any]:
        agent = still(index)
        fact = Resumed(
            agent=_adopter(desk, index, name),
            prior=name,
            adopted=name,
            reason=evidence.reason,
            evidence=text,
            bead=beads[0] if beads else events.NO_BEAD,
            beads=beads,
            scope=scope,
        )
        is_back = agent.is_retired
        back = Registered(name, agent.role, agent.title, None, session) if is_back else Updated(name, session=session)
        settled = [NameSettled(name, own.event) for own in signs_of_life.own_rivals(desk, agent)]
        return [back, fact, *(settled if not is_back else ())]

    recorded = desk.store.record(decide, by=_adopter(desk, desk.store.caught_up(), name), now=desk.now())
    signs_of_life.write_presence(desk, signs_of_life.in_service(desk.store.caught_up(), name), desk.now())
    editor_sessions.forget_agent(desk.place.store, name)
    session_agent.save(desk, name, continues=desk.env.get("BB_AGENT") in (None, "", name))
    why = f"allowed by {evidence.reason}: {text}"
    return {
        "agent_id": name,
        "mode": adoption.ADOPT,
        "reason": evidence.reason,
        "evidence": text,
        "agent": agents.show(desk, agent=name),  # type: ignore[arg-type]
        "session_id": named,
        "resume_event": next(event.id for event in recorded if event.kind == "system.notify"),
        "beads": list(beads),
        "warning": f"{name} is still active; make sure that no other session uses this name"
        if was == liveness.ACTIVE
        else None,
        "recommendation": adoption.recommend(adoption.ADOPT, evidence.reason, name, why, is_done=True),
    }


def _adopter(desk: Desk, index: Index, name: str) -> str:
    """The author of an adoption: BB_AGENT if it names another known agent, else the adopted agent."""
    adopter = desk.env.get("BB_AGENT", "")
    agent = roster.agent(adopter, index.state(roster.NAME, adopter)) if ids.is_actor_id(adopter) else None
    if agent is None or adopter == name:
        return name
    return adopter if agent.is_retired else signs_of_life.checked_agent(desk, index, adopter).agent_id


def _changed(desk: Desk, held: Holdings, claimed: Sequence[Scope]) -> tuple[list[str], str | None]:
    """The files with uncommitted changes in the CLAIMED scopes, and a note if they cannot be determined."""
    if desk.place.work_tree is None:
        return [], "this repository has no work tree"
    if not claimed:
        return [], "the agent had no reservations, and no --scope was given"
    try:
        paths = changes.changed_paths(git.status_porcelain(desk.place.work_tree))
    except BbError as error:
        return [], f"git could not list the changes: {error.message}"
    return [path for path in paths if any(held.lies_in(path, scope) for scope in claimed)], None
