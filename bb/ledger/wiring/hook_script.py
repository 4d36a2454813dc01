"""What `bb hooks install` writes: a small POSIX script for each hook, which says of itself whether it was changed.

A hook that was there before runs first, with the same arguments and the same input, and what it refuses stays refused.
The script asks nobody anything, and where bb is gone it lets people pass.
"""

from __future__ import annotations

from bb.kernel.digest import digest
from bb.kernel.show import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

KEPT = ".before-bb"  # what stands behind the name of a hook that was there before
MARK = "# bb hook 1 "
ABOUT = "# Written by `bb hooks install`. `bb hooks uninstall` takes it away and puts back what was here before.\n"
MADE_FOLDER = "# The folder was made for this hook.\n"

BEFORE = """before=$0{kept}
if [ -x "$before" ]; then
    {how} || exit
fi
"""
RUN = '"$before" "$@"'
# husky's own scripts find their way by the name they are called by, so they are read under that name instead of run.
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

IS_PERSON = "case ${BB_AGENT:-user} in user) exit 0 ;; esac\n"
LET_GO = "    exit 0\n"
NOT_JUDGED = """    echo "bb is gone, so nobody can say whether this commit touches what another agent holds." >&2
    case ${BB_AGENT:-user} in user) exit 0 ;; esac
    echo "Agent $BB_AGENT may not make it. Install bb again, or remove $0." >&2
    exit 1
"""
JUDGE = f"""bb hook pre-commit </dev/null
verdict=$?
{IS_PERSON}exit $verdict
"""
SIGN = f"""{IS_PERSON}bb hook prepare-commit-msg "$1" ${{2+"$2"}} </dev/null
exit 0
"""
# Unless many commits are being made again. What is not known to this bb, or not wanted here, is silent; and nobody who
# reads what git says waits for it, because the streams are let go of before it starts.
SYNC = """[ -d "$(git rev-parse --git-path rebase-merge)" ] && exit 0
(exec </dev/null >/dev/null 2>&1; bb sync --background &)
exit 0
"""
# hook -> what it does where bb is gone, and what it does
HOOKS = {
    "pre-commit": (NOT_JUDGED, JUDGE),
    "prepare-commit-msg": (LET_GO, SIGN),
    "post-commit": (LET_GO, SYNC),
    "post-merge": (LET_GO, SYNC),
    "post-checkout": (LET_GO, '[ "${3-1}" = 1 ] || exit 0\n' + SYNC),
    "pre-push": (LET_GO, SYNC),
}


def script(hook: str, launcher: Sequence[str], *, is_read: bool = False, made_folder: bool = False) -> bytes:
    """The script for HOOK. It tries LAUNCHER before what is on the PATH; an earlier hook may want to be READ."""
    gone, act = HOOKS[hook]
    find = NO_LAUNCHER
    if launcher:
        find = LAUNCHER.format(program=quoted(launcher[0]), command=" ".join(map(quoted, launcher)))
    before = BEFORE.format(kept=KEPT, how=READ.format(kept=KEPT) if is_read else RUN)
    body = ABOUT + (MADE_FOLDER if made_folder else "") + before + find + FOUND.format(gone=gone) + act
    return f"#!/bin/sh\n{MARK}{digest(body.encode())[:16]}\n{body}".encode()


def is_ours(octets: bytes) -> bool:
    """Whether it is a script of ours, changed or not."""
    return octets.split(b"\n", 2)[1:2] != [] and octets.split(b"\n", 2)[1].startswith(MARK.encode())


def is_unchanged(octets: bytes) -> bool:
    """Whether a script of ours is as it was written."""
    lines = octets.split(b"\n", 2)
    return is_ours(octets) and len(lines) == 3 and lines[1] == f"{MARK}{digest(lines[2])[:16]}".encode()
