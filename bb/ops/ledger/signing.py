"""Who may write the ledger, and the key that this clone signs with."""

from __future__ import annotations

import os

from bb.coordination.records import signers
from bb.kernel.errors import NotFound
from bb.ledger.files import disk, work_tree_files
from bb.ledger.git.place import NoWorkTree
from bb.ledger.records import policy, standing
from bb.ledger.signing import keys, ssh_signatures, verdicts
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.params import AsPerson, Name, Text, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.records.policy import Known
    from bb.ledger.records.store import Store
    from bb.ops.desk.desk import Desk

LONGEST = 500  # characters of names


class NothingSigned(NotFound):
    """No line of that writer is signed."""

    code = "NOTHING_SIGNED"
    hint = "`bb ledger verify` lists the writers; lines are signed when they are published"


class Mode(Text):
    """off, warn or require."""

    metavar = "MODE"
    choices = signers.MODES


class Principals(Name):
    """Names as they stand in the file: no blanks, no quotation marks, nothing that is not seen."""

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        if not super().checked(text, name).isascii() or not text.isprintable() or set(' "#') & set(text):
            raise invalid(f"{name} must be names without blanks and quotation marks, with commas between them", name)
        if len(text) > LONGEST:
            raise invalid(f"{name} has more than {LONGEST} characters", name)
        return text


class For(Principals):
    """For whom the key is listed: a name for this clone, or `user` for the person's own key."""

    metavar = "PRINCIPAL"


class Writer(Principals):
    """Only this writer's."""

    metavar = "WRITER"


class Folder(Name):
    """Write statements and signatures into this folder, to be checked with ssh-keygen."""

    metavar = "DIR"


@op(
    "ledger.key",
    screen="travel",
    examples=("bb ledger key", "bb ledger key --for build-7 --json", "bb ledger key --rotate", "bb ledger key --own"),
    rotate="Make a new key. What is here is signed with the old one first.",
    own="From now on sign with a key that bb makes for this clone, although git is set up to sign by SSH.",
)
def key(desk: Desk, *, for_: For | None = None, rotate: bool = False, own: bool = False) -> dict[str, Any]:
    """The key that this clone signs with, and the line that lists it in `.bb/allowed_signers`.

    Where you sign git commits by SSH with an Ed25519 key (gpg.format=ssh in your own configuration), that key signs.
    Otherwise bb makes a key for this clone when it first signs something, or now. A key counts once its line is in the
    reviewed file: commit it, have it merged, `git fetch`, `bb sync`. See docs/signing.md for rotation and lost keys.
    """
    store = desk.store
    store.must_exist()
    if not store.writer:
        store.account(desk.now())  # a copied store gets its writer with the first line
    if own:
        keys.use_own(store.path)
    known = policy.look(store, desk.now(), makes=True)
    if rotate:
        _sign_once_more(store, known, desk.now())
        if known.key and known.key.source == keys.BY_GIT:
            raise keys.SigningFailed("git's own set-up says which key signs", hint="change user.signingKey, or --own")
        keys.make(store.path, store.writer or "")
        known = policy.look(store, desk.now())
    if known.key is None:
        raise keys.SigningFailed(known.trouble or "signing is off here")
    name = str(for_ or f"bb-{store.writer}")
    return {
        "writer": store.writer,
        "public_key": ssh_signatures.public_line(known.key.public),
        "fingerprint": known.key.fingerprint,
        "source": known.key.source,
        "path": known.key.path or None,
        "line": signers.line(name, known.key.line, f"bb {store.writer}"),
        "file": signers.PATH,
        **known.shown(),
    }


@op(
    "ledger.signing",
    screen="travel",
    examples=("bb ledger signing", "bb ledger signing require", "bb ledger signing warn --json"),
)
def signing(desk: Desk, mode: Mode | None = None, *, agent: AsPerson | None = None) -> dict[str, Any]:
    """Which signatures the ledger needs, and whose lines have them. With a MODE, change that, as the person.

    off: nothing is signed or checked. warn: lines are signed and checked, and all of them count. require: lines count
    only when a key that is listed in `.bb/allowed_signers` has signed them. Where keys are listed for `user`, the
    person's orders count only from those, under warn too. The mode is a line of that file, so it counts once the change
    has been reviewed and merged: it is written into the work tree, and nothing is committed for you.
    """
    store = desk.ledger
    written = None
    if mode is not None:
        signs_of_life.person(desk, agent)
        if desk.place.work_tree is None:
            raise NoWorkTree
        written = os.path.join(desk.place.work_tree, signers.PATH)
        text = (work_tree_files.read(desk.place.work_tree, signers.PATH, signers.LARGEST) or b"").decode(
            "utf-8", "replace"
        )
        work_tree_files.write(
            desk.place.work_tree, signers.PATH, signers.with_mode(text, str(mode), store.clone.repo).encode()
        )
    known = policy.look(store, desk.now())
    uncertain = policy.uncertain(desk.place, known)
    return standing.shown(store, known) | {"written": written, "asked_for": mode, "uncertain": uncertain}


@op(
    "ledger.signatures",
    screen="travel",
    examples=("bb ledger signatures", "bb ledger signatures --output /tmp/signatures", "bb ledger signatures --json"),
)
def signatures(desk: Desk, *, writer: Writer | None = None, output: Folder | None = None) -> dict[str, Any]:
    """The last signature of each writer, in the form that `ssh-keygen -Y verify` checks.

    With --output there are two files for each: the statement that was signed, WRITER-N.txt, and WRITER-N.txt.sig.
    `ssh-keygen -Y verify -f .bb/allowed_signers -I NAME -n bb-ledger -s FILE.txt.sig < FILE.txt` checks one.
    """
    store = desk.store
    store.must_exist()
    known = policy.look(store, desk.now())
    index = store.caught_up()
    standings = {each.writer: each for each in standing.of_writers(store, known)}
    found = []
    query = "select n, head, said from signature where writer = ? order by n desc limit 1"
    for each in [writer] if writer else index.heads():
        for n, head, said in index.ask(query, each):
            text = verdicts.statement(store.clone.repo, each, n - 1, head)
            shown = {"writer": each, "upto": n - 1, "statement": text, "signature": _armored(said)}
            found.append(shown | {"verdict": standings[each].verdict(n), "why": standings[each].why})
    if writer and not found:
        raise NothingSigned(f"no line of writer {writer} is signed")
    folder = os.path.join(desk.cwd, output) if output else None
    if folder:
        disk.make_folder(folder)
        for row in found:
            path = os.path.join(folder, f"{row['writer']}-{row['upto']}.txt")
            disk.replace(path, row["statement"].encode())
            disk.replace(path + ".sig", row["signature"].encode())
    return {"signatures": found, "output": folder}


def _armored(said: str) -> str:
    try:
        return ssh_signatures.armored(ssh_signatures.decoded(said))
    except ssh_signatures.Malformed:
        return ""


def _sign_once_more(store: Store, known: Known, now: int) -> None:
    """Sign what is here with the key that is about to go, so that it stays covered by it."""
    key = known.key
    if (
        key is None
        or store.caught_up().heads().get(store.writer or "", 0) == store.index.signed_upto(store.writer or "")[0]
    ):
        return

    def signed(writer: str, link: Any) -> str:
        text = verdicts.statement(store.clone.repo, writer, link.n, link.head_digest)
        return ssh_signatures.base64(key.sign(text.encode(), ssh_signatures.LEDGER))

    store.sign(signed, now)
