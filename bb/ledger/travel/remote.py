"""The ledger's branch on a remote: it is fetched, and pushed only if it has not moved since.

Errors of git are translated into a few refusals: the branch moved meanwhile (fetch again), the remote is unreachable,
the push is denied, there is no such remote. If it is unknown whether a push arrived, the next fetch tells.
"""

from __future__ import annotations

import os

from bb.kernel.errors import Busy, Conflict, NotFound, Refused
from bb.ledger.files import disk
from bb.ledger.git import git, program
from bb.ledger.published.charter import NotALedger
from bb.ledger.published.layout import BRANCH, HIDDEN, PLACES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bb.ledger.git.place import Place

INCOMING, VERIFIED = "refs/bb/incoming/", "refs/bb/remote/"  # the last fetched and the last verified commit
MOST_REFS = 1 << 20  # bytes of a remote's list of refs
DEEPEST = (1 << 31) - 2  # commits; with one more, git deepens every branch
NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/")

# bb checks the contents of the branch; git checks that its objects are valid.
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

RemoteNotFound = NotFound.declare(
    "REMOTE_NOT_FOUND", "There is no such remote", hint="`git remote -v` shows all remotes; name one with --remote"
)

Offline = Busy.declare(
    "OFFLINE",
    "The remote cannot be reached",
    hint="everything you recorded stays in this clone; when the remote can be reached: `bb sync`",
)

PushDenied = Refused.declare(
    "PUSH_DENIED",
    "The remote does not let you push to its ledger",
    hint="give your account permission to push to the branch bb-ledger; `bb sync --pull` works without it",
)

TransportNotAllowed = Refused.declare(
    "TRANSPORT_NOT_ALLOWED",
    "The address of the remote uses a transport that git may not use here: a program, or a file descriptor",
    hint="`git remote -v` shows the address; to allow it: `GIT_ALLOW_PROTOCOL=ext:ssh:https:file bb sync`",
)

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
    return _without_secret(_address(git_dir, name, "--push"))


def _address(git_dir: str, name: str, *how: str) -> str:
    return git.ask(["remote", "get-url", *how, "--", name], git_dir=git_dir).out.decode("utf-8", "replace").strip()


def _without_secret(address: str) -> str:
    scheme, mark, rest = address.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2] if '@' in rest.partition('/')[0] else rest}" if mark else address


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
        raise _refusal(name, done)
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
        return git.run(["rev-parse", "--verify", "--quiet", incoming], git_dir=place.common).strip()
    if _says(done.err, NO_BRANCH):
        return None
    raise _refusal(name, done)


def mark_verified(git_dir: str, name: str, commit: str) -> None:
    """Note that a COMMIT of the remote is verified. The ref keeps git from deleting it."""
    git.output(
        ["update-ref", "--stdin"],
        git_dir=git_dir,
        given=f"update {VERIFIED}{name} {commit}\ndelete {INCOMING}{name}\n".encode(),
    )


def push(place: Place, name: str, commit: str, expected: str | None, patience: float, ref: str = BRANCH) -> None:
    """Move the ledger on a remote to COMMIT, if it is at the EXPECTED commit. Raises Moved if it is not."""
    _push(place, name, [f"--force-with-lease={ref}:{expected or ''}"], [f"{commit}:{ref}"], patience)


def relocate(place: Place, name: str, commit: str, old: str, new: str, patience: float) -> None:
    """Move the ledger on a remote from one place to another, both or neither, if it is at COMMIT. Raises Moved if it is
    not."""
    leases = [f"--force-with-lease={old}:{commit}", f"--force-with-lease={new}:"]
    _push(place, name, ["--atomic", *leases], [f"{commit}:{new}", f":{old}"], patience)


def _push(place: Place, name: str, leases: list[str], refspecs: list[str], patience: float) -> None:
    flags = ["--porcelain", "--no-verify", "--no-signed", "--recurse-submodules=no", "--no-follow-tags"]
    settings = ["-c", f"remote.{name}.mirror=false", "-c", "push.pushOption="]
    words = [*settings, "push", *flags, *leases, "--", name, *refspecs]
    done = git.ask(words, git_dir=place.common, at=_from(place), patience=patience)
    if done.status == 0:
        return
    output = done.out.decode("utf-8", "replace") + done.err
    is_moved_there = "[remote rejected]" in output and "(unpacker error)" not in output and _says(output, MOVED_THERE)
    if is_moved_there or (_says(output, MOVED) and "hook declined" not in output):
        _refuse_two_places(place, name, refspecs[0].partition(":")[2], patience)
        raise Moved(_last_words(output))
    raise _refusal(name, done)


def _refuse_two_places(place: Place, name: str, ref: str, patience: float) -> None:
    """Refuse a remote whose fetch and push addresses are different repositories. If both lead to one repository, the
    branch is at the same commit at both."""
    here, there = (_address(place.common, name, *how) for how in ([], ["--push"]))
    if here == there:
        return
    fetched, pushed = (_commit_at(place, address, ref, patience) for address in (here, there))
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


def _commit_at(place: Place, address: str, ref: str, patience: float) -> str | None:
    """The commit of REF at an ADDRESS; empty if there is no such ref; None if the address cannot be reached."""
    words = ["ls-remote", "--", address, ref]
    done = git.ask(words, git_dir=place.common, at=_from(place), patience=patience, most=MOST_REFS)
    return done.out.decode("ascii", "replace").partition("\t")[0] if done.status == 0 else None


def _from(place: Place) -> str:
    """The directory git runs in. A relative path of a remote is resolved from the top of the work tree."""
    return place.work_tree or place.common


def _refusal(name: str, done: program.Done) -> Exception:
    output = done.err + done.out.decode("utf-8", "replace")
    about = {"remote": name, "said": _last_words(output)}
    if git.TOO_LARGE in output:
        from bb.ledger.published.bounds import LedgerTooLarge  # noqa: PLC0415

        return LedgerTooLarge(f"an object of that branch on {name} is larger than a ledger can have", **about)
    if done.status is None:
        return Offline(f"{name} did not answer in time", **about)
    if f"'{name}' does not appear to be a git repository" in output or _says(output, NO_REMOTE):
        return RemoteNotFound(f"git finds no repository at {name}: {about['said']}", **about)
    if "transport '" in output and "' not allowed" in output:
        return TransportNotAllowed(f"{name}: {about['said']}", **about)
    if _says(output, DENIED) or "[remote rejected]" in output:
        return PushDenied(f"{name} refused: {about['said']}", **about)
    if _says(output, UNSOUND):
        return NotALedger(f"{name} sent invalid objects: {about['said']}", **about)
    return Offline(f"{name} cannot be reached: {about['said']}", **about)


def _says(said: str, any_of: Sequence[str]) -> bool:
    said = said.lower()
    return any(words in said for words in any_of)


def _last_words(said: str) -> str:
    """The most useful line: the first error of git or the remote."""
    rows = [row.strip() for row in said.splitlines() if row.strip()]
    errors = [row for row in rows if row.startswith(("fatal:", "error:", "remote:", "!", "ssh:"))]
    return (errors or rows or ["git gave no reason"])[0][:300]
