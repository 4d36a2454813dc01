"""The ledger's branch on a remote: it is fetched, and pushed only if it has not moved since.

Errors of git are translated into refusals (`remote_refusals.py`), unless the branch has moved meanwhile: then it is
fetched again. If it is unknown whether a push arrived, the next fetch tells.
"""

from __future__ import annotations

import os

from bb.kernel.errors import Busy, Conflict
from bb.ledger.files import disk
from bb.ledger.git import git, head, small_packs
from bb.ledger.published.layout import BRANCH, HIDDEN, PLACES
from bb.ledger.travel.remote_refusals import (
    IS_FULL,
    HostUnknown,
    Offline,
    PushDenied,
    RemoteIsBundle,
    RemoteNotFound,
    denied,
    last_words,
    refusal_of,
    says,
    unreachable,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from bb.kernel.errors import BbError
    from bb.ledger.git import program
    from bb.ledger.git.place import Place

__all__ = [
    "HostUnknown",
    "Offline",
    "PushDenied",
    "RemoteNotFound",
    "denied",
    "unreachable",
]  # others know them from here
INCOMING, VERIFIED = "refs/bb/incoming/", "refs/bb/remote/"  # the last fetched and the last verified commit
MOST_REFS = 1 << 20  # bytes of a remote's list of refs
DEEPEST = (1 << 31) - 2  # commits; with one more, git deepens every branch
NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/")

# bb checks the contents of the branch; git checks that its objects are valid.
SOUND = ("-c", "transfer.fsckObjects=true", "-c", "fetch.fsckObjects=true", "-c", "submodule.recurse=false")

NO_BRANCH = ("couldn't find remote ref",)
MOVED = ("stale info", "fetch first", "non-fast-forward", "cannot lock ref", "incorrect old value", "already exists")
MOVED_THERE = ("failed to update ref", "remote ref does not exist", "failed to lock", "unable to create")
Contended = Busy.declare(
    "CONTENDED",
    "Other clones published at the same time, several times in a row",
    hint="nothing is lost; try again in a moment: `bb sync`",
)


TwoLedgers = Conflict.declare(
    "TWO_LEDGERS",
    "The remote has two ledgers, and it is not known which one counts",
    hint=f"ask who published the second one, and delete it: `git push REMOTE --delete {HIDDEN}`, or the branch",
)


class Moved(Exception):
    """The branch has moved; fetch again."""


def names(git_dir: str) -> list[str]:
    """The remotes that are configured."""
    return git.run(["remote"], git_dir=git_dir).split()


def url(git_dir: str, name: str) -> str:
    """The push URL of NAME, without credentials."""
    return _without_secret(address(git_dir, name, "--push"))


def address(git_dir: str, name: str, *how: str) -> str:
    """The URL of NAME, as git uses it, for fetching or as HOW says."""
    return git.ask(["remote", "get-url", *how, "--", name], git_dir=git_dir).out.decode("utf-8", "replace").strip()


def _without_secret(where: str) -> str:
    scheme, mark, rest = where.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2] if '@' in rest.partition('/')[0] else rest}" if mark else where


def valid_name(name: str) -> str:
    """NAME. Refused if it is not a valid name of a remote."""
    is_right = bool(name) and NAME.issuperset(name) and name[0] not in "-./" and ".." not in name and "//" not in name
    if not is_right or name.endswith(("/", ".", ".lock")):
        raise RemoteNotFound(f"{name[:60]!r} is not a valid name of a remote")
    return name


def find(place: Place, name: str, patience: float) -> str | None:
    """The place of the ledger on a remote: the branch, or the hidden ref. None if there is no ledger."""
    env = {**os.environ, **git.WHEN_FETCHING}
    words = ["ls-remote", "--", name, *PLACES]
    done = git.ask(words, git_dir=place.common, at=_from(place), env=env, patience=patience, most=MOST_REFS)
    if done.status != 0:
        raise _refusal(place, name, done)
    return only_place(done.out, name)


def only_place(listed: bytes, name: str) -> str | None:
    """The place of the ledger in the list of a remote's refs. Refused if there are two."""
    found = [ref for row in listed.decode("utf-8", "replace").splitlines() if (ref := row.partition("\t")[2]) in PLACES]
    if len(found) > 1:
        raise TwoLedgers(f"{name} has a ledger at {BRANCH} and another one at {HIDDEN}", remote=name)
    return found[0] if found else None


def fetch(place: Place, name: str, patience: float, ref: str = BRANCH, *, whole: bool = False) -> str | None:
    """Fetch the ledger from its place REF on a remote. Returns its commit; None if there is no such ref.

    All contents are fetched, even in a partial clone. WHOLE fetches the complete history, even in a shallow clone.
    """
    incoming = INCOMING + name
    flags = ["--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules", "--refmap="]
    flags += ["--no-filter"]
    if any(name.endswith(".promisor") for name in disk.names(os.path.join(place.common, "objects", "pack"))):
        flags += ["--refetch"]  # in a partial clone, git may have commits without their contents
    if whole and os.path.exists(os.path.join(place.common, "shallow")):
        flags += [f"--depth={DEEPEST}"]
    words = [*git.IN_PIECES, *SOUND, "fetch", "--quiet", *flags, "--", name, f"+{ref}:{incoming}"]
    env = {**os.environ, **git.WHEN_FETCHING}
    done = git.ask(words, git_dir=place.common, at=_from(place), env=env, patience=patience)
    if done.status == 0:
        small_packs.put_together(place.common)
        return head.of_ref(place.common, incoming)
    if says(done.err, NO_BRANCH):
        return None
    raise _refusal(place, name, done)


def mark_verified(git_dir: str, name: str, commit: str) -> None:
    """Note that a COMMIT of the remote is verified. The ref keeps git from deleting it."""
    git.output(
        ["update-ref", "--stdin"],
        git_dir=git_dir,
        given=f"update {VERIFIED}{name} {commit}\ndelete {INCOMING}{name}\n".encode(),
    )


def push(
    place: Place,
    name: str,
    commit: str,
    expected: str | None,
    patience: float,
    ref: str = BRANCH,
    meanwhile: Callable[[], object] = lambda: None,
) -> None:
    """Move the ledger on a remote to COMMIT, if it is at the EXPECTED commit. Raises Moved if it is not. MEANWHILE is
    called while git pushes."""
    _push(place, name, [f"--force-with-lease={ref}:{expected or ''}"], [f"{commit}:{ref}"], patience, meanwhile)


def relocate(place: Place, name: str, commit: str, old: str, new: str, patience: float) -> None:
    """Move the ledger on a remote from one place to another, both or neither, if it is at COMMIT. Raises Moved if it is
    not."""
    leases = [f"--force-with-lease={old}:{commit}", f"--force-with-lease={new}:"]
    _push(place, name, ["--atomic", *leases], [f"{commit}:{new}", f":{old}"], patience, lambda: None)


def _push(
    place: Place,
    name: str,
    leases: list[str],
    refspecs: list[str],
    patience: float,
    meanwhile: Callable[[], object],
) -> None:
    flags = ["--porcelain", "--no-verify", "--no-signed", "--recurse-submodules=no", "--no-follow-tags"]
    settings = ["-c", f"remote.{name}.mirror=false", "-c", "push.pushOption="]
    words = [*settings, "push", *flags, *leases, "--", name, *refspecs]
    pushing = git.start(words, git_dir=place.common, at=_from(place))
    try:
        meanwhile()
    finally:
        done = pushing.done(patience=patience)
    if done.status == 0:
        return
    output = done.out.decode("utf-8", "replace") + done.err
    if says(output, IS_FULL):  # then the hub cannot write its refs either, which looks as if they had moved
        raise _refusal(place, name, done, is_push=True)
    is_moved_there = "[remote rejected]" in output and "(unpacker error)" not in output and says(output, MOVED_THERE)
    if is_moved_there or (says(output, MOVED) and "hook declined" not in output):
        raise Moved(last_words(output))
    raise _refusal(place, name, done, is_push=True)


def refuse_two_places(place: Place, name: str, ref: str, patience: float) -> None:
    """Refuse a remote whose fetch and push addresses are different repositories: a push was refused because REF has
    moved, and a fetch does not find that. If both lead to one repository, REF is at the same commit at both."""
    here, there = (address(place.common, name, *how) for how in ([], ["--push"]))
    if here == there:
        return
    fetched, pushed = (_commit_at(place, where, ref, patience) for where in (here, there))
    if None not in (fetched, pushed) and fetched != pushed:
        here, there = _without_secret(here), _without_secret(there)
        command = f"`git remote set-url --push {name} URL`"
        raise PushDenied(
            f"{name} is fetched from {here} but pushed to {there}, which has another ledger",
            hint=f"make a separate remote for each address, or push to the address you fetch from: {command}",
            remote=name,
            fetched_from=here,
            pushed_to=there,
        )


def _commit_at(place: Place, where: str, ref: str, patience: float) -> str | None:
    """The commit of REF at a URL; empty if there is no such ref; None if the address cannot be reached."""
    words = ["ls-remote", "--", where, ref]
    done = git.ask(words, git_dir=place.common, at=_from(place), patience=patience, most=MOST_REFS)
    return done.out.decode("ascii", "replace").partition("\t")[0] if done.status == 0 else None


def _from(place: Place) -> str:
    """The directory git runs in. A relative path of a remote is resolved from the top of the work tree."""
    return place.work_tree or place.common


def _refusal(place: Place, name: str, done: program.Done, *, is_push: bool = False) -> BbError:
    addresses = [address(place.common, name, *how) for how in ([], ["--push"])]
    if is_push and os.path.isfile(os.path.join(_from(place), addresses[-1].removeprefix("file://"))):
        return RemoteIsBundle(f"{name} is a file, to which nothing can be pushed", remote=name)
    return refusal_of(name, done, addresses, is_push=is_push)
