"""The verification result of a CBCL message's author, in words."""

from __future__ import annotations

from bb.cli.screens.styling import coloured
from bb.kernel.foreign import Foreign

WORDS = {
    "verified": ("verified{key}", "green"),
    "unsigned": ("unsigned", "yellow"),
    "unchecked": ("not verified: you have no key of its author", "yellow"),
    "other-ledger": ("not verified: signed for another ledger, or for none", "yellow"),
    "forged": ("forged: the signature is not its author's", "red"),
    "revoked": ("was verified{key}, but you no longer trust that key", "yellow"),
}


def verification_text(found: Foreign) -> str:
    """The result; empty for the caller's own message, and for an unsigned one if no signature is required."""
    text, colour = found["state"].among(WORDS, ("", ""))
    if not text or (found["state"] == "unsigned" and found["demanded"] == "off"):
        return ""
    return coloured(text.format(key=f" {found['key']}" if found["key"] else ""), colour)


def verification_suffix(found: Foreign) -> str:
    """The same, with spaces in front, to append to a message."""
    text = verification_text(found)
    return f"  {text}" if text else ""
