"""Ops on signatures: this clone's key, the signing mode, and the signatures of all writers."""

from __future__ import annotations

import os
from typing import Any

from bb.coordination.records import signers
from bb.kernel.errors import NotFound
from bb.ledger.files import disk, work_tree_files
from bb.ledger.git.place import NoWorkTree
from bb.ledger.index import counting
from bb.ledger.records import policy, signature_status
from bb.ledger.records.policy import SignerPolicy
from bb.ledger.records.store import Store
from bb.ledger.signing import keys, ssh_signatures, verdicts
from bb.ops.agent_params import AsPerson, Name
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk
from bb.ops.params import Text, invalid

LONGEST = 500  # most characters of a list of names

NothingSigned = NotFound.declare(
    "NOTHING_SIGNED",
    "That writer has no signed lines",
    hint="`bb ledger verify` lists the writers; lines are signed when they are published",
)


class Mode(Text):
    """The signing mode: off, warn or require."""

    metavar = "MODE"
    choices = signers.MODES


class Principals(Name):
    """Names as in `.bb/allowed_signers`: printable ASCII, without blanks, quotation marks and `#`."""

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        if not super().checked(text, name).isascii() or not text.isprintable() or set(' "#') & set(text):
            raise invalid(f"{name} must be names separated by commas, without blanks and quotation marks", name)
        if len(text) > LONGEST:
            raise invalid(f"{name} is longer than {LONGEST} characters", name)
        return text


@op(
    "ledger.key",
    screen="travel",
    examples=("bb ledger key", "bb ledger key --for build-7 --json", "bb ledger key --rotate", "bb ledger key --own"),
)
def key(desk: Desk, *, for_: Principals | None = None, rotate: bool = False, own: bool = False) -> dict[str, Any]:
    """Show this clone's signing key, and its line for `.bb/allowed_signers`.

    If you sign git commits with an Ed25519 SSH key (gpg.format=ssh in your own configuration), bb uses that key.
    Otherwise bb creates a key for this clone, now or when it first signs. A key counts once its line is in the reviewed
    file: commit the line, have it merged, then run `git fetch` and `bb sync`. See docs/signing.md for rotation and lost
    keys.

    Parameters:
        for_ (PRINCIPAL): The name to list the key under: a name for this clone, or `user` for the person's own key.
        rotate: Create a new key. The existing lines are signed with the old key first.
        own: Sign with a key that bb creates for this clone, even if git is configured to sign with SSH.
    """
    store = desk.store
    store.require_ledger()
    if not store.writer:
        store.record_marker(desk.now())  # a copied store gets a new writer with its first line
    if own:
        keys.use_own(store.path)
    signer_policy = policy.refresh(store, desk.now(), makes=True)
    if rotate:
        _sign_once_more(store, signer_policy, desk.now())
        if signer_policy.key and signer_policy.key.source == keys.BY_GIT:
            raise keys.SigningFailed(
                "git's configuration chooses the signing key", hint="change user.signingKey, or use --own"
            )
        keys.make_key(store.path, store.writer or "")
        signer_policy = policy.refresh(store, desk.now())
    if signer_policy.key is None:
        raise keys.SigningFailed(signer_policy.trouble or "signing is off here")
    name = str(for_ or f"bb-{store.writer}")
    return {
        "writer": store.writer,
        "public_key": ssh_signatures.public_line(signer_policy.key.public),
        "fingerprint": signer_policy.key.fingerprint,
        "source": signer_policy.key.source,
        "path": signer_policy.key.path or None,
        "line": signers.line(name, signer_policy.key.line, f"bb {store.writer}"),
        "file": signers.PATH,
        **signer_policy.shown(),
    }


@op(
    "ledger.signing",
    screen="travel",
    examples=("bb ledger signing", "bb ledger signing require", "bb ledger signing warn --json"),
)
def signing(desk: Desk, mode: Mode | None = None, *, agent: AsPerson | None = None) -> dict[str, Any]:
    """Show the signing mode and the signed lines of each writer. MODE changes the mode; only the person may do this.

    off: lines are neither signed nor checked. warn: lines are signed and checked, and all of them count. require: a
    line counts only if a key in `.bb/allowed_signers` has signed it. If keys are listed for `user`, the person's orders
    count only when signed with one of them, in mode warn too. The mode is a line in that file. This command writes it
    into the work tree and commits nothing; the mode changes once the file is reviewed and merged.
    """
    store = desk.ledger
    written = None
    if mode is not None:
        signs_of_life.person(desk, agent)
        if desk.place.work_tree is None:
            raise NoWorkTree()
        written = os.path.join(desk.place.work_tree, signers.PATH)
        text = (work_tree_files.read(desk.place.work_tree, signers.PATH, signers.LARGEST) or b"").decode(
            "utf-8", "replace"
        )
        work_tree_files.write(
            desk.place.work_tree, signers.PATH, signers.with_mode(text, str(mode), store.clone.repo).encode()
        )
    signer_policy = policy.refresh(store, desk.now())
    uncertain = policy.uncertain(desk.place, signer_policy)
    return signature_status.as_answer(store, signer_policy) | {
        "written": written,
        "asked_for": mode,
        "uncertain": uncertain,
    }


@op(
    "ledger.signatures",
    screen="travel",
    examples=("bb ledger signatures", "bb ledger signatures --output /tmp/signatures", "bb ledger signatures --json"),
)
def signatures(desk: Desk, *, writer: Principals | None = None, output: Name | None = None) -> dict[str, Any]:
    """Show the last signature of each writer, in the format of `ssh-keygen -Y verify`.

    --output writes two files per signature: the signed statement WRITER-N.txt, and WRITER-N.txt.sig. To check one:
    `ssh-keygen -Y verify -f .bb/allowed_signers -I NAME -n bb-ledger -s FILE.txt.sig < FILE.txt`.

    Parameters:
        writer (WRITER): Only the signatures of this writer.
        output (DIR): Write the statements and signatures into this folder, for ssh-keygen.
    """
    store = desk.store
    store.require_ledger()
    signer_policy = policy.refresh(store, desk.now())
    index = store.caught_up()
    standings = {one.writer: one for one in signature_status.of_writers(store, signer_policy)}
    rows = []
    query = "select n, head, said from signature where writer = ? order by n desc limit 1"
    for name in [writer] if writer else index.heads():
        for n, head, signature in index.ask(query, name):
            text = verdicts.statement(store.clone.repo, name, n - 1, head)
            row = {"writer": name, "upto": n - 1, "statement": text, "signature": _armored(signature)}
            rows.append(row | {"verdict": standings[name].verdict(n), "why": standings[name].why})
    if writer and not rows:
        raise NothingSigned(f"no line of writer {writer} is signed")
    folder = os.path.join(desk.cwd, output) if output else None
    if folder:
        disk.make_folder(folder)
        for row in rows:
            path = os.path.join(folder, f"{row['writer']}-{row['upto']}.txt")
            disk.replace(path, row["statement"].encode())
            disk.replace(path + ".sig", row["signature"].encode())
    return {"signatures": rows, "output": folder}


def _armored(text: str) -> str:
    try:
        return ssh_signatures.armored(ssh_signatures.decoded(text))
    except ssh_signatures.Malformed:
        return ""


def _sign_once_more(store: Store, known: SignerPolicy, now: int) -> None:
    """Sign all lines with the current key before it is replaced."""
    key = known.key
    last = store.caught_up().heads().get(store.writer or "", 0)
    if key is None or last == counting.signed_upto(store.index, store.writer or "")[0]:
        return

    store.sign(key, now)
