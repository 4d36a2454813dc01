"""Writes one commit of the ledger, at the local ref. HEAD, git's index and the work tree are not touched.

The few objects of a commit are written by bb itself, as loose objects. `git fast-import` took four times as long and
left a pack each time, and git repacks a whole repository that has fifty packs.
"""

from __future__ import annotations

import os

from bb.kernel.errors import Refused
from bb.ledger.git import git, program, trees
from bb.ledger.git.loose_objects import LooseObjects
from bb.ledger.published.layout import LOCAL
from bb.ledger.signing import ssh_signatures
from bb.ledger.travel import authorship
from bb.ledger.travel.authorship import Authorship

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.git.trees import Entry
    from bb.ledger.records.store import Store
    from bb.ledger.signing.keys import Key

PLAIN_FILE = "100644"
SHA1 = 40  # digits of an object id; more with SHA-256

GitSigningFailed = Refused.declare(
    "GIT_SIGNING_FAILED",
    "git is told to sign commits, and could not sign the ledger's commit",
    hint="try `git commit-tree -S HEAD^{tree} -m test`, and mend what it says; or publish without git's signature: "
    "`git config bb.sign false`",
)


class CommitWriter:
    """One commit on PARENT: add and remove files, then `finish`. It begins with the files of the commit BASE, which is
    the parent if nothing else is said."""

    def __init__(
        self,
        store: Store,
        message: bytes,
        parent: str | None,
        now: int,
        key: Key | None = None,
        base: str | None = None,
    ) -> None:
        self._git = store.git
        self._git_dir = store.place.common
        self._message, self._key, self._parent = message, key, parent
        self._base = base or parent or ""
        self._loose = LooseObjects(self._git_dir, len(self._base) or self._git.configuration.id_length)
        self._time = f"{max(now // 1000, 0)} +0000"
        self._files: dict[str, Entry | None] = {}

    def published(self, path: str) -> bytes:
        """The contents of a file in the commit that this one begins with."""
        octets = trees.contents(self._git.objects, f"{self._base}:{path}")
        if octets is None:
            raise program.GitFailed(f"git cannot find {path} in commit {self._base[:12]}")
        return octets

    def file(self, path: str, octets: bytes) -> None:
        """Add or replace a file."""
        self._files[path] = PLAIN_FILE, self._loose.keep("blob", octets)

    def remove(self, path: str) -> None:
        """Remove a file from the tree."""
        self._files[path] = None

    def finish(self) -> str:
        """Make the commit, and set the local ref to it. Returns its name."""
        made = self.finish_aside()
        made.settle()
        return made.commit

    def finish_aside(self) -> WrittenCommit:
        """Make the commit. The local ref is not set yet."""
        who = authorship.authorship(self._git.configuration)
        tree = trees.changed_in(self._loose, self._git.objects, self._base, self._files)
        name = self._signed_by_git(tree, who) if who.is_signed else self._made(tree, who)
        self._loose.add(name)
        return WrittenCommit(name, self._loose, self._git_dir)

    def _made(self, tree: str, who: Authorship) -> str:
        """The commit, signed as by `git commit -S` if there is a key."""
        head = f"tree {tree}\n" + (f"parent {self._parent}\n" if self._parent else "")
        head += f"author {who.author} {self._time}\ncommitter {who.committer} {self._time}\n"
        octets, signed = head.encode(), b""
        if self._key:
            blob = self._key.sign(octets + b"\n" + self._message, ssh_signatures.GIT)
            name = b"gpgsig" if self._loose.length == SHA1 else b"gpgsig-sha256"
            signed = name + b" " + ssh_signatures.armored(blob).strip().replace("\n", "\n ").encode() + b"\n"
        return self._loose.keep("commit", octets + signed + b"\n" + self._message)

    def _signed_by_git(self, tree: str, who: Authorship) -> str:
        """The commit, made and signed by git as it is configured."""
        env = dict(os.environ)
        for role, identity in (("AUTHOR", who.author), ("COMMITTER", who.committer)):
            person, _, address = identity.partition(" <")
            values = {"NAME": person, "EMAIL": address.rstrip(">"), "DATE": self._time}
            env |= {f"GIT_{role}_{part}": value for part, value in values.items()}
        words = ["commit-tree", "-S", *(["-p", self._parent] if self._parent else []), tree]
        done = git.ask(words, git_dir=self._git_dir, env=env, given=self._message)
        if done.status != 0:
            raise GitSigningFailed(f"git could not sign the commit: {done.err.strip()[:300] or 'no reason given'}")
        return done.out.decode("ascii", "replace").strip()


class WrittenCommit:
    """A COMMIT among the LOOSE objects of the repository at GIT_DIR. The local ref does not lead to it yet."""

    def __init__(self, commit: str, loose: LooseObjects, git_dir: str) -> None:
        self.commit = commit
        self._loose = loose
        self._git_dir = git_dir
        self._setting: git.Asked | None = None

    def begin_to_settle(self) -> None:
        """Wait until the objects are on the disk, and let another process set the local ref."""
        if self._setting is None:
            self._loose.wait_for_disk()
            self._setting = git.start(["update-ref", LOCAL, self.commit], git_dir=self._git_dir)

    def settle(self) -> None:
        """Wait until the local ref is set; refuse if that failed."""
        self.begin_to_settle()
        if self._setting:
            done = self._setting.done()
            program.refuse_failure("update-ref", done.status, done.err)
