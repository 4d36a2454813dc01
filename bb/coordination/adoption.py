"""Going on under an identity that was there before (Operative Protocol §3.2), and what to advise: the same advice for
the same situation, always.

Adoption needs evidence that the identity's work is lying here unfinished: uncommitted changes inside the scope it
claimed, or a bead in progress that is its own. Without either it is rejected; only a person at a terminal can vouch for
it instead.
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
    """There is no evidence that work of that identity lies here unfinished."""

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
