"""The keys that may sign ledger lines: `.bb/allowed_signers`, a reviewed file in OpenSSH's format.

    laptop,ada@example.org namespaces="bb-ledger,git" ssh-ed25519 AAAA… ada's laptop
    user namespaces="bb-ledger,git" ssh-ed25519 AAAA… the person's own key
    #bb mode require
    #bb repo 0a3250eccf47
    #bb revoked SHA256:… k7q2mzp4x3ab:399

A key listed for the principal `user` may sign the person's orders; every other listed key may sign lines. Comments that
begin with `#bb` are directives for bb. A key line that cannot be used is skipped and reported, so that one mistake does
not lock out all writers. A directive that cannot be read gets its most restrictive meaning.
"""

from __future__ import annotations

from binascii import Error as NoBase64
from binascii import a2b_base64, b2a_base64

from bb.kernel import clock, ids
from bb.kernel.digest import whole_digest
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PATH = ".bb/allowed_signers"
OFF, WARN, REQUIRE = "off", "warn", "require"
MODES = (OFF, WARN, REQUIRE)
NAMESPACE, KIND = "bb-ledger", "ssh-ed25519"
KEY_START = b"\0\0\0\x0bssh-ed25519\0\0\0 "
KEY_LENGTH = len(KEY_START) + 32
DIRECTIVE, MODE, REVOKED, REPO = "#bb", "mode", "revoked", "repo"
NO_LEDGER, LONGEST_REPO = "", 64
DIGITS_OF_PRINT, SHORTEST_PART = 43, len("SHA256:") + 5
CERTIFICATE = "cert-authority"
TIMED = ("valid-after", "valid-before")
LARGEST, MOST_LINES, LONGEST = 1 << 20, 20_000, 8192


class Unusable(Exception):
    """This line of the file is ignored; the message has the reason."""


class Unread(Unusable):
    """This directive cannot be read; the message has the meaning that is assumed."""


class Signer(Record):
    """One line of the file: a key and its principals."""

    principals: str
    key: str  # in base64, as in the file
    namespaces: str | None = None
    after: int | None = None  # signatures before that time do not count
    before: int | None = None  # signatures from that time on do not count
    line: int = 0

    def may_sign(self, at: int) -> bool:
        """Whether the key is listed for the ledger AT that time."""
        is_for_us = self.namespaces is None or matches(NAMESPACE, self.namespaces)
        return is_for_us and (self.after is None or at >= self.after) and (self.before is None or at < self.before)

    @property
    def is_persons(self) -> bool:
        """Whether the key may sign the person's orders."""
        return matches(ids.PERSON, self.principals)


class Policy(Record):
    """The content of the file."""

    mode: str | None = None
    signers: tuple[Signer, ...] = ()
    revoked: Mapping[str, Mapping[str, int]] = {}  # by fingerprint: the last line of each writer that still counts
    problems: tuple[str, ...] = ()
    repo: str | None = None  # the id of this repository's ledger
    is_unread: bool = False  # a line revokes a key, but the key cannot be read

    def listed(self, key: str, at: int) -> tuple[Signer, ...]:
        """The lines that permit KEY to sign AT that time."""
        return tuple(signer for signer in self.signers if signer.key == key and signer.may_sign(at))

    @property
    def names_the_person(self) -> bool:
        """Whether a key of the person is listed. Then orders must be signed with such a key."""
        return any(signer.is_persons for signer in self.signers)


def read(text: str) -> Policy:
    """The policy in a file."""
    signers: list[Signer] = []
    directives = _Directives()
    problems: list[str] = []
    rows = text.split("\n")
    if len(text) > LARGEST or len(rows) > MOST_LINES:
        return Policy(REQUIRE, problems=(f"{PATH} is too large, so no key is listed",))
    for number, row in enumerate(rows, 1):
        line = row.strip()
        try:
            if (words := _ours(line)) is not None:
                directives.take(words)
            elif line and not line.startswith("#"):
                signers.append(_signer(line, number))
        except Unread as why:
            problems.append(f"line {number} of {PATH} cannot be read: {why}")
        except Unusable as why:
            problems.append(f"line {number} of {PATH} is ignored: {why}")
    directives.revoke_possible_matches(signers)
    revoked, repo = directives.revoked, directives.repo
    return Policy(directives.mode, tuple(signers), revoked, tuple(problems), repo, directives.is_unread)


def _ours(line: str) -> list[str] | None:
    """The words of a directive, such as `#bb mode require` or `# BB: mode require`; None for other lines."""
    rest = line[1:].lstrip()
    if line[:1] != "#" or rest[:2].casefold() != "bb" or rest[2:3].isalnum() or rest[2:3] in ("_", "-"):
        return None
    words = rest[2:].lstrip(":").split()
    comment = next((place for place, word in enumerate(words) if word.startswith("#")), len(words))
    return words[:comment]


class _Directives:
    """The directives of the file. One that cannot be read gets its most restrictive meaning."""

    def __init__(self) -> None:
        self.mode: str | None = None
        self.repo: str | None = None
        self.revoked: dict[str, dict[str, int]] = {}
        self.is_unread = False
        self._parts: list[str] = []  # fingerprints that are too short or too long

    def take(self, words: list[str]) -> None:
        what, values = (words[0].casefold(), words[1:]) if words else ("", [])
        if what == MODE:
            self._take_mode(values)
        elif what == REPO:
            self._take_repo(values)
        elif what == REVOKED:
            self._revoke(values)
        else:
            for word in filter(None, map(_fingerprint, words)):
                self.revoked[word] = {}  # a key named in an unknown directive is not trusted
            self.is_unread = self.is_unread or what.startswith(REVOKED[:4])
            raise Unread(f"write `{DIRECTIVE} {MODE}`, `{DIRECTIVE} {REVOKED}` or `{DIRECTIVE} {REPO}`")

    def _take_mode(self, values: list[str]) -> None:
        word = values[0].casefold() if len(values) == 1 else ""
        self.mode = word if word in MODES else REQUIRE
        if word not in MODES:
            raise Unread(f"the mode must be one of {', '.join(MODES)}; until the line is corrected, it is {REQUIRE}")

    def _take_repo(self, values: list[str]) -> None:
        is_right = len(values) == 1 and values[0].isascii() and values[0].isalnum() and len(values[0]) <= LONGEST_REPO
        is_other = self.repo is not None and self.repo not in values
        self.repo = values[0] if is_right and not is_other else NO_LEDGER
        if is_other or not is_right:
            raise Unread("it must name one ledger; until the line is corrected, no ledger belongs to this repository")

    def _revoke(self, values: list[str]) -> None:
        name = _fingerprint(values[0]) if values else None
        if name is None:
            self.is_unread = True
            self._parts += values[:1]
            raise Unread(f"`{DIRECTIVE} {REVOKED}` must be followed by a fingerprint: SHA256: and 43 characters")
        before, still = self.revoked.get(name), _still(values[1:])
        if before is None:
            self.revoked[name] = still
        else:
            before |= {writer: min(n, before.get(writer, n)) for writer, n in still.items()}

    def revoke_possible_matches(self, signers: Sequence[Signer]) -> None:
        """Revoke each key whose fingerprint matches a fingerprint that is truncated or has additional text."""
        for part in self._parts:
            for name in {fingerprint(signer.key) for signer in signers}:
                if len(part) > SHORTEST_PART and (name.startswith(part) or part.startswith(name)):
                    self.revoked[name] = {}


def _fingerprint(word: str) -> str | None:
    """WORD as a fingerprint in the form of `ssh-keygen -l`, with or without padding; None if it is not one."""
    kind, _, rest = word.partition(":")
    rest = rest.rstrip("=")
    is_right = kind.casefold() == "sha256" and len(rest) == DIGITS_OF_PRINT and rest.isascii()
    return f"SHA256:{rest}" if is_right and rest.replace("+", "").replace("/", "").isalnum() else None


def _still(words: list[str]) -> dict[str, int]:
    """The last line of each writer up to which signatures of a revoked key still count."""
    still: dict[str, int] = {}
    for word in words:
        writer, colon, n = word.partition(":")
        if not (colon and ids.is_writer_id(writer) and n.isascii() and n.isdigit() and len(n) < 16):
            return {}  # the key is revoked completely if the exceptions cannot be read
        still[writer] = int(n)
    return still


def _signer(line: str, number: int) -> Signer:
    if len(line) > LONGEST or not line.isprintable():
        raise Unusable("it is too long or not printable")
    principals, rest = _word(line)
    namespaces: str | None = None
    moments: dict[str, int] = {}
    word, after = _word(rest)
    if not word.startswith(("ssh-", "ecdsa-", "sk-", "rsa-")):
        for name, value in _options(rest[: len(rest) - len(after)].strip()):
            if name == CERTIFICATE:
                raise Unusable("certificates are not supported; list each key")
            if name == "namespaces" and value:
                namespaces = value
            elif name in TIMED and value:
                moments[name] = _moment(value)
            else:
                raise Unusable(f"the option {name[:40]!r} is unknown")
        word, after = _word(after)
    if word != KIND:
        raise Unusable(f"the key type is {word[:40]!r}; only {KIND} keys may sign a ledger")
    key = after.split(None, 1)[0] if after.strip() else ""
    if not _is_key(key):
        raise Unusable(f"it has no {KIND} key")
    if not principals:
        raise Unusable("it has no principal")
    return Signer(principals, key, namespaces, moments.get(TIMED[0]), moments.get(TIMED[1]), number)


def _word(text: str) -> tuple[str, str]:
    """The first word, which may be quoted, and the rest."""
    text = text.lstrip()
    is_quoted, place = False, 0
    while place < len(text) and (is_quoted or not text[place].isspace()):
        if text[place] == "\\" and text[place + 1 : place + 2] == '"':
            place += 1
        elif text[place] == '"':
            is_quoted = not is_quoted
        place += 1
    if is_quoted:
        raise Unusable("a quote is not closed")
    word = text[:place]
    plain = word[1:-1] if len(word) > 1 and word[0] == word[-1] == '"' else word
    return plain, text[place:].lstrip()


def _options(text: str) -> list[tuple[str, str | None]]:
    """`a="x",b` as names and values."""
    parts: list[str] = [""]
    is_quoted = False
    for character in text:
        if character == '"':
            is_quoted = not is_quoted
        if character == "," and not is_quoted:
            parts.append("")
        else:
            parts[-1] += character
    options: list[tuple[str, str | None]] = []
    for part in parts:
        name, equals, value = part.partition("=")
        if equals and not (len(value) > 1 and value[0] == value[-1] == '"'):
            raise Unusable(f"the value of {name[:40]!r} must be quoted")
        options.append((name.lower(), value[1:-1] if equals else None))
    return options


def _moment(text: str) -> int:
    """A time in OpenSSH's form YYYYMMDD[HHMM[SS]], in UTC, with or without a Z.

    Without Z, OpenSSH uses the local time of the machine. bb uses UTC, so that all clones judge a file equally.
    """
    digits = text.removesuffix("Z")
    if not (digits.isascii() and digits.isdigit() and len(digits) in (8, 12, 14)):
        raise Unusable(f"{text[:40]!r} is not a time of the form YYYYMMDD[HHMM[SS]]Z")
    full = digits.ljust(14, "0")
    written = f"{full[:4]}-{full[4:6]}-{full[6:8]}T{full[8:10]}:{full[10:12]}:{full[12:14]}Z"
    moment = clock.parse_or(written, -1)
    if moment < 0:
        raise Unusable(f"{text[:40]!r} is not a valid time")
    return moment


def _is_key(text: str) -> bool:
    try:
        octets = a2b_base64(text.encode("ascii"))
    except (NoBase64, UnicodeEncodeError):
        return False
    is_right = len(octets) == KEY_LENGTH and octets.startswith(KEY_START)
    return is_right and b2a_base64(octets, newline=False) == text.encode()


def fingerprint(key: str) -> str:
    """The fingerprint of a key in base64, as `ssh-keygen -l` prints it."""
    return "SHA256:" + b2a_base64(bytes.fromhex(whole_digest(a2b_base64(key))), newline=False).decode().rstrip("=")


def matches(name: str, patterns: str) -> bool:
    """Whether NAME matches a list of patterns with * and ?, as in OpenSSH. A pattern that begins with ! excludes."""
    is_meant = False
    for pattern in patterns.split(","):
        if _fits(name, pattern.removeprefix("!")):
            if pattern.startswith("!"):
                return False
            is_meant = True
    return is_meant


def _fits(text: str, pattern: str) -> bool:
    reached = {0}  # possible positions in the pattern
    for character in (*text, None):
        for place in sorted(reached):
            while pattern[place : place + 1] == "*":
                place += 1
                reached.add(place)
        if character is None:
            return len(pattern) in reached
        reached = {
            place if pattern[place] == "*" else place + 1
            for place in reached
            if place < len(pattern) and pattern[place] in ("*", "?", character)
        }
    return False


def line(principals: str, key: str, comment: str) -> str:
    """The line that lists a KEY, for ledger lines and for the ledger's commits."""
    return f'{principals} namespaces="{NAMESPACE},git" {KIND} {key} {comment}'.strip()


def with_mode(text: str, mode: str, repo: str | None = None) -> str:
    """The file's TEXT with MODE, and with REPO, the id of the ledger, if the file names none."""
    rows = [row for row in text.split("\n") if (_ours(row.strip()) or [""])[0].casefold() != MODE]
    while rows and not rows[-1].strip():
        rows.pop()
    more = [f"{DIRECTIVE} {REPO} {repo}"] if repo and read(text).repo is None else []
    return "\n".join([*rows, *more, f"{DIRECTIVE} {MODE} {mode}"]) + "\n"


def names(found: Sequence[Signer]) -> str:
    """The principals of some lines, as a list for people."""
    return ", ".join(dict.fromkeys(signer.principals for signer in found))
