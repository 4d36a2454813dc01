"""The message of a commit that bb makes, with its trailers."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")


def message(text: str, trailers: Sequence[tuple[str, str]]) -> str:
    """TEXT as git cleans a message that nobody edits, and TRAILERS in its last paragraph.

    A trailer whose name the text has already is not added again.
    """
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    kept: list[str] = []
    for line in lines:
        if line or (kept and kept[-1]):
            kept.append(line)
    while kept and not kept[-1]:
        kept.pop()
    last = kept[len(kept) - kept[::-1].index("") :] if "" in kept else []
    has_trailers = bool(last) and all(map(_is_trailer, last))
    present = {line.partition(":")[0].lower() for line in last} if has_trailers else set()
    more = [f"{name}: {value}" for name, value in trailers if name.lower() not in present]
    gap = [] if has_trailers or not more else [""]
    return "\n".join([*kept, *gap, *more]) + "\n"


def _is_trailer(line: str) -> bool:
    name, colon, value = line.partition(":")
    return bool(colon) and bool(name) and NAME.issuperset(name) and value.startswith(" ")
