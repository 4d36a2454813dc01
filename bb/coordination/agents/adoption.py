"""Adoption: a new session continues the work of an existing agent (Operative Protocol §3.2).

Adoption needs evidence that the agent left unfinished work in this worktree: uncommitted changes inside a scope that
the agent claimed, or a bead in progress that the agent owns. Changes inside another agent's reservation belong to that
agent and are no evidence. Adoption without evidence is rejected. It is also rejected while another session of the agent
is known to be alive (`callers.alive_at`). Only a person at a terminal can confirm an adoption without evidence.
The recommendation is deterministic: the same situation always gets the same recommendation.
"""

from __future__ import annotations

from bb.kernel import escaping
from bb.kernel.errors import BbError, Refused, Usage
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

UNCOMMITTED_SCOPE, IN_PROGRESS_OWNERSHIP = "uncommitted_scope", "in_progress_ownership"
NO_EVIDENCE, NAME_TAKEN, NO_IDENTITY, NAME_FREE = "no_evidence", "name_taken", "no_identity_requested", "name_free"
SESSION_ALIVE = "session_alive"
UNKNOWN_AGENT, NOT_A_REPOSITORY, NOT_UNDERSTOOD = "unknown_agent", "not_a_git_repo", "invalid_request"
ANOTHER = "start under another name, or adopt this name to continue its work"
ADOPT, REGISTER, STOP = "adopt", "register", "stop"
SHOWN = 5  # names in a sentence; the lists in the details are complete

AmbiguousSession = Usage.declare(
    "AMBIGUOUS_SESSION",
    "The agent for this session is ambiguous",
    hint="pass --register NAME to start as a new agent, or --adopt ID to continue an earlier agent's work",
)

AdoptOrRegister = Usage.declare(
    "ADOPT_OR_REGISTER",
    "--adopt and --register cannot be combined",
    hint="`bb init --register NAME`, or `bb init --adopt ID`",
)

AdoptionRejected = Refused.declare(
    "ADOPTION_REJECTED",
    "No unfinished work of that agent was found here, or another session of the agent is alive",
    hint="register a new agent: `bb init --register NAME`",
)


class Evidence(Record):
    """The evidence that justifies an adoption."""

    reason: str
    text: str
    beads: tuple[str, ...] = ()


def weigh(
    agent: str,
    *,
    changed: Sequence[str],
    claimed: Sequence[str],
    in_progress: Sequence[str],
    bead: str | None,
) -> Evidence | None:
    """The evidence for adopting AGENT: CHANGED files inside its CLAIMED scopes, or beads IN PROGRESS that it owns.

    If BEAD is given, only that bead counts.
    """
    owned = [name for name in in_progress if bead in (None, name)]
    if changed:
        files = "file" if len(changed) == 1 else "files"
        text = f"{len(changed)} uncommitted {files} in {_named(claimed)}: {_named(changed)}"
        return Evidence(UNCOMMITTED_SCOPE, text, tuple(owned))
    if owned:
        text = f"{agent} owns {_named(owned)}, which {'is' if len(owned) == 1 else 'are'} in progress"
        return Evidence(IN_PROGRESS_OWNERSHIP, text, tuple(owned))
    return None


def no_evidence_refusal(agent: str, why: str, **looked_at: Any) -> BbError:
    """The refusal if there is no evidence of unfinished work of AGENT."""
    return AdoptionRejected(f"{agent} cannot be adopted: {why}", reason=NO_EVIDENCE, **looked_at)


def session_alive_refusal(agent: str, why: str, **looked_at: Any) -> BbError:
    """The refusal if another session of AGENT is alive."""
    hint = (
        "if that session is yours, continue there, or set BB_SESSION to its id; if it crashed, wait two minutes after "
        f"its last heartbeat; a person at a terminal can confirm the crash at once: `bb init --adopt {agent}`"
    )
    return AdoptionRejected(f"{agent} cannot be adopted: {why}", hint=hint, reason=SESSION_ALIVE, **looked_at)


def confirmed(found: Evidence) -> Evidence:
    """The evidence FOUND, with a person's confirmation that the other session has ended."""
    return found.replace(text=f"{found.text}; a person at the terminal confirmed that no other session of it is alive")


def summary(found: Evidence, beads: Sequence[str]) -> str:
    """The summary of the evidence for an adoption. It mentions if no bead is known."""
    return found.text if beads else f"{found.text}; no bead is known"


def confirmed_by_person(agent: str) -> Evidence:
    """The evidence if a person at the terminal confirmed that AGENT's work continues in this session."""
    text = f"a person at the terminal confirmed that the work of {agent} continues here; there is no other evidence"
    return Evidence(IN_PROGRESS_OWNERSHIP, text)


def recommend(action: str, reason: str, agent: str | None, why: str, *, is_done: bool = False) -> dict[str, Any]:
    """A recommendation as a JSON object. If the action IS_DONE, the command is the step after it."""
    next_step = f"bb turn --agent {agent}" if is_done else f"bb init --non-interactive --{action} {agent}"
    command = None if agent is None else next_step
    return {"action": action, "reason": reason, "agent_id": agent, "why": why, "command": command}


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(escaping.name, names[:SHOWN])) + more
