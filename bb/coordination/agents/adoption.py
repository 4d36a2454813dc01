"""Going on under an identity that was there before (Operative Protocol §3.2), and what to advise: the same advice for
the same situation, always.

Adoption needs evidence that the identity's work is lying here unfinished: uncommitted changes inside the scope it
claimed, or a bead in progress that is its own. Changes inside what another agent holds now are that one's, and no
evidence. Without any it is rejected; so it is while another session is known to be alive under the name
(`callers.alive_at`). Only a person at a terminal can vouch for it instead.
"""

from __future__ import annotations

from bb.kernel import show
from bb.kernel.errors import Refused, Usage
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

UNCOMMITTED_SCOPE, IN_PROGRESS_OWNERSHIP = "uncommitted_scope", "in_progress_ownership"
NO_EVIDENCE, NAME_TAKEN, NO_IDENTITY, NAME_FREE = "no_evidence", "name_taken", "no_identity_requested", "name_free"
SESSION_ALIVE = "session_alive"
UNKNOWN_AGENT, NOT_A_REPOSITORY, NOT_UNDERSTOOD = "unknown_agent", "not_a_git_repo", "invalid_request"
ANOTHER = "start under another name, or adopt this one if its work is yours to go on with"
ADOPT, REGISTER, STOP = "adopt", "register", "stop"
SHOWN = 5  # names in a sentence; the lists have them all


class AmbiguousSession(Usage):
    """It cannot be told under which identity this session is to work."""

    code = "AMBIGUOUS_SESSION"
    hint = "say --register NAME, or --adopt ID to go on with earlier work"


class AdoptOrRegister(Usage):
    """A session either adopts an identity or registers a new one, not both."""

    code = "ADOPT_OR_REGISTER"
    hint = "leave out --adopt or --register"


class AdoptionRejected(Refused):
    """There is no evidence that work of that identity lies here unfinished, or another session works under it."""

    code = "ADOPTION_REJECTED"
    hint = "start under a new name: `bb init --register NAME`"


class Evidence(Record):
    """Why an adoption is right."""

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
    """The evidence for going on as AGENT: CHANGED files inside what it CLAIMED, or beads IN PROGRESS that it owns.

    With a BEAD, only that one counts.
    """
    owned = [each for each in in_progress if bead in (None, each)]
    if changed:
        text = f"{len(changed)} uncommitted {_files(changed)} in {_named(claimed)}: {_named(changed)}"
        return Evidence(UNCOMMITTED_SCOPE, text, tuple(owned))
    if owned:
        text = f"{agent} owns {_named(owned)}, in progress"
        return Evidence(IN_PROGRESS_OWNERSHIP, text, tuple(owned))
    return None


def rejected(agent: str, why: str, **looked_at: Any) -> AdoptionRejected:
    """The refusal where nothing shows that work of AGENT lies here."""
    return AdoptionRejected(f"{agent} cannot be adopted: {why}", reason=NO_EVIDENCE, **looked_at)


def taken(agent: str, why: str, **looked_at: Any) -> AdoptionRejected:
    """The refusal where another session works as AGENT."""
    hint = (
        "if that session is yours, go on, or show its id in BB_SESSION; if it has crashed, it is known to be gone two "
        f"minutes after its last sign of life; a person at a terminal may say so at once: `bb init --adopt {agent}`"
    )
    return AdoptionRejected(f"{agent} cannot be adopted: {why}", hint=hint, reason=SESSION_ALIVE, **looked_at)


def confirmed(found: Evidence) -> Evidence:
    """What was FOUND, and a person's word that the other session is over."""
    return found.but(text=f"{found.text}; a person at the terminal confirmed that no other session works under it")


def told(found: Evidence, beads: Sequence[str]) -> str:
    """The summary of why adoption passed; that no bead is known for it is a part of that."""
    return found.text if beads else f"{found.text}; no bead is known for it"


def vouched_for(agent: str) -> Evidence:
    """What stands for evidence when a person at the terminal says that the work is the agent's."""
    text = f"a person at the terminal confirmed that the work of {agent} goes on here; nothing else shows it"
    return Evidence(IN_PROGRESS_OWNERSHIP, text)


def recommend(action: str, reason: str, agent: str | None, why: str) -> dict[str, Any]:
    """The same advice for the same situation, in words a program can read."""
    command = None if agent is None else f"bb init --non-interactive --{action} {agent}"
    return {"action": action, "reason": reason, "agent_id": agent, "why": why, "command": command}


def _files(paths: Sequence[str]) -> str:
    return "file" if len(paths) == 1 else "files"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(show.name, names[:SHOWN])) + more
