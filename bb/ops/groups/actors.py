"""Actors of a group (CCCC daemon IPC §8.4). They are the agents of the ledger; what is added here is how they run."""

from __future__ import annotations

import shlex

from bb.coordination.facts import Expired, Registered, Released, Retired, Started, Stopped, Updated
from bb.coordination.holdings import reservations
from bb.groups.actors import actors, profiles
from bb.kernel import ids
from bb.kernel.errors import Usage
from bb.messaging.facts import Said
from bb.messaging.mail import person_notices
from bb.ops.catalogue import op
from bb.ops.desk import group_desk, live_daemon, run_states
from bb.ops.params import ActorId, By, GroupId, Json, Word, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bb.groups.actors.profiles import Profile
    from bb.ledger.index.index import Index
    from bb.ledger.journal.kinds import Fact
    from bb.ops.desk.desk import Desk
    from bb.ops.desk.group_desk import Actor, GroupDesk

ROLE = "actor"  # what an agent does here that was added as an actor and has not said more


class MissingActorId(Usage):
    """The request names no actor."""

    code = "MISSING_ACTOR_ID"
    hint = "pass actor_id"


class Title(Word):
    """The name people are shown; the id unless given."""


class Runtime(Word):
    """Which agent program it is."""

    offered = tuple(profiles.RUNTIMES)


class Runner(Word):
    """pty: on a terminal of its own; headless: it runs by itself and looks into its inbox."""

    offered = profiles.RUNNERS


class Command(Word):
    """The command that starts it, in one or word by word; the runtime's own unless given."""

    metavar = "COMMAND"


class Environment(Json):
    """What it is given in its environment, as a JSON object. It is kept on this machine only."""


class DefaultScope(Word):
    """The directory it works in, by its key; the group's active one unless given."""

    metavar = "KEY"


class Submit(Word):
    """What is typed behind a message: enter, newline or none."""

    offered = profiles.SUBMITS


class Patch(Json):
    """What changes, as a JSON object."""


@op(
    "actor_list",
    reads=True,
    screen="chat",
    asks_daemon=True,
    words="actor list",
    examples=("bb actor list", "bb actor list --include-unread --json"),
    include_unread="Count what each has not read.",
)
def list_actors(
    desk: Desk, *, group_id: GroupId | None = None, include_unread: bool = False, by: By | None = None
) -> dict[str, Any]:
    """Who is in a group, in the order of joining. The first that is enabled is the foreman."""
    group = group_desk.of(desk, group_id)
    group.check("actor.list", group.by(by))
    return {"actors": [_shown(group, actor, include_unread=include_unread) for actor in group.actors()]}


@op(
    "actor_add",
    screen="chat",
    words="actor add",
    examples=(
        "bb actor add peer-1 --runtime claude",
        "bb actor add shell --command 'bash -i'",
    ),
)
def add(
    desk: Desk,
    actor_id: ActorId | None = None,
    *,
    group_id: GroupId | None = None,
    title: Title | None = None,
    runtime: Runtime | None = None,
    runner: Runner | None = None,
    command: list[Command] | None = None,
    env: Environment | None = None,
    default_scope_key: DefaultScope | None = None,
    submit: Submit | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """Add an actor to a group. A foreman may only add what is exactly like itself."""
    group = group_desk.of(desk, group_id)
    who = group.by(by)
    present = group.actors()
    if command and not desk.is_served:
        runtime = runtime or profiles.CUSTOM  # type: ignore[assignment]  # whoever types a command means no other
    how = {"runtime": runtime, "runner": runner, "command": _words(desk, command), "submit": submit}
    name, called, profile = actors.new_actor(
        actor_id=actor_id,
        title=title,
        env=env,
        taken=[actor.id for actor in present],
        default_scope_key=default_scope_key,
        **how,
    )
    given: dict[str, str] = dict(env) if isinstance(env, dict) else {}
    is_clone = _is_clone(group, present, who, profile, given)
    group.check("actor.add", who, is_clone=is_clone)
    if given:
        group.remember(group.known.with_env(name, given))

    def decide(_: Any) -> list[Any]:
        if name in group.roles():  # somebody was faster
            raise actors.ActorAddFailed(f"there is an actor {name} already", reason=actors.TAKEN)
        return [Registered(name, ROLE, called, profile.stored())]

    (event,) = group.record(decide, who)
    return {"actor": _shown(group, group.actor(name)), "event": event}


def _words(desk: Desk, command: list[Any] | None) -> list[str] | None:
    """The words of a command, which a person may have typed in one."""
    if desk.is_served or not command or len(command) > 1 or not isinstance(command[0], str):
        return command or None
    try:
        return shlex.split(command[0])
    except ValueError as error:
        raise invalid(f"the command is not as a shell would read it: {error}", "command") from None


def _is_clone(group: GroupDesk, present: list[Actor], who: str, profile: Profile, env: dict[str, str]) -> bool:
    me = next((actor for actor in present if actor.id == who), None)
    return me is not None and actors.is_strict_clone(profile, env, me.profile, group.known.env.get(who, {}))


@op(
    "actor_update",
    screen="chat",
    asks_daemon=True,
    words="actor update",
    examples=("""bb actor update peer-1 --patch '{"title": "Reviewer", "enabled": false}'""",),
)
def update(
    desk: Desk,
    actor_id: ActorId | None = None,
    *,
    group_id: GroupId | None = None,
    patch: Patch | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """Change an actor's title, or how it runs. One that is disabled stops."""
    group, who, actor = _asked(desk, group_id, actor_id, by, "actor.update")
    changes = actors.patched_actor(patch, actor.profile)
    if (env := changes.pop("env", None)) is not None:
        group.remember(group.known.with_env(actor.id, env))
    title = changes.pop("title", None)
    if changes and group_desk.came_alone(actor.agent):  # then the rest of how it runs was never written down
        changes = actor.profile.stored() | changes
    (event,) = group.record([Updated(actor.id, None, title, changes)], who)
    if changes.get("enabled") is False:
        run_states.stop(group, actor.id)
    return {"actor": _shown(group, group.actor(actor.id)), "event": event}


@op("actor_remove", screen="chat", asks_daemon=True, words="actor remove", examples=("bb actor remove peer-1",))
def remove(
    desk: Desk, actor_id: ActorId | None = None, *, group_id: GroupId | None = None, by: By | None = None
) -> dict[str, Any]:
    """Take an actor out of a group: it stops, gives back all it holds, and leaves the lists. Its history stays."""
    group, who, actor = _asked(desk, group_id, actor_id, by, "actor.remove")
    events = group.record(lambda index: leaving(group, index, actor.id, who), who, author=author(who))
    left(group, actor.id)
    return {"actor_id": actor.id, "event": events[-1]}


def leaving(group: GroupDesk, index: Index, actor_id: str, who: str) -> list[Fact]:
    """What is to be recorded when an actor leaves: it gives back all it holds. Where it is the person WHO takes it out,
    the person does that, and the actor is told."""
    held = group.desk.holdings_at(group.store.place, index, group.desk.now()).of(actor_id)
    ended = reservations.release_all(ids.PERSON if who == ids.PERSON else actor_id, held)
    told = person_notices.of_persons(ended, {each.reservation.id: each.reservation for each in held})
    return [*ended, *told, Retired(actor_id)]


def author(who: str) -> Callable[[Fact], str]:
    """In whose name a fact is recorded when WHO takes actors out of a group: what one held, it gives back itself, but
    for what the person takes."""
    return lambda fact: fact.agent if isinstance(fact, Released | Expired) else who


def left(group: GroupDesk, actor_id: str) -> None:
    """Stop an actor that has left, and forget what only this machine knew of it."""
    run_states.stop(group, actor_id)
    if actor_id in group.known.env:
        group.remember(group.known.with_env(actor_id, None))


@op("actor_start", screen="chat", words="actor start", live=True, examples=("bb actor start peer-1",))
def start(
    desk: Desk, actor_id: ActorId | None = None, *, group_id: GroupId | None = None, by: By | None = None
) -> dict[str, Any]:
    """Start an actor, and keep it running when the daemon comes back."""
    group, who, actor = _asked(desk, group_id, actor_id, by, "actor.start")
    live_daemon.of(desk).start(group, actor)
    (event,) = group.record([Started(actor.id)], who)
    return {"actor": _shown(group, group.actor(actor.id)), "event": event}


@op("actor_stop", screen="chat", asks_daemon=True, words="actor stop", examples=("bb actor stop peer-1",))
def stop(
    desk: Desk, actor_id: ActorId | None = None, *, group_id: GroupId | None = None, by: By | None = None
) -> dict[str, Any]:
    """Stop an actor. Until it is started again it is disabled."""
    group, who, actor = _asked(desk, group_id, actor_id, by, "actor.stop")
    run_states.stop(group, actor.id)
    (event,) = group.record([Stopped(actor.id)], who)
    return {"actor": _shown(group, group.actor(actor.id)), "event": event}


@op("actor_restart", screen="chat", words="actor restart", live=True, examples=("bb actor restart peer-1",))
def restart(
    desk: Desk, actor_id: ActorId | None = None, *, group_id: GroupId | None = None, by: By | None = None
) -> dict[str, Any]:
    """Stop an actor, if it runs, and start it anew."""
    group, who, actor = _asked(desk, group_id, actor_id, by, "actor.restart")
    live_daemon.of(desk).stop(group.id, actor.id)
    live_daemon.of(desk).start(group, actor)
    enabling: list[Any] = [] if actor.profile.enabled else [Started(actor.id)]
    events = group.record([*enabling, Said("actor.restart", {"actor_id": actor.id})], who)
    return {"actor": _shown(group, group.actor(actor.id)), "event": events[-1]}


def _asked(desk: Desk, group_id: Any, actor_id: Any, by: Any, action: str) -> tuple[GroupDesk, str, Actor]:
    """The group, who asks, and the actor that is meant; refused when who asks may not."""
    group = group_desk.of(desk, group_id)
    if not actor_id:
        raise MissingActorId
    who = group.by(by)
    actor = group.actor(str(actor_id))
    group.check(action, who, actor.id)
    return group, who, actor


def _shown(group: GroupDesk, actor: Actor, *, include_unread: bool = False) -> dict[str, Any]:
    ended = live_daemon.ended(group.desk, group.id, actor.id)
    how = {"exited": ended} if ended else {}
    shown = group_desk.shown(actor, running=run_states.is_running(group, actor.id), **how)
    if include_unread:
        shown["unread_count"] = group.spoken().count_unread(actor.id, group.tokens(actor.id))
    return shown
