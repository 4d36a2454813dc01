"""What a text is for, as far as its outside shows: thanks, a receipt, a question. What its sender declares counts more.

Nothing here understands a text. It is only asked whether there is anything beyond social filler in it, since for that
nobody must answer, and whether somebody is asked something.
"""

from __future__ import annotations

from bb.attention.messages.mentions import unquoted
from bb.attention.words import PLAIN, QUESTION, RECEIPT, THANKS

GRATITUDE = frozenset("thanks thank thx ty cheers merci danke gracias appreciated 🙏 ❤️ ❤ 🎉 💯".split())  # noqa: SIM905
CONFIRMING = frozenset(
    "ok okay k kk ack acked acknowledged got gotcha noted roger understood copy cool nice great perfect good lgtm yes "  # noqa: SIM905
    "yep yeah sure done seen 👍 👌 ✅ 👀 🆗 :+1: :thumbsup:".split()
)
FILLING = frozenset(
    "you u so very much a lot many all it that this sounds works for me to i will do on now then job work one team "  # noqa: SIM905
    "again really the help your hey hi hello there bye everyone guys".split()
)
MOST_WORDS, LONGEST = 8, 120
# What a reaction says as well, where it is all that is said.
SIGNALLED = {
    "on it": "working",
    "working on it": "working",
    "i am on it": "working",
    "i'm on it": "working",
    "mine": "claimed",
    "approved": "agree",
    "agreed": "agree",
    "go ahead": "agree",
    "not me": "declined",
    "not mine": "declined",
    "done": "done",
    "fixed": "done",
    "later": "queued",
}


def intent_of(text: str) -> str:
    """What TEXT is for, judged by its outside."""
    said = unquoted(text)
    if "?" in said or "？" in said:
        return QUESTION
    return filler(said)


def filler(text: str) -> str:
    """Whether TEXT is thanks or a receipt and nothing else; a plain message otherwise."""
    if len(text) > LONGEST or "`" in text or ">" in text:
        return PLAIN
    found, count = PLAIN, 0
    for each in text.casefold().split():
        word = _bare(each)
        if not word or word[0] == "@":
            continue
        count += 1
        if word in GRATITUDE:
            found = THANKS
        elif word in CONFIRMING:
            found = THANKS if found == THANKS else RECEIPT
        elif word not in FILLING:
            return PLAIN
    return found if count <= MOST_WORDS else PLAIN


def signal_of(text: str) -> str:
    """The reaction that says as much as TEXT; empty when it says more than that."""
    said = " ".join(word for each in unquoted(text).casefold().split() if (word := _bare(each)) and word[0] != "@")
    found = {THANKS: "seen", RECEIPT: "agree"}.get(intent_of(text), "")
    return SIGNALLED.get(said, found)


def _bare(word: str) -> str:
    return word.strip("!.,;…-–—()\"'").removesuffix("'s")
