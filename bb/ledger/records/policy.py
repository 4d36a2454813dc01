"""What this clone knows of who may write: `signers.json`, the reviewed `.bb/allowed_signers` as it was last seen.

It is read from the remote's default branch as this clone last fetched it; where git does not know which that is, from
its main or master; where there is none of these, from HEAD. Never from the work tree, which nobody has reviewed.
Commands that are used all the time do not ask git. They go by what the last `bb sync`, `bb ledger verify`, `key` or
`signing`, or `bb doctor` has found; where there is no such file in the repository, there is none in the store either.
"""

from __future__ import annotations

import os

from bb.coordination.records import signers
from bb.coordination.records.signers import Policy
from bb.kernel import json_text
from bb.kernel.errors import BbError
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.git import git, ownership
from bb.ledger.signing import keys, verdicts
from bb.ledger.signing.verdicts import Law

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bb.ledger.git.place import Place
    from bb.ledger.records.store import Store
    from bb.ledger.signing.keys import Key

NAME = "signers.json"
LARGEST = 2 * signers.LARGEST
UPSTREAM = ("refs/remotes/{}/HEAD", "refs/remotes/{}/main", "refs/remotes/{}/master")
HEAD = "HEAD"


class Known(Record):
    """What is known of who may write: the file's TEXT, None when there is none, and WHERE it stands."""

    text: str | None
    where: str
    policy: Policy
    key: Key | None  # ours
    now: int
    trouble: str | None = None  # why our key cannot be used

    @property
    def mode(self) -> str:
        return self.policy.mode or signers.WARN

    def must_have_key(self) -> Key:
        """Our key; refused where it cannot be used."""
        if self.key is None:
            raise keys.SigningFailed(self.trouble)
        return self.key

    @property
    def is_allowed(self) -> bool:
        """Whether our key is listed."""
        return self.key is not None and bool(self._lines())

    @property
    def is_revoked(self) -> bool:
        """Whether our key has been revoked."""
        return self.key is not None and self.key.fingerprint in self.policy.revoked

    @property
    def is_persons(self) -> bool:
        """Whether our key is listed for the person."""
        return any(each.is_persons for each in self._lines())

    def _lines(self) -> list[signers.Signer]:
        key = self.key.line if self.key else ""
        if self.is_revoked:
            return []
        return [each for each in self.policy.signers if each.key == key and each.may_sign(self.now)]

    def shown(self) -> dict[str, Any]:
        return {
            "mode": self.mode,
            "listed": self.text is not None,
            "where": self.where or None,
            "key": self.key.fingerprint if self.key else None,
            "is_allowed": self.is_allowed,
            "is_persons": self.is_persons,
            "is_revoked": self.is_revoked,
            "repo": self.policy.repo,
            "problems": list(self.policy.problems),
            "trouble": self.trouble,
        }


def look(
    store: Store,
    now: int,
    *,
    makes: bool = False,
    remote: str | None = None,
    seen: tuple[str | None, str] | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> Known:
    """Look at the reviewed tree, unless it has been SEEN just now, and at our key, and remember what was found. MAKES a
    key where there is none. MEANWHILE is done while git starts."""
    from bb.ledger.published import pins  # noqa: PLC0415  (whoever only asks by which lines count does without)

    try:
        text, where = seen or reviewed(store.place, remote or pins.read(store.path).arbiter, meanwhile=meanwhile)
    except ownership.UnsafeRepository:  # no git is started for another user's: what was seen there last stands
        return remembered(store) or Known(None, "", Policy(), None, now, None)
    policy = signers.read(text) if text is not None else Policy()
    key, trouble = None, None
    if store.writer and policy.mode != signers.OFF:
        try:
            key = keys.key_of(store.path, store.writer, store.place.common, makes=makes)
        except BbError as refusal:
            trouble = f"{refusal.code}: {refusal.message}"
    found = Known(text, where, policy, key, now, trouble)
    if store.exists:
        _remember(store, found)
    return found


def reviewed(
    place: Place,
    remote: str | None = None,
    commit: str | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> tuple[str | None, str]:
    """The file as it was reviewed, or as it is in a COMMIT; None when there is none; and where that is."""
    trees = [commit] if commit else [*(each.format(remote or "origin") for each in UPSTREAM), HEAD]
    with git.Conversation(["cat-file", "--batch"], git_dir=place.git_dir or place.common) as objects:
        if meanwhile:
            meanwhile()
        for tree in trees:
            if not _found(objects, f"{tree}^{{commit}}"):
                continue
            octets = _found(objects, f"{tree}:{signers.PATH}")
            return (octets.decode("utf-8", "replace") if octets else None), tree.removeprefix("refs/remotes/")
    return None, ""


def uncertain(place: Place, known: Known) -> list[str]:
    """What leaves it to others which file counts, or which ledger: what to do about it."""
    found = []
    if known.where == HEAD and (remotes := git.run(["remote"], git_dir=place.common).split()):
        remote = "origin" if "origin" in remotes else remotes[0]
        found.append(
            f"{signers.PATH} is read from HEAD, so whatever is committed here decides: `git fetch {remote}`, and then "
            f"`git remote set-head {remote} -a`"
        )
    if known.text is not None and known.policy.repo is None and known.mode != signers.OFF:
        found.append(
            f"no line `#bb repo ID` says which ledger is this repository's, so that of another could be put in its "
            f"place: `bb ledger signing {known.mode}` writes the line, to be reviewed"
        )
    return found


def _found(objects: git.Conversation, name: str) -> bytes | None:
    objects.say(name.encode() + b"\n")
    header = objects.line().split()
    if len(header) != 3 or not header[2].isdigit():
        return None
    octets = objects.read(int(header[2]) + 1)[:-1]
    return octets[: signers.LARGEST + 1] if header[1] in (b"blob", b"commit") else None


def _remember(store: Store, found: Known) -> None:
    path = os.path.join(store.path, NAME)
    if found.text is None:
        disk.remove_if_there(path)
        return
    own = (store.writer, found.is_allowed, found.is_persons)
    written = {
        "where": found.where,
        "mode": found.mode,
        "own": list(own),
        "key": found.key.fingerprint if found.key else None,
        "basis": verdicts.basis(store.clone.repo, found.text, found.mode, own),
        "text": found.text,
    }
    octets = (json_text.dumps(written) + "\n").encode()
    try:
        if disk.read_small(path, LARGEST) != octets:
            disk.replace(path, octets)
    except BbError:  # who may only read the store can still look
        return


def remembered(store: Store) -> Known | None:
    """What was found when somebody last looked; None where nobody had said who may write."""
    written = disk.read_small(os.path.join(store.path, NAME), LARGEST)
    try:
        found: Any = json_text.read(written or b"")
        text, where = str(found["text"]), str(found["where"])
    except (ValueError, TypeError, KeyError):
        return None
    return Known(text, where, signers.read(text), None, 0)


def law(store: str, repo: str) -> Law | None:
    """By which lines count here; None where all do."""
    written = disk.read_small(os.path.join(store, NAME), LARGEST)
    if written is None:
        return None
    try:
        found: Any = json_text.read(written)
        own, is_allowed, is_persons = found["own"]
        policy = signers.read(found["text"])
        known = Law(repo, policy, found["mode"], own, is_allowed is True, is_persons is True)
        if policy.repo not in (None, repo):  # another repository's ledger has come here: none of its lines count
            known = known.but(policy=policy.but(signers=()), mode=signers.REQUIRE, is_allowed=False, is_persons=False)
        basis = verdicts.basis(repo, found["text"], known.mode, (own, known.is_allowed, known.is_persons))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return known.but(basis=basis) if known.is_felt else None
