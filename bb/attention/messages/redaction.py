"""Removes secrets from a text before it enters the ledger, because the ledger keeps everything.

A secret is replaced by its kind. No hash of it is kept, because a reader of the ledger could test guesses against it.
"""

from __future__ import annotations

import re

from bb.kernel import secret_patterns

NAMES = ("password", "passwd", "secret", "api_key", "apikey", "api-key", "token", "private_key")
ASSIGNED = re.compile(
    r"(?i)\b((?:[a-z0-9]{1,20}[_-]){0,3}(?:password|passwd|secret|api[_-]?key|token|private[_-]key))"
    r"(\s{0,3}[:=]\s{0,3})(\"[^\"\n]{6,200}\"|'[^'\n]{6,200}'|(?=[^\s\"']{0,40}[0-9])[^\s\"',;]{8,200})"
)


def redact(text: str) -> str:
    """TEXT without anything that looks like a secret."""
    text = secret_patterns.masked(text)
    lowered = text.casefold()
    if any(name in lowered for name in NAMES):
        text = ASSIGNED.sub(r"\1\2[secret]", text)
    return text
