"""The book: everything the rules read. The states behind it are an index, or a memory."""

from __future__ import annotations

from itertools import islice

from bb.attention.messages import messages
from bb.attention.messages.message import UNSIGNED
from bb.attention.messages.messages import is_the_persons
from bb.attention.state import claims, confirmations, conversations, deliveries, directory, threads, tuning
from bb.attention.state.claims import Claim
from bb.attention.state.conversations import BINDING, CONVERSATION, TUNING
from bb.attention.state.directory import Binding, Directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from typing import Any, TypeVar

    from bb.attention.messages.messages import MessageHead
    from bb.attention.state.confirmations import Request
    from bb.attention.state.conversations import Conversation
    from bb.attention.state.deliveries import Delivery
    from bb.attention.state.ports import People, States
    from bb.attention.state.threads import Thread
    from bb.attention.state.tuning import Tuning

    T = TypeVar("T")


MOST_REMEMBERED = 64


class AttentionState:
    """The knowledge of one clone at one moment."""

    def __init__(
        self,
        states: States,
        agents: People,
        line: Callable[[str], dict[str, Any] | None],
        is_unsigned: Callable[[str], bool] | None = None,
    ) -> None:
        self.states = states
        self.agents = agents
        self._line = line
        self._is_unsigned = (
            is_unsigned  # whether the person has not signed a line; None if no key of the person is listed
        )
        self._directory: Directory | None = None
        self._tuning: Tuning | None = None
        self._conversations: dict[str, Conversation] = {}
        self._bindings: dict[str, Binding] = {}
        self._read: dict[tuple[str, str], tuple[Any, Any]] = {}  # of the last states: the state, and what it says

    def forget_settings(self) -> None:
        """Read settings again, because one of them has changed."""
        self._directory = self._tuning = None
        self._conversations.clear()
        self._bindings.clear()

    @property
    def directory(self) -> Directory:
        """The names of all agents."""
        if self._directory is None:
            roles = {agent: status.role for agent, status in self.agents.items()}
            self._directory = Directory(map(self.binding, roles), roles)
        return self._directory

    def binding(self, agent: str) -> Binding:
        """The names of one agent, read without those of the others."""
        if agent not in self._bindings:
            names = conversations.values(self.states.state(conversations.NAME, BINDING + agent)).get("names")
            self._bindings[agent] = directory.binding(agent, names) if isinstance(names, dict) else Binding(agent)
        return self._bindings[agent]

    @property
    def tuning(self) -> Tuning:
        """The settings of the host."""
        if self._tuning is None:
            self._tuning = tuning.tuning(conversations.values(self.states.state(conversations.NAME, TUNING)))
        return self._tuning

    def conversation(self, name: str) -> Conversation:
        """A conversation with its settings."""
        if name not in self._conversations:
            state = self.states.state(conversations.NAME, CONVERSATION + name)
            conversation = conversations.conversation(name, state)
            if conversation.is_private and (bound := self.directory.by_conversation.get(name)):
                conversation = conversation.replace(members=(*conversation.members, *bound))
            if any(setting.startswith(conversations.OF_USERS) for setting in state or ()):
                conversation = conversations.with_users(conversation, state, self.directory.by_handle.get)
            self._conversations[name] = conversation
        return self._conversations[name]

    def thread(self, window: str) -> Thread:
        """A thread so far."""
        return self._folded(threads.NAME, window, threads.thread)

    def message(self, event: str) -> MessageHead | None:
        """The message with the id EVENT; None if it is unknown."""
        return self._folded(messages.NAME, event, lambda state: messages.message_of_state(event, state))

    def _folded(self, fold: str, key: str, read: Callable[[Any], T]) -> T:
        """What READ makes of a state. One message is decided with several looks at the same states."""
        state = self.states.state(fold, key)
        before = self._read.get((fold, key))
        if before is not None and before[0] is state:
            found: T = before[1]
            return found
        if len(self._read) >= MOST_REMEMBERED:
            self._read.clear()
        found = read(state)
        self._read[fold, key] = (state, found)
        return found

    def message_by_native_id(self, native: str) -> MessageHead | None:
        """The message of a platform that has the id NATIVE there; None if there is none, or if several platforms have
        one."""
        entries = self.states.entries_by_term(messages.NAME, messages.native_term(native))
        return messages.message_of_state(*entries[0]) if len(entries) == 1 else None

    def newest_messages(self, term: str) -> Iterator[MessageHead]:
        """The messages with an index term, newest first."""
        rows = self.states.newest_first(messages.NAME, term)
        return (head for _, event, state in rows if (head := messages.message_of_state(event, state)))

    def own_event_id(self, event: str) -> str:
        """The id here of a message that has the id EVENT on its platform, because bb posted it there."""
        entries = self.states.entries_by_term(messages.NAME, messages.posted_as_term(event)) if event else []
        return entries[0][0] if entries else event

    def data(self, line: str) -> dict[str, Any]:
        """The data of a line of the ledger; empty if the line is gone."""
        data = self._line(line) or {}
        return data | {UNSIGNED: True} if data and self._is_unsigned and self._is_unsigned(line) else data

    def is_doubted(self, known: MessageHead) -> bool:
        """Whether a message is in the person's name but not signed by the person."""
        return self._is_unsigned is not None and is_the_persons(known) and self._is_unsigned(known.line)

    def delivery(self, event: str, agent: str) -> Delivery | None:
        """The delivery of a message to an agent; None if there is none."""
        key = deliveries.delivery_key(event, agent)
        state = self.states.state(deliveries.NAME, key)
        return deliveries.delivery_of_state(key, state) if state and "head" in state else None

    def with_messages_of(self, delivered: Collection[Delivery]) -> AttentionState:
        """This book with the messages and claims of many deliveries read in advance."""
        cache = Gathered(self.states)
        cache.gather(messages.NAME, [delivery.event for delivery in delivered])
        over = self._over(cache)
        self._gather_windows(cache, [head for delivery in delivered if (head := over.message(delivery.event))])
        return over

    def with_deliveries_of(self, known: Collection[MessageHead], agent: str) -> AttentionState:
        """This book with the deliveries to AGENT and the claims of many messages read in advance."""
        cache = Gathered(self.states)
        self._gather_windows(cache, known)
        cache.gather(deliveries.NAME, [deliveries.delivery_key(head.event, agent) for head in known])
        return self._over(cache)

    def _gather_windows(self, cache: Gathered, known: Collection[MessageHead]) -> None:
        events = [claims.EVENT + head.event for head in known]
        cache.gather(claims.NAME, [*events, *(claims.THREAD + head.thread_window for head in known)])
        cache.gather(conversations.NAME, [CONVERSATION + head.conversation for head in known])

    def _over(self, states: States) -> AttentionState:
        """The same book over other states."""
        copy = object.__new__(AttentionState)
        copy.__dict__.update(self.__dict__, states=states, _read={})
        return copy

    def open_for(self, agent: str) -> list[Delivery]:
        """The open deliveries to an agent, in ledger order."""
        entries = self.states.entries_by_term(deliveries.NAME, f"open {agent}")
        return [deliveries.delivery_of_state(key, state) for key, state in entries]

    def newest_open(self, agent: str, most: int, is_wanted: Callable[[str], bool]) -> Iterator[Delivery]:
        """Of the last MOST open deliveries to an agent those in a window that IS WANTED, newest first."""
        for _, key, state in islice(self.states.newest_first(deliveries.NAME, f"open {agent}"), most):
            if is_wanted(str(state["head"][4].get("window", ""))):
                yield deliveries.delivery_of_state(key, state)

    def every_open(self) -> list[Delivery]:
        """All open deliveries."""
        return [
            deliveries.delivery_of_state(key, state)
            for key, state in self.states.entries_by_term(deliveries.NAME, "open")
        ]

    def claim_on(self, subject: str) -> Claim:
        """The claim on an event or a thread."""
        return claims.claim_of_state(subject, self.states.state(claims.NAME, subject))

    def request(self, name: str) -> Request:
        """An agent's request to the person."""
        return confirmations.request_of_state(name, self.states.state(confirmations.NAME, name))

    def claim(self, event: str, window: str, now: int) -> Claim:
        """The claim on an event or, if no agent holds one, the claim on its thread."""
        own = self.claim_on(claims.EVENT + event)
        if self._holds(own, now) or not window.partition(" ")[2]:
            return self._unless_evicted(own)
        of_thread = self.claim_on(claims.THREAD + window)
        return of_thread if self._holds(of_thread, now) else self._unless_evicted(own)

    def _holds(self, claim: Claim, now: int) -> bool:
        owner = claim.held_by(now)
        return bool(owner) and not self._is_evicted(owner)

    def _unless_evicted(self, claim: Claim) -> Claim:
        """CLAIM, without its owner if that agent is evicted: an evicted agent loses its claims."""
        return claim.replace(owner="", former=claim.owner) if self._is_evicted(claim.owner) else claim

    def _is_evicted(self, agent: str) -> bool:
        return agent in self.agents and self.agents[agent].is_evicted


class Gathered:
    """A cache over stored states, which must not change meanwhile. Reading many entries together is much faster than
    reading each one by itself."""

    def __init__(self, below: States) -> None:
        self._below = below
        self._at_hand: dict[tuple[str, str], Any] = {}
        self._counts: dict[tuple[str, str], int] = {}

    def gather(self, fold: str, keys: Iterable[str]) -> None:
        """Read these entries into the cache; also remember which of them do not exist."""
        missing = [key for key in dict.fromkeys(keys) if (fold, key) not in self._at_hand]
        gathered = self._below.states_of(fold, missing) if missing else {}
        self._at_hand.update(((fold, key), gathered.get(key)) for key in missing)

    def state(self, fold: str, key: str) -> Any:
        if (fold, key) not in self._at_hand:
            self._at_hand[fold, key] = self._below.state(fold, key)
        return self._at_hand[fold, key]

    def states_of(self, fold: str, keys: Iterable[str]) -> dict[str, Any]:
        keys = list(keys)
        self.gather(fold, keys)
        return {key: present for key in keys if (present := self._at_hand[fold, key]) is not None}

    def states(self, fold: str) -> list[tuple[str, Any]]:
        return self._below.states(fold)

    def entries_by_term(self, fold: str, term: str) -> list[tuple[str, Any]]:
        return self._below.entries_by_term(fold, term)

    def newest_first(self, fold: str, term: str) -> Iterator[tuple[str, str, Any]]:
        return self._below.newest_first(fold, term)

    def count(self, fold: str, term: str) -> int:
        if (fold, term) not in self._counts:
            self._counts[fold, term] = self._below.count(fold, term)
        return self._counts[fold, term]
