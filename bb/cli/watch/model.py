"""The user's choices in `bb watch` (view, scroll offset, filter, pause) and the effect of each key on them.

An unknown key changes nothing.
"""

from __future__ import annotations

from bb.kernel.record import Record
from bb.ops.params import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

ALL, PROBLEMS, AGENTS, HELD, TIMELINE = VIEWS = ("all", "problems", "agents", "held", "timeline")
LONGEST_FILTER = 200


class View(Text):
    """The first view: all, problems, agents, held or timeline."""

    metavar = "VIEW"
    choices = VIEWS


class Chosen(Record):
    """The user's choices."""

    view: str = ALL
    offset: int = 0  # lines of the view above the first visible one
    filter: str = ""
    draft: str | None = None  # the filter being typed
    paused_at: int | None = None
    is_help: bool = False
    is_over: bool = False
    is_suspended: bool = False
    is_stale: bool = False  # whether the picture must be refreshed and redrawn


def press(chosen: Chosen, key: str, *, now: int, page: int) -> Chosen:
    """The choices after KEY was pressed; PAGE is the number of lines on a page."""
    if key == "interrupt":
        return chosen.replace(is_over=True)
    if key == "suspend":
        return chosen.replace(is_suspended=True)
    if chosen.draft is not None:
        return _type(chosen, chosen.draft, key)
    if key in SCROLLING:
        return chosen.replace(offset=min(max(SCROLLING[key](chosen.offset, page), 0), BOTTOM))
    if chosen.is_help and key not in ("q", "Q", "end of input"):
        return chosen.replace(is_help=False, offset=0)
    return _command(chosen, key, now)


def _type(chosen: Chosen, draft: str, key: str) -> Chosen:
    """One more key for the filter being typed."""
    match key:
        case "enter":
            return chosen.replace(draft=None, filter=draft.strip(), offset=0)
        case "escape" | "end of input":
            return chosen.replace(draft=None, filter="", offset=0)
        case "backspace":
            return chosen.replace(draft=draft[:-1])
        case "clear line":
            return chosen.replace(draft="")
        case "clear word":
            return chosen.replace(draft=draft.rstrip().rpartition(" ")[0])
    if len(key) > 1:
        return chosen
    return chosen.replace(draft=(draft + key)[:LONGEST_FILTER])


def _command(chosen: Chosen, key: str, now: int) -> Chosen:
    match key:
        case "q" | "Q" | "end of input":
            return chosen.replace(is_over=True)
        case " " | "p":
            return (
                chosen.replace(paused_at=now)
                if chosen.paused_at is None
                else chosen.replace(paused_at=None, is_stale=True)
            )
        case "/":
            return chosen.replace(draft=chosen.filter)
        case "escape":
            return chosen.replace(filter="", offset=0)
        case "f" | "tab":
            return _turned(chosen, 1)
        case "F" | "back tab":
            return _turned(chosen, -1)
        case "1" | "2" | "3" | "4" | "5":
            return chosen.replace(view=VIEWS[int(key) - 1], offset=0)
        case "?" | "h":
            return chosen.replace(is_help=True, offset=0)
        case "r":
            return chosen.replace(is_stale=True)
    return chosen


def _turned(chosen: Chosen, by: int) -> Chosen:
    return chosen.replace(view=VIEWS[(VIEWS.index(chosen.view) + by) % len(VIEWS)], offset=0)


BOTTOM = 1_000_000  # more lines than any view has; the layout limits it to the length of the view
SCROLLING: dict[str, Callable[[int, int], int]] = {
    "up": lambda offset, _: offset - 1,
    "k": lambda offset, _: offset - 1,
    "down": lambda offset, _: offset + 1,
    "j": lambda offset, _: offset + 1,
    "page up": lambda offset, page: offset - page,
    "page down": lambda offset, page: offset + page,
    "home": lambda _, __: 0,
    "g": lambda _, __: 0,
    "end": lambda _, __: BOTTOM,
    "G": lambda _, __: BOTTOM,
}
