"""Working at what C2A keeps: one agent, one ledger, one moment."""

from __future__ import annotations

from bb.attention.refusals import NUMBERS, refused
from bb.coordination.agents import roster
from bb.kernel import ids
from bb.kernel.errors import BbError
from bb.kernel.secret_patterns import SecretFound
from bb.ledger.views import attention
from bb.ops.params import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bb.attention.facts import AttentionFact
    from bb.attention.state.book import Book
    from bb.ledger.index.index import Index
    from bb.ledger.records.store import Store
    from bb.ops.desk.desk import Desk

    Decide = Callable[[Book, int], tuple[list[AttentionFact], dict[str, Any]]]


NAMED = "choose another name, id or key: in texts, C2A records a secret as its kind, but a name has to stay as it is"


class Self(Text):
    """The agent that asks; BB_AGENT unless given."""

    metavar = "ID"
    is_agent = True


class Event(Text):
    """The event, by the id that `bb chat list` and a header show."""

    metavar = "EVENT"


class ThreadName(Text):
    """The thread: its conversation, a slash, and its id there."""

    metavar = "CONVERSATION/THREAD"


class Attending:
    """One caller, at the ledger of the repository or of a group."""

    def __init__(self, desk: Desk, agent: str | None, group_id: Any = None) -> None:
        self.desk = desk
        self.store = store_of(desk, group_id)
        self._named = agent

    @property
    def agent(self) -> str:
        """Who asks. On a socket that is a claim like every other name there."""
        if self._named == ids.PERSON:
            return ids.PERSON
        return self.desk.caller(self._named)

    @property
    def subject(self) -> str:
        """Whom it is about, where that is not who asks."""
        return self.desk.subject(self._named)

    def book(self, index: Index | None = None) -> Book:
        """What is known now."""
        index = index or self.store.caught_up()
        return attention.book(self.store, index, self.desk.now(), self.desk.stale_after_in(index))

    def act(self, decide: Decide, by: str | None = None) -> dict[str, Any]:
        """Record what DECIDE arrives at, each fact in the name it has; what it answers. That an agent wanted more than
        it may is recorded too."""
        answer: dict[str, Any] = {}
        now = self.desk.now()
        who = by or self.agent

        def facts(index: Index) -> list[AttentionFact]:
            _refuse_another_session(self.desk, index, who)
            try:
                found, answered = decide(self.book(index), now)
            except BbError as refusal:
                if refusal.code in AUDITED:
                    refusal.leaving = (refused(who, refusal),)
                raise
            answer.update(answered)
            return found

        try:
            self.store.record(facts, by=who, now=now, author=lambda fact: str(getattr(fact, "by", who)))
        except SecretFound as refusal:
            refusal.hint = NAMED  # nobody can vouch for it here, also where a plain message takes --allow-secret
            raise
        return answer


def _refuse_another_session(desk: Desk, index: Index, who: str) -> None:
    """Refuse where the caller is known to be another session than the one that works as WHO."""
    known = roster.agent(who, index.state(roster.NAME, who))
    if known and not known.is_retired and (desk.sessions or known.session):
        from bb.ops.desk import signs_of_life  # noqa: PLC0415  (who names no session does without)

        signs_of_life.may_act(desk, index, who)


# What says that an agent wanted to say too much, or what was not its own to say.
AUDITED = frozenset(NUMBERS) - {"NOT_INITIALIZED_SESSION", "NOT_FOUND", "RESYNC_REQUIRED", "DELIVERY_FAILED"}


def store_of(desk: Desk, group_id: Any) -> Store:
    """The ledger that is meant: that of a group which is named, else of where we are."""
    if group_id or desk.is_served:
        from bb.ops.desk import group_desk  # noqa: PLC0415  (who only asks for what is new does not pay for groups)

        return group_desk.of(desk, group_id).store
    return desk.ledger


def window_of(thread: str) -> str:
    """A thread's name as it is kept."""
    conversation, _, name = thread.rpartition("/")
    return f"{conversation} {name}"
