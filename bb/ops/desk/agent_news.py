"""What an agent has to be told now, collected from the ledger, and the memory of what its session was already told.

`bb turn`, the MCP tool `session`, `bb agent wait` and the prompt hook of editors share this collection and this memory.
The rules about what is said, and how much, are in `attention/turns/agent_news.py`.
"""

from __future__ import annotations

import os
from itertools import dropwhile, takewhile

from bb.attention.turns import news
from bb.attention.turns.news import News
from bb.coordination.agents import callers
from bb.coordination.holdings import holdings
from bb.coordination.protocol import notices
from bb.kernel import clock, ids
from bb.kernel.record import Record
from bb.ledger.local import editor_sessions, presence
from bb.messaging.mail import mailbox
from bb.ops.desk import line, pause_check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from typing import Any

    from bb.coordination.holdings.holdings import Reservation
    from bb.ledger.index.index import Index
    from bb.ledger.local.editor_sessions import Session
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk

MOST = 2000  # newest entries of each kind that are looked through
MOST_OF_THE_PAST = 100  # the same, for a session that begins
OLD = 24 * clock.HOUR  # what happened longer ago is no news to a session that begins
LINES = os.path.join("bb", "lines", "files")  # in the git directory of a work tree: what is known of its lines
WAITS = "waits "  # prefix of the names that are forgotten once the agent no longer waits


class Memory(Record):
    """What a session was told. FILE is its file."""

    file: str
    session: Session


def memory_of(desk: Desk, who: str, *, is_hook: bool = False) -> Memory:
    """The memory of the caller's session as WHO. The memory of another agent is never used. A hook of an editor also
    notes that the agent is at work in this worktree."""
    file = _file(desk, who)
    session = editor_sessions.read_file(desk.place.store, file)
    if is_hook:
        session = session.replace(agent=who, work_tree=desk.place.work_tree or session.work_tree)
    return Memory(file, session)


def _file(desk: Desk, who: str) -> str:
    """The file of the host's session if it names this agent; else one for the session and the agent. Without a session
    id: the file of the session that is known to hold the name, else one for the name."""
    store = desk.place.store
    if sessions := desk.host_sessions or callers.named_sessions(desk.env):
        for session in sessions:
            if editor_sessions.read(store, session).agent == who:
                return editor_sessions.stem(session)
        return editor_sessions.stem(f"{sessions[0]}\n{who}")
    digest = presence.session(store, who)
    known = (
        editor_sessions.stem_of_digest(store, digest) if callers.is_known(digest) and ids.is_session(digest) else None
    )
    return known or editor_sessions.stem(editor_sessions.without_id(who))


def remember(
    desk: Desk, memory: Memory, names: Iterable[str], *, seen: Collection[str] = (), begins: bool = True
) -> None:
    """Save that the session was told NAMES. It is saved before it is shown: news that is shown twice looks like two
    pieces of news. SEEN are names that still apply, so they are the last to be forgotten. BEGINS is false if not all
    that was old at the beginning of the session is among NAMES."""
    told = [name for name in memory.session.told if name not in seen]
    told += [name for name in memory.session.told if name in seen]
    kept = [name for name in told if not name.startswith(WAITS) or name in seen]
    is_begun = begins or memory.session.is_begun
    session = memory.session.replace(told=tuple(dict.fromkeys([*kept, *names])), is_begun=is_begun)
    if session != memory.session:
        editor_sessions.write_file(desk.place.store, memory.file, session)


def remember_reminders(desk: Desk, memory: Memory, names: Iterable[str]) -> None:
    """Save that the session was reminded of NAMES when it was about to stop."""
    session = memory.session.replace(reminded=(*memory.session.reminded, *names))
    editor_sessions.write_file(desk.place.store, memory.file, session)


class Collected(Record):
    """The NEWS that the session was not told before, and the names of everything SEEN, told before or not."""

    news: tuple[News, ...]
    seen: frozenset[str]
    old: tuple[str, ...] = ()  # names that count as told, because they happened long before the session began


def collect(desk: Desk, index: Index, who: str, memory: Memory, *, is_all: bool = False) -> Collected:
    """Everything that WHO is to be told now. IS_ALL repeats what applies until it is lifted or accepted."""
    collector = _Collector(desk, index, who, memory, is_all=is_all)
    found = tuple(collector.everything())
    return Collected(found, frozenset(collector.seen), tuple(collector.old))


def orders(desk: Desk, index: Index, who: str) -> list[News]:
    """The person's orders that apply to WHO now, whether it was told of them or not."""
    collector = _Collector(desk, index, who, Memory("", editor_sessions.Session(who)), is_all=True)
    return [*collector.pause(), *collector.freezes()]


def replies(desk: Desk, index: Index, who: str, memory: Memory) -> list[News]:
    """What WHO may wait for besides mail: acceptances and granted places that its session was not told yet."""
    collector = _Collector(desk, index, who, memory, is_all=False)
    return [*collector.acceptances(), *collector.grants()]


class _Collector:
    """Looks for news. What was told before is skipped by its name, before anything else about it is read."""

    def __init__(self, desk: Desk, index: Index, who: str, memory: Memory, *, is_all: bool) -> None:
        self.desk, self.index, self.who, self.memory = desk, index, who, memory
        self.is_all = is_all
        self.seen: set[str] = set()
        self.old: list[str] = []
        self._told = frozenset(memory.session.told)
        self._held: Holdings | None = None

    @property
    def held(self) -> Holdings:
        if self._held is None:
            self._held = self.desk.holdings(self.index, self.desk.now())
        return self._held

    def everything(self) -> Iterator[News]:
        yield from self.pause()
        yield from self.freezes()
        yield from self._losses()
        yield from self._expired()
        yield from self._commits()
        yield from self._contests()
        yield from self._mail()
        yield from self.acceptances()
        yield from self.grants()
        yield from self._waiting()

    def _news(
        self, member: str, name: str, row: Callable[..., dict[str, Any] | None], *arguments: Any
    ) -> Iterator[News]:
        """One piece of news, unless it was told before. ROW makes its row of the ARGUMENTS."""
        self.seen.add(name)
        if name not in self._told or (self.is_all and member in news.STANDING):
            yield News(member, name, lambda: row(*arguments))

    def pause(self) -> Iterator[News]:
        if pause := pause_check.pause_of(self.index, self.who):
            yield from self._news(news.PAUSED, f"paused {pause.since}", pause.as_json)

    def freezes(self) -> Iterator[News]:
        if not all(self.index.count(holdings.NAME, f"live of {agent}") for agent in (ids.PERSON, self.who)):
            return
        met = self.held.overlaps(own.scope for own in self.held.reservations_of_agent(self.who))
        for frozen in {meeting.held.reservation.id: meeting.held for meeting in met}.values():
            freeze = frozen.reservation
            if freeze.is_freeze:
                row = {"scope": freeze.scope, "until": frozen.ends_at, "why": freeze.why}
                yield from self._news(news.FROZEN, f"frozen {freeze.id}", dict, row)

    def _losses(self) -> Iterator[News]:
        """The reservations that others ended."""
        for place, key in self._ended(holdings.NAME, holdings.lost_term(self.who), self._loss_at):
            yield from self._news(news.LOST, _event_at(place), self._loss, key, place)

    def _tenures(self, key: str, place: str) -> Iterator[Reservation]:
        """The reservation of the holder that lost it at PLACE, and those of the holders after it."""
        ever = holdings.tenures(key, self.index.state(holdings.NAME, key))
        return dropwhile(lambda tenure: tenure.ended_place != place, ever)

    def _loss_at(self, key: str, place: str) -> int:
        return next(self._tenures(key, place)).ended_at or 0

    def _loss(self, key: str, place: str) -> dict[str, Any]:
        lost, *later = self._tenures(key, place)
        to = {"to": later[0].agent} if later else {}
        at = clock.text(lost.ended_at or 0)
        return {"scope": lost.scope, "how": lost.state, "by": lost.ended_by, **to, "at": at}

    def _expired(self) -> Iterator[News]:
        """The reservations that ended without an event. The agent is alive, so their time is over only if they were not
        renewed for a day. A global one also ends if it is not admitted."""
        for key, state in self.index.entries_by_term(holdings.NAME, f"live of {self.who}"):
            reservation = holdings.reservation(key, state)
            if reservation and (how := self._end_without_event(reservation)):
                row = {"scope": reservation.scope, "how": how}
                yield from self._news(news.LOST, f"{how} {reservation.id} {reservation.renewed_at}", dict, row)

    def _end_without_event(self, reservation: Reservation) -> str | None:
        if reservation.is_global and not self.held.counts(reservation):
            how = self.held.state_of(reservation, is_over=False)
            return how if how in (holdings.TAKEN_OVER, holdings.VOID) else None
        now = self.desk.now()
        return holdings.EXPIRED if reservation.expiry(now, now) <= now else None

    def _commits(self) -> Iterator[News]:
        """What others have committed to files in which the agent has uncommitted lines."""
        place = self.desk.place
        if place.work_tree is None or place.is_aside or not os.path.isdir(os.path.join(place.git_dir, LINES)):
            return
        from bb.ledger.lines import commits_of_others, lines_store  # noqa: PLC0415  (many work trees have no lines)

        for commit in commits_of_others.commits(lines_store.LinesStore(place), self.who, self.desk.now()):
            yield from self._news(news.COMMITTED, f"commit {commit.base} {commit.path}", commit.as_json)

    def _contests(self) -> Iterator[News]:
        """The agents that work on the same paths."""
        if not self.index.count(notices.NAME, notices.UNSETTLED):
            return
        from bb.ledger.git import work_tree  # noqa: PLC0415  (rarely needed)
        from bb.ledger.views.protocol_events import Events  # noqa: PLC0415

        for event in Events(self.index, self.held, work_tree.root_of(self.desk.place)).open_incursions():
            if self.who in (event["from_agent"], event["to_agent"]):
                other = event["from_agent"] if self.who == event["to_agent"] else event["to_agent"]
                doubt = _doubt(event) if other == event["from_agent"] else {}
                row = {"with": other, "scope": event["scope"], **doubt}
                yield from self._news(news.CONTESTED, event["id"], dict, row)

    def _mail(self) -> Iterator[News]:
        owed = self._copies(f"owed {self.who}")
        for event in owed:
            yield from self._news(news.TO_ACCEPT, event, self._letter, event, "category")
        for event in self._copies(f"unread {self.who}"):
            if event not in owed:
                yield from self._news(news.UNREAD, event, self._unread, event)

    def _copies(self, term: str) -> list[str]:
        """The events of the newest messages under TERM."""
        return [key.partition(" ")[0] for _, key in self.index.newest_keys(mailbox.NAME, term, MOST)]

    def _unread(self, event: str) -> dict[str, Any] | None:
        """An unread message; None for a notice of bb whose news another member tells. A session that begins is not told
        of old losses, so it is told of their notices."""
        member = told_by(self.index, event)
        is_told = member in news.MEMBERS and (member != news.LOST or self.memory.session.is_begun)
        return None if is_told else self._letter(event)

    def _letter(self, event: str, *members: str) -> dict[str, Any] | None:
        from bb.ledger.views import mail as mails  # noqa: PLC0415  (most turns have no news)

        copy = mails.copy_of(self.index, event, self.who)
        if copy is None:
            return None
        row = {"id": event, "from": copy["from_agent"], **{name: copy[name] for name in members}}
        return {**row, **_doubt(copy), "subject": copy["subject"][: news.SUBJECT_LENGTH]}

    def acceptances(self) -> Iterator[News]:
        """The messages of this agent that others accepted."""
        for place, key in self._ended(mailbox.NAME, mailbox.accepted_term(self.who), self._accepted_at):
            yield from self._news(news.ACCEPTED, _event_at(place), self._acceptance, key)

    def _accepted_at(self, key: str, place: str) -> int:  # noqa: ARG002
        return clock.parse_or(self.index.state(mailbox.NAME, key)["acked"][3], 0)

    def _acceptance(self, key: str) -> dict[str, Any] | None:
        from bb.messaging import messages  # noqa: PLC0415  (most turns have no news)

        event, _, by = key.partition(" ")
        letter = self.index.state(messages.NAME, event)
        if letter is None:
            return None
        return {"id": event, "by": by, "subject": messages.sent(letter).subject[: news.SUBJECT_LENGTH]}

    def _ended(self, fold: str, term: str, happened_at: Callable[[str, str], int]) -> list[tuple[str, str]]:
        """The entries of TERM. For a session that begins, those of long ago count as told."""
        found = self.index.newest_keys(fold, term, MOST)
        if self.memory.session.is_begun:
            return found
        recent = list(takewhile(lambda entry: happened_at(entry[1], entry[0]) >= self._begin, found[:MOST_OF_THE_PAST]))
        self.old += [_event_at(place) for place, _ in found[len(recent) :]]
        return recent

    @property
    def _begin(self) -> int:
        return self.desk.now() - OLD

    def grants(self) -> Iterator[News]:
        """The places in line that became reservations."""
        for name, row in line.granted_to(self.index, self.who, self.desk.now()):
            yield from self._news(news.GRANTED, name, dict, row)

    def _waiting(self) -> Iterator[News]:
        """The agents that wait for this one."""
        if self.index.count(holdings.NAME, f"live of {self.who}") and not line.is_empty(self.desk, self.index):
            for name, row in line.waiting_for(self.index, self.held, self.desk.place.store, self.who):
                yield from self._news(news.WAITING, f"{WAITS}{name}", dict, row)


def told_by(index: Index, event: str) -> str:
    """The member of `bb turn` that tells the same as a message; empty for most messages."""
    from bb.messaging import messages  # noqa: PLC0415  (most turns have no news)

    letter = index.state(messages.NAME, event)
    return messages.sent(letter).news if letter is not None else ""


def _doubt(row: dict[str, Any]) -> dict[str, Any]:
    """The mark of a message in the person's name that the person has not signed."""
    return {"signature": row["signature"]} if "signature" in row else {}


def _event_at(place: str) -> str:
    """The id of the event at a place of the index."""
    _, writer, n = place.split(" ")
    return ids.event_id(writer, int(n))
