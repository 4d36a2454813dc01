"""Makes a commit of some owners' lines. The work tree is not touched, and what others have staged stays staged.

The steps, and what a process that is killed after each of them leaves:

1. The contents, trees and commit are written: objects that nothing names.
2. The index that belongs to the commit is ready in git's lock, and noted. The next look takes the lock away.
3. The branch moves, by compare-and-swap. The next look puts the index in its place.
4. The index is in its place. The next look finds the new commit, as if another program had made it.
"""

from __future__ import annotations

from bb.coordination.lines import weave
from bb.coordination.lines.file_state import COMMITTED, Version
from bb.kernel.errors import Conflict, Refused
from bb.ledger.git import git, head, program
from bb.ledger.lines import pending_commit, uncommitted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.git.place import Place
    from bb.ledger.lines.change_set import OwnChanges
    from bb.ledger.lines.lines_store import LinesStore

SUBJECT = 72  # characters of a commit's subject in the reflog

BranchMoved = Conflict.declare(
    "BRANCH_MOVED", "The branch moved again and again while the commit was made", hint="try again"
)
NoIdentity = Refused.declare(
    "NO_GIT_IDENTITY",
    "git does not know who commits",
    hint="git config user.name NAME && git config user.email ADDRESS",
)


def written(place: Place, parent: str, tree: str, message: str) -> str:
    """Write the commit of TREE on PARENT; its id. No branch has it yet."""
    setting = git.ask(["config", "--type=bool", "--get", "commit.gpgSign"], git_dir=place.git_dir)
    is_signed = setting.out.strip() == b"true"
    arguments = ["commit-tree", *(["-S"] if is_signed else []), *(["-p", parent] if parent else []), "-F", "-", tree]
    done = git.ask(arguments, git_dir=place.git_dir, given=message.encode("utf-8", "surrogateescape"))
    if "user.email" in done.err:
        raise NoIdentity()
    program.refuse_failure("commit-tree", done.status, done.err)
    return done.out.decode("ascii").strip()


def put_on_branch(store: LinesStore, changes: OwnChanges, commit: str, subject: str, by: str, now: int) -> bool:
    """Move the branch to COMMIT, if it still is at the commit's parent; False if it has moved meanwhile."""
    with store:
        pending_commit.finish(store)
        if store.head != changes.head:
            return False
        pending_commit.prepare(store, commit, changes)
        try:
            _move(store, changes.head, commit, subject)
        finally:  # git may have moved the branch although it was interrupted
            is_made = head.commit(store.place) == commit
            pending_commit.end(store, is_made=is_made)
        if is_made:
            store.look_again()
            _note(store, changes, commit, by, now)
        return is_made


def _move(store: LinesStore, old: str, commit: str, subject: str) -> None:
    """Move the branch from OLD to COMMIT. It stays if another commit came first."""
    kind = "commit" if old else "commit (initial)"
    arguments = ["update-ref", "-m", f"{kind}: {subject[:SUBJECT]}", "HEAD", commit, old or "0" * store.id_length]
    done = git.ask(arguments, git_dir=store.place.git_dir)
    if done.status != 0 and head.commit(store.place) == old:  # it did not move: git refuses for another reason
        program.refuse_failure("update-ref", done.status, done.err)


def _note(store: LinesStore, changes: OwnChanges, commit: str, by: str, now: int) -> None:
    """Note in the logs what was committed. A file that was edited since it was looked at is only looked at again."""
    for path, entry in changes.entries.items():
        state, current = changes.states[path], store.state(path)
        if (
            path in changes.by_hooks
            or current is None
            or (current.n, current.now) != (state.n, state.now)
            or state.is_whole
        ):
            continue
        base = Version(entry[1], entry[0]) if entry else Version()
        woven = weave.committed(state.weave, changes.wanted[path])
        if base.blob == state.now.blob:
            woven = weave.unchanged(len(store.lines(base)))
        owner = "" if base.mode == state.now.mode else state.mode_owner
        after = current.replace(n=current.n + 1, at=now, act=COMMITTED, by=by, head=commit, base=base)
        looked = {**current.looked, by: after.n} if by else current.looked
        store.log(path).append(after.replace(weave=woven, mode_owner=owner, looked=looked))
    uncommitted.see(store, changes.entries, now)
