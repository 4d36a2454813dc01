"""Actors of a group (CCCC daemon IPC §8.4). An actor is an agent of the ledger with settings for running it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

from bb.coordination.facts import Expired, Registered, Released, Retired, Started, Stopped, Updated
from bb.coordination.holdings import reservations
from bb.groups.actors import actors, profiles
from bb.groups.actors.profiles import Profile
from bb.kernel import ids
from bb.kernel.errors import Usage
from bb.ledger.index.index import Index
from bb.ledger.journal.kinds import Fact
from bb.messaging.facts import Said
from bb.messaging.mail import person_notices
from bb.ops.catalogue import op
from bb.ops.desk import group_desk, live_daemon
from bb.ops.desk.desk import Desk
from bb.ops.desk.group_desk import Actor, GroupDesk
from bb.ops.json_params import ActorId, By, GroupId, Json, JsonText
from bb.ops.params import invalid

ROLE = "actor"  # the role of an agent that was added as an actor

MissingActorId = Usage.declare(
    "MISSING_ACTOR_ID", "The request does not name an actor", hint="pass `actor_id`; `bb actor list` shows the ids"
)


class Runtime(JsonText):
    """The agent program."""

    offered = tuple(profiles.RUNTIMES)


class Runner(JsonText):
    """pty: the program runs in its own terminal; headless: it runs without one and reads its inbox."""

    offered = profiles.RUNNERS


class Submit(JsonText):
    """The key that bb types after a message: enter, newline or none."""

    offered = profiles.SUBMITS


@op(
    "actor_list",
    reads=True,
    screen="chat",
    asks_daemon=True,
    words="actor list",
    examples=("bb actor list", "bb actor list --include-unread --json"),
)
def list_actors(
    desk: Desk, *, group_id: GroupId | None = None, include_unread: bool = False, by: By | None = None
) -> dict[str, Any]:
    """List the actors of a group, in the order of joining. The first enabled actor is the foreman.

    Parameters:
        include_unread: Include the number of unread messages of each actor.
    """
    group = group_desk.open_group(desk, group_id)
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
    title: JsonText | None = None,
    runtime: Runtime | None = None,
    runner: Runner | None = None,
    command: list[JsonText] | None = None,
    env: Json | None = None,
    default_scope_key: JsonText | None = None,
    submit: Submit | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """Add an actor to a group. A foreman can only add actors that are configured exactly like itself.

    Parameters:
        title: The name shown to people; the id unless given.
        command (COMMAND): The command that starts the actor, as one text or word by word; the runtime's own unless
            given.
        env: Environment variables for the program, as a JSON object. They are stored on this machine only.
        default_scope_key (KEY): The key of the directory it works in; the group's active directory unless given.
    """
    group = group_desk.open_group(desk, group_id)
    who = group.by(by)
    present = group.actors()
    if command and not desk.is_served:
        runtime = runtime or profiles.CUSTOM  # type: ignore[assignment]  # a typed command replaces the runtime's own
    how = {"runtime": runtime, "runner": runner, "command": _words(desk, command), "submit": submit}
    name, called, profile = actors.new_actor(
        actor_id=actor_id,
        title=title,
        env=env,
        taken=[actor.id for actor in present],
        default_scope_key=default_scope_key,
        **how,
    )
    variables: dict[str, str] = dict(env) if isinstance(env, dict) else {}
    is_clone = _is_clone(group, present, who, profile, variables)
    group.check("actor.add", who, is_clone=is_clone)
    if variables:
        group.update_registry(group.known.with_env(name, variables))

    def decide(_: Any) -> list[Any]:
        if name in group.roles():  # another process added it in the meantime
            raise actors.ActorAddFailed(f"the group already has an actor {name}", reason=actors.TAKEN)
        return [Registered(name, ROLE, called, profile.stored())]

    (event,) = group.record(decide, who)
    return {"actor": _shown(group, group.actor(name)), "event": event}


def _words(desk: Desk, command: list[Any] | None) -> list[str] | None:
    """Split a command that a person typed as one text into words."""
    if desk.is_served or not command or len(command) > 1 or not isinstance(command[0], str):
        return command or None
    try:
        return shlex.split(command[0])
    except ValueError as error:
        raise invalid(f"the command has invalid shell syntax: {error}", "command") from None


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
    patch: Json | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """Change an actor's title, or how it runs. Disabling an actor stops it.

    Parameters:
        patch: The changes, as a JSON object.
    """
    group, who, actor = _asked(desk, group_id, actor_id, by, "actor.update")
    changes = actors.patched_actor(patch, actor.profile)
    if (env := changes.pop("env", None)) is not None:
        group.update_registry(group.known.with_env(actor.id, env))
    title = changes.pop("title", None)
    if changes and group_desk.registered_itself(actor.agent):  # no profile was ever recorded, so record all of it
        changes = actor.profile.stored() | changes
    (event,) = group.record([Updated(actor.id, None, title, changes)], who)
    if changes.get("enabled") is False:
        live_daemon.stop(group, actor.id)
    return {"actor": _shown(group, group.actor(actor.id)), "event": event}


@op("actor_remove", screen="chat", asks_daemon=True, words="actor remove", examples=("bb actor remove peer-1",))
def remove(
    desk: Desk, actor_id: ActorId | None = None, *, group_id: GroupId | None = None, by: By | None = None
) -> dict[str, Any]:
    """Remove an actor from a group: it stops, and its reservations are released. Its history stays."""
    group, who, actor = _asked(desk, group_id, actor_id, by, "actor.remove")
    events = group.record(
        lambda index: facts_of_removal(group, index, actor.id, who), who, author=author_of_removal(who)
    )
    clean_up_removed(group, actor.id)
    return {"actor_id": actor.id, "event": events[-1]}


def facts_of_removal(group: GroupDesk, index: Index, actor_id: str, who: str) -> list[Fact]:
    """The facts to record when an actor leaves: its reservations are released. If WHO is the person, the person is the
    author of these facts, and the actor is notified."""
    held = group.desk.holdings_at(group.store.place, index, group.desk.now()).reservations_of_agent(actor_id)
    ended = reservations.release_all(ids.PERSON if who == ids.PERSON else actor_id, held)
    notices = person_notices.person_notifications(
        ended, {holding.reservation.id: holding.reservation for holding in held}
    )
    return [*ended, *notices, Retired(actor_id)]


def author_of_removal(who: str) -> Callable[[Fact], str]:
    """The author of each fact when WHO removes actors: the fact's agent for a release or expiry, else WHO."""
    return lambda fact: fact.agent if isinstance(fact, Released | Expired) else who


def clean_up_removed(group: GroupDesk, actor_id: str) -> None:
    """Stop an actor that has left, and delete its environment variables from this machine."""
    live_daemon.stop(group, actor_id)
    if actor_id in group.known.env:
        group.update_registry(group.known.with_env(actor_id, None))


@op("actor_start", screen="chat", words="actor start", live=True, examples=("bb actor start peer-1",))
def start(
    desk: Desk, actor_id: ActorId | None = None, *, group_id: GroupId | None = None, by: By | None = None
) -> dict[str, Any]:
    """Start an actor. The daemon starts it again after a restart of its own."""
    group, who, actor = _asked(desk, group_id, actor_id, by, "actor.start")
    live_daemon.running_actors(desk).start(group, actor)
    (event,) = group.record([Started(actor.id)], who)
    return {"actor": _shown(group, group.actor(actor.id)), "event": event}


@op("actor_stop", screen="chat", asks_daemon=True, words="actor stop", examples=("bb actor stop peer-1",))
def stop(
    desk: Desk, actor_id: ActorId | None = None, *, group_id: GroupId | None = None, by: By | None = None
) -> dict[str, Any]:
    """Stop an actor. It stays disabled until it is started again."""
    group, who, actor = _asked(desk, group_id, actor_id, by, "actor.stop")
    live_daemon.stop(group, actor.id)
    (event,) = group.record([Stopped(actor.id)], who)
    return {"actor": _shown(group, group.actor(actor.id)), "event": event}


@op("actor_restart", screen="chat", words="actor restart", live=True, examples=("bb actor restart peer-1",))
def restart(
    desk: Desk, actor_id: ActorId | None = None, *, group_id: GroupId | None = None, by: By | None = None
) -> dict[str, Any]:
    """Stop an actor if it is running, then start it."""
    group, who, actor = _asked(desk, group_id, actor_id, by, "actor.restart")
    live_daemon.running_actors(desk).stop(group.id, actor.id)
    live_daemon.running_actors(desk).start(group, actor)
    enabling: list[Any] = [] if actor.profile.enabled else [Started(actor.id)]
    events = group.record([*enabling, Said("actor.restart", {"actor_id": actor.id})], who)
    return {"actor": _shown(group, group.actor(actor.id)), "event": events[-1]}


def _asked(desk: Desk, group_id: Any, actor_id: Any, by: Any, action: str) -> tuple[GroupDesk, str, Actor]:
    """The group, the caller and the named actor. Refused if the caller has no permission for ACTION."""
    group = group_desk.open_group(desk, group_id)
    if not actor_id:
        raise MissingActorId()
    who = group.by(by)
    actor = group.actor(str(actor_id))
    group.check(action, who, actor.id)
    return group, who, actor


def _shown(group: GroupDesk, actor: Actor, *, include_unread: bool = False) -> dict[str, Any]:
    ended = live_daemon.exit_of(group.desk, group.id, actor.id)
    how = {"exited": ended} if ended else {}
    row = group_desk.actor_row(actor, running=live_daemon.is_running(group, actor.id), **how)
    if include_unread:
        row["unread_count"] = group.messages().count_unread(actor.id, group.tokens(actor.id))
    return row
