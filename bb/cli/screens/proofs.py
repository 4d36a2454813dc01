"""How a person is told what is proved of who has said a message in CBCL."""

from __future__ import annotations

from bb.cli.screens.paint import painted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.kernel.outside import Outside

WORDS = {
    "verified": ("verified{key}", "green"),
    "unsigned": ("unsigned", "yellow"),
    "unchecked": ("not verified: you have no key of its author", "yellow"),
    "other-ledger": ("not verified: signed for another ledger, or for none", "yellow"),
    "forged": ("forged: the signature is not its author's", "red"),
    "revoked": ("was verified{key}, which you trust no longer", "yellow"),
}


def said(found: Outside) -> str:
    """What is proved; nothing where it was said by whoever looks, or is unsigned where nobody wants a signature."""
    text, colour = found["state"].among(WORDS, ("", ""))
    if not text or (found["state"] == "unsigned" and found["demanded"] == "off"):
        return ""
    return painted(text.format(key=f" {found['key']}" if found["key"] else ""), colour)


def behind(found: Outside) -> str:
    """The same, to stand behind a message."""
    text = said(found)
    return f"  {text}" if text else ""
