"""The text of a chat message without quotations and code.

Chat programs differ from Markdown: a fence may be anywhere in a line, and `>>>` quotes the rest of the message.
"""

from __future__ import annotations

import re

from bb.attention.messages.mentions import SPAN

FENCE = "```"


def without_quotes_and_code(text: str) -> str:
    """TEXT without quotations and code. An unclosed fence hides the rest, so a name in code is not a mention."""
    kept: list[str] = []
    for line in " ".join(text.split(FENCE)[::2]).split("\n"):
        start = line.lstrip()
        if start.startswith(">>>"):
            break
        if not start.startswith(">"):
            kept.append(re.sub(SPAN, " ", line))
    return "\n".join(kept)
