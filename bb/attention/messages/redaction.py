"""Secrets are taken out of a text before it enters a ledger that never forgets.

What is found is replaced by what kind of thing it was. A hash of it beside would let anybody who knows the ledger try
out what it might have been, so there is none.
"""

from __future__ import annotations

import re

from bb.kernel import secret_patterns

NAMES = ("password", "passwd", "secret", "api_key", "apikey", "api-key", "token", "private_key")
ASSIGNED = re.compile(
    r"(?i)\b((?:[a-z0-9]{1,20}[_-]){0,3}(?:password|passwd|secret|api[_-]?key|token|private[_-]key))"
    r"(\s{0,3}[:=]\s{0,3})(\"[^\"\n]{6,200}\"|'[^'\n]{6,200}'|(?=[^\s\"']{0,40}[0-9])[^\s\"',;]{8,200})"
)


def redacted(text: str) -> str:
    """TEXT without what looks like a secret."""
    text = secret_patterns.masked(text)
    lowered = text.casefold()
    if any(name in lowered for name in NAMES):
        text = ASSIGNED.sub(r"\1\2[secret]", text)
    return text
