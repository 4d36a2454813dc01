"""The index of a commit that is about to be made, as its hooks see it."""

from __future__ import annotations

import os

from bb.ledger.git import program
from bb.ledger.git.git import refuse_foreign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Variables by which git tells a hook about the commit: `git commit -a` and `git commit FILE` use their own index.
OF_THE_COMMIT = ("GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES")
# Ignore the configuration of the user and of the system.
NO_SETTINGS = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "0"}


class CommitIndex:
    """A commit that is about to be made. Its index is the one that git names to the hook, not always the usual one."""

    def __init__(self, git_dir: str, env: Mapping[str, str]) -> None:
        self._git_dir = git_dir
        kept = {name: value for name, value in env.items() if name not in program.SCRUBBED or name in OF_THE_COMMIT}
        self._env = kept | program.QUIET

    def changes(self, against: str) -> bytes:
        """The differences between the index and a tree, in the format of `git diff-index --raw -z`.

        A rename is listed as a removed and an added file, because either path may be reserved.
        """
        how = ["--cached", "--raw", "-z", "--no-renames", "--no-abbrev"]
        return self._output(["diff-index", *how, "--ignore-submodules=none", "--ita-invisible-in-index", against, "--"])

    def has(self, revision: str) -> bool:
        """Whether the revision exists."""
        return self._status(["rev-parse", "--verify", "--quiet", "--end-of-options", revision])[0] == 0

    def empty_tree(self) -> str:
        """The id of the empty tree, which depends on the hash function of the repository."""
        return self._output(["hash-object", "-t", "tree", "--stdin"]).decode("ascii", "replace").strip()

    def staged_blob(self, path: str) -> str:
        """The id of a file's content; empty if it is not in the index."""
        status, out, _ = self._status(["rev-parse", "--verify", "--quiet", "--end-of-options", f":0:{path}"])
        return out.decode("ascii", "replace").strip() if status == 0 else ""

    def tree(self) -> str:
        """The tree of the index. It is written into the repository."""
        return self._output(["write-tree"]).decode("ascii", "replace").strip()

    def merged(self, ours: str, theirs: str) -> str | None:
        """The tree of an automatic merge, with its conflicts; None if this version of git cannot compute it."""
        status, out, _ = self._status(["merge-tree", "--write-tree", "--no-messages", "-z", ours, theirs])
        return out.partition(b"\0")[0].decode("ascii", "replace") if status in (0, 1) and out else None

    def blob(self, name: str, most: int) -> bytes | None:
        """A file's contents; None if it is larger than MOST bytes."""
        if int(self._output(["cat-file", "-s", name])) > most:
            return None
        return self._output(["cat-file", "blob", name])

    def sign(self, path: str, trailer: str) -> None:
        """Add a TRAILER to the message in a file, unless the message has one with that name."""
        # interpret-trailers runs any program that a trailer.*.command setting names. So it is run outside the
        # repository and without settings, except for the comment character.
        _, out, _ = self._status(["config", "-z", "--get-regexp", "^core[.]comment(char|string)$"])
        rows = [row.partition("\n") for row in out.decode("utf-8", "surrogateescape").split("\0") if row]
        settings = [word for name, _, value in rows[-1:] for word in ("-c", f"{name}={value}")]
        options = ["--in-place", "--no-divider", "--if-exists", "doNothing", "--trailer", trailer]
        env = dict(os.environ) | NO_SETTINGS
        done = program.ask_outside([*settings, "interpret-trailers", *options, "--", path], env=env)
        program.refuse_failure("interpret-trailers", done.status, done.err)

    def _output(self, arguments: list[str]) -> bytes:
        status, out, err = self._status(arguments)
        program.refuse_failure(arguments[0], status, err.decode("utf-8", "replace"))
        return out

    def _status(self, arguments: list[str]) -> tuple[int, bytes, bytes]:
        refuse_foreign(self._git_dir)
        command = ["git", *program.HARMLESS, "--git-dir", self._git_dir, *arguments]
        status, out, err = program.spawned(command, self._env).communicate(b"", program.PATIENCE)
        if status is None:
            raise program.GitFailed(f"git {arguments[0]} took longer than {program.PATIENCE:.0f} s")
        return status, out, err
