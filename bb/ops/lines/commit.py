"""`bb commit`: commit exactly one's own lines."""

from __future__ import annotations

from bb.coordination.holdings import scopes
from bb.coordination.lines import messages, own_part
from bb.coordination.lines import weave as weaves
from bb.kernel import ids
from bb.kernel.errors import Conflict, NotFound, Usage
from bb.kernel.escaping import name, quoted
from bb.kernel.plurals import counted
from bb.ledger.git import git, head, operations, trees
from bb.ledger.lines import own_changes, own_commit, scan, tidying, uncommitted
from bb.ops.catalogue import op
from bb.ops.desk import pause_check, signs_of_life
from bb.ops.guards import path_verdicts
from bb.ops.lines import commit_hooks, files
from bb.ops.lines.files import File
from bb.ops.params import AgentId, AgentOrPerson, Text, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from bb.coordination.lines.file_state import FileState
    from bb.ledger.lines.change_set import OwnChanges
    from bb.ledger.lines.lines_store import LinesStore
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk

MOST_TRIES = 8  # a branch that moves more often than that while a commit is made is odd
AFTER = "post-commit"
AGENT, WITH, UNATTRIBUTED = "BB-Agent", "BB-With", "BB-Unattributed"
MOST_NAMED = 5

NothingOfYours = NotFound.declare(
    "NOTHING_TO_COMMIT", "You have no uncommitted changes there", hint="`bb diff` shows whose the changes are"
)
SharedLines = Conflict.declare(
    "LINES_SHARED",
    "Some lines were changed by you and by another agent, so neither can commit them alone",
    hint="let one of you commit them: `bb commit --with AGENT -m MESSAGE PATH`",
)
InProgress = Conflict.declare(
    "GIT_OPERATION_IN_PROGRESS",
    "A merge, rebase, cherry-pick or revert is going on in this work tree",
    hint="finish it with git, or abort it; `git status` says how",
)
NoMessage = Usage.declare("NO_MESSAGE", "A commit needs a message", hint="bb commit -m 'Read week dates'")


class Message(Text):
    """The message. Repeat the option for further paragraphs."""

    metavar = "TEXT"
    letter = "m"
    longest = 1 << 20


class Companion(AgentId):
    """Also commit the lines that this agent and you have both changed. The message says so."""


@op(
    "commit",
    screen="lines",
    examples=(
        "bb commit -m 'Read week dates' --agent amber-otter",
        "bb commit -m 'Read week dates' src/dates.py docs/dates.md --json",
        "bb commit -m 'Read week dates' --include-unattributed src/dates.py",
    ),
)
def commit(
    desk: Desk,
    path: list[File] | None = None,
    *,
    message: list[Message] | None = None,
    include_unattributed: list[File] | None = None,
    with_: list[Companion] | None = None,
    agent: AgentOrPerson | None = None,
) -> dict[str, Any]:
    """Commit exactly your own lines, also from files in which other agents have uncommitted changes.

    Nothing needs to be staged. A new file that git ignores is left out, unless PATH names it. Lines of others stay in
    the work tree as they are, and what they have staged stays staged. The hooks of the repository run as for `git
    commit`, in a copy of your version of the tree. If another commit comes first, yours is made on top of it. A line
    that you and another agent have both changed is refused (LINES_SHARED).

    The person commits the changes that no agent is known to have made.

    Parameters:
        path (PATH): Only changes in this file or directory. Default: all your changes.
        include_unattributed (PATH): Also commit the changes in this file that no agent is known to have made. The
            message says so.
    """
    who = signs_of_life.caller(desk, agent, may_be_person=True) if desk.actor(agent) else ids.PERSON
    if who != ids.PERSON:
        pause_check.refuse(desk.store.caught_up(), who)
    desk.may_write()
    store = files.store_of(desk)
    if going := operations.in_progress(desk.place):
        raise InProgress(f"a {going} is going on in this work tree")
    if not message or not "\n\n".join(message).strip():
        raise NoMessage()
    texts = "\n\n".join(message)
    companions = frozenset(with_ or ())
    for _ in range(MOST_TRIES):
        store.look_again()
        request = _Request(desk, store, who, path, include_unattributed or (), companions)
        if answer := request.committed(texts):
            tidying.tidy_if_due(store, desk.now())
            return answer
    raise own_commit.BranchMoved()


class _Request:
    """One attempt to commit the changes of WHO on the commit that is checked out now."""

    def __init__(
        self,
        desk: Desk,
        store: LinesStore,
        who: str,
        path: Sequence[str] | None,
        included: Sequence[str],
        companions: frozenset[str],
    ) -> None:
        self._desk = desk
        self._store = store
        self._who = who
        self._companions = companions
        self._by_hooks: Mapping[str, object] = {}  # the files that hooks have changed in the commit
        self._included = files.paths(desk, store, included)
        named = files.paths(desk, store, path) if path is not None else []
        if path is None and who == ids.PERSON:
            named = scan.changed(store)
        elif path is None:
            named = [*own_changes.paths_of(store, who), *self._included]
        if outside := [one for one in self._included if one not in named]:
            raise invalid(f"--include-unattributed names {name(outside[0])}, which PATH leaves out", "path")
        states = uncommitted.see(store, dict.fromkeys(named), desk.now(), who)
        ignored = self._ignored(states, {files.path_of(desk, text) for text in (*(path or ()), *included)})
        self._states = {one: self._without_companions(state) for one, state in states.items() if one not in ignored}

    def _ignored(self, states: Mapping[str, FileState], named: set[str]) -> frozenset[str]:
        """New files that git ignores: an agent has written them, and did not mean to commit them."""
        new = [one for one, state in states.items() if state.now.mode and not state.base.mode and one not in named]
        return git.ignored(self._desk.place.work_tree or "", new)

    def _without_companions(self, state: FileState) -> FileState:
        if not self._companions:
            return state
        return state.replace(weave=own_part.taken_together(state.weave, self._wanted(state), self._companions))

    def _wanted(self, state: FileState) -> frozenset[str]:
        """The owners whose changes in this file are committed."""
        marks = frozenset(owner for owner in state.owners if weaves.is_unattributed(owner))
        if self._who == ids.PERSON:
            return marks
        return frozenset({self._who}) | (marks if state.path in self._included else frozenset())

    def committed(self, text: str) -> dict[str, Any] | None:
        """Make the commit; None if another one came first."""
        self._refuse_shared()
        wanted = {one: self._wanted(state) for one, state in self._states.items()}
        changes = own_changes.of_owners(self._store, self._states, wanted)
        if not changes.entries:
            raise self._nothing()
        self._refuse_held(list(changes.entries))
        place, hooks = self._desk.place, commit_hooks.of_others(self._desk.place)
        tree = own_changes.tree_of(self._store, changes)
        message = messages.message(text, self._trailers(changes))
        if hooks:
            from bb.ledger.lines import commit_hooks as aside  # noqa: PLC0415  (many repositories have no other hooks)

            judged = aside.judged(place, hooks, tree, message, self._desk.env)
            self._by_hooks = trees.differences(place, tree, judged.tree)
            changes = own_changes.with_changes_by_hooks(self._store, changes, self._by_hooks, self._desk.now())
            tree, message = judged.tree, judged.message
        by = "" if self._who == ids.PERSON else self._who
        made = own_commit.written(place, changes.head, tree, message)
        if not own_commit.put_on_branch(self._store, changes, made, message.partition("\n")[0], by, self._desk.now()):
            return None
        if AFTER in hooks:
            aside.run_after(place, hooks[AFTER], self._desk.env)
        return self._answer(changes, made, message)

    def _refuse_held(self, paths: Sequence[str]) -> None:
        """Refuse a commit of paths that another agent holds for itself, or that the person has frozen."""
        if self._who == ids.PERSON:
            return
        index = self._desk.store.caught_up()
        path_verdicts.refuse_damage(self._desk)
        held = self._desk.holdings(index, self._desk.now())
        judged = [self._verdict(held, path) for path in paths]
        if in_way := [row for row in judged if row["verdict"] == path_verdicts.HELD]:
            raise path_verdicts.path_held(in_way, self._who, {"agent_id": self._who, "paths": judged})

    def _verdict(self, held: Holdings, path: str) -> dict[str, Any]:
        """The verdict on a file. Another agent's region of it counts only if the commit changes that."""
        scope = scopes.existing(path).replace(is_file=True)
        return path_verdicts.path_verdict(held, scope, self._who, own_part.touched(self._states[path], self._who))

    def _refuse_shared(self) -> None:
        for state in self._states.values():
            found = own_part.shared_hunks(state, self._wanted(state))
            if not found:
                continue
            rows = [
                {
                    "agents": list(files.names_of(one.owners)),
                    "line": one.first + 1,
                    "last_line": max(one.end, one.first + 1),
                }
                for one in found
            ]
            others = weaves.together(*(one.others for one in found))
            names = files.names_of(others)
            first = rows[0]
            whose = " and ".join(names) or "nobody known"
            where = f"{name(state.path)}, lines {first['line']} to {first['last_line']}"
            more = f" (and {len(rows) - 1} more places)" if len(rows) > 1 else ""
            way = f"--with {names[0]}" if names else f"--include-unattributed {quoted(state.path)}"
            raise SharedLines(
                f"{where}{more}: changed by {self._who} and by {whose}",
                hint=f"agree who commits them, then: `bb commit {way} -m MESSAGE {quoted(state.path)}`; the other "
                "changes: name their files",
                path=state.path,
                lines=rows,
            )

    def _nothing(self) -> Exception:
        others = sorted({owner for state in self._states.values() for owner in files.names_of(state.owners)})
        has_unattributed = [one.path for one in self._states.values() if own_changes.unattributed_in([one])]
        if self._who != ids.PERSON and has_unattributed:
            paths = " ".join(map(quoted, has_unattributed[:MOST_NAMED]))
            return NothingOfYours(
                "no change there is known to be yours; "
                f"in {counted(len(has_unattributed), 'file')}, it is not known whose changes they are",
                hint=f"if they are yours: `bb mine {paths}`",
                unattributed=has_unattributed,
            )
        hint = f"the changes there are those of {', '.join(others)}" if others else None
        return NothingOfYours(hint=hint)

    def _trailers(self, changes: OwnChanges) -> list[tuple[str, str]]:
        trailers = [(AGENT, self._who)] if self._who != ids.PERSON else []
        trailers += [(WITH, other) for other in sorted(self._companions)]
        return trailers + [(UNATTRIBUTED, path) for path in self._included if path in changes.entries]

    def _answer(self, changes: OwnChanges, made: str, message: str) -> dict[str, Any]:
        rows = [self._row(changes.states[path], entry) for path, entry in changes.entries.items()]
        left = [files.row(state) for path in self._states if (state := self._store.state(path)) and state.is_changed]
        return {
            "agent_id": None if self._who == ids.PERSON else self._who,
            "commit": made,
            "branch": head.branch(self._desk.place).removeprefix("refs/heads/") or None,
            "subject": message.partition("\n")[0],
            "files": rows,
            "left": left,
            "changed_by_hooks": sorted(self._by_hooks),
        }

    def _row(self, state: FileState, entry: Any) -> dict[str, Any]:
        added, deleted = own_part.counts(state.weave, self._wanted(state))
        return {"path": state.path, "added": added, "deleted": deleted, "is_removed": entry is None}
