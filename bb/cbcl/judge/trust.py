"""Whom a machine's user lets define dialects, and whether a definition may therefore be installed.

A signature is looked at before anything else of a definition, so that work on hostile input is bounded by one check
per key. The wrapper names no key: the author that a definition names selects the keys, and one of them must fit.
Only a signature that fits proves anything. One that no known key can check proves as much as none at all, since
whoever sends it could have left it out.
"""

from __future__ import annotations

from bb.cbcl.judge.signatures import InvalidKey, InvalidSignature, key_of, key_text, sound
from bb.cbcl.read.reader import DEPTH_MOST, DEPTH_RECOMMENDED, SIZE_MOST, SIZE_RECOMMENDED
from bb.kernel.errors import NotFound, Refused, Usage
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Check = Callable[[str, bytes, bytes], None]  # signature, octets, key; raises InvalidSignature

VERSION = 1
VALID, UNSIGNED = "valid", "unsigned"  # what is said of an installed dialect's signature

LOCAL, NEVER, ANYONE, TRUSTED = "local", "never", "anyone", "trusted"
# Of an author's messages: unsigned ones are not taken; are taken, and marked; are taken as any.
REQUIRED, PREFERRED, OFF = "required", "preferred", "off"
SIGNED = (REQUIRED, PREFERRED, OFF)
MOST_SAID = 10_000  # authors of whom it is said whether they have to sign
WORDS = {"unsigned": (LOCAL, NEVER, ANYONE), "define": (TRUSTED, ANYONE)}
MOST = {"max_depth": DEPTH_MOST, "max_size": SIZE_MOST, "max_expansion_size": 1 << 16, "max_verify_time": 60_000}

IN_IDENTIFIER = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
LONGEST_IDENTIFIER = 64
MOST_KEYS = 16  # of one author: each is tried on every signature in that author's name


class InvalidIdentifier(Usage):
    """An agent's name is 1 to 64 letters, digits, hyphens and underscores, without the @."""

    code = "INVALID_IDENTIFIER"
    hint = "for example amber-otter"


class InvalidPolicy(Usage):
    """That is no policy of trust."""

    code = "INVALID_POLICY"


class InvalidTrust(Usage):
    """That does not say whom to trust."""

    code = "INVALID_TRUST"


class AuthorNotFound(NotFound):
    """That author, or that key of theirs, is not trusted here."""

    code = "AUTHOR_NOT_FOUND"
    hint = "`bb cbcl trust list` shows who is trusted, and with which keys"


class TooManyKeys(Refused):
    """That author has as many keys as anybody may have."""

    code = "TOO_MANY_KEYS"
    hint = "remove the keys that are no longer used"


class UntrustedAuthor(Refused):
    """Nobody here trusts that author."""

    code = "UNTRUSTED_AUTHOR"
    hint = "ask the author for the public key by another way than this one, then `bb cbcl trust add AUTHOR KEY`"


class UnsignedDialect(Refused):
    """The definition is not signed."""

    code = "UNSIGNED_DIALECT"
    hint = "ask the author for a signed definition, or read it and define it yourself"


class Policy(Record):
    """What the user of this machine lets others do."""

    # Whose definitions need no signature. "local": what this user defines by command, from a file or by hand.
    # "never": nobody's. "anyone": also those that come from others, unless their author has a key here: who can sign
    # does sign, else leaving the signature out would be all that a forger has to do.
    unsigned: str = LOCAL
    # Who may define dialects, beside this user by command. "trusted": authors with a key here. "anyone": others too;
    # nobody can check their signatures, so that these count as none, and `unsigned` must be "anyone" as well for
    # them to get through.
    define: str = TRUSTED
    # Whether a message for somebody else is passed on. It is never believed or installed on the way.
    relay: bool = False
    max_depth: int = DEPTH_RECOMMENDED  # lists within lists, in what is read and what a dialect expands to
    max_size: int = SIZE_RECOMMENDED  # octets of one message
    max_expansion_size: int = 8192  # characters of canonical text
    max_verify_time: int = 5000  # milliseconds; a definition that declares less gets less


class Trust(Record):
    """The authors whose signatures count, with their public keys, and the policy."""

    authors: dict[str, tuple[bytes, ...]] = {}  # noqa: RUF012  (frozen; by name, without the @)
    policy: Policy = Policy()
    signed: dict[str, str] = {}  # noqa: RUF012  (likewise; whose messages have to be signed, where that was said)

    def keys_of(self, author: str | None) -> tuple[bytes, ...]:
        """The keys of AUTHOR; none when nobody is named, or somebody who is not trusted."""
        return self.authors.get(author, ()) if author else ()

    def signed_of(self, author: str) -> str:
        """Whether messages of AUTHOR have to be signed. Who has a key here can sign: else leaving the signature out
        would be all that a forger has to do."""
        return self.signed.get(author) or (REQUIRED if self.keys_of(author) else OFF)

    def with_signed(self, name: str, word: str | None) -> Trust:
        """With another word of whether NAME's messages have to be signed; without one, as it is by default."""
        others = {author: each for author, each in self.signed.items() if author != identifier(name)}
        if word is not None and len(others) >= MOST_SAID:
            raise TooManyKeys(f"of {MOST_SAID:,} authors it is said already whether they have to sign")
        return self.but(signed=others | ({name: word} if word is not None else {}))

    def with_author(self, name: str, key: bytes) -> Trust:
        """With one more key of NAME."""
        keys = self.keys_of(identifier(name))
        if sound(key) in keys:
            return self
        if len(keys) == MOST_KEYS:
            raise TooManyKeys(f"@{name} has {MOST_KEYS} keys already")
        return self.but(authors={**self.authors, name: (*keys, key)})

    def without_author(self, name: str, key: bytes | None = None) -> Trust:
        """Without one KEY of NAME, or without NAME. An author who has no key left is not trusted any more."""
        keys = self.keys_of(identifier(name))
        if not keys or key not in (None, *keys):
            raise AuthorNotFound(f"@{name} has no such key here" if keys else f"@{name} is not trusted here")
        left = tuple(each for each in keys if key not in (None, each))
        others = {author: theirs for author, theirs in self.authors.items() if author != name}
        return self.but(authors=others | ({name: left} if left else {}))

    def with_policy(self, changes: dict[str, Any]) -> Trust:
        """With a policy of which some members are changed."""
        return self.but(policy=policy_of(self.policy.as_dict() | changes))

    def as_plain(self) -> dict[str, Any]:
        authors = {name: [key_text(key) for key in keys] for name, keys in sorted(self.authors.items())}
        signed = {"signed": dict(sorted(self.signed.items()))} if self.signed else {}
        return {"v": VERSION, "authors": authors, "policy": self.policy.as_dict(), **signed}


def judge(
    *, author: str | None, signature: str | None, octets: bytes, trust: Trust, is_local: bool, check: Check
) -> str:
    """What is to be said of a definition's signature, or a refusal to install it.

    OCTETS is the canonical form of the definition. IS_LOCAL: it comes from this user's own hand, by command; what
    an agent received is never that.
    """
    if signature is None:
        _must_do_without(author, trust, is_local=is_local)
        return UNSIGNED
    if keys := trust.keys_of(author):
        must_fit(signature, octets, keys, check)
        return VALID
    if trust.policy.define == TRUSTED or not _is_unsigned_fine(trust.policy, is_local=is_local):
        raise UntrustedAuthor(f"nobody here has a key to check the signature of {_named(author)} with", author=author)
    return UNSIGNED


def policy_of(value: object, path: str = "$") -> Policy:
    """The policy that a JSON VALUE describes; what it does not name is as it is by default."""
    if not isinstance(value, dict):
        raise InvalidPolicy("a policy is an object", path=path)
    for name, given in value.items():
        if name not in Policy.__match_args__:
            hint = f"it may have {', '.join(Policy.__match_args__)}"
            raise InvalidPolicy(f"a policy has no {_excerpt(name)}", hint=hint, path=f"{path}.{_excerpt(name)}")
        if not _is_possible(name, given):
            raise InvalidPolicy(f"{name} must be {_possible(name)}", path=f"{path}.{name}")
    return Policy(**value)


def trust_of(value: object) -> Trust:
    """Whom to trust, and how far, as a JSON VALUE says."""
    if not isinstance(value, dict):
        raise InvalidTrust("it is no object", path="$")
    if type(value.get("v")) is not int or value["v"] != VERSION:
        raise InvalidTrust(f"its version is not {VERSION}: another version of bb may have written it", path="$.v")
    if value.keys() - {"signed"} != {"v", "authors", "policy"}:
        why = "it has `v`, `authors` and `policy`, all of them, and perhaps `signed`; nothing else"
        raise InvalidTrust(why, path="$")
    if not isinstance(value["authors"], dict):
        raise InvalidTrust("`authors` is no object", path="$.authors")
    authors = {_author(name): _keys(name, keys) for name, keys in value["authors"].items()}
    return Trust(authors, policy_of(value["policy"], "$.policy"), _signed(value.get("signed", {})))


def identifier(name: str) -> str:
    """NAME, when an agent may be called so."""
    if not is_identifier(name):
        raise InvalidIdentifier(f"{_excerpt(name)} names no agent: 1 to 64 letters, digits, `-` and `_`, without the @")
    return name


def is_identifier(name: str) -> bool:
    return 0 < len(name) <= LONGEST_IDENTIFIER and not name.strip(IN_IDENTIFIER)


def must_fit(signature: str, octets: bytes, keys: tuple[bytes, ...], check: Check) -> None:
    """Refuse, unless one of the KEYS made SIGNATURE. The last one's refusal is as good as any."""
    *others, last = keys
    for key in others:
        try:
            return check(signature, octets, key)
        except InvalidSignature:
            continue
    return check(signature, octets, last)


def _must_do_without(author: str | None, trust: Trust, *, is_local: bool) -> None:
    """Refuse, unless a definition of AUTHOR needs no signature."""
    if not _is_unsigned_fine(trust.policy, is_local=is_local):
        whose = "any" if trust.policy.unsigned == NEVER else "others'"
        raise UnsignedDialect(f"the definition of {_named(author)} is not signed, and {whose} must be", author=author)
    if is_local:
        return
    if trust.keys_of(author):
        raise UnsignedDialect(f"the definition is not signed, although {_named(author)} has a key here", author=author)
    if trust.policy.define == TRUSTED:
        raise UntrustedAuthor(f"{_named(author)} is not trusted here", author=author)


def _is_unsigned_fine(policy: Policy, *, is_local: bool) -> bool:
    return policy.unsigned == ANYONE or (is_local and policy.unsigned == LOCAL)


def _named(author: str | None) -> str:
    return f"@{author[:LONGEST_IDENTIFIER]}" if author else "an author who is not named"


def _is_possible(name: str, value: object) -> bool:
    if name in WORDS:
        return isinstance(value, str) and value in WORDS[name]
    if name in MOST:
        return type(value) is int and 1 <= value <= MOST[name]
    return isinstance(value, bool)


def _possible(name: str) -> str:
    if name in WORDS:
        return " or ".join(f'"{word}"' for word in WORDS[name])
    return f"a whole number from 1 to {MOST[name]}" if name in MOST else "true or false"


def _author(name: str) -> str:
    if not is_identifier(name):
        raise InvalidTrust(f"{_excerpt(name)} names no author", path=f"$.authors.{_excerpt(name)}")
    return name


def _signed(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or len(value) > MOST_SAID:
        raise InvalidTrust(f"`signed` is no object of at most {MOST_SAID:,} authors", path="$.signed")
    for name, word in value.items():
        if not is_identifier(name):
            raise InvalidTrust(f"{_excerpt(name)} names no author", path=f"$.signed.{_excerpt(name)}")
        if word not in SIGNED:
            raise InvalidTrust(f"it is one of {', '.join(SIGNED)}", path=f"$.signed.{name}")
    return value


def _keys(name: str, written: object) -> tuple[bytes, ...]:
    path = f"$.authors.{name}"
    if not isinstance(written, list) or not 0 < len(written) <= MOST_KEYS:
        raise InvalidTrust(f"an author has a list of 1 to {MOST_KEYS} keys", path=path)
    return tuple(dict.fromkeys(_key(key, f"{path}[{n}]") for n, key in enumerate(written)))


def _key(written: object, path: str) -> bytes:
    if not isinstance(written, str):
        raise InvalidTrust("a key is a text", path=path)
    try:
        return key_of(written)
    except InvalidKey as error:
        raise InvalidTrust(error.message, path=path) from error


def _excerpt(name: str) -> str:
    """A short piece of what somebody else wrote, with nothing in it that a terminal would obey."""
    return ascii(name[:40])
