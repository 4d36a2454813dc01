"""Activity besides messages: typing, progress, digests and refusals. A fold."""

from __future__ import annotations

from bb.attention.facts import Digested, Progressed, Refusal, Typing
from bb.kernel import clock
from bb.kernel.total_order import earliest, latest, sortable
from bb.kernel.total_order import event as event_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.kernel.total_order import Place, State

NAME = "c2a.aside"
FACTS = (Typing, Progressed, Digested, Refusal)
TYPES, PROGRESS, DIGESTED, REFUSED = "types ", "progress ", "digested ", "refused "  # prefixes of the keys


def keys(fact: Typing | Progressed | Digested | Refusal, at: Place) -> list[str]:
    """The entry that FACT is about."""
    match fact:
        case Typing(window=window, author=author):
            return [f"{TYPES}{window} {author}"]
        case Progressed(by=by, token=token):
            return [f"{PROGRESS}{by} {token}"]
        case Digested(by=by):
            return [DIGESTED + by]
        case Refusal():
            return [REFUSED + event_at(at)]


def step(state: State | None, fact: Typing | Progressed | Digested | Refusal, at: Place, ts: str) -> State:
    """STATE after one more fact."""
    after = dict(state or {})
    match fact:
        case Typing(is_typing=is_typing):
            latest(after, "typing", at, [is_typing, clock.parse_or(ts, 0)])
        case Progressed(by=by, about=about):
            latest(after, "progress", at, [by, about, clock.parse_or(ts, 0)])
        case Digested(upto=upto):
            latest(after, "upto", at, upto)
        case Refusal(by=by, code=code, about=about):
            earliest(after, "refused", at, [by, code, about, clock.parse_or(ts, 0)])
    return after


def terms(name: str, state: State) -> list[tuple[str, str]]:  # noqa: ARG001
    """The index terms of an entry."""
    if "progress" in state:
        return [(PROGRESS.strip(), sortable(state["progress"][:3]))]
    if "refused" in state:
        *at, (by, *_) = state["refused"]
        return [(REFUSED.strip(), sortable(at)), (f"{REFUSED}{by}", sortable(at))]
    return []


def typing(state: Mapping[str, Any] | None) -> tuple[bool, int]:
    """Whether the author is typing, and when that began or ended."""
    is_typing, since = (state or {}).get("typing", [0, 0, 0, [False, 0]])[3]
    return is_typing, since
