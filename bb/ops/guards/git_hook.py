"""What git's hooks call. Made to be quiet: whoever commits wants to read about it only when something is the matter."""

from __future__ import annotations

import os

from bb.kernel import ids
from bb.kernel.errors import BbError
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.guards.commit import verdict
from bb.ops.params import Plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.git.staging import Coming
    from bb.ops.desk.desk import Desk

TRAILER, TOKEN = "BB-Agent", "BB-Token"
WRITTEN = ("message", "merge", "squash", "commit")  # sources of a message that is there before any editor is


class MessageFile(Plain):
    """The file with the message."""

    metavar = "FILE"


class Source(Plain):
    """Where the message comes from, as git says it: message, template, merge, squash or commit."""

    metavar = "SOURCE"


@op("hook.pre-commit", reads=True, screen="guards", examples=("bb hook pre-commit",))
def pre_commit(desk: Desk) -> dict[str, Any]:
    """May this commit be made? As `bb check --staged` answers, for BB_AGENT; silent when nothing is in the way."""
    named = desk.env.get("BB_AGENT")
    return verdict(desk, None if named in (None, "", ids.PERSON) else named, None)


@op("hook.prepare-commit-msg", screen="guards", examples=("bb hook prepare-commit-msg .git/COMMIT_EDITMSG message",))
def prepare_commit_msg(desk: Desk, file: MessageFile, source: Source | None = None) -> dict[str, Any]:
    """Note in a commit's message which agent made it: `BB-Agent: amber-otter`. Never fails because of it.

    Where it holds what is committed in every clone, the reservation's token is noted too: `BB-Token: 41`.
    Only BB_AGENT's, when it is registered here, and only where a message is there already; a message that has such a
    trailer keeps it. Commits that a rebase or a cherry-pick makes again stay their authors'.
    """
    agent = desk.env.get("BB_AGENT")
    try:
        signed = bool(agent) and source in WRITTEN and _sign(desk, agent or "", file)
    except BbError as error:
        return {"agent_id": agent, "signed": False, "because": f"[{error.code}] {error.message}"}
    return {"agent_id": agent if signed else None, "signed": signed, "because": None}


def _sign(desk: Desk, agent: str, file: str) -> bool:
    from bb.ledger.git.staging import Coming  # noqa: PLC0415

    if not ids.is_actor_id(agent) or not desk.store.exists:
        return False
    signs_of_life.judged(desk, desk.store.caught_up(), agent)
    coming, message = Coming(desk.place, desk.env), os.path.join(desk.cwd, file)
    if token := _token(desk, agent, coming):
        coming.sign(message, f"{TOKEN}: {token}")
    return coming.sign(message, f"{TRAILER}: {agent}")


def _token(desk: Desk, agent: str, coming: Coming) -> int | None:
    """The lowest token of the global reservations that cover what is committed; CI refuses work under an old one."""
    held = desk.holdings(desk.store.caught_up(), desk.now())
    everywhere = [(each, token) for each in held.of(agent) if (token := held.token(each.reservation))]
    if not everywhere:
        return None
    paths = [change.path for change in coming.changes()]
    return min(
        (token for each, token in everywhere if any(held.lies_in(path, each.scope) for path in paths)), default=None
    )
