"""The group desk: what the CCCC ops work with. It holds one group, its ledger, its actors and the caller.

A request on the socket must name the group. On the command line, the group of the current repository is the default.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from bb.coordination.agents import roster
from bb.coordination.agents.roster import Agent
from bb.groups import group, permissions, settings
from bb.groups.actors import actors, profiles
from bb.groups.actors.profiles import Profile
from bb.groups.context import context
from bb.groups.context.view import ContextView
from bb.groups.group import Group
from bb.kernel import clock, ids
from bb.kernel.errors import BbError, NotFound, Refused, Usage
from bb.kernel.event import Event
from bb.kernel.record import Record
from bb.ledger.git.place import NotARepository
from bb.ledger.index import counting
from bb.ledger.index.index import Index
from bb.ledger.journal import kinds
from bb.ledger.journal.kinds import Fact
from bb.ledger.local import machine_registry as knowns
from bb.ledger.local.machine_registry import GroupNotFound, RegisteredGroup
from bb.ledger.records import events as recorded
from bb.ledger.records import own_order
from bb.ledger.records.recordable import refuse_secrets_in
from bb.ledger.records.store import NotInitialized, Store
from bb.ledger.views.chat import ChatIndex
from bb.messaging.chat import principals, recipients
from bb.messaging.chat.recipients import Member
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk
from bb.ops.desk.group_roles import Roles

T = TypeVar("T")


MOST_OPEN = 60  # groups whose index is kept open

MissingGroupId = Usage.declare("MISSING_GROUP_ID", "The request names no group", hint="pass `group_id`")


class Actor(Record):
    """An actor of a group."""

    agent: roster.Agent
    profile: profiles.Profile
    role: str

    @property
    def id(self) -> str:
        return self.agent.agent_id


class GroupDesk:
    """One group and its ledger."""

    def __init__(self, desk: Desk, known: RegisteredGroup, store: Store) -> None:
        self.desk = desk
        self.known = known
        self.store = store
        self.talk = ChatIndex(store)
        self._made: dict[str, tuple[tuple[int, ...], Any]] = {}
        self.file = knowns.group_file(knowns.home(desk.env), known.group_id)
        self.file_stamp = knowns.stamp(self.file)

    @property
    def id(self) -> str:
        return self.known.group_id

    def index(self) -> Index:
        """The index, up to date with the ledger."""
        return self.store.caught_up()

    def group(self, index: Index | None = None) -> Group:
        """The current state of the group."""
        index = index or self.index()
        return self._kept(index, group.NAME, lambda: group.group(index.state(group.NAME, group.ENTRY)))

    def _kept(self, index: Index, fold: str, make: Callable[[], T]) -> T:
        """The cached result of MAKE for a fold, computed again when the fold has changed."""
        version = index.version_of(fold)
        kept = self._made.get(fold)
        if kept is None or kept[0] != version:
            kept = self._made[fold] = (version, make())
        value: T = kept[1]
        return value

    def settings(self) -> dict[str, Any]:
        """All settings: the values set, else the defaults."""
        return settings.with_defaults(self.group().settings)

    def context(self, index: Index | None = None) -> ContextView:
        """The current shared context."""
        from bb.groups.context.view import ContextView  # noqa: PLC0415  (most requests are about something else)

        index = index or self.index()
        return self._kept(index, context.NAME, lambda: ContextView.of(index.states(context.NAME)))

    # -- actors

    def actors(self, index: Index | None = None) -> list[Actor]:
        """The actors of the group with their roles, in the order of joining."""
        index = index or self.index()
        return self._kept(index, roster.NAME, lambda: _actors(index))

    def members(self, index: Index | None = None) -> list[Member]:
        """The actors as members of conversations."""
        return [Member(actor.id, actor.agent.title, actor.role, actor.profile.enabled) for actor in self.actors(index)]

    def roles(self, index: Index | None = None) -> Mapping[str, str]:
        """The role of each actor. A command looks up few of them; a daemon knows its actors already."""
        if not self.desk.is_served:
            return Roles(index or self.index())
        return {actor.id: actor.role for actor in self.actors(index)}

    def actor(self, actor_id: str) -> Actor:
        """The actor with that id; refused if there is none."""
        actors_by_id = {actor.id: actor for actor in self.actors()}
        if actor_id not in actors_by_id:
            raise ActorNotFound(f"there is no actor {actor_id[:60]!r} in the group", actor_id=actor_id[:60])
        return actors_by_id[actor_id]

    # -- the caller

    def by(self, named: Any, otherwise: str = ids.PERSON) -> str:
        """The caller: the one NAMED in the request; on the command line, BB_AGENT by default."""
        if not self.desk.is_served and (not named or isinstance(named, str)):
            named = self.desk.actor(named)
        who = principals.principal(named or None, self.roles(), otherwise)
        if not self.desk.is_served:
            signs_of_life.refuse_other_session(self.desk, self.index(), who)
        elif self.desk.sessions and (caller := {actor.id: actor for actor in self.actors()}.get(who)):
            signs_of_life.refuse_session_mismatch(self.desk, self.index(), caller.agent)
        return who

    def check(self, action: str, by: str, target: str | None = None, **more: Any) -> None:
        """Refuse ACTION if BY may not do it."""
        permissions.check(action, by=by, role=permissions.role_of(by, self.roles()), target=target, **more)

    def role_of(self, by: str) -> str:
        return permissions.role_of(by, self.roles()) or ""

    def tokens(self, who: str) -> tuple[str, ...]:
        """The index tokens of messages that are addressed to WHO."""
        return recipients.tokens_for(who, self.roles().get(who, ""))

    # -- recording and showing

    def record(
        self, decide: Callable[[Index], Sequence[Fact]] | Sequence[Fact], by: str, **how: Any
    ) -> list[dict[str, Any]]:
        """Record facts in BY's name. Returns the events as clients see them."""
        facts = decide if callable(decide) else lambda _: decide
        events = self.store.record(facts, by=by, now=self.desk.now(), **how)
        return [self.shown(event) for event in events]

    def would_record(self, decide: Callable[[Index], Sequence[Fact]]) -> None:
        """Refuse whatever recording would refuse, without recording anything."""
        for fact in decide(self.index()):
            refuse_secrets_in(kinds.kind_and_data(fact)[1])

    def shown(self, event: Event) -> dict[str, Any]:
        """An event as clients see it. A ledger that existed before the group may have lines with another group id."""
        (event,) = recorded.numbered(self.store, [event]) if event.seq is None else (event,)
        return event.replace(group_id=self.id).envelope()

    def event(self, event_id: Any) -> Event | None:
        """An event by its id, with its sequence number. None if there is none, or if the signing rules exclude it
        (docs/signing.md)."""
        if not isinstance(event_id, str) or not ids.is_event_id(event_id):
            return None
        self.talk.catch_up()
        try:
            event = self.talk.event(event_id) or recorded.event(self.store, event_id)
        except (NotFound, Refused):
            return None
        counted = counting.for_index(self.store.index)
        return None if counted and counted.leaves_out and not counted.counts(event) else event

    def last_event(self) -> dict[str, Any] | None:
        """The event with the highest sequence number, as clients see it; None if there is none."""
        length = own_order.length(self.index())
        return self.shown(self.event_at(length)) if length else None

    def seq_at(self, moment: int) -> int:
        """The sequence number of the last message recorded up to MOMENT; 0 if there is none."""
        rows = self.messages().before(None, None)
        return next((post.seq for post in rows if post.at <= moment), 0)

    def event_at(self, seq: int) -> Event:
        """The event with a sequence number."""
        return own_order.event_at(self.store, seq)

    def messages(self) -> ChatIndex:
        """The messages of the group, up to date."""
        self.talk.catch_up()
        return self.talk

    def refresh_index(self) -> None:
        """Update the index after recording. A refusal is ignored, because the events are already on disk."""
        try:
            self.store.caught_up()
        except BbError:
            return

    def update_registry(self, known: RegisteredGroup) -> None:
        """Replace this machine's entry about the group."""
        knowns.write(knowns.home(self.desk.env), known)
        self.known = known


def _actors(index: Index) -> list[Actor]:
    agents = [(agent, profile_of(agent)) for agent in roster.in_order(index.states(roster.NAME))]
    role = actors.roles([(agent.agent_id, profile.enabled) for agent, profile in agents])
    return [Actor(agent, profile, role[agent.agent_id]) for agent, profile in agents]


ActorNotFound = NotFound.declare(
    "ACTOR_NOT_FOUND", "The group has no actor with that id", hint="`bb actor list` lists the actors"
)


def profile_of(agent: Agent) -> Profile:
    """How an agent runs. An agent that registered itself has the custom runtime and the headless runner."""
    alone = {"runtime": profiles.CUSTOM, "runner": profiles.HEADLESS}
    return profiles.profile_of(alone | agent.profile if registered_itself(agent) else agent.profile)


def registered_itself(agent: Agent) -> bool:
    """Whether an agent registered itself and no runtime or runner was set since."""
    return agent.profile.keys().isdisjoint(("runtime", "runner"))


def actor_row(actor: Actor, **more: Any) -> dict[str, Any]:
    """An actor as clients see it. Its environment is not shown, because it may hold secrets."""
    return {
        "v": 1,
        "id": actor.id,
        "title": actor.agent.title,
        "role": actor.role,
        "runtime": actor.profile.runtime,
        "runner": actor.profile.runner,
        "command": list(actor.profile.command),
        "env": {},
        "submit": actor.profile.submit,
        "default_scope_key": actor.profile.default_scope_key,
        "enabled": actor.profile.enabled,
        "created_at": clock.text(actor.agent.created_at),
        "updated_at": clock.text(actor.agent.changed_at),
        **more,
    }


def group_author(desk: Desk, named: Any) -> str:
    """The author of a new group, which has no actors yet."""
    if named and isinstance(named, str) and not desk.is_served:
        desk.actor(named)
    return principals.principal(named or None, [named] if isinstance(named, str) and ids.is_actor_id(named) else [])


def open_group(desk: Desk, group_id: Any) -> GroupDesk:
    """The group GROUP_ID; by default CCCC_GROUP_ID, else the group of the current repository."""
    if not desk.is_served:
        group_id = group_id or desk.env.get("CCCC_GROUP_ID")
    if not group_id:
        if desk.is_served:
            raise MissingGroupId()
        return _here(desk)
    if not isinstance(group_id, str):
        raise GroupNotFound("group_id must be text", path="$.group_id")
    group_desk: GroupDesk | None = desk.groups.get(group_id)
    if group_desk is not None and _is_current(desk, group_desk):
        return group_desk
    home = knowns.home(desk.env)
    registered = knowns.read(home, group_id)
    if registered is None:
        if not desk.is_served and (here := _here_if(desk, group_id)):
            return here
        raise GroupNotFound(f"there is no group {group_id[:64]!r}", group_id=group_id[:64])
    return _opened(desk, registered)


def _is_current(desk: Desk, found: GroupDesk) -> bool:
    """Whether an open group desk is still valid. Another process may have moved the group to another ledger."""
    stamp = knowns.stamp(found.file)
    if stamp is not None and stamp == found.file_stamp:
        return True
    registered = knowns.read(knowns.home(desk.env), found.id)
    if registered is None or registered.common != found.known.common or not found.store.exists:
        found.store.close()
        del desk.groups[found.id]
        return False
    found.known, found.file_stamp = registered, stamp
    return True


def _opened(desk: Desk, known: RegisteredGroup) -> GroupDesk:
    store = desk.store_at(known.place)
    store.require_ledger()
    for oldest in list(desk.groups)[: len(desk.groups) - MOST_OPEN]:
        desk.groups[oldest].store.close()  # a closed store reopens on its next use
    opened = desk.groups[known.group_id] = GroupDesk(desk, known, store)
    return opened


def _here(desk: Desk) -> GroupDesk:
    """The group of the current repository, even if the daemon does not know it; outside one, of the directory."""
    try:
        store = desk.store
        store.require_ledger()
    except (NotARepository.error, NotInitialized.error):
        registered = knowns.group_of_directory(knowns.home(desk.env), os.path.realpath(desk.cwd))
        if registered is None:
            raise
        return _opened(desk, registered)
    registered = knowns.group_of_ledger(knowns.home(desk.env), desk.place.common)
    if registered is None:
        scope = knowns.scope_key(store.clone.repo, "")
        where = {scope: desk.place.work_tree} if desk.place.work_tree else {}
        registered = RegisteredGroup(store.clone.group_id, desk.place.common, where)
    return GroupDesk(desk, registered, store)


def _here_if(desk: Desk, group_id: str) -> GroupDesk | None:
    try:
        here = _here(desk)
    except BbError:
        return None
    return here if here.id == group_id else None
