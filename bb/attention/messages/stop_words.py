"""Orders to stop, judged by their words: "stop!", "cancel the migration", "abbrechen".

An order is an imperative at the start of a short sentence. Everything else that holds the same word is none: "stop by
at 5", "don't stop", "can we cancel the meeting?", and whatever is quoted. What follows the word decides: nothing, a
word such as "it" or "now", or the thing to stop. The thing is returned, because "cancel the meeting" stops nobody who
works on a migration. Whether its author may give the order is decided in `judging/stopping`.
"""

from __future__ import annotations

from itertools import pairwise

from bb.attention.messages.mentions import unquoted
from bb.kernel.record import Record

LONGEST, MOST_WORDS = 300, 7  # characters of the text, and words of the order itself

# word -> why it is here. An entry with a space is two words. Words that are also nouns or prepositions need a reason.
WORDS = {
    "stop": "English, and used in most languages; `stop by`, `stop words` are excluded by what follows",
    "cancel": "English; usually with its object, which must be the work at hand",
    "abort": "English; in this form always an order",
    "halt": "English and German; as a German particle (`das ist halt so`) it does not begin a sentence",
    "stopp": "German",
    "abbrechen": "German: the infinitive is the usual order to a machine",
    "abbruch": "German: used like `abort`",
    "brich ab": "German: the imperative",
    "hör auf": "German: `stop that`",
    "aufhören": "German: the infinitive as an order",
    "arrête": "French, to a person or an agent that one knows",
    "arrêtez": "French, polite",
    "annule": "French: `cancel`",
    "annulez": "French, polite",
    "detente": "Spanish; `para` is left out, because it is also `for`",
    "detén": "Spanish",
    "cancela": "Spanish and Portuguese",
    "cancele": "Portuguese and polite Spanish",
    "aborta": "Spanish and Portuguese",
    "ferma": "Italian",
    "fermati": "Italian, to somebody",
    "annulla": "Italian: `cancel`",
    "annuleer": "Dutch: `cancel`; `stop` is Dutch, too",
    "anuluj": "Polish: `cancel`",
    "przestań": "Polish: `stop that`",
    "стоп": "Russian",
    "стой": "Russian",
    "отмена": "Russian: a noun, but alone it is the usual order",
    "отмени": "Russian: `cancel`",
    "остановись": "Russian",
    # These languages have no spaces or end an order with a particle, so the whole sentence is one word here.
    "停": "Chinese",
    "停止": "Chinese and Japanese",
    "停下": "Chinese",
    "取消": "Chinese: `cancel`",
    "中止": "Japanese and Chinese: `abort`",
    "止めて": "Japanese",
    "やめて": "Japanese",
    "ストップ": "Japanese",
    "キャンセル": "Japanese",
    "멈춰": "Korean",
    "중지": "Korean",
    "취소": "Korean: `cancel`",
}
FIRST = frozenset(words.split()[0] for words in WORDS)
# Words that may come before an order.
BEFORE = frozenset(
    "no nope wait oh hey hi ok okay please pls bitte nein non s'il por favor everyone all guys".split()  # noqa: SIM905
)
# Words after an order that name no thing: they stand for the work at hand.
AFTER = frozenset(
    "it that this them everything all now please pls immediately right away here at once asap the your my what you are "  # noqa: SIM905
    "you're doing work job task run working running das es jetzt sofort bitte alles ça tout maintenant eso todo ya ora "
    "tutto isso agora dat nu to teraz это сейчас".split()
)
# Words that make something else of `stop`: stop by, stop over, stop in, stop at the shop.
OTHERWISE = frozenset("by over in off short and or for on if when being".split())  # noqa: SIM905
QUOTES = tuple("\"'“„«‘")
ENDS = ".!;,\n…。！、"
ASKING = "?？؟"


class StopOrder(Record):
    """An order to stop. ABOUT holds the words for the thing to stop; empty if it is the work at hand."""

    about: tuple[str, ...] = ()

    def concerns(self, text: str) -> bool:
        """Whether the order is about the work that TEXT asked for."""
        bare = [word for word in map(_bare, text.casefold().split()) if word]
        joined = map("".join, pairwise(bare))  # "roll back" is "rollback"
        words = {_stem(word) for word in (*bare, *joined)}
        return all(_stem(word) in words for word in self.about)


def stop_order(text: str) -> StopOrder | None:
    """The order that TEXT gives; None if it gives none."""
    said = unquoted(text).strip()
    if not said or len(said) > LONGEST or said.startswith(QUOTES) or not _may_begin_an_order(said):
        return None
    words, is_question = _first_sentence(said)
    while words and _is_call(words[0]):
        words = words[1:]
    rest = next((words[size:] for size in (2, 1) if " ".join(words[:size]) in WORDS), None)
    if rest is None or is_question or len(words) > MOST_WORDS or (rest and rest[0] in OTHERWISE):
        return None
    return StopOrder(tuple(word for word in rest if word not in AFTER and not word.startswith(("@", "<@"))))


def _may_begin_an_order(said: str) -> bool:
    """Whether the first word besides a call begins an order. Almost every text ends here."""
    for token in said.split():
        word = _bare(token.casefold())
        if word and not _is_call(word):
            return word in FIRST
    return False


def _is_call(word: str) -> bool:
    return word in BEFORE or word.startswith(("@", "<@", "<!"))


def _first_sentence(said: str) -> tuple[list[str], bool]:
    """The words of the first sentence that has any besides a call, and whether it is a question."""
    words: list[str] = []
    for token in said.casefold().split():
        word = _bare(token)
        if word:
            words.append(word)
        end = token[-1:]
        is_only_a_call = all(map(_is_call, words))
        if end in ASKING:
            return words, True
        if end in ENDS and not is_only_a_call:
            break
    return words, False


def _bare(token: str) -> str:
    return token.strip("!.,;:…-–—()[]*_~\"'“”‘’。！、" + ASKING)


def _stem(word: str) -> str:
    """The beginning of a word, so that `migrating` and `migration` are one thing."""
    return word[:6] if len(word) > 6 else word
