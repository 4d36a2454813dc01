"""CBCL keys and trusted authors. Both belong to the user, not to a repository.

A seed is made here and stays in its file; no answer and no refusal contains it. Other users get the public key. Two
people can compare its short fingerprint, for example over the telephone.
"""

from __future__ import annotations

import os
from typing import Any

from bb.cbcl.judge import signatures
from bb.cbcl.judge import trust as judge_trust
from bb.cbcl.judge.authorship import Ledger
from bb.cbcl.judge.trust import Trust, UntrustedAuthor
from bb.kernel.errors import Refused, Usage
from bb.ledger.journal.clone import is_repo_id
from bb.ledger.signing.keyring import KEYS, SUFFIX, Keyring
from bb.ops.catalogue import op
from bb.ops.cbcl import answers
from bb.ops.cbcl.inputs import File, InlineText, MaxDepth, MaxSize, bounds_of, read_input
from bb.ops.desk.desk import Desk
from bb.ops.params import Number, Text

ON, OFF = "on", "off"

KeyOrAuthor = Usage.declare(
    "KEY_OR_AUTHOR",
    "The request names neither an author nor a key to check the signature with",
    hint="pass --author NAME, or --public-key KEY",
)

InvalidLedger = Usage.declare(
    "INVALID_LEDGER", "The value is not the id of a ledger", hint="`bb ledger status` shows the id of this ledger"
)


class KeyName(Text):
    """The name of the key: letters, digits, hyphens and underscores."""

    metavar = "KEY-NAME"

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        return judge_trust.identifier(text)


class Author(Text):
    """The author, with the name that dialects use: @ada, or ada."""

    metavar = "AUTHOR"

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        return judge_trust.identifier(text.removeprefix("@"))


class LedgerId(Text):
    """The id of the ledger that the message was signed in; the current repository's unless given."""

    metavar = "LEDGER"

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        if not is_repo_id(text):
            raise InvalidLedger(f"{text[:40]!a} is not the id of a ledger")
        return text


class Demand(Text):
    """Unsigned messages are refused (required), accepted and marked (preferred), or accepted (off); or default."""

    metavar = "WORD"
    choices = (*judge_trust.SIGNED, "default")


class PublicKey(Text):
    """A public key: 44 characters of base64, or 64 hexadecimal digits."""

    metavar = "PUBLIC-KEY"


class Unsigned(Text):
    """The definitions that need no signature: your own (local), none (never), all (anyone)."""

    metavar = "WHOSE"
    choices = judge_trust.WORDS["unsigned"]


class Define(Text):
    """The authors who may define dialects besides you: those whose key you trust (trusted), or anyone."""

    metavar = "WHO"
    choices = judge_trust.WORDS["define"]


class Relay(Text):
    """Whether your agents forward messages for other agents."""

    metavar = "on|off"
    choices = (ON, OFF)


class PolicyDepth(Number):
    """The maximum nesting depth of lists, in texts and in expansions."""

    most = judge_trust.MOST["max_depth"]


class PolicySize(Number):
    """The maximum number of octets of a message."""

    metavar = "OCTETS"
    most = judge_trust.MOST["max_size"]


class PolicyExpansion(Number):
    """The maximum number of characters of a call's expansion."""

    metavar = "CHARACTERS"
    most = judge_trust.MOST["max_expansion_size"]


class PolicyTime(Number):
    """The maximum time for verifying a dialect."""

    metavar = "MS"
    most = judge_trust.MOST["max_verify_time"]


@op("cbcl.keygen", screen="cbcl", examples=("bb cbcl keygen ada",))
def keygen(desk: Desk, name: KeyName) -> dict[str, Any]:
    """Create a signing key. The secret key stays in a file that only you can read; the answer has the public key.

    The file is in your configuration directory (XDG_CONFIG_HOME, else ~/.config), never in a repository. An existing
    key is never replaced.
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
)
def sign(
    desk: Desk,
    file: File | None = None,
    *,
    key: KeyName,
    text: InlineText | None = None,
    teach: Author | None = None,
    from_: Author | None = None,
    unbound: bool = False,
    max_depth: MaxDepth | None = None,
    max_size: MaxSize | None = None,
) -> dict[str, Any]:
    """Sign a dialect or a message. The answer is (signed "…" TEXT); the signature covers the canonical form of TEXT.

    The signature of a message also covers its author and the ledger of the current repository, if there is one. The
    signature of a dialect covers only the definition, so it is valid in every ledger. If the text is a message that
    defines or teaches a dialect, the message is signed. To sign the dialect, pass a file with only the definition, or
    pass --teach. An already signed definition is signed again.

    Parameters:
        teach (AGENT): Print the complete message that teaches the dialect to this agent, such as @bob.
        from_ (AGENT): The author of the message; unless given, the sender in its envelope, else the agent with the
            key's name.
        unbound: Sign only the message, without author and ledger, as other programs do. bb agents treat it as unsigned.
    """
    bounds = bounds_of(max_depth, max_size)
    what = answers.parse_text(read_input(desk, file, text, bounds).octets, bounds)
    seed = Keyring(desk.env).seed(key)
    here = None if unbound else _ledger_here(desk)
    author = from_ or next(iter(answers.senders_in(what)), str(key))
    signed = answers.signed(what, seed, teach, author=author, ledger=here.id if here else None)
    return {**signed, "key": key, **_key(signatures.public_key(seed))}


def _ledger_here(desk: Desk) -> Ledger | None:
    """The ledger of the current repository, or None."""
    from bb.ledger.views import proofs  # noqa: PLC0415  (most commands for keys need no store)

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
    text: InlineText | None = None,
    author: Author | None = None,
    public_key: PublicKey | None = None,
    ledger: LedgerId | None = None,
    max_depth: MaxDepth | None = None,
    max_size: MaxSize | None = None,
) -> dict[str, Any]:
    """Check the signature of a dialect or a message, with the author's keys that you trust or with the given key.

    The author of a dialect is the one that it names. `covers` in the answer describes what is signed: the text, the
    author and the ledger. `outside` lists the parts that are not signed, which anyone may have written.
    """
    bounds = bounds_of(max_depth, max_size)
    what = answers.parse_text(read_input(desk, file, text, bounds).octets, bounds)
    if what.signature is None:
        raise answers.NotSigned()
    declared = what.definition.author if what.definition and what.signature else None
    if declared and author not in (None, declared):
        raise signatures.InvalidSignature(f"the definition names @{declared[:60]} as its author, not @{author}")
    author = Author(declared) if declared and public_key is None else author
    if author is None and public_key is None:
        raise KeyOrAuthor()
    keys = (
        (signatures.key_of(public_key),)
        if public_key is not None
        else Keyring(desk.env).trust_for(author).keys_of(author)
    )
    if not keys:
        raise UntrustedAuthor(f"you have no trusted key of @{author}", author=author)
    here = Ledger(ledger) if ledger is not None else _ledger_here(desk)
    authors = [author] if author is not None else _may_have_said(desk, what, keys)
    checked = answers.check_signature(what, None, keys, authors, (here.id, *here.former) if here else ())
    return {"valid": True, "author": author or checked.author, **_key(checked.key), **checked.shown()}


def _may_have_said(desk: Desk, what: answers.ParsedText, keys: tuple[bytes, ...]) -> list[str]:
    """The possible authors of a message if only a key is given: the senders in its envelopes, and the key's owners."""
    trust = Keyring(desk.env).trust()
    owners = [name for name, theirs in trust.authors.items() if set(theirs) & set(keys)]
    return list(dict.fromkeys([*answers.senders_in(what), *owners]))


@op("cbcl.trust.add", screen="cbcl", examples=("bb cbcl trust add ada Zm9vYmFy…",))
def trust_add(desk: Desk, author: Author, public_key: PublicKey) -> dict[str, Any]:
    """Trust a key of AUTHOR: from now on, texts signed with it count as the author's own.

    Unsigned messages in the author's name are then refused, unless `bb cbcl trust signed` allows them. Get the key
    through a different channel from the dialects, and compare the fingerprint.
    """
    trust = Keyring(desk.env).add_author(author, signatures.key_of(public_key))
    return _author(author, trust)


@op("cbcl.trust.list", reads=True, screen="cbcl", examples=("bb cbcl trust list",))
def trust_list(desk: Desk) -> dict[str, Any]:
    """List the authors you trust, with their keys and fingerprints."""
    trust = Keyring(desk.env).trust()
    return {"authors": [_author(name, trust) for name in sorted({*trust.authors, *trust.signed})]}


@op(
    "cbcl.trust.signed",
    screen="cbcl",
    examples=("bb cbcl trust signed ada preferred", "bb cbcl trust signed ada default"),
)
def trust_signed(desk: Desk, author: Author, word: Demand) -> dict[str, Any]:
    """Set whether messages of AUTHOR must be signed: required, preferred or off; `default` resets this.

    The default for an author with a trusted key is required. Otherwise a forger could just omit the signature.
    """
    trust = Keyring(desk.env).set_signed(author, None if word == "default" else str(word))
    return _author(author, trust)


@op(
    "cbcl.trust.remove",
    screen="cbcl",
    examples=("bb cbcl trust remove ada", "bb cbcl trust remove ada --public-key Zm9vYmFy…"),
)
def trust_remove(desk: Desk, author: Author, *, public_key: PublicKey | None = None) -> dict[str, Any]:
    """Remove the trust in an author, or in one of the author's keys. Installed dialects stay installed."""
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
    """Show the rules for messages and dialects of others, and their limits. With options, change them."""
    settings = {
        "unsigned": None if unsigned is None else str(unsigned),
        "define": None if define is None else str(define),
        "relay": None if relay is None else relay == ON,
        "max_depth": max_depth,
        "max_size": max_size,
        "max_expansion_size": max_expansion_size,
        "max_verify_time": max_verify_time,
    }
    changes = {name: value for name, value in settings.items() if value is not None}
    keyring = Keyring(desk.env)
    trust = keyring.set_policy(changes) if changes else keyring.trust()
    return {"policy": trust.policy.as_dict(), "changed": sorted(changes)}


def _key(public: bytes) -> dict[str, str]:
    return {"public_key": signatures.key_text(public), "fingerprint": signatures.fingerprint(public)}


def _author(name: str, trust: Trust) -> dict[str, Any]:
    about = {"signed": trust.signed_of(name), "is_default": name not in trust.signed}
    return {"author": f"@{name}", "keys": [_key(key) for key in trust.keys_of(name)], **about}
