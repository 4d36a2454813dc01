"""A remote as the ledger sees it: one branch that is fetched, and pushed to only if it is still where it was.

What git says about a failure becomes one of a few answers: moved meanwhile (look again), unreachable, refused for good,
no remote at all. Where it is in doubt whether a push has arrived, whoever looks again finds out.
"""

from __future__ import annotations

import os

from bb.kernel.errors import Busy, NotFound, Refused
from bb.ledger.files import disk
from bb.ledger.git import git
from bb.ledger.published.charter import NotALedger
from bb.ledger.published.layout import BRANCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bb.ledger.git.place import Place

INCOMING, VERIFIED = "refs/bb/incoming/", "refs/bb/remote/"  # what came last, and what was found to be right
MOST_REFS = 1 << 20  # bytes in which a remote names the branches that are asked for
DEEPEST = (1 << 31) - 2  # commits; one more means those of every branch to git
NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/")

# What the branch on a remote may hold is checked by us; that its objects are sound is checked by git.
SOUND = ("-c", "transfer.fsckObjects=true", "-c", "fetch.fsckObjects=true", "-c", "submodule.recurse=false")

NO_BRANCH = ("couldn't find remote ref",)
MOVED = ("stale info", "fetch first", "non-fast-forward", "cannot lock ref", "incorrect old value", "already exists")
MOVED_THERE = ("failed to update ref", "remote ref does not exist", "failed to lock", "unable to create")
NO_REMOTE = ("no such remote", "no configured push destination")
DENIED = (
    *("hook declined", "protected branch", "denied", "authentication failed", "not allowed", "prohibited", "forbidden"),
    *("error: 403", "error: 401", "could not read username", "could not read password", "read-only"),
)
UNSOUND = ("fsck", "bad object", "unpack", "index-pack")


class RemoteNotFound(NotFound):
    """There is no such remote."""

    code = "REMOTE_NOT_FOUND"
    hint = "`git remote -v` shows the remotes there are; name one with --remote"


class Offline(Busy):
    """The remote cannot be reached."""

    code = "OFFLINE"
    hint = "all that is recorded stays recorded here; try again when the remote can be reached"


class PushDenied(Refused):
    """The remote does not let you write to its ledger."""

    code = "PUSH_DENIED"
    hint = "let your account push to the branch bb-ledger; `bb sync --pull` needs no such right"


class TransportNotAllowed(Refused):
    """The address of the remote is of a kind that git is not to use here: a program, or an open file."""

    code = "TRANSPORT_NOT_ALLOWED"
    hint = "if you need it, say so: `GIT_ALLOW_PROTOCOL=ext:ssh:https:file bb sync`; `git remote -v` shows the address"


class Contended(Busy):
    """Others published at the same time, again and again."""

    code = "CONTENDED"
    hint = "nothing is lost; try again in a moment"


class Moved(Exception):
    """The branch is no longer where it was; look again."""


def names(git_dir: str) -> list[str]:
    """The remotes that are configured."""
    return git.run(["remote"], git_dir=git_dir).split()


def url(git_dir: str, name: str) -> str:
    """Where NAME is pushed to, without what may be secret in it."""
    return _without_secret(_address(git_dir, name, "--push"))


def _address(git_dir: str, name: str, *how: str) -> str:
    return git.ask(["remote", "get-url", *how, "--", name], git_dir=git_dir).out.decode("utf-8", "replace").strip()


def _without_secret(address: str) -> str:
    scheme, mark, rest = address.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2] if '@' in rest.partition('/')[0] else rest}" if mark else address


def checked(name: str) -> str:
    """NAME, when a remote may be called so."""
    is_right = bool(name) and NAME.issuperset(name) and name[0] not in "-./" and ".." not in name and "//" not in name
    if not is_right or name.endswith(("/", ".", ".lock")):
        raise RemoteNotFound(f"{name[:60]!r} is no name of a remote")
    return name


def fetch(place: Place, name: str, patience: float, *, whole: bool = False) -> str | None:
    """Where the ledger's branch is on the remote, its commits having been brought here; None when it has none.

    All that they hold is brought too, in a clone that fetches nothing before it is needed as well. The WHOLE history
    is fetched even if the clone has only the end of every branch.
    """
    incoming = INCOMING + name
    flags = ["--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules", "--refmap="]
    flags += ["--no-filter"]
    if any(name.endswith(".promisor") for name in disk.names(os.path.join(place.common, "objects", "pack"))):
        flags += ["--refetch"]  # what git believes to have may be without what it holds
    if whole and os.path.exists(os.path.join(place.common, "shallow")):
        flags += [f"--depth={DEEPEST}"]
    words = [*git.IN_PIECES, *SOUND, "fetch", "--quiet", *flags, "--", name, f"+{BRANCH}:{incoming}"]
    env = {**os.environ, **git.WHEN_FETCHING}
    done = git.ask(words, git_dir=place.common, at=_from(place), env=env, patience=patience)
    if done.status == 0:
        return git.run(["rev-parse", "--verify", "--quiet", incoming], git_dir=place.common).strip()
    if _says(done.err, NO_BRANCH):
        return None
    raise _refusal(name, done)


def keep(git_dir: str, name: str, commit: str) -> None:
    """Remember that a COMMIT of the remote's is verified, so that git does not throw it away."""
    git.output(
        ["update-ref", "--stdin"],
        git_dir=git_dir,
        given=f"update {VERIFIED}{name} {commit}\ndelete {INCOMING}{name}\n".encode(),
    )


def push(place: Place, name: str, commit: str, expected: str | None, patience: float) -> None:
    """Put the remote's branch at COMMIT, if it is where it is EXPECTED to be. Moved when it is not."""
    lease = f"--force-with-lease={BRANCH}:{expected or ''}"
    flags = ["--porcelain", "--no-verify", "--no-signed", "--recurse-submodules=no", "--no-follow-tags"]
    settings = ["-c", f"remote.{name}.mirror=false", "-c", "push.pushOption="]
    words = [*settings, "push", *flags, lease, "--", name, f"{commit}:{BRANCH}"]
    done = git.ask(words, git_dir=place.common, at=_from(place), patience=patience)
    if done.status == 0:
        return
    said = done.out.decode("utf-8", "replace") + done.err
    is_moved_there = "[remote rejected]" in said and "(unpacker error)" not in said and _says(said, MOVED_THERE)
    if is_moved_there or (_says(said, MOVED) and "hook declined" not in said):
        _refuse_two_places(place, name, patience)
        raise Moved(_last_words(said))
    raise _refusal(name, done)


def _refuse_two_places(place: Place, name: str, patience: float) -> None:
    """Refuse where what is fetched from one address never shows what is at the other, to which is pushed. Two addresses
    may well lead to one repository: then the branch is at the same commit, seen from either."""
    here, there = (_address(place.common, name, *how) for how in ([], ["--push"]))
    if here == there:
        return
    seen, met = (_branch_at(place, address, patience) for address in (here, there))
    if None not in (seen, met) and seen != met:
        here, there = _without_secret(here), _without_secret(there)
        one = f"`git remote set-url --push {name} URL`"
        raise PushDenied(
            f"{name} is fetched from {here} and pushed to {there}, where the ledger is another",
            hint=f"give each place a remote of its own, or push to where you fetch from: {one}",
            remote=name,
            fetched_from=here,
            pushed_to=there,
        )


def _branch_at(place: Place, address: str, patience: float) -> str | None:
    """Where the ledger's branch is at an ADDRESS, nothing if there is none; None when that cannot be asked."""
    asked = ["ls-remote", "--", address, BRANCH]
    done = git.ask(asked, git_dir=place.common, at=_from(place), patience=patience, most=MOST_REFS)
    return done.out.decode("ascii", "replace").partition("\t")[0] if done.status == 0 else None


def _from(place: Place) -> str:
    """Where git stands: a remote that is named by a relative path is looked for from the top of the work tree."""
    return place.work_tree or place.common


def _refusal(name: str, done: git.Done) -> Exception:
    said = done.err + done.out.decode("utf-8", "replace")
    about = {"remote": name, "said": _last_words(said)}
    if git.TOO_LARGE in said:
        from bb.ledger.published.bounds import LedgerTooLarge  # noqa: PLC0415

        return LedgerTooLarge(f"{name} has an object on that branch that is larger than any of a ledger", **about)
    if done.status is None:
        return Offline(f"{name} did not answer in time", **about)
    if f"'{name}' does not appear to be a git repository" in said or _says(said, NO_REMOTE):
        return RemoteNotFound(f"{name} is no repository that git knows: {about['said']}", **about)
    if "transport '" in said and "' not allowed" in said:
        return TransportNotAllowed(f"{name}: {about['said']}", **about)
    if _says(said, DENIED) or "[remote rejected]" in said:
        return PushDenied(f"{name} refused: {about['said']}", **about)
    if _says(said, UNSOUND):
        return NotALedger(f"what {name} sent is not sound: {about['said']}", **about)
    return Offline(f"{name} cannot be reached: {about['said']}", **about)


def _says(said: str, any_of: Sequence[str]) -> bool:
    said = said.lower()
    return any(words in said for words in any_of)


def _last_words(said: str) -> str:
    """The line that tells most: the last one that is an error of git's or of the remote's."""
    rows = [row.strip() for row in said.splitlines() if row.strip()]
    telling = [row for row in rows if row.startswith(("fatal:", "error:", "remote:", "!", "ssh:"))]
    return (telling or rows or ["git said nothing"])[0][:300]
