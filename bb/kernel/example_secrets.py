"""What has the form of a secret and is none: examples of manuals, code that fetches a secret, and fixtures.

`tokens` finds the form. This module looks at what was found, and is imported only then. It looks a bounded number of
characters beyond the match, so the search stays linear in the length of the text.
"""

from __future__ import annotations

import binascii
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match

# What people write where a secret would stand. In a real one they occur less than once in a million.
WORDS = ("example", "placeholder", "redacted", "changeme", "your-", "your_", "xxxxxxxx", "123456789", "abcdefghi")
# Keys that their issuers print in their manuals, and the token that every tutorial about JSON web tokens shows.
PUBLISHED = (
    "4ec39hqlyjwdarjtt1zd",
    "bqokikjovbii2hlwgh4o",
    "qwxhzgrpbjpvcgvuihnlc2ftzq",
    "eyjzdwiioiixmjm0nty3odkwiiwibmftzsi6ikpvag4grg9l",
)
PASSWORD = re.compile(  # what stands for a password in a manual, or is a piece of a program that puts one in
    r"(?i:(?:your|my|user|db|the|some|a)?[-_]?(?:password|passwd|pass|pwd|pw|secret|token|api[-_]?key)|x{3,}"
    r"|changeme|example|placeholder|redacted)|\*+|\.+|(?:\$|#\{|\{|\[|\(|&lt;|'|\\\().*|%.*%|%\w"
)
PORT = re.compile(r"[0-9]{2,5}(?![0-9A-Za-z])")
# In an escaped text, what ends a line ends a host's name, too, and its port. `CORP\\nick` is an account of a domain.
LINE_ENDS = re.compile(r"(?![A-Z0-9_-]{1,15}\\)[^\\]*\\+[nrt]")
PORT_AT_LINE_END = re.compile(r"[0-9]{2,5}\\+[nrt]")
SAME = 10  # so many equal characters at the end are no secret, as in `ghp_0000`
REACH = 200  # how far the rest of a word is looked at
REST = re.compile(r"[0-9A-Za-z_$/+=.~-]*")
# A name in a program falls into words; a secret into pieces of one or two characters.
PIECE = re.compile(r"[A-Z]?[a-z]+|(?<![A-Za-z])[A-Z]+(?![A-Za-z])|[A-Z]{1,5}(?=[A-Z][a-z]|[^A-Za-z]|\Z)|[0-9]+")
SHORTEST_WORD = 3.5  # on average
DIGITS = 2
UNSPEAKABLE = re.compile(
    r"(?i:[bcdfghjklmnpqrstvwxz]{5})|[0-9][a-z]|[0-9].*[^0-9].*[0-9]"
)  # chance makes such, not people


def is_stand_in(match: Match[str], mark: str) -> bool:
    """Whether what was found behind MARK only stands where a secret would."""
    groups, secret = match.groupdict(), match["secret"]
    if groups.get("password") is not None:
        return _is_no_password(groups.get("user") or "", groups["password"])
    if any(word in secret.lower() for word in (*WORDS, *PUBLISHED)) or len(set(secret[-SAME:])) == 1:
        return True
    if "basic" in groups:
        return not _is_user_and_password(groups["basic"])
    word = _whole_word(match)
    if {"opaque", "body"} & groups.keys():
        return _is_cut_off(match, word) or _is_made_of_words(word)
    behind = word.removeprefix(mark)
    return ("-" in behind or "_" in behind) and not any(map(str.isdigit, behind)) and _is_made_of_words(behind)


def _is_no_password(user: str, password: str) -> bool:
    """Whether it is the password of nobody (`guest:guest`), a stand-in, or the port of a host without a user."""
    is_host = "." in user or user == "localhost"
    return bool(
        password.lower() == user.lower()
        or user == "anonymous"
        or len(set(password)) == 1
        or PASSWORD.fullmatch(password)
        or (is_host and PORT.match(password))
        or LINE_ENDS.match(user)
        or PORT_AT_LINE_END.match(password)
    )


def _is_user_and_password(encoded: str) -> bool:
    """Whether it is base64 of `user:password`, as `Authorization: Basic` has it."""
    encoded = encoded.rstrip("=")
    try:
        decoded = binascii.a2b_base64(encoded + "=" * (-len(encoded) % 4)).decode("latin-1")
    except binascii.Error:
        return False
    user, colon, password = decoded.partition(":")
    is_text = (user or password).isascii() and (user or password).isprintable()
    return bool(colon and is_text and password and not _is_no_password(user, password))


def _whole_word(match: Match[str]) -> str:
    start = match.start("body" if "body" in match.groupdict() else "secret")
    found = REST.match(match.string, start, match.end("secret") + REACH)
    return found[0] if found else match["secret"]


def _is_cut_off(match: Match[str], word: str) -> bool:
    """Whether only its beginning is shown: `eyJhbGciOi...`"""
    return word.endswith("...") or match.string.startswith("\N{HORIZONTAL ELLIPSIS}", match.end("secret"))


def _is_made_of_words(text: str) -> bool:
    """Whether it is a name in a program, or words joined by hyphens: `process.env.API_KEY2`."""
    pieces = PIECE.findall(text)
    words = [piece for piece in pieces if not piece.isdigit()]
    letters, others = sum(map(len, words)), sum(len(piece) for piece in pieces if piece.isdigit())
    is_all = letters + others == sum(map(str.isalnum, text))
    if len(words) < 2 or UNSPEAKABLE.search(text):
        return False
    return is_all and others <= DIGITS and letters >= SHORTEST_WORD * len(words) and "=" not in text
