"""Drafts: what a rule decides, as events that are not recorded yet."""

from __future__ import annotations

from bb.kernel import json_text, secret_patterns
from bb.kernel.errors import BbError
from bb.kernel.event import MERGED, REQUEST
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from bb.ledger.index.index import Index
    from bb.ledger.journal.kinds import Fact

ORIGIN = "salvaged_lamport"  # the original Lamport time of an event recorded again; new lines get a higher one
SYSTEM = "system"  # the author of markers and signatures
MOST_NAMED = 200  # writers in one marker
SHORTEST_SECRET = 15  # characters of the shortest known token


class Draft(Record):
    """An event to be recorded, before it has an id and a time."""

    by: str
    kind: str
    data: dict[str, Any]
    key: str | None = None  # the idempotency key
    scope_key: str = ""  # the key of the group's directory that it is about


class KeyedCall(Record):
    """A call with an idempotency key, and a digest of its request. With WINDOW, only a call in the last WINDOW
    milliseconds counts as an earlier one."""

    by: str
    key: str
    request: str
    window: int | None


class Decision:
    """What a rule decides. If it refuses and leaves facts, they are recorded, and the refusal is raised after that."""

    def __init__(self, decide: Callable[[Index], Sequence[Fact]]) -> None:
        self._decide = decide
        self.refusal: BbError | None = None

    def facts(self, index: Index) -> Sequence[Fact]:
        """The facts that the rule returns, or leaves when it refuses."""
        try:
            return self._decide(index)
        except BbError as refusal:
            if not refusal.leaving:
                raise
            self.refusal = refusal
            return refusal.leaving


def marker_drafts(store: str, heads: dict[str, int]) -> list[Draft]:
    """The marker for lines of other writers up to HEADS, if there are any. The heads of very many writers are saved in
    STORE, and the marker has only their digest."""
    if not heads:
        return []
    if len(heads) <= MOST_NAMED:
        return [Draft(SYSTEM, MERGED, {"heads": heads})]
    from bb.ledger.journal import received  # noqa: PLC0415  (most markers name a few writers)

    return [Draft(SYSTEM, MERGED, {"heads": {}, "writers": len(heads), "digest": received.keep_heads(store, heads)})]


def draft_of(fact: Fact, by: str, allow_secret: str | None = None) -> Draft:
    """The event that records a fact. Refuses secrets that are not allowed."""
    from bb.ledger.journal import kinds  # noqa: PLC0415  (it knows every fact; reading does not need it)

    kind, data = kinds.kind_and_data(fact)
    if secret_patterns.may_hold(json_text.dumps(data)):
        from bb.ledger.records import recordable  # noqa: PLC0415  (needed only if a quick search finds something)

        if recordable.refuse_secrets_in(data, allow_secret):
            data["secret_allowed"] = allow_secret
    return Draft(by, kind, data, scope_key=kinds.scope_of(fact))


def with_key(drafts: Sequence[Draft], by: str, key: str, request: str) -> list[Draft]:
    """DRAFTS with an idempotency key, and with the digest of their request, if it has one. Drafts of other authors than
    BY have none: a key belongs to its author, who may use the same word for a request of its own."""
    noted = {REQUEST: request} if request else {}
    return [draft.replace(key=key, data=draft.data | noted) if draft.by == by else draft for draft in drafts]


def refuse_secret_names(names: Iterable[str]) -> None:
    """Refuse authors whose name is a secret."""
    for name in names:
        if len(name) >= SHORTEST_SECRET:
            secret_patterns.refuse_secrets(name)
