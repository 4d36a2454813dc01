"""The intent of a text, judged by its form: thanks, a receipt, a question. A declared intent has priority.

Nothing here understands a text. The rules only check whether it contains a question, and whether it contains anything
but social filler, which needs no answer.
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
# Texts that a reaction signal can replace.
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
    """The intent of TEXT, judged by its form."""
    unquoted_text = unquoted(text)
    if "?" in unquoted_text or "？" in unquoted_text:
        return QUESTION
    return filler(unquoted_text)


def filler(text: str) -> str:
    """THANKS or RECEIPT if TEXT is nothing else; PLAIN otherwise."""
    if len(text) > LONGEST or "`" in text or ">" in text:
        return PLAIN
    intent, count = PLAIN, 0
    for token in text.casefold().split():
        word = _bare(token)
        if not word or word[0] == "@":
            continue
        count += 1
        if word in GRATITUDE:
            intent = THANKS
        elif word in CONFIRMING:
            intent = THANKS if intent == THANKS else RECEIPT
        elif word not in FILLING:
            return PLAIN
    return intent if count <= MOST_WORDS else PLAIN


def signal_of(text: str) -> str:
    """The reaction signal that can replace TEXT; empty if there is none."""
    phrase = " ".join(word for token in unquoted(text).casefold().split() if (word := _bare(token)) and word[0] != "@")
    signal = {THANKS: "seen", RECEIPT: "agree"}.get(intent_of(text), "")
    return SIGNALLED.get(phrase, signal)


def _bare(word: str) -> str:
    return word.strip("!.,;…-–—()\"'").removesuffix("'s")
