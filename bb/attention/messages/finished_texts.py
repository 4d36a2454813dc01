"""Whether a person has finished writing, judged by the form of the last message.

Most people send a request in one message, and it ends with a question mark or with the name of the agent. Then nothing
more has to be waited for. Any sign that more follows counts against that: an open bracket, quotation or block of code,
an ellipsis, a number such as 1/2, or nothing but a greeting. In doubt, the text is not finished, and waiting costs
three seconds. If a person writes on after all, the turn is started again with both messages.
"""

from __future__ import annotations

from bb.attention.messages.mentions import unquoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

QUESTION_MARKS = frozenset("?？؟⁇⁈‽\u037e")
CLOSING = frozenset(")]}>*_~\"'”’»」』）】!！ \t\ufe0f\u200d")  # may follow a question mark: "**is it?**", "what?!"
PAIRS = ("()", "[]", "{}", "（）", "「」", "“”", "«»")
FENCES = ("```", "~~~")
ABOUT_A_MENTION = (
    3  # words with a meaning that a message needs if it ends with a name, so that "hey @bo" is not finished
)
# Words that only call or greet. A message that consists of them and names is followed by what its author wants.
CALLING = frozenset(
    "hey hi hello hallo hola hei ciao salut bonjour moin servus yo ok okay so well um uh hm hmm ah oh and please pls "  # noqa: SIM905
    "bitte quick question ping good morning afternoon evening day dear there team all guys everyone wait sorry".split()
)


def is_finished(pieces: Sequence[str]) -> bool:
    """Whether the author of these messages, in their order, has said everything."""
    written = [line.strip() for line in pieces[-1].split("\n") if line.strip()] if pieces else []
    said = "\n".join(map(unquoted, pieces))
    if not written or written[-1].startswith((">", *FENCES)) or _has_something_open("\n".join(pieces), said):
        return False
    tokens = written[-1].split()
    if _is_numbered(tokens[-1]) or _is_numbered(written[0].split()[0]) or "`" in tokens[-1]:
        return False
    words = _words(said)
    if _is_mention(tokens[-1]):
        return len(words) >= ABOUT_A_MENTION
    return bool(words) and _asks(tokens)


def is_only_a_call(pieces: Sequence[str]) -> bool:
    """Whether these messages only call somebody ("@bo", "hey"), so that their author is about to say why."""
    return any(piece.strip() for piece in pieces) and not _words("\n".join(map(unquoted, pieces)))


def _words(said: str) -> list[str]:
    """The words of SAID that neither name nor call somebody."""
    return [word for token in said.split() if (word := _word(token)) and word not in CALLING]


def _has_something_open(raw: str, said: str) -> bool:
    is_in_code = any(raw.count(fence) % 2 for fence in FENCES) or "`" in said
    return is_in_code or said.count('"') % 2 == 1 or any(said.count(pair[0]) > said.count(pair[1]) for pair in PAIRS)


def _asks(tokens: Sequence[str]) -> bool:
    """Whether the last word ends with a question mark. A symbol alone, such as an emoji, may follow it."""
    last = next((token for token in reversed(tokens) if not _is_symbol(token)), "")
    end = last.rstrip("".join(CLOSING))
    return end[-1:] in QUESTION_MARKS and "://" not in last if end else False


def _is_symbol(token: str) -> bool:
    return not token.isascii() and not any(letter.isalnum() or letter in QUESTION_MARKS for letter in token)


def _is_mention(token: str) -> bool:
    """Whether TOKEN names a person, an agent or a role, in one of the forms of the platforms: @bo, <@U1>, <!here>."""
    token = token.rstrip("!.,)")
    is_entity = token.startswith(("<@", "<!")) and token.endswith(">") and len(token) > 3
    return is_entity or (token[:1] == "@" and token[1:2].isalnum())


def _is_numbered(token: str) -> bool:
    """Whether TOKEN says that it belongs to one of several parts, of which more follow: 1/2, (1/n), [2/3]."""
    number, slash, many = token.strip("()[]:.").partition("/")
    if not slash or not number.isdecimal() or len(number) > 3:
        return False
    return many.casefold() in ("n", "x", "?") or (many.isdecimal() and len(many) <= 3 and int(number) < int(many))


def _word(token: str) -> str:
    """TOKEN as a plain word; empty if it is a name or holds no letter or digit."""
    if _is_mention(token.lstrip("(")):
        return ""
    word = token.casefold().strip("!.,;:…-–—()[]{}*_~\"'“”‘’«»¿¡" + "".join(QUESTION_MARKS))
    return word if any(letter.isalnum() for letter in word) else ""
