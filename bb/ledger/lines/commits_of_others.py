"""Commits to files in which an agent has uncommitted lines, made since the agent last looked at them."""

from __future__ import annotations

from bb.coordination.lines import weave, what_changed
from bb.coordination.lines.file_state import SEEN
from bb.kernel.record import Record
from bb.ledger.git import git
from bb.ledger.lines import uncommitted
from bb.ledger.lines.act import Act
from bb.ledger.lines.lines_store import ContentLost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.coordination.lines.file_state import FileState
    from bb.coordination.lines.what_changed import WhatChanged
    from bb.ledger.lines.lines_store import LinesStore

SHORT = 12  # hex digits of a commit
FORMAT = "%H%x00%an%x00%s%x00%(trailers:key=BB-Agent,valueonly,separator=%x20)"


class Commit(Record):
    """A commit of another agent to PATH, and what it changed there. Empty texts are unknown."""

    path: str
    base: str  # the content of the file since then
    commit: str
    by: str
    subject: str
    changes: WhatChanged

    def as_json(self) -> dict[str, Any]:
        found = {"path": self.path, "by": self.by, "commit": self.commit[:SHORT], "subject": self.subject}
        changes = self.changes.as_dict()
        changes["you_use"] = changes.pop("used")
        return found | {name: list(value) for name, value in changes.items() if value}


def commits(store: LinesStore, agent: str, now: int) -> Iterator[Commit]:
    """What others have committed to the files in which AGENT has uncommitted lines."""
    for path in store.paths():
        known = store.state(path)
        if known is None or agent not in known.owners:
            continue
        state = known if known.head == store.head else uncommitted.look(store, path, Act(SEEN), now)
        seen = _last_seen(store, state, agent)
        if seen and seen.base != state.base and agent in state.owners and not (seen.is_whole or state.is_whole):
            try:
                found = _commit(store, seen, state, agent)
            except ContentLost.error:  # history was rewritten, and what the agent saw is gone
                continue
            yield found


def _last_seen(store: LinesStore, state: FileState, agent: str) -> FileState | None:
    """The file when AGENT last looked at it; None if that is longer ago than the log goes back."""
    number = state.looked.get(agent, 0)
    return next((one for one in store.log(state.path).recent() if one.n == number), None)


def _commit(store: LinesStore, seen: FileState, state: FileState, agent: str) -> Commit:
    done = git.ask(
        ["log", "-1", f"--format={FORMAT}", store.head, *([f"^{seen.head}"] if seen.head else []), "--", state.path],
        git_dir=store.place.git_dir,
    )
    words = [*done.out.decode("utf-8", "replace").strip("\n").split("\0"), "", "", ""]
    owners = weave.owners_of_lines(state.weave)
    own = [line for one, line in zip(owners, store.lines(state.now), strict=True) if agent in one]
    old, new = store.content(seen.base.blob), store.content(state.base.blob)
    changes = what_changed.between(state.path, old, new, own)
    return Commit(state.path, state.base.blob, words[0], words[3].strip() or words[1], words[2], changes)
