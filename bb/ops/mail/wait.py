"""`bb agent wait`: wait for mail, for an acceptance, and for a place in line."""

from __future__ import annotations

from itertools import islice

from bb.attention.turns.news import GRANTED
from bb.kernel import ids
from bb.kernel.errors import Busy
from bb.kernel.plurals import counted
from bb.ledger.records.changes import LedgerWatch
from bb.ledger.views import mail as mails
from bb.messaging import messages as letters
from bb.messaging.mail import mailbox
from bb.ops.catalogue import op
from bb.ops.desk import agent_news, line, signs_of_life
from bb.ops.mail import inbox
from bb.ops.params import AgentOrPerson, Seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.attention.turns.news import News
    from bb.ledger.index.index import Index
    from bb.ops.desk.agent_news import Memory
    from bb.ops.desk.desk import Desk

NothingCame = Busy.declare(
    "NOTHING_CAME", "No message arrived in that time", hint="wait again: `bb wait`, or continue with other work"
)

MOST = 50  # messages in one answer; `inbox` lists the rest


@op(
    "agent.wait",
    screen="overview",
    examples=(
        "bb agent wait --agent cobalt-harbor --timeout 600 --json",
        "bb agent wait --new && bb agent inbox",
        "bb wait --timeout 600",
    ),
    short="wait",
)
def wait(
    desk: Desk,
    *,
    agent: AgentOrPerson | None = None,
    timeout: Seconds = Seconds(300),  # noqa: B008
    new: bool = False,
) -> dict[str, Any]:
    """Wait until a message for you arrives, and show it. Waiting uses almost no CPU time.

    It also ends when an agent accepts what you handed over (`accepted` in the answer), and when your place in line
    becomes a reservation (`granted`). An order of the person arrives as a message.

    Returns at once if there is mail or news that your session was not told yet, by `bb turn` or an earlier wait. After
    a BLOCKED of yours, mail that was unread before it does not end the wait either; `older_unread` counts such mail. If
    nothing arrives in time, it fails with NOTHING_CAME (exit status 6). Waiting counts as a sign of life.

    Parameters:
        timeout: Seconds to wait, up to a day.
        new: Wait only for what arrives from now on.
    """
    who, index = inbox.inbox_owner(desk, agent, acts=True)
    wake = _Wake(desk, who, index, is_new=new)
    signs_of_life.record_sign_of_life(desk, who)
    watch = LedgerWatch(desk.store)
    for _ in watch.changes(timeout, every_minute=wake.every_minute, is_over=desk.is_client_gone):
        try:
            answer = wake.news(desk.store.caught_up())
        except Busy:
            continue
        if answer:
            return {"agent_id": who, **answer, "waited_seconds": watch.waited, **wake.older}
    why = f"no message arrived for {who} within {timeout} s"
    if not wake.ignored:
        raise NothingCame(why)
    count = len(wake.ignored)
    hint = f"read the {counted(count, 'older unread message')}: `bb inbox --state unread`; or wait again"
    raise NothingCame(why, hint=hint, older_unread=count)


class _Wake:
    """What ends the wait of an agent."""

    def __init__(self, desk: Desk, who: str, index: Index, *, is_new: bool) -> None:
        self._desk, self._who = desk, who
        since = None if is_new else _last_blocked(index, who)
        unread = index.newest_keys(mailbox.NAME, f"unread {who}", agent_news.MOST)
        before = {_event(key) for place, key in unread if is_new or (since is not None and place < since)}
        told = set() if who == ids.PERSON else set(self._memory.session.told)
        self.ignored = before | {event for event in (_event(key) for _, key in unread) if event in told}
        # The person's session is not known, so the person is told only of what arrives from now on.
        is_from_now_on = is_new or who == ids.PERSON
        self._known = {news.name for news in self._replies(index, self._memory)} if is_from_now_on else set()

    def every_minute(self) -> None:
        signs_of_life.record_sign_of_life(self._desk, self._who)
        if self._who != ids.PERSON:
            try:
                line.grant(self._desk, self._desk.store.caught_up(), self._who)
            except Busy:  # the next minute does it
                return

    @property
    def older(self) -> dict[str, int]:
        """The number of unread messages that do not end the wait; empty if there are none."""
        return {"older_unread": len(self.ignored)} if self.ignored else {}

    def news(self, index: Index) -> dict[str, Any]:
        """What ends the wait, which counts as told; empty if nothing does."""
        memory = self._memory  # read anew, because others may have told something meanwhile
        unread = mails.inbox(index, self._who, mailbox.UNREAD)
        messages = list(islice((each for each in unread if self._ends(index, _event(each["message_id"]))), MOST))
        replies = [
            (news, row)
            for news in self._replies(index, memory)
            if news.name not in self._known and (row := news.read())
        ]
        if not (messages or replies):
            return {}
        answer: dict[str, Any] = {"messages": messages}
        for news, row in replies:
            answer.setdefault(news.member, []).append(row)
        if self._who != ids.PERSON:
            names = [*(_event(each["message_id"]) for each in messages), *(news.name for news, _ in replies)]
            agent_news.remember(self._desk, memory, names, seen=memory.session.told, begins=False)
        return answer

    def _ends(self, index: Index, event: str) -> bool:
        """Whether a message ends the wait. The notice of a grant does not, because the grant does."""
        return event not in self.ignored and agent_news.told_by(index, event) != GRANTED

    @property
    def _memory(self) -> Memory:
        return agent_news.memory_of(self._desk, self._who)

    def _replies(self, index: Index, memory: Memory) -> list[News]:
        return agent_news.replies(self._desk, index, self._who, memory)


def _last_blocked(index: Index, who: str) -> str | None:
    """The place of the last BLOCKED that WHO sent; None if it sent none."""
    return next((place for place, _ in index.newest_keys(letters.NAME, letters.blocked_term(who), 1)), None)


def _event(name: str) -> str:
    """The event of a message, from its id or from the key of a copy."""
    return name.partition(" ")[0].partition("_")[0]
