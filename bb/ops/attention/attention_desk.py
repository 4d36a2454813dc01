"""Reading and changing the C2A state of one ledger, as one agent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bb.attention.acts.refusal_records import may_record, refusal_fact
from bb.attention.facts import Answer, AttentionFact
from bb.attention.refusals import NUMBERS
from bb.attention.state.attention_state import AttentionState
from bb.coordination.agents import roster
from bb.kernel import ids
from bb.kernel.errors import BbError, Usage
from bb.kernel.secret_patterns import SecretFound
from bb.ledger.index.index import Index
from bb.ledger.records.store import Store
from bb.ledger.views import attention
from bb.ops.desk.desk import Desk
from bb.ops.params import Text

Decide = Callable[[AttentionState, int], Answer]


NAMED = "choose another name, id or key: C2A replaces a secret in a text by its type, but it cannot change a name"


class CallingAgent(Text):
    """The calling agent; BB_AGENT unless given."""

    metavar = "ID"
    is_agent = True


class Event(Text):
    """The event's id, as `bb chat list` and the header of a message show it."""

    metavar = "EVENT"


class ThreadName(Text):
    """The thread, as CONVERSATION/THREAD."""

    metavar = "CONVERSATION/THREAD"


NeedsEvent = Usage.declare(
    "EVENT_OR_THREAD",
    "The request must name either an event or a thread",
    hint="pass an event's id, or --thread CONVERSATION/THREAD",
)


class C2aDesk:
    """One caller with the ledger of the repository or of a group."""

    def __init__(self, desk: Desk, agent: str | None, group_id: Any = None) -> None:
        self.desk = desk
        self.store = store_of(desk, group_id)
        self._named = agent

    @property
    def agent(self) -> str:
        """The caller. On a socket this name is claimed and not proven, like every other name there."""
        if self._named == ids.PERSON:
            return ids.PERSON
        return self.desk.caller(self._named)

    @property
    def subject(self) -> str:
        """The agent that the request is about, if that is not the caller."""
        return self.desk.subject(self._named)

    def book(self, index: Index | None = None) -> AttentionState:
        """The current C2A state."""
        index = index or self.store.caught_up()
        return attention.book(self.store, index, self.desk.now(), self.desk.stale_after_in(index))

    def act(self, decide: Decide, by: str | None = None) -> dict[str, Any]:
        """Record the facts that DECIDE returns, each by its own author, and return DECIDE's answer. Refusals in AUDITED
        are recorded too."""
        answer: dict[str, Any] = {}
        now = self.desk.now()
        who = by or self.agent

        def facts(index: Index) -> list[AttentionFact]:
            _refuse_another_session(self.desk, index, who)
            try:
                decided, answered = decide(self.book(index), now)
            except BbError as refusal:
                if refusal.code in AUDITED and may_record(refusal, self.book(index), who, now):
                    refusal.leaving = (*refusal.leaving, refusal_fact(who, refusal))
                raise
            answer.update(answered)
            return decided

        try:
            self.store.record(facts, by=who, now=now, author=lambda fact: str(getattr(fact, "by", who)))
        except SecretFound.error as refusal:
            refusal.hint = NAMED  # C2A has no --allow-secret
            raise
        return answer


def _refuse_another_session(desk: Desk, index: Index, who: str) -> None:
    """Refuse if the caller is known to be a different session from the one that holds the name WHO."""
    agent = roster.agent(who, index.state(roster.NAME, who))
    if agent and not agent.is_retired and (desk.sessions or agent.session):
        from bb.ops.desk import signs_of_life  # noqa: PLC0415  (not needed without a session)

        signs_of_life.refuse_other_session(desk, index, who)


# The refusals to record: an agent tried to say too much, to act for another agent, or to look at what it may not see.
AUDITED = frozenset(NUMBERS) - {"NOT_INITIALIZED_SESSION", "RESYNC_REQUIRED", "DELIVERY_FAILED"}


def store_of(desk: Desk, group_id: Any) -> Store:
    """The ledger of the named group, else of the current repository."""
    if group_id or desk.is_served:
        from bb.ops.desk import group_desk  # noqa: PLC0415  (hot verbs do not load groups)

        return group_desk.open_group(desk, group_id).store
    return desk.ledger


def subject_of(event: str | None, thread: str | None) -> dict[str, str]:
    """The event or the thread that a request names, in the recorded form. Refused unless it names exactly one."""
    if bool(event) == bool(thread):
        raise NeedsEvent()
    conversation, _, name = (thread or "").rpartition("/")
    return {"event": event or "", "thread": f"{conversation} {name}" if thread else ""}
