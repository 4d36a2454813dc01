"""The text of `bb turn`: one sentence for each piece of news, and nothing without news."""

from __future__ import annotations

from bb.attention.turns import agent_news
from bb.cli.screens import styling
from bb.kernel.foreign import Foreign, sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def turn(answer: Foreign) -> list[str]:
    """The news of an agent's turn."""
    lines = [*agent_news.sentences(answer), *styling.fleet_age(answer)]
    if left_out := agent_news.omitted(answer):
        lines.append(f"({left_out}: {sentence(answer['hint'])})")
    return [*lines, *([agent_news.LABEL] if agent_news.has_words_of_others(answer) else [])]


FORMS: dict[str, Callable[[Foreign], Iterable[str]]] = {"turn": turn}
UNWRAPPED = ("turn",)
