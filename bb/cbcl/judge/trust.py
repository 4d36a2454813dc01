"""Trust: the authors that a user allows to define dialects, and the policy that decides about a definition.

The signature of a definition is checked first, so work on hostile input is bounded by one check per key. The wrapper
names no key: the :author of the definition selects the trusted keys, and the signature must match one of them.
A signature that no trusted key can check proves no more than a missing one, since a forger could leave it out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bb.cbcl.judge.signatures import InvalidKey, InvalidSignature, checked_key, key_of, key_text
from bb.cbcl.read.reader import DEPTH_MOST, DEPTH_RECOMMENDED, SIZE_MOST, SIZE_RECOMMENDED
from bb.kernel.errors import NotFound, Refused, Usage
from bb.kernel.record import Record

Check = Callable[[str, bytes, bytes], None]  # signature, octets, key; raises InvalidSignature

VERSION = 1
VALID, UNSIGNED = "valid", "unsigned"  # the signature status of an installed dialect

LOCAL, NEVER, ANYONE, TRUSTED = "local", "never", "anyone", "trusted"
# Unsigned messages of an author are refused; are accepted and marked; are accepted like any other.
REQUIRED, PREFERRED, OFF = "required", "preferred", "off"
SIGNED = (REQUIRED, PREFERRED, OFF)
MOST_SAID = 10_000  # authors with their own setting in `signed`
WORDS = {"unsigned": (LOCAL, NEVER, ANYONE), "define": (TRUSTED, ANYONE)}
MOST = {"max_depth": DEPTH_MOST, "max_size": SIZE_MOST, "max_expansion_size": 1 << 16, "max_verify_time": 60_000}

IN_IDENTIFIER = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
LONGEST_IDENTIFIER = 64
MOST_KEYS = 16  # of one author: each is tried on every signature in that author's name

InvalidIdentifier = Usage.declare(
    "INVALID_IDENTIFIER",
    "An agent's name is 1 to 64 letters, digits, hyphens and underscores, without the @",
    hint="for example amber-otter",
)

InvalidPolicy = Usage.declare("INVALID_POLICY", "The policy is not valid")
InvalidTrust = Usage.declare("INVALID_TRUST", "The trust settings are not valid")

AuthorNotFound = NotFound.declare(
    "AUTHOR_NOT_FOUND",
    "That author, or that key of the author, is not trusted here",
    hint="run `bb cbcl trust list` to see the trusted authors and their keys",
)

TooManyKeys = Refused.declare(
    "TOO_MANY_KEYS",
    "That author already has the maximum number of keys",
    hint="remove an unused key with `bb cbcl trust remove AUTHOR --public-key KEY`",
)

UntrustedAuthor = Refused.declare(
    "UNTRUSTED_AUTHOR",
    "No key of that author is trusted here",
    hint="get the author's public key through another channel, then run `bb cbcl trust add AUTHOR KEY`",
)

UnsignedDialect = Refused.declare(
    "UNSIGNED_DIALECT",
    "The definition is not signed",
    hint="ask the author for a signed definition, or read it and define it yourself",
)


class Policy(Record):
    """What the user of this machine allows other agents to do."""

    # Definitions that need no signature. "local": those that this user installs by command. "never": none.
    # "anyone": also those from others, unless their author has a key here. Such an author must sign; otherwise a
    # forger could simply leave the signature out.
    unsigned: str = LOCAL
    # Authors that may define dialects, besides this user by command. "trusted": authors with a key here. "anyone":
    # all authors. A signature without a key here counts as none, so `unsigned` must be "anyone" as well.
    define: str = TRUSTED
    # Whether this agent forwards a message for another agent. It never believes or installs the content.
    relay: bool = False
    max_depth: int = DEPTH_RECOMMENDED  # nesting of lists, in messages and in expansions
    max_size: int = SIZE_RECOMMENDED  # octets of one message
    max_expansion_size: int = 8192  # characters of canonical text
    max_verify_time: int = 5000  # milliseconds; a definition that declares less gets less


class Trust(Record):
    """The trusted authors with their public keys, and the policy."""

    authors: dict[str, tuple[bytes, ...]] = {}  # noqa: RUF012  (frozen; by name, without the @)
    policy: Policy = Policy()
    signed: dict[str, str] = {}  # noqa: RUF012  (likewise; by author, one of SIGNED)

    def keys_of(self, author: str | None) -> tuple[bytes, ...]:
        """The trusted keys of AUTHOR; none if the author is missing or not trusted."""
        return self.authors.get(author, ()) if author else ()

    def signed_of(self, author: str) -> str:
        """Whether messages of AUTHOR must be signed. By default, an author with a key here must sign; otherwise a
        forger could simply leave the signature out."""
        return self.signed.get(author) or (REQUIRED if self.keys_of(author) else OFF)

    def with_signed(self, name: str, word: str | None) -> Trust:
        """This trust with WORD as the setting for NAME's messages. None restores the default."""
        others = {author: setting for author, setting in self.signed.items() if author != identifier(name)}
        if word is not None and len(others) >= MOST_SAID:
            why = f"{MOST_SAID:,} authors already have a setting for signed messages, the maximum"
            raise TooManyKeys(why, hint="remove an unused one with `bb cbcl trust signed AUTHOR default`")
        return self.replace(signed=others | ({name: word} if word is not None else {}))

    def with_author(self, name: str, key: bytes) -> Trust:
        """This trust with one more key of NAME."""
        keys = self.keys_of(identifier(name))
        if checked_key(key) in keys:
            return self
        if len(keys) == MOST_KEYS:
            raise TooManyKeys(f"@{name} already has {MOST_KEYS} keys, the maximum")
        return self.replace(authors={**self.authors, name: (*keys, key)})

    def without_author(self, name: str, key: bytes | None = None) -> Trust:
        """This trust without one KEY of NAME, or without NAME. An author without keys is no longer trusted."""
        keys = self.keys_of(identifier(name))
        if not keys or key not in (None, *keys):
            raise AuthorNotFound(f"@{name} has no such key here" if keys else f"@{name} is not trusted here")
        left = tuple(other for other in keys if key not in (None, other))
        others = {author: keys for author, keys in self.authors.items() if author != name}
        return self.replace(authors=others | ({name: left} if left else {}))

    def with_policy(self, changes: dict[str, Any]) -> Trust:
        """This trust with CHANGES to its policy."""
        return self.replace(policy=policy_of(self.policy.as_dict() | changes))

    def as_json(self) -> dict[str, Any]:
        authors = {name: [key_text(key) for key in keys] for name, keys in sorted(self.authors.items())}
        signed = {"signed": dict(sorted(self.signed.items()))} if self.signed else {}
        return {"v": VERSION, "authors": authors, "policy": self.policy.as_dict(), **signed}


def judge(
    *, author: str | None, signature: str | None, octets: bytes, trust: Trust, is_local: bool, check: Check
) -> str:
    """The signature status of a definition, or a refusal to install it.

    OCTETS is the canonical form of the definition. IS_LOCAL means that this user installs it by command; it is never
    true for a definition that an agent received.
    """
    if signature is None:
        _must_do_without(author, trust, is_local=is_local)
        return UNSIGNED
    if keys := trust.keys_of(author):
        require_matching_key(signature, octets, keys, check)
        return VALID
    if trust.policy.define == TRUSTED or not _is_unsigned_fine(trust.policy, is_local=is_local):
        raise UntrustedAuthor(
            f"the signature cannot be checked: no key of {_named(author)} is trusted here", author=author
        )
    return UNSIGNED


def policy_of(value: object, path: str = "$") -> Policy:
    """The policy in a JSON VALUE. Missing members have their defaults."""
    if not isinstance(value, dict):
        raise InvalidPolicy("a policy must be a JSON object", path=path)
    for name, setting in value.items():
        if name not in Policy.__match_args__:
            hint = f"the settings are {', '.join(Policy.__match_args__)}"
            why = f"a policy has no setting {_excerpt(name)}"
            raise InvalidPolicy(why, hint=hint, path=f"{path}.{_excerpt(name)}")
        if not _is_possible(name, setting):
            raise InvalidPolicy(f"{name} must be {_possible(name)}", path=f"{path}.{name}")
    return Policy(**value)


def trust_of(value: object) -> Trust:
    """The trust settings in a JSON VALUE."""
    if not isinstance(value, dict):
        raise InvalidTrust("the trust settings are not a JSON object", path="$")
    if type(value.get("v")) is not int or value["v"] != VERSION:
        raise InvalidTrust(f"`v` is not {VERSION}: another version of bb may have written the settings", path="$.v")
    if value.keys() - {"signed"} != {"v", "authors", "policy"}:
        why = "the members must be `v`, `authors` and `policy`, and optionally `signed`"
        raise InvalidTrust(why, path="$")
    if not isinstance(value["authors"], dict):
        raise InvalidTrust("`authors` is not a JSON object", path="$.authors")
    authors = {_author(name): _keys(name, keys) for name, keys in value["authors"].items()}
    return Trust(authors, policy_of(value["policy"], "$.policy"), _signed(value.get("signed", {})))


def identifier(name: str) -> str:
    """NAME, if it is a valid agent name."""
    if not is_identifier(name):
        why = "use 1 to 64 letters, digits, `-` and `_`, without the @"
        raise InvalidIdentifier(f"{_excerpt(name)} is not a valid agent name: {why}")
    return name


def is_identifier(name: str) -> bool:
    return 0 < len(name) <= LONGEST_IDENTIFIER and not name.strip(IN_IDENTIFIER)


def require_matching_key(signature: str, octets: bytes, keys: tuple[bytes, ...], check: Check) -> None:
    """Refuse, unless SIGNATURE matches one of the KEYS. If none matches, the refusal for the last key is raised."""
    *others, last = keys
    for key in others:
        try:
            return check(signature, octets, key)
        except InvalidSignature.error:
            continue
    return check(signature, octets, last)


def _must_do_without(author: str | None, trust: Trust, *, is_local: bool) -> None:
    """Refuse, unless a definition of AUTHOR needs no signature."""
    if not _is_unsigned_fine(trust.policy, is_local=is_local):
        whose = "all definitions" if trust.policy.unsigned == NEVER else "definitions from other agents"
        why = f"the definition of {_named(author)} is not signed; the policy requires a signature on {whose}"
        raise UnsignedDialect(why, author=author)
    if is_local:
        return
    if trust.keys_of(author):
        raise UnsignedDialect(f"the definition is not signed, although {_named(author)} has a key here", author=author)
    if trust.policy.define == TRUSTED:
        raise UntrustedAuthor(f"{_named(author)} is not trusted here", author=author)


def _is_unsigned_fine(policy: Policy, *, is_local: bool) -> bool:
    return policy.unsigned == ANYONE or (is_local and policy.unsigned == LOCAL)


def _named(author: str | None) -> str:
    return f"@{author[:LONGEST_IDENTIFIER]}" if author else "an unnamed author"


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
        raise InvalidTrust(f"{_excerpt(name)} is not a valid author name", path=f"$.authors.{_excerpt(name)}")
    return name


def _signed(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or len(value) > MOST_SAID:
        raise InvalidTrust(f"`signed` must be a JSON object with at most {MOST_SAID:,} authors", path="$.signed")
    for name, word in value.items():
        if not is_identifier(name):
            raise InvalidTrust(f"{_excerpt(name)} is not a valid author name", path=f"$.signed.{_excerpt(name)}")
        if word not in SIGNED:
            raise InvalidTrust(f"the value must be one of {', '.join(SIGNED)}", path=f"$.signed.{name}")
    return value


def _keys(name: str, written: object) -> tuple[bytes, ...]:
    path = f"$.authors.{name}"
    if not isinstance(written, list) or not 0 < len(written) <= MOST_KEYS:
        raise InvalidTrust(f"an author must have a list of 1 to {MOST_KEYS} keys", path=path)
    return tuple(dict.fromkeys(_key(key, f"{path}[{n}]") for n, key in enumerate(written)))


def _key(written: object, path: str) -> bytes:
    if not isinstance(written, str):
        raise InvalidTrust("a key must be a string", path=path)
    try:
        return key_of(written)
    except InvalidKey.error as error:
        raise InvalidTrust(error.message, path=path) from error


def _excerpt(name: str) -> str:
    """The beginning of a foreign text, without terminal control characters."""
    return ascii(name[:40])
