"""The intent of a text, judged by its form: thanks, a receipt, a question. A declared intent has priority.

Nothing here understands a text. The rules only check whether it contains a question, and whether it contains anything
but social filler, which needs no answer. `filler_words` has the words. They are a closed list without verbs, so a text
that asks for something is never filler: "ok do it now". Whether an acknowledgement is the answer to a question is not
judged by its words but by what is pending (`judging/questions`).
"""

from __future__ import annotations

from bb.attention.messages.filler_words import (
    BREAKS,
    CONFIRMING,
    FILLING,
    GRATITUDE,
    JOINING,
    MARKS_OF_EMOJI,
    NO_REPLY_NEEDED,
    OFFERS,
    PHRASES,
    PROPOSALS,
    QUESTION_MARKS,
    THANKED_FOR,
)
from bb.attention.messages.mentions import unquoted
from bb.attention.words import PLAIN, QUESTION, RECEIPT, THANKS

MOST_WORDS, LONGEST = 8, 120
MOST_OF_PROPOSAL = 600  # characters at the end of a text that are searched for a proposal
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
    if any(mark in unquoted_text for mark in QUESTION_MARKS):
        return QUESTION
    return filler(unquoted_text)


def filler(text: str) -> str:
    """THANKS or RECEIPT if TEXT is nothing else; PLAIN otherwise."""
    has_thanks, has_receipt = _filler(text)
    return THANKS if has_thanks else RECEIPT if has_receipt else PLAIN


def is_mere_thanks(text: str) -> bool:
    """Whether TEXT is nothing but thanks, which answers no question. "Yes, thanks" may be an answer."""
    return _filler(unquoted(text)) == (True, False)


def _filler(text: str) -> tuple[bool, bool]:
    """Whether TEXT contains thanks, and whether it contains a receipt. If it contains anything else: neither."""
    if len(text) > LONGEST or "`" in text or ">" in text:
        return False, False
    words = _words(text)
    if len(words) > MOST_WORDS:
        return False, False
    if _is_thanks_for(text, words):
        return True, False
    has_thanks = has_receipt = False
    at = 0
    while at < len(words):
        phrase = next((phrase for phrase in PHRASES.get(words[at], ()) if words[at : at + len(phrase)] == phrase), None)
        word = words[at]
        at += len(phrase) if phrase else 1
        if phrase or word in CONFIRMING:
            is_thanks = bool(phrase) and not GRATITUDE.isdisjoint(phrase or ())
            has_thanks, has_receipt = has_thanks or is_thanks, has_receipt or not is_thanks
        elif word in GRATITUDE:
            has_thanks = True
        elif word not in FILLING:
            return False, False
    return has_thanks, has_receipt


def _is_thanks_for(text: str, words: list[str]) -> bool:
    """Whether TEXT is one sentence that thanks for something and goes on to nothing else."""
    start = words[1:] if words[:1] == ["many"] else words
    to = start[1:] if len(start) > 1 and start[1] == "you" else start
    is_for = len(to) > 2 and start[0] in GRATITUDE and to[1] in THANKED_FOR
    is_one = not any(mark in text.strip().rstrip("!. ") for mark in ",.;:!\n") and JOINING.isdisjoint(words)
    return is_for and is_one


def asks(text: str) -> bool:
    """Whether TEXT, by an agent, asks people for something: a question or a proposal, but no mere offer of help."""
    own_words = unquoted(text)
    sentences = _sentences(own_words)
    if any(sentence[-1] in QUESTION_MARKS and not _has(sentence, OFFERS) for sentence in sentences):
        return True
    end = [sentence for sentence in _sentences(own_words[-MOST_OF_PROPOSAL:]) if not _has(sentence, OFFERS)]
    return any(_has(sentence, PROPOSALS) for sentence in end)


def wants_no_reply(text: str) -> bool:
    """Whether TEXT says that no answer is needed."""
    return _has(unquoted(text).casefold(), NO_REPLY_NEEDED)


def _sentences(text: str) -> list[str]:
    """The sentences of TEXT in lower case, each with the mark at its end."""
    for mark in ("\n", "!", ". ", *QUESTION_MARKS):
        text = text.replace(mark, f"{mark}\n")
    return [sentence.casefold() for line in text.split("\n") if (sentence := line.strip())]


def _has(sentence: str, phrases: tuple[str, ...]) -> bool:
    return any(phrase in sentence for phrase in phrases)


def signal_of(text: str) -> str:
    """The reaction signal that can replace TEXT; empty if there is none."""
    phrase = " ".join(_words(unquoted(text)))
    signal = {THANKS: "seen", RECEIPT: "agree"}.get(intent_of(text), "")
    return SIGNALLED.get(phrase, signal)


def _words(text: str) -> list[str]:
    """The words of TEXT in lower case, without punctuation, mentions, and the skin tones of emoji."""
    plain = text.casefold().translate(BREAKS)
    words: list[str] = []
    for token in plain.split():
        word = token.strip("\"'").removesuffix("'s")
        if word and word[0] != "@":
            words += [word] if word.isascii() or word in CONFIRMING or word in GRATITUDE else _emoji(word)
    return words


def _emoji(word: str) -> list[str]:
    """Several emoji without spaces are several words."""
    bare = word.translate(MARKS_OF_EMOJI)
    characters = list(bare)
    return characters if all(each in CONFIRMING or each in GRATITUDE for each in characters) else [bare]
