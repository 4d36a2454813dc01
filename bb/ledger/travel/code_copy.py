"""A temporary repository beside the clone, for what the clone of the code lacks: history, or the contents of a file.

It sees all objects of the clone and fetches the missing ones from the remote. The clone gets no objects and no refs,
and its depth does not change. Contents of files are fetched only if one is asked for, where the server allows that.
"""

from __future__ import annotations

import os
from functools import cached_property

from bb.kernel.errors import Refused
from bb.kernel.escaping import harmless
from bb.ledger.files import disk
from bb.ledger.git import git, program
from bb.ledger.travel import transport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bb.ledger.git.place import Place
    from bb.ledger.travel.transport import Settings

PATIENCE = 60.0
DEPTHS = (50, 1000)  # commits; if they are not enough, the whole history is fetched
KEPT = "refs/bb/wanted/"

NotFetched = Refused.declare(
    "HISTORY_NOT_FETCHED", "The missing history cannot be fetched", hint="fetch it: `git fetch --unshallow`"
)


class CodeCopy:
    """The temporary repository. It is made when it is first used; `close` deletes it."""

    def __init__(self, place: Place, named: str | None) -> None:
        self._place = place
        self._named = named
        self._folder: str | None = None
        self._env: Mapping[str, str] | None = None

    @cached_property
    def _settings(self) -> Settings:
        return transport.settings(self._place)

    @cached_property
    def remote(self) -> str | None:
        """The remote that the clone came from; else the one that was named."""
        named = self._named
        known = transport.remotes(self._settings)
        if "origin" in known or len(known) == 1:
            return "origin" if "origin" in known else known[0]
        return named if named is not None and (named in known or transport.may_be_url(named)) else None

    def close(self) -> None:
        """Delete it."""
        if self._folder is not None:
            disk.remove_folder(self._folder)
            self._folder = None

    @property
    def path(self) -> str:
        """The folder of the repository."""
        if self._folder is None:
            self._folder = disk.temporary_folder("bb-code-")
            path = os.path.join(self._folder, "code.git")
            transport.make_repository(path, self._settings)
            disk.replace_in_new_folder(os.path.join(path, "objects", "info", "alternates"), self._alternates)
            if self.remote is not None:
                # git fetches an object from this remote when it needs one that is missing.
                git.run(["config", f"remote.{self.remote}.promisor", "true"], git_dir=path)
                git.run(["config", f"remote.{self.remote}.partialclonefilter", "blob:none"], git_dir=path)
        return os.path.join(self._folder, "code.git")

    @property
    def _alternates(self) -> bytes:
        return os.fsencode(os.path.abspath(os.path.join(self._place.common, "objects"))) + b"\n"

    @property
    def env(self) -> Mapping[str, str]:
        """The environment for git in this repository."""
        if self._env is None:
            self._env = transport.environment(self._settings, self.remote or "")
        return self._env

    def ask(
        self, words: Sequence[str], given: bytes = b"", most: int | None = None, *, fetches: bool = False
    ) -> program.Done:
        """Run git in it. FETCHES: git may fetch missing objects."""
        return git.ask(
            words,
            git_dir=self.path,
            at=self._place.work_tree or self._place.common,  # a relative path of a remote begins here
            env=self.env,
            given=given,
            patience=PATIENCE if fetches else program.PATIENCE,
            most=most,
            fetches_objects=fetches,
        )

    def ref_named(self, name: str) -> str | None:
        """The branch, tag or other ref of the remote that NAME names, such as `main` or `origin/main`."""
        if self.remote is None:
            return None
        short = name.removeprefix("refs/remotes/").removeprefix(f"{self.remote}/")
        wanted = [name] if name.startswith("refs/") and short == name else []
        wanted += [f"refs/heads/{short}", f"refs/tags/{name}"]
        if any(mark in name for mark in "*?[ :\\"):
            return None
        done = self.ask(["ls-remote", "--quiet", self.remote, *wanted], fetches=True)
        if done.status != 0:
            raise NotFetched(f"the missing history cannot be fetched: {self._reason(done)}")
        there = {line.partition("\t")[2] for line in done.out.decode("utf-8", "replace").splitlines()}
        return next((ref for ref in wanted if ref in there), None)

    @staticmethod
    def kept(wanted: str) -> str:
        """The ref under which a fetched commit or ref is kept."""
        return f"{KEPT}{wanted}"

    def fetch(self, wanted: Sequence[str], depth: int | None) -> None:
        """Fetch these commits and refs, and DEPTH commits from each on; None for the whole history."""
        if self.remote is None:
            raise NotFetched("the missing history cannot be fetched: no remote is configured")
        how_far = transport.EVERYTHING if depth is None else f"--depth={depth}"
        words = ["fetch", "--quiet", how_far, "--filter=blob:none", "--no-tags", "--no-recurse-submodules", "--refmap="]
        specs = [f"+{name}:{self.kept(name)}" for name in wanted]
        done = self.ask([*git.IN_PIECES, *words, self.remote, *specs], fetches=True)
        if done.status != 0:
            raise NotFetched(f"the missing history cannot be fetched: {self._reason(done)}")

    def _reason(self, done: program.Done) -> str:
        if done.status is None:
            return f"the remote did not answer within {PATIENCE:.0f} s"
        errors = [line for line in done.err.splitlines() if line.startswith(("fatal:", "error:"))]
        return harmless(transport.without_password((errors or ["git gave no reason"])[0])[:300])
