"""Keys of CBCL, and whom their owner trusts: both are this user's, and no repository's.

A seed is made here and stays in its file: no answer and no refusal has it. What others are given is the public key; by
its fingerprint two people can tell each other over the telephone that it is the right one.
"""

from __future__ import annotations

import os

from bb.cbcl.judge import signatures
from bb.cbcl.judge import trust as judge_trust
from bb.cbcl.judge.authorship import Ledger
from bb.cbcl.judge.trust import UntrustedAuthor
from bb.kernel.errors import Refused, Usage
from bb.ledger.journal.clone import is_repo_id
from bb.ledger.signing.keyring import KEYS, SUFFIX, Keyring
from bb.ops.catalogue import op
from bb.ops.cbcl import answers
from bb.ops.cbcl.inputs import File, Given, MaxDepth, MaxSize, bounds_of, given
from bb.ops.params import Number, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.cbcl.judge.trust import Trust
    from bb.ops.desk.desk import Desk

ON, OFF = "on", "off"


class KeyOrAuthor(Usage):
    """A signature is checked with the keys of an author you trust, or with one key."""

    code = "KEY_OR_AUTHOR"
    hint = "pass --author NAME, or --public-key KEY"


class InvalidLedger(Usage):
    """That is the id of no ledger."""

    code = "INVALID_LEDGER"
    hint = "`bb ledger status` shows the id of this one"


class KeyName(Text):
    """The key, by its name: letters, digits, hyphens and underscores."""

    metavar = "KEY-NAME"

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        return judge_trust.identifier(text)


class Author(Text):
    """The author, as dialects name it: @ada, or ada."""

    metavar = "AUTHOR"

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        return judge_trust.identifier(text.removeprefix("@"))


class Pupil(Author):
    """Make the whole message that teaches the dialect to this agent, such as @bob."""

    metavar = "AGENT"


class Sayer(Author):
    """Who says the message; whom its envelope names unless given, else the agent that the key is called after."""

    metavar = "AGENT"


class LedgerId(Text):
    """The ledger that the message was signed in, by its id; the one here unless given."""

    metavar = "LEDGER"

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        if not is_repo_id(text):
            raise InvalidLedger(f"{text[:40]!a} is the id of no ledger")
        return text


class Demand(Text):
    """Unsigned messages are refused (required), taken and marked (preferred), or taken (off); or as by default."""

    metavar = "WORD"
    choices = (*judge_trust.SIGNED, "default")


class PublicKey(Text):
    """A public key: 44 characters of base64, or 64 hexadecimal digits."""

    metavar = "PUBLIC-KEY"


class Unsigned(Text):
    """Whose definitions need no signature: your own (local), nobody's (never), anyone's (anyone)."""

    metavar = "WHOSE"
    choices = judge_trust.WORDS["unsigned"]


class Define(Text):
    """Who may define dialects besides you: authors with a key here (trusted), or anyone."""

    metavar = "WHO"
    choices = judge_trust.WORDS["define"]


class Relay(Text):
    """Whether messages for somebody else are passed on."""

    metavar = "on|off"
    choices = (ON, OFF)


class PolicyDepth(Number):
    """How deep lists may stand in each other, in what is read and in what a dialect comes to."""

    most = judge_trust.MOST["max_depth"]


class PolicySize(Number):
    """How many octets one message may have."""

    metavar = "OCTETS"
    most = judge_trust.MOST["max_size"]


class PolicyExpansion(Number):
    """How many characters a call may come to."""

    metavar = "CHARACTERS"
    most = judge_trust.MOST["max_expansion_size"]


class PolicyTime(Number):
    """How long verifying a dialect may take."""

    metavar = "MS"
    most = judge_trust.MOST["max_verify_time"]


@op("cbcl.keygen", screen="cbcl", examples=("bb cbcl keygen ada",))
def keygen(desk: Desk, name: KeyName) -> dict[str, Any]:
    """Make a key to sign with. Its secret half stays in a file that only you can read; answered is the public one.

    It is in your own configuration (XDG_CONFIG_HOME, else ~/.config), never in a repository. No key is ever replaced.
    """
    keyring = Keyring(desk.env)
    public = keyring.make(name)
    return {"name": name, **_key(public), "path": os.path.join(keyring.folder, KEYS, name + SUFFIX)}


@op(
    "cbcl.sign",
    screen="cbcl",
    examples=(
        "bb cbcl sign planning.cbcl --key ada > planning.signed.cbcl",
        "bb cbcl sign planning.cbcl --key ada --teach @bob",
    ),
    unbound="Sign the message alone, said in no ledger, as other programs do. Agents of bb take it for unsigned.",
)
def sign(
    desk: Desk,
    file: File | None = None,
    *,
    key: KeyName,
    text: Given | None = None,
    teach: Pupil | None = None,
    from_: Sayer | None = None,
    unbound: bool = False,
    max_depth: MaxDepth | None = None,
    max_size: MaxSize | None = None,
) -> dict[str, Any]:
    """Sign a dialect or a message: (signed "…" TEXT), whose signature is about the canonical form of the text.

    The signature of a message also covers who says it and in which ledger: the one here, where there is one. That of a
    dialect covers the definition alone, which may be spoken anywhere. Of a message that defines or teaches a dialect,
    the message is signed, and so whoever sends it; to sign the dialect, name a file with the definition alone, or
    pass --teach. A definition that is signed already is signed anew.
    """
    bounds = bounds_of(max_depth, max_size)
    what = answers.said(given(desk, file, text, bounds).octets, bounds)
    seed = Keyring(desk.env).seed(key)
    here = None if unbound else _ledger_here(desk)
    author = from_ or next(iter(answers.senders_in(what)), str(key))
    signed = answers.signed(what, seed, teach, author=author, ledger=here.id if here else None)
    return {**signed, "key": key, **_key(signatures.public_key(seed))}


def _ledger_here(desk: Desk) -> Ledger | None:
    """The ledger of the repository we are in; None where there is none."""
    from bb.ledger.views import proofs  # noqa: PLC0415  (a store: most of what is done with keys needs none)

    try:
        store = desk.store
    except Refused:
        return None
    return proofs.ledger_of(store) if store.exists else None


@op(
    "cbcl.check-signature",
    reads=True,
    screen="cbcl",
    examples=("bb cbcl check-signature planning.signed.cbcl --author ada",),
)
def check_signature(
    desk: Desk,
    file: File | None = None,
    *,
    text: Given | None = None,
    author: Author | None = None,
    public_key: PublicKey | None = None,
    ledger: LedgerId | None = None,
    max_depth: MaxDepth | None = None,
    max_size: MaxSize | None = None,
) -> dict[str, Any]:
    """Whether a signed dialect or message is as its author signed it: with a key you trust, or the one you name.

    The author of a dialect is the one that it names. `covers` says what the signature is about: the text that is
    signed, who says it in which ledger, and what of the text stands outside of it, which anybody may have written.
    """
    bounds = bounds_of(max_depth, max_size)
    what = answers.said(given(desk, file, text, bounds).octets, bounds)
    if what.signature is None:
        raise answers.NotSigned
    declared = what.definition.author if what.definition and what.signature else None
    if declared and author not in (None, declared):
        raise signatures.InvalidSignature(f"the definition names @{declared[:60]} as its author, not @{author}")
    author = Author(declared) if declared and public_key is None else author
    if author is None and public_key is None:
        raise KeyOrAuthor
    keys = (
        (signatures.key_of(public_key),)
        if public_key is not None
        else Keyring(desk.env).trust_for(author).keys_of(author)
    )
    if not keys:
        raise UntrustedAuthor(f"nobody here has a key of @{author}", author=author)
    here = Ledger(ledger) if ledger is not None else _ledger_here(desk)
    authors = [author] if author is not None else _may_have_said(desk, what, keys)
    found = answers.checked(what, None, keys, authors, (here.id, *here.former) if here else ())
    return {"valid": True, "author": author or found.author, **_key(found.key), **found.shown()}


def _may_have_said(desk: Desk, what: answers.Said, keys: tuple[bytes, ...]) -> list[str]:
    """Who may have said a message, where only a key is named: whom its envelopes name, and whose key that is."""
    trust = Keyring(desk.env).trust()
    owners = [name for name, theirs in trust.authors.items() if set(theirs) & set(keys)]
    return list(dict.fromkeys([*answers.senders_in(what), *owners]))


@op("cbcl.trust.add", screen="cbcl", examples=("bb cbcl trust add ada Zm9vYmFy…",))
def trust_add(desk: Desk, author: Author, public_key: PublicKey) -> dict[str, Any]:
    """Let in what AUTHOR signs with this key: from now on it counts as the author's own word.

    Unsigned messages in the author's name are not taken any more then, unless `bb cbcl trust signed` says otherwise.
    Ask for the key by another way than the one that the dialects come by, and compare the fingerprint.
    """
    trust = Keyring(desk.env).add_author(author, signatures.key_of(public_key))
    return _author(author, trust)


@op("cbcl.trust.list", reads=True, screen="cbcl", examples=("bb cbcl trust list",))
def trust_list(desk: Desk) -> dict[str, Any]:
    """The authors whom you trust, with their keys and fingerprints."""
    trust = Keyring(desk.env).trust()
    return {"authors": [_author(name, trust) for name in sorted({*trust.authors, *trust.signed})]}


@op(
    "cbcl.trust.signed",
    screen="cbcl",
    examples=("bb cbcl trust signed ada preferred", "bb cbcl trust signed ada default"),
)
def trust_signed(desk: Desk, author: Author, word: Demand) -> dict[str, Any]:
    """Say whether messages of AUTHOR must be signed: required, preferred or off; `default` takes that back.

    An author with a key here has to sign unless you say otherwise: else a forger had only to leave the signature out.
    """
    trust = Keyring(desk.env).set_signed(author, None if word == "default" else str(word))
    return _author(author, trust)


@op(
    "cbcl.trust.remove",
    screen="cbcl",
    examples=("bb cbcl trust remove ada", "bb cbcl trust remove ada --public-key Zm9vYmFy…"),
)
def trust_remove(desk: Desk, author: Author, *, public_key: PublicKey | None = None) -> dict[str, Any]:
    """Trust an author no longer, or one of the author's keys. Dialects that are installed stay so."""
    key = None if public_key is None else signatures.key_of(public_key)
    return _author(author, Keyring(desk.env).remove_author(author, key))


@op(
    "cbcl.policy",
    screen="cbcl",
    examples=("bb cbcl policy", "bb cbcl policy --unsigned never --max-expansion-size 4096"),
)
def policy(
    desk: Desk,
    *,
    unsigned: Unsigned | None = None,
    define: Define | None = None,
    relay: Relay | None = None,
    max_depth: PolicyDepth | None = None,
    max_size: PolicySize | None = None,
    max_expansion_size: PolicyExpansion | None = None,
    max_verify_time: PolicyTime | None = None,
) -> dict[str, Any]:
    """What you let others do, and what a message may cost. With an option, what holds from now on."""
    asked = {
        "unsigned": None if unsigned is None else str(unsigned),
        "define": None if define is None else str(define),
        "relay": None if relay is None else relay == ON,
        "max_depth": max_depth,
        "max_size": max_size,
        "max_expansion_size": max_expansion_size,
        "max_verify_time": max_verify_time,
    }
    changes = {name: value for name, value in asked.items() if value is not None}
    keyring = Keyring(desk.env)
    trust = keyring.set_policy(changes) if changes else keyring.trust()
    return {"policy": trust.policy.as_dict(), "changed": sorted(changes)}


def _key(public: bytes) -> dict[str, str]:
    return {"public_key": signatures.key_text(public), "fingerprint": signatures.fingerprint(public)}


def _author(name: str, trust: Trust) -> dict[str, Any]:
    about = {"signed": trust.signed_of(name), "is_default": name not in trust.signed}
    return {"author": f"@{name}", "keys": [_key(key) for key in trust.keys_of(name)], **about}
