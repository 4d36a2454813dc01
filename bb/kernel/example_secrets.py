"""Recognizes texts that have the form of a secret but are none: examples in manuals, code that fetches a secret, test
data.

`secret_patterns` finds the form. This module examines the matches and is imported only if there are any. It looks at a
limited number of characters after the match, so the search stays linear in the length of the text.
"""

from __future__ import annotations

import binascii
import re
from re import Match

# Placeholders for secrets. They occur in less than one of a million real secrets.
WORDS = ("example", "placeholder", "redacted", "changeme", "your-", "your_", "xxxxxxxx", "123456789", "abcdefghi")
# Example keys from the issuers' manuals, and the usual example of a JSON web token.
PUBLISHED = (
    "4ec39hqlyjwdarjtt1zd",
    "bqokikjovbii2hlwgh4o",
    "qwxhzgrpbjpvcgvuihnlc2ftzq",
    "eyjzdwiioiixmjm0nty3odkwiiwibmftzsi6ikpvag4grg9l",
)
PASSWORD = re.compile(  # placeholders for passwords in manuals, and code that inserts a password
    r"(?i:(?:your|my|user|db|the|some|a)?[-_]?(?:password|passwd|pass|pwd|pw|secret|token|api[-_]?key)|x{3,}"
    r"|changeme|example|placeholder|redacted)|\*+|\.+|(?:\$|#\{|\{|\[|\(|&lt;|'|\\\().*|%.*%|%\w"
)
PORT = re.compile(r"[0-9]{2,5}(?![0-9A-Za-z])")
# In an escaped text, a line ending also ends a host's name and port. But `CORP\\nick` is an account in a domain.
LINE_ENDS = re.compile(r"(?![A-Z0-9_-]{1,15}\\)[^\\]*\\+[nrt]")
PORT_AT_LINE_END = re.compile(r"[0-9]{2,5}\\+[nrt]")
SAME = 10  # this many equal characters at the end are no secret, as in `ghp_0000`
REACH = 200  # characters of the rest of a word that are examined
REST = re.compile(r"[0-9A-Za-z_$/+=.~-]*")
# An identifier consists of words; a secret splits into pieces of one or two characters.
PIECE = re.compile(r"[A-Z]?[a-z]+|(?<![A-Za-z])[A-Z]+(?![A-Za-z])|[A-Z]{1,5}(?=[A-Z][a-z]|[^A-Za-z]|\Z)|[0-9]+")
SHORTEST_WORD = 3.5  # on average
DIGITS = 2
UNSPEAKABLE = re.compile(
    r"(?i:[bcdfghjklmnpqrstvwxz]{5})|[0-9][a-z]|[0-9].*[^0-9].*[0-9]"
)  # typical of random text, not of identifiers


def is_stand_in(match: Match[str], mark: str) -> bool:
    """Whether the match after MARK is only a placeholder for a secret."""
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
    """Whether it is a default password (`guest:guest`), a placeholder, or the port of a host without a user."""
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
    """Whether it is base64 of `user:password`, as in `Authorization: Basic`."""
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
    word = REST.match(match.string, start, match.end("secret") + REACH)
    return word[0] if word else match["secret"]


def _is_cut_off(match: Match[str], word: str) -> bool:
    """Whether the text has only the beginning of the token: `eyJhbGciOi...`"""
    return word.endswith("...") or match.string.startswith("\N{HORIZONTAL ELLIPSIS}", match.end("secret"))


def _is_made_of_words(text: str) -> bool:
    """Whether TEXT is an identifier, or words joined by hyphens: `process.env.API_KEY2`."""
    pieces = PIECE.findall(text)
    words = [piece for piece in pieces if not piece.isdigit()]
    letters, others = sum(map(len, words)), sum(len(piece) for piece in pieces if piece.isdigit())
    is_all = letters + others == sum(map(str.isalnum, text))
    if len(words) < 2 or UNSPEAKABLE.search(text):
        return False
    return is_all and others <= DIGITS and letters >= SHORTEST_WORD * len(words) and "=" not in text
