"""The folds that each fact changes, and their modules. A fold's module is loaded when the first of its facts is read,
so a reservation does not load the folds of chat."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    Parts = Callable[[Any, Any], Any] | None

# the name of a fold -> its module, and the names of the facts that change its entries
FOLDED: dict[str, tuple[str, tuple[str, ...]]] = {
    "agent": (
        "bb.coordination.agents.roster",
        ("Registered", "Updated", "Retired", "NameSettled", "Started", "Stopped", "Seen"),
    ),
    "pause": ("bb.coordination.agents.pauses", ("Paused", "Unpaused")),
    "threshold": ("bb.coordination.agents.thresholds", ("Pinned",)),
    "reservation": (
        "bb.coordination.holdings.holdings",
        ("Reserved", "Renewed", "Released", "Transferred", "Expired", "TakenOver"),
    ),
    "place": ("bb.coordination.holdings.places", ("Queued", "LeftLine")),
    "notice": ("bb.coordination.protocol.notices", ("Incurred", "Resumed", "Resolved")),
    "redaction": ("bb.coordination.records.redactions", ("Redacted",)),
    "letter": ("bb.messaging.messages", ("Sent",)),
    "copy": ("bb.messaging.mail.mailbox", ("Sent", "Read", "Acked", "Agreed")),
    "cbcl": ("bb.messaging.cbcl.conversation_state", ("Sent", "Heard")),
    "cbcl.dialect": ("bb.cbcl.dialects", ("Installed", "Removed")),
    "group": (
        "bb.groups.group",
        (
            *("Created", "Changed", "ScopeAttached", "ScopeDetached", "ScopeChosen", "StateSet", "SettingsChanged"),
            *("GroupStarted", "GroupStopped"),
        ),
    ),
    "context": ("bb.groups.context.context", ("ContextChanged",)),
    "c2a.message": ("bb.attention.messages.messages", ("Posted", "Edited", "Deleted", "Posting", "Sent", "Incurred")),
    "c2a.delivery": (
        "bb.attention.state.deliveries",
        ("Posted", "Edited", "Deleted", "Moved", "Sent", "Incurred", "Read", "Acked", "Agreed"),
    ),
    "c2a.claim": ("bb.attention.state.claims", ("Claiming",)),
    "c2a.confirmation": ("bb.attention.state.confirmations", ("Confirming",)),
    "c2a.thread": ("bb.attention.state.threads", ("Posted",)),
    "c2a.setting": ("bb.attention.state.conversations", ("Arranged", "Bound", "Tuned")),
    "c2a.aside": ("bb.attention.state.activity", ("Typing", "Progressed", "Digested", "Refusal")),
}
ATTENTION = tuple(name for name in FOLDED if name.startswith("c2a."))

_loaded: dict[type[Any], list[tuple[ModuleType, Parts]]] = {}


def fold_module(name: str) -> ModuleType:
    """The module of the fold NAME."""
    module = FOLDED[name][0]
    __import__(module)
    return sys.modules[module]


def folds_for(fact: type[Any]) -> list[tuple[ModuleType, Parts]]:
    """The folds that a type of fact changes, each with its function `parts`, if it has one.

    `parts` splits a fact that means something different for each entry of the fold.
    """
    if fact not in _loaded:
        folds = [fold_module(name) for name, (_, facts) in FOLDED.items() if fact.__name__ in facts]
        _loaded[fact] = [(fold, getattr(fold, "parts", None)) for fold in folds]
    return _loaded[fact]
