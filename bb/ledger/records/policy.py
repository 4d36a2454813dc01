"""The policy of signers: `signers.json`, this clone's copy of the reviewed `.bb/allowed_signers`.

`.bb/allowed_signers` is read from the remote's default branch as last fetched; if git does not know that branch, from
the remote's main or master; if there is none of these, from HEAD. It is never read from the work tree, which is not
reviewed. `bb sync`, `bb doctor` and `bb ledger verify`, `key` and `signing` read it and update the copy. All other
commands use the copy, so they need not start git. If the repository has no such file, the store has no copy.
"""

from __future__ import annotations

import os

from bb.coordination.records import signers
from bb.coordination.records.signers import Policy
from bb.kernel import json_text
from bb.kernel.errors import BbError, Forbidden
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.git import git, ownership, trees
from bb.ledger.signing import keys, verdicts
from bb.ledger.signing.verdicts import SigningLaw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Protocol

    from bb.ledger.git.place import Place
    from bb.ledger.journal.clone import Clone
    from bb.ledger.signing.keys import Key

    class Store(Protocol):
        """What this module needs of the store."""

        place: Place
        path: str

        @property
        def clone(self) -> Clone: ...
        @property
        def exists(self) -> bool: ...
        @property
        def writer(self) -> str | None: ...
        @property
        def law(self) -> SigningLaw | None: ...
        def ensure_writer(self) -> None: ...


NAME = "signers.json"
LARGEST = 2 * signers.LARGEST
UPSTREAM = ("refs/remotes/{}/HEAD", "refs/remotes/{}/main", "refs/remotes/{}/master")
HEAD = "HEAD"

WriterNotAllowed = Forbidden.declare(
    "WRITER_NOT_ALLOWED",
    "The key of this clone is not listed, so lines recorded here would not count",
    hint=(
        "add the line that `bb ledger key` prints to .bb/allowed_signers; after review and merge, run `bb sync`; "
        "if the key was revoked, run `bb ledger key --rotate` first"
    ),
)

OrderNotAllowed = Forbidden.declare(
    "ORDER_NOT_ALLOWED",
    "The person's orders need a signature of a key listed for `user`, and the key of this clone is not listed so",
    hint=(
        "give the order in a clone that has the person's key; or add the line that `bb ledger key --for user` prints "
        "to .bb/allowed_signers, and after review and merge run `bb sync`"
    ),
)


class SignerPolicy(Record):
    """The policy as last read: the file's TEXT (None if there is no file), and WHERE it was read."""

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
        """Our key; SigningFailed if it cannot be used."""
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
        return any(signer.is_persons for signer in self._lines())

    def _lines(self) -> list[signers.Signer]:
        key = self.key.line if self.key else ""
        if self.is_revoked:
            return []
        return [signer for signer in self.policy.signers if signer.key == key and signer.may_sign(self.now)]

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


def refresh(
    store: Store,
    now: int,
    *,
    makes: bool = False,
    remote: str | None = None,
    seen: tuple[str | None, str] | None = None,
    objects: git.Conversation | None = None,
) -> SignerPolicy:
    """Read the reviewed file and our key, and store the result in `signers.json`.

    SEEN is the file, if the caller has just read it. MAKES: make a missing key. OBJECTS is a process that reads objects
    already.
    """
    from bb.ledger.published import pins  # noqa: PLC0415  (`law` does not need it)

    try:
        text, where = seen or reviewed(store.place, remote or pins.read(store.path).home, objects=objects)
    except ownership.UnsafeRepository:  # git is not started in another user's repository: use the copy
        return cached(store) or SignerPolicy(None, "", Policy(), None, now, None)
    policy = signers.read(text) if text is not None else Policy()
    key, trouble = None, None
    if store.writer and policy.mode != signers.OFF:
        try:
            key = keys.signing_key(store.path, store.writer, store.place.common, makes=makes)
        except BbError as refusal:
            trouble = f"{refusal.code}: {refusal.message}"
    signer_policy = SignerPolicy(text, where, policy, key, now, trouble)
    if store.exists:
        _remember(store, signer_policy)
    return signer_policy


def reviewed(
    place: Place, remote: str | None = None, commit: str | None = None, objects: git.Conversation | None = None
) -> tuple[str | None, str]:
    """The text of the reviewed file, or of the file in COMMIT (None if there is no file), and where it was read. The
    process that reads OBJECTS is the caller's, or one that is started for this."""
    if objects is None:
        with git.Conversation(["cat-file", "--batch"], git_dir=place.git_dir or place.common) as started:
            return reviewed(place, remote, commit, started)
    for tree in [commit] if commit else [*(ref.format(remote or "origin") for ref in UPSTREAM), HEAD]:
        if trees.contents(objects, f"{tree}^{{commit}}", "commit") is None:
            continue
        octets = trees.contents(objects, f"{tree}:{signers.PATH}")
        text = octets[: signers.LARGEST + 1].decode("utf-8", "replace") if octets else None
        return text, tree.removeprefix("refs/remotes/")
    return None, ""


def uncertain(place: Place, known: SignerPolicy) -> list[str]:
    """Warnings about weak points of the policy: an unreviewed source of the file, or a missing ledger id."""
    warnings = []
    if known.where == HEAD and (remotes := git.run(["remote"], git_dir=place.common).split()):
        remote = "origin" if "origin" in remotes else remotes[0]
        warnings.append(
            f"{signers.PATH} is read from HEAD, so a local commit can change it without review: run "
            f"`git fetch {remote}`, then `git remote set-head {remote} -a`"
        )
    if known.text is not None and known.policy.repo is None and known.mode != signers.OFF:
        warnings.append(
            f"{signers.PATH} has no line `#bb repo ID`, so another repository's ledger could be put in place of this "
            f"one: run `bb ledger signing {known.mode}` to add the line, then have it reviewed"
        )
    return warnings


def _remember(store: Store, known: SignerPolicy) -> None:
    path = os.path.join(store.path, NAME)
    if known.text is None:
        disk.remove_if_there(path)
        return
    own = (store.writer, known.is_allowed, known.is_persons)
    content = {
        "where": known.where,
        "mode": known.mode,
        "own": list(own),
        "key": known.key.fingerprint if known.key else None,
        "basis": verdicts.basis(store.clone.repo, known.text, known.mode, own),
        "text": known.text,
    }
    octets = (json_text.dumps(content) + "\n").encode()
    try:
        if disk.read_small(path, LARGEST) != octets:
            disk.replace(path, octets)
    except BbError:  # read-only access: the copy stays as it is
        return


def cached(store: Store) -> SignerPolicy | None:
    """The policy in this clone's copy; None if there is no copy."""
    written = disk.read_small(os.path.join(store.path, NAME), LARGEST)
    try:
        content: Any = json_text.read(written or b"")
        text, where = str(content["text"]), str(content["where"])
    except (ValueError, TypeError, KeyError):
        return None
    return SignerPolicy(text, where, signers.read(text), None, 0)


def law(store: str, repo: str) -> SigningLaw | None:
    """The law that decides which lines count here; None if all lines count."""
    written = disk.read_small(os.path.join(store, NAME), LARGEST)
    if written is None:
        return None
    try:
        content: Any = json_text.read(written)
        own, is_allowed, is_persons = content["own"]
        policy = signers.read(content["text"])
        law = SigningLaw(repo, policy, content["mode"], own, is_allowed is True, is_persons is True)
        if policy.repo not in (None, repo):  # this is the ledger of another repository: none of its lines count
            law = law.replace(
                policy=policy.replace(signers=()), mode=signers.REQUIRE, is_allowed=False, is_persons=False
            )
        basis = verdicts.basis(repo, content["text"], law.mode, (own, law.is_allowed, law.is_persons))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return law.replace(basis=basis) if law.may_exclude_lines else None


def require_own_lines_to_count(store: Store, now: int) -> SigningLaw | None:
    """The law under which lines are recorded here; None if all lines count. Refuse if ours would not count.

    The law is updated first if it may not match our key: a copied store has another writer and key.
    """
    store.ensure_writer()
    law = store.law
    if law and (law.own != store.writer or law.excludes_own_lines):  # our key may have been listed since
        refresh(store, now)
        law = store.law
    if law and law.excludes_own_lines:
        raise WriterNotAllowed()
    return law


def refuse_orders(law: SigningLaw, events: Iterable[tuple[str, str]]) -> None:
    """Refuse the person's orders among EVENTS, given as kind and author, if they would not count."""
    if law.needs_persons_key and not law.is_persons:
        from bb.coordination.records import signed_lines  # noqa: PLC0415  (needed only if orders must be signed)

        if any(signed_lines.is_order(kind, by) for kind, by in events):
            raise OrderNotAllowed()
