"""After a commit that no hook of bb has judged before: has the agent changed what others hold?

git runs no pre-commit hook for a revert, a cherry-pick and `--no-verify`. Such a commit exists when bb hears of it, so
it is not stopped. It is recorded as an incursion, the holders are notified, and the agent is told.
"""

from __future__ import annotations

from bb.coordination.facts import COMMIT
from bb.coordination.holdings import scopes
from bb.kernel import ids
from bb.kernel.errors import BbError
from bb.ledger.git import made_commit, work_tree
from bb.ledger.local import hook_calls
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.guards.hook_call import note_hook_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.coordination.holdings.held import Held
    from bb.ledger.git.made_commit import MadeCommit
    from bb.ops.desk.desk import Desk


@op("hook.post-commit", screen="guards", examples=("bb hook post-commit",))
def post_commit(desk: Desk) -> dict[str, Any]:
    """Record a commit that changed files of other agents. Undoes nothing.

    git runs no pre-commit hook for a revert, a cherry-pick and `git commit --no-verify`, so they are looked at
    afterwards. Only an agent's commits are (BB_AGENT, else the agent of the host's session). What the agent in the
    trailer BB-Agent holds may be changed too, so a repeated commit of the holder is no incursion.
    """
    note_hook_call(desk, hook_calls.GIT, "post-commit")
    agent = desk.env.get("BB_AGENT")
    try:
        agent = desk.actor(None) or None
        if agent in (None, ids.PERSON) or not ids.is_actor_id(agent) or not desk.store.exists:
            return _answered(None)
        signs_of_life.checked_agent(desk, desk.store.caught_up(), agent)
        made = made_commit.at_head(desk.place)
        return _recorded(desk, agent, made) if made else _answered(agent)
    except BbError as error:
        return _answered(agent, because=f"[{error.code}] {error.message}")


def _recorded(desk: Desk, agent: str, made: MadeCommit) -> dict[str, Any]:
    from bb.ops.holdings import incursions  # noqa: PLC0415  (most commits are judged before they are made)

    held = desk.holdings(desk.store.caught_up(), desk.now())
    changed = [scopes.existing(path).replace(is_file=True) for path in made.paths]
    met = [
        (path, other)
        for path, other in incursions.overlapping_reservations(held, changed, agent, with_regions=False)
        if other.reservation.agent not in made.agents
    ]
    met = _not_ignored(desk, met) if met else []
    incursions.report(desk, agent, COMMIT, met, made.name)
    return _answered(agent, commit=made.name, held=[_row(path, other) for path, other in met])


def _not_ignored(desk: Desk, met: list[tuple[str, Held]]) -> list[tuple[str, Held]]:
    """Without the files that the ignore file names, as it was before the commit."""
    from bb.coordination.guards import ignore_files  # noqa: PLC0415  (few commits change what others hold)
    from bb.ledger.views.code_source import CodeSource  # noqa: PLC0415

    with CodeSource(desk.place, None, may_fetch=False) as code:
        first = code.parents("HEAD")[:1]  # none, if it is the first commit
        written = code.file_at(first[0], work_tree.IGNORE_FILE, work_tree.LARGEST_IGNORE) if first else None
    rules = ignore_files.read(written or b"", ignore_case=work_tree.is_case_insensitive(desk.place))
    return [(path, other) for path, other in met if not rules.ignores(path)]


def _row(path: str, other: Held) -> dict[str, Any]:
    whose = {"agent_id": other.reservation.agent, "scope": other.scope.text, "is_freeze": other.reservation.is_freeze}
    return {"path": path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"), **whose}


def _answered(agent: str | None, **more: Any) -> dict[str, Any]:
    return {"agent_id": agent, "commit": None, "held": [], "because": None} | more
