"""The git directory of a throw-away tree: a repository of its own, which borrows the objects of the real one.

So git works in the tree as in a fresh clone: `git describe`, `git log` and `git status` answer as usual, and builds
that ask git for a version work. A commit, a tag, a stash or a `git add` in the tree changes only this repository, never
the refs or the index of the real one. It is written anew for each use.

It includes the real configuration, so filters and line ends are as usual. Hooks are not taken over.
"""

from __future__ import annotations

import os

from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.git import git, place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bb.ledger.git.place import Place

REFTABLE = b"refs/heads/.invalid"  # the branch that HEAD seems to name if the repository keeps its refs in a table
OURS = b"refs/bb/"
LARGEST = 1 << 26  # bytes of a file that is taken over
COPIED = ("info/attributes", "shallow")
OF_THE_WORK_TREE = ("info/sparse-checkout",)
EXTENSIONS = (b"extensions.objectformat", b"extensions.partialclone")  # git does not read these from included files


class Settings(Record):
    """The settings on which the files of a work tree depend. ROWS: their names and values, as git has them."""

    rows: tuple[tuple[bytes, bytes], ...]

    @property
    def extensions(self) -> Iterable[tuple[bytes, bytes]]:
        return (row for row in self.rows if row[0] in EXTENSIONS)


def settings(at: Place) -> Settings:
    """The settings of the repository at a place."""
    done = git.ask(["config", "-z", "--get-regexp", r"^(core|filter|extensions|index)\."], git_dir=at.git_dir)
    rows = [row.partition(b"\n") for row in done.out.split(b"\0") if row]
    return Settings(tuple((name.lower(), value) for name, _, value in rows))


def what_files_depend_on(at: Place, found: Settings) -> list[bytes]:
    """All from which git computes the contents of a file of the work tree, besides what the tree itself contains."""
    rows = [b"\n".join(row) for row in found.rows]
    users = next((os.fsdecode(value) for name, value in reversed(found.rows) if name == b"core.attributesfile"), "")
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    files = [
        os.path.expanduser(users) if users else os.path.join(config, "git", "attributes"),
        os.path.join(at.common, "info", "attributes"),
        os.path.join(at.git_dir, "info", "sparse-checkout"),
    ]
    return [*rows, *(disk.read_small(path, LARGEST) or b"" for path in files)]


def write(at: Place, git_dir: str, work_tree: str, found: Settings, excluded: Sequence[str] = ()) -> None:
    """Write the repository GIT_DIR for a WORK_TREE, borrowing from the one at a place. EXCLUDED paths are ignored."""
    for folder in ("objects/info", "refs", "info"):
        disk.make_private_folder(_in(git_dir, folder))
    _write(git_dir, "HEAD", _head(at))
    _write(git_dir, "packed-refs", _refs(at))
    _write(git_dir, "config", _configuration(at, work_tree, found))
    _write(git_dir, "objects/info/alternates", _quoted(os.path.join(at.common, "objects")) + b"\n")
    for names, source in ((COPIED, at.common), (OF_THE_WORK_TREE, at.git_dir)):
        for name in names:
            _copy(os.path.join(source, *name.split("/")), _in(git_dir, name))
    exclude = disk.read_small(os.path.join(at.common, "info", "exclude"), LARGEST) or b""
    own = b"".join(b"/" + _literal(path) + b"\n" for path in excluded)
    _write(git_dir, "info/exclude", exclude.rstrip(b"\n") + b"\n" + own)
    _write(git_dir, place.THROWAWAY, os.fsencode(at.git_dir))
    _write(work_tree, ".git", b"gitdir: " + os.fsencode(git_dir) + b"\n")


def _in(folder: str, name: str) -> str:
    return os.path.join(folder, *name.split("/"))


def _write(folder: str, name: str, octets: bytes) -> None:
    disk.replace(_in(folder, name), octets)


def _copy(source: str, target: str) -> None:
    octets = disk.read_small(source, LARGEST)
    if octets is None:
        disk.remove_if_there(target)
    else:
        disk.replace(target, octets)


def _head(at: Place) -> bytes:
    """HEAD, on the same branch. The branch is this repository's own, so a commit does not move the real one."""
    head = disk.read_small(os.path.join(at.git_dir, "HEAD")) or b""
    if REFTABLE not in head:
        return head
    done = git.ask(["symbolic-ref", "--quiet", "HEAD"], git_dir=at.git_dir)
    return b"ref: " + done.out if done.status == 0 else git.output(["rev-parse", "HEAD"], git_dir=at.git_dir)


def _refs(at: Place) -> bytes:
    lines = git.output(["for-each-ref", "--format=%(objectname) %(refname)"], git_dir=at.git_dir).splitlines(True)
    return b"".join(line for line in lines if not line.partition(b" ")[2].startswith(OURS))


def _configuration(at: Place, work_tree: str, found: Settings) -> bytes:
    """What git has to know itself comes last, so that it wins over the included files."""
    extensions = list(found.extensions)
    included = [os.path.join(at.common, "config"), os.path.join(at.git_dir, "config.worktree")]
    return b"".join(
        [
            *(b"[include]\n\tpath = " + _quoted(path) + b"\n" for path in included if os.path.isfile(path)),
            b"[core]\n\trepositoryformatversion = %d\n\tbare = false\n" % bool(extensions),
            b"\tworktree = " + _quoted(work_tree) + b"\n",
            b"\tsplitIndex = false\n\tfsmonitor = false\n\tuntrackedCache = false\n",
            b"\ttrustctime = true\n\tcheckStat = default\n",  # a command may restore the size and the time of a file
            *(b"[extensions]\n\t%s = %s\n" % (name.partition(b".")[2], _escaped(value)) for name, value in extensions),
        ]
    )


def _quoted(path: str) -> bytes:
    """PATH between quotation marks, as git reads it in a configuration and in a list of alternates."""
    return _escaped(os.fsencode(path))


def _escaped(text: bytes) -> bytes:
    return b'"' + text.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'


def _literal(path: str) -> bytes:
    """PATH as a pattern that matches nothing else."""
    octets = os.fsencode(path)
    return b"".join(
        b"\\" + octets[at : at + 1] if octets[at] in b"\\*?[ !#" else octets[at : at + 1] for at in range(len(octets))
    )
