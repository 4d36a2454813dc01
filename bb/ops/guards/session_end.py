"""The hook at the end of an editor's session: nobody has to wait until its agent counts as silent."""

from __future__ import annotations

import os

from bb.coordination.holdings import reservations
from bb.coordination.wiring import editors
from bb.coordination.wiring.editors import NotUnderstood
from bb.kernel.errors import BbError
from bb.ledger.git.place import NotARepository
from bb.ops.catalogue import op
from bb.ops.desk import session_agent, signs_of_life
from bb.ops.guards.editor_hook import AutoBead
from bb.ops.guards.editor_requests import EditorAgent, Host, Payload, agent_of, allow, read_payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.coordination.holdings.held import Held
    from bb.ledger.index.index import Index
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk


@op(
    "hook.session-end",
    reads=True,
    output="editor",
    examples=(
        "bb hook session-end < payload.json",
        """bb hook session-end --agent amber-otter --payload '{"session_id": "8c35adc1", "reason": "other"}'""",
    ),
)
def session_end(
    desk: Desk,
    *,
    host: Host | None = None,
    agent: EditorAgent | None = None,
    bead: AutoBead | None = None,
    payload: Payload | None = None,
) -> dict[str, Any]:
    """At the end of an editor's session, let others take over at once what its agent holds.

    The agent counts as stale from now on, not after 15 minutes. Reservations that --auto-reserve made are released if
    their files have no uncommitted changes. Everything else stays: other reservations, mail and the name. If the same
    session is resumed, it goes on as before. Errors are written to stderr and stop nothing.
    """
    try:
        heard = read_payload(desk, editors.SESSION_END, host, payload)
    except NotUnderstood as error:
        return allow(None, f"bb: the payload was not understood: {error}")
    try:
        if not os.path.isdir(desk.place.store):
            return allow(heard)
        for who in _agents(desk, agent_of(desk, heard, agent)):
            _release_unused(desk, who, None if bead is None else reservations.bead(bead))
            signs_of_life.end_session(desk, who)
        if heard.session:
            session_agent.end(desk, heard.session, heard.reason)
    except NotARepository.error:
        return allow(heard)
    except BbError as error:
        return allow(heard, f"bb: {error}")
    return allow(heard)


def _agents(desk: Desk, who: str | None) -> list[str]:
    """The agents of the session: WHO, and all others whose names it holds, such as those of sub-agents."""
    index = desk.store.caught_up()
    if who:
        signs_of_life.checked_agent(desk, index, who)
    return list(dict.fromkeys([*([who] if who else []), *signs_of_life.names_of(index, desk.sessions)]))


def _release_unused(desk: Desk, who: str, bead: str | None) -> None:
    """Release the reservations that --auto-reserve made for WHO, with BEAD or without a bead, and whose files have no
    uncommitted changes."""

    def are_made_for_it(held: Holdings) -> list[Held]:
        own = [one for one in held.reservations_of_agent(who) if not one.is_over]
        return [one for one in own if (one.reservation.bead == bead if bead else one.reservation.is_automatic)]

    if not are_made_for_it(desk.holdings(desk.store.caught_up(), desk.now())):
        return
    changed = _changed(desk)

    def decide(_: Index, held: Holdings) -> list[Any]:
        unused = [own for own in are_made_for_it(held) if not any(held.lies_in(path, own.scope) for path in changed)]
        return reservations.release_all(who, unused)

    signs_of_life.act(desk, who, decide)


def _changed(desk: Desk) -> list[str]:
    """The paths with uncommitted changes, in every worktree of the clone."""
    from bb.coordination.guards import changes  # noqa: PLC0415  (only reservations for the bead need git)
    from bb.ledger.git import git, linked_work_trees  # noqa: PLC0415

    folders = filter(os.path.isdir, linked_work_trees.folders(desk.place))
    return [path for folder in folders for path in changes.changed_paths(git.status_porcelain(folder))]
