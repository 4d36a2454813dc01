"""What is said in a chat message, without what it only shows: quotations and code.

Chat programs are not quite Markdown: a fence may stand anywhere in a line, and `>>>` quotes all that follows.
"""

from __future__ import annotations

import re

from bb.attention.messages.mentions import SPAN

FENCE = "```"


def spoken(text: str) -> str:
    """TEXT as its author says it. A fence that nobody closed hides the rest, so that nobody is called by accident."""
    said: list[str] = []
    for line in " ".join(text.split(FENCE)[::2]).split("\n"):
        start = line.lstrip()
        if start.startswith(">>>"):
            break
        if not start.startswith(">"):
            said.append(re.sub(SPAN, " ", line))
    return "\n".join(said)
