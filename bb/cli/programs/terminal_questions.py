"""Questions to the person at the terminal, one at a time and in order. Each is answered with yes or no."""

from __future__ import annotations

from collections.abc import Callable

YES, NO = ("y", "yes"), ("", "n", "no")
REPLACED_FOR = 1.0  # seconds in which a line may still be meant for the question before


class Questions:
    """The open questions. SHOW puts one on the terminal; NOW is a monotonic clock, in seconds."""

    def __init__(self, show: Callable[[str], None], now: Callable[[], float]) -> None:
        self._show, self._now = show, now
        self._open: dict[str, tuple[str, Callable[[bool], None]]] = {}
        self._replaced_at = -REPLACED_FOR

    def put(self, name: str, text: str, answer: Callable[[bool], None]) -> None:
        """Ask TEXT. ANSWER gets the person's answer. A question with a known NAME is not asked again."""
        if name not in self._open:
            self._open[name] = (text, answer)
            if len(self._open) == 1:
                self._show(text)

    def drop(self, name: str) -> None:
        """The question NAME needs no answer any more. If the person was about to answer it, the answer must not count
        for the next one."""
        is_shown = next(iter(self._open), None) == name
        self._open.pop(name, None)
        if is_shown:
            self._replaced_at = self._now()
            self._show_first()

    def heard(self, line: str) -> None:
        """The person has typed a LINE."""
        word = line.strip().lower()
        name = next(iter(self._open), None)
        if name is None:
            return
        if word in (*YES, *NO) and self._now() >= self._replaced_at + REPLACED_FOR:
            _, answer = self._open.pop(name)
            answer(word in YES)
        self._show_first()

    def _show_first(self) -> None:
        for text, _ in list(self._open.values())[:1]:
            self._show(text)
