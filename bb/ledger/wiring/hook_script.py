"""The scripts that `bb hooks install` writes: a small POSIX script for each hook, with a digest that detects changes.

An earlier hook runs first, with the same arguments and input, and its refusal stands. The script never prompts. If bb
is no longer installed, it stops agents but not the person.
"""

from __future__ import annotations

from collections.abc import Sequence

from bb.coordination.agents import callers
from bb.kernel.digest import digest
from bb.kernel.escaping import quoted

KEPT = ".before-bb"  # the suffix of an earlier hook
MARK = "# bb hook 1 "
ABOUT = "# Written by `bb hooks install`. `bb hooks uninstall` removes it and restores the earlier hook, if any.\n"
MADE_FOLDER = "# The folder was made for this hook.\n"  # scripts in use have this line, and uninstalling looks for it

BEFORE = """before=$0{kept}
if [ -x "$before" ]; then
    {how} || exit
fi
"""
RUN = '"$before" "$@"'
# husky's scripts look at the name they are called by, so they are sourced under that name instead of run.
READ = """sh -c '. "$0{kept}"' "$0" "$@\""""

LAUNCHER = """if [ -x {program} ]; then
    bb() {{ {command} "$@"; }}
elif command -v beadboard >/dev/null 2>&1; then
"""
NO_LAUNCHER = """if command -v beadboard >/dev/null 2>&1; then
"""
FOUND = """    bb() {{ beadboard "$@"; }}
else
{gone}fi
"""

# A session of a host may have an agent that only bb can find out.
IN_SESSION = "".join(f"${{{name}:+in-}}" for name in (*callers.HOSTS, callers.GEMINI, callers.OWN))
IS_PERSON = f"case ${{BB_AGENT:-{IN_SESSION}user}} in user) exit 0 ;; esac\n"
LET_GO = "    exit 0\n"
NOT_JUDGED = """    echo "bb is not installed any more, so this commit is not checked against reservations." >&2
    case ${BB_AGENT:-user} in user) exit 0 ;; esac
    echo "Agent $BB_AGENT may not commit unchecked. Install bb again, or remove $0." >&2
    exit 1
"""
# The note says that this git process has had its commit judged: the hook after the commit need not look at it.
JUDGE = f"""bb hook pre-commit </dev/null
verdict=$?
{IS_PERSON}[ $verdict = 0 ] && echo "$PPID" 2>/dev/null >"$(git rev-parse --git-path bb-judged)"
exit $verdict
"""
NO_REBASE = """[ -f "$(git rev-parse --git-path rebase-apply/rebasing)" ] && exit 0
"""
# A message that was written in an editor exists only now. Mostly it has its trailer from prepare-commit-msg.
SIGN_LATE = f"""{IS_PERSON}grep -q '^BB-Agent:' "$1" || bb hook prepare-commit-msg "$1" </dev/null
exit 0
"""
SIGN = f"""{IS_PERSON}bb hook prepare-commit-msg "$1" ${{2+"$2"}} </dev/null
exit 0
"""
# Not during a rebase. The sync is silent, also if this bb does not know the command. The streams are closed first, so a
# program that reads git's output does not wait for the sync.
SYNC = """[ -d "$(git rev-parse --git-path rebase-merge)" ] && exit 0
(exec </dev/null >/dev/null 2>&1; bb sync --background &)
exit 0
"""
# git runs no pre-commit hook for a revert, a cherry-pick and `--no-verify`, so their commits are recorded now.
RECORD = f"""[ -d "$(git rev-parse --git-path rebase-merge)" ] && exit 0
note=$(git rev-parse --git-path bb-judged) judged=
[ -f "$note" ] && {{ read -r judged <"$note"; rm -f "$note"; }}
[ "$judged" = "$PPID" ] || case ${{BB_AGENT:-{IN_SESSION}user}} in
user) ;;
*) bb hook post-commit </dev/null ;;
esac
"""
# hook -> its script if bb is not installed any more, and its script otherwise
HOOKS = {
    "pre-commit": (NOT_JUDGED, JUDGE),
    "prepare-commit-msg": (LET_GO, SIGN),
    "commit-msg": (LET_GO, SIGN_LATE),
    "post-commit": (LET_GO, RECORD + SYNC),
    "applypatch-msg": (LET_GO, SIGN_LATE),
    "pre-applypatch": (NOT_JUDGED, NO_REBASE + JUDGE),
    "post-applypatch": (LET_GO, NO_REBASE + RECORD + SYNC),
    "post-merge": (LET_GO, SYNC),
    "post-checkout": (LET_GO, '[ "${3-1}" = 1 ] || exit 0\n' + SYNC),
    "pre-push": (LET_GO, SYNC),
}


def script(hook: str, launcher: Sequence[str], *, is_read: bool = False, made_folder: bool = False) -> bytes:
    """The script for HOOK. It tries LAUNCHER before the PATH. IS_READ: the earlier hook is sourced, not run."""
    gone, act = HOOKS[hook]
    find = NO_LAUNCHER
    if launcher:
        find = LAUNCHER.format(program=quoted(launcher[0]), command=" ".join(map(quoted, launcher)))
    before = BEFORE.format(kept=KEPT, how=READ.format(kept=KEPT) if is_read else RUN)
    body = ABOUT + (MADE_FOLDER if made_folder else "") + before + find + FOUND.format(gone=gone) + act
    return f"#!/bin/sh\n{MARK}{digest(body.encode())[:16]}\n{body}".encode()


def is_ours(octets: bytes) -> bool:
    """Whether bb wrote this script, changed or not."""
    return octets.split(b"\n", 2)[1:2] != [] and octets.split(b"\n", 2)[1].startswith(MARK.encode())


def is_unchanged(octets: bytes) -> bool:
    """Whether bb wrote this script, and it is unchanged."""
    lines = octets.split(b"\n", 2)
    return is_ours(octets) and len(lines) == 3 and lines[1] == f"{MARK}{digest(lines[2])[:16]}".encode()
