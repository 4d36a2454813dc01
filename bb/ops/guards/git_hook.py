"""The ops that git's hooks call. They print nothing unless there is a problem."""

from __future__ import annotations

import os

from bb.kernel import ids
from bb.kernel.errors import BbError
from bb.ledger.local import hook_calls
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.guards.commit import commit_verdict
from bb.ops.guards.hook_call import note_hook_call
from bb.ops.params import UncheckedText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.git.staging import StagedCommit
    from bb.ops.desk.desk import Desk

TRAILER, TOKEN = "BB-Agent", "BB-Token"
# The sources of a message that exists before an editor opens. Without a source, the file has a finished message, as in
# a commit-msg hook, or only comments.
WRITTEN = ("message", "merge", "squash", "commit", None)
FRAMEWORK = "PRE_COMMIT_COMMIT_MSG_SOURCE"  # the pre-commit framework names the source in this variable


@op("hook.pre-commit", reads=True, screen="guards", examples=("bb hook pre-commit",))
def pre_commit(desk: Desk) -> dict[str, Any]:
    """Run `bb check --staged` for the committing agent. Prints nothing if the commit may be made.

    The agent is BB_AGENT, else the agent of the host's session.
    """
    note_hook_call(desk, hook_calls.GIT, "pre-commit")
    named = desk.actor(None)
    return commit_verdict(desk, None if named in (None, "", ids.PERSON) else named, None)


@op("hook.prepare-commit-msg", screen="guards", examples=("bb hook prepare-commit-msg .git/COMMIT_EDITMSG message",))
def prepare_commit_msg(desk: Desk, file: UncheckedText, source: UncheckedText | None = None) -> dict[str, Any]:
    """Add a trailer with the agent to a commit message: `BB-Agent: amber-otter`. Never stops a commit.

    If the agent holds a global reservation of a committed path, its token is added too: `BB-Token: 41`. Only a
    registered agent is named (BB_AGENT, else that of the host's session), and only if the message exists already. An
    existing trailer is kept. Commits that a rebase or a cherry-pick repeats keep their authors. The hooks commit-msg
    and applypatch-msg call this without SOURCE, for messages that were written in an editor, and for `git am`.

    Parameters:
        file (FILE): The file with the message.
        source (SOURCE): The source of the message as git names it: message, template, merge, squash or commit. None
            for a finished message.
    """
    note_hook_call(desk, hook_calls.GIT, "prepare-commit-msg")
    agent = desk.env.get("BB_AGENT")
    try:
        agent = desk.actor(None) or None
        signed = bool(agent) and (source or desk.env.get(FRAMEWORK)) in WRITTEN and _sign(desk, agent or "", file)
    except BbError as error:
        return {"agent_id": agent, "signed": False, "because": f"[{error.code}] {error.message}"}
    return {"agent_id": agent if signed else None, "signed": signed, "because": None}


def _sign(desk: Desk, agent: str, file: str) -> bool:
    from bb.ledger.git.staging import StagedCommit  # noqa: PLC0415

    if not ids.is_actor_id(agent) or not desk.store.exists:
        return False
    signs_of_life.checked_agent(desk, desk.store.caught_up(), agent)
    coming, message = StagedCommit(desk.place, desk.env), os.path.join(desk.cwd, file)
    if token := _token(desk, agent, coming):
        coming.sign(message, f"{TOKEN}: {token}")
    return coming.sign(message, f"{TRAILER}: {agent}")


def _token(desk: Desk, agent: str, coming: StagedCommit) -> int | None:
    """The lowest token of the global reservations that cover a staged path. CI refuses work under an outdated token."""
    held = desk.holdings(desk.store.caught_up(), desk.now())
    tokens = [(own.scope, token) for own in held.reservations_of_agent(agent) if (token := held.token(own.reservation))]
    if not tokens:
        return None
    paths = [change.path for change in coming.changes()]
    return min((token for scope, token in tokens if any(held.lies_in(path, scope) for path in paths)), default=None)
