"""The actors of a group: rules for adding and changing them, and their roles.

The first enabled actor in the order of joining is the foreman; the others are peers. So an actor cannot claim the role,
and if the foreman is disabled, the next enabled actor becomes the foreman.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bb.groups.actors import profiles
from bb.groups.actors.profiles import InvalidProfile, Profile
from bb.groups.facts import STATES
from bb.groups.permissions import FOREMAN, PEER
from bb.groups.settings import InvalidPatch, entries
from bb.kernel import ids
from bb.kernel.errors import Refused, Usage

STATUSES = ("idle", "working", "waiting", "stopped")  # of a headless actor (IPC §8.8)
GROUP_TITLE = "working-group"  # the default title of a group

ID_LENGTH = 32
TAKEN = "duplicate_actor_id"

ActorAddFailed = Refused.declare(
    "ACTOR_ADD_FAILED", "The actor cannot be added", hint="`bb actor add --help` describes the options"
)
InvalidStatus = Usage.declare("INVALID_STATUS", "The status must be idle, working, waiting or stopped")
MissingState = Usage.declare("MISSING_STATE", "The request does not name a state: active, idle or paused")
GroupSetStateFailed = Usage.declare("GROUP_SET_STATE_FAILED", "The state of a group must be active, idle or paused")


# -- joining


def new_actor(*, actor_id: Any, title: Any, env: Any, taken: Collection[str], **how: Any) -> tuple[str, str, Profile]:
    """The id, title and profile of an actor to add. TAKEN are the ids of the existing actors.

    HOW has the requested runtime, runner, command, submit and default_scope_key; None means the default.
    """
    try:
        profile = profiles.profile(how)
        profiles.environment({} if env is None else env)
        actor = free_id(profile.runtime, taken) if actor_id in (None, "") else _fresh(actor_id, taken)
        return actor, actor if title in (None, "") else profiles.title(title), profile
    except InvalidProfile as unfit:
        is_taken = unfit.reason == TAKEN
        hint = f"change it with `bb actor update {actor_id}`, or choose another id" if is_taken else None
        raise ActorAddFailed(unfit.message, hint=hint, **unfit.details) from None


def is_actor_id(text: object) -> bool:
    """Whether TEXT is a valid actor id."""
    return isinstance(text, str) and len(text) <= ID_LENGTH and ids.is_actor_id(text)


def free_id(runtime: str, taken: Collection[str]) -> str:
    """The default id of an actor: its runtime and the lowest free number."""
    names = {name.lower() for name in taken}
    return next(name for n in range(1, len(names) + 2) if (name := f"{runtime}-{n}") not in names)


def _fresh(actor_id: object, taken: Collection[str]) -> str:
    if not isinstance(actor_id, str) or not is_actor_id(actor_id):
        raise InvalidProfile("actor_id", "invalid_actor_id", _why_not(actor_id))
    # On some systems, names that differ only in case are the same file. They also confuse readers.
    if actor_id.lower() in {name.lower() for name in taken}:
        raise InvalidProfile("actor_id", TAKEN, f"the group already has an actor {actor_id}")
    return actor_id


def _why_not(actor_id: object) -> str:
    if isinstance(actor_id, str) and actor_id.lower() in ids.RESERVED:
        return f"{actor_id!r} is reserved"
    return f"an actor's id must have 1 to {ID_LENGTH} letters, digits, - and _, and start with a letter or a digit"


def is_strict_clone(asked: Profile, env: Mapping[str, str], mine: Profile, my_env: Mapping[str, str]) -> bool:
    """Whether the requested actor would be run exactly like the caller. A foreman may add only such actors."""
    return _way(asked, env) == _way(mine, my_env)


def _way(profile: Profile, env: Mapping[str, str]) -> tuple[object, ...]:
    return profile.runtime, profile.runner, profile.command, dict(env)


# -- changing


def patched_actor(patch: Any, profile: Profile) -> dict[str, Any]:
    """The changes of PATCH to an actor with this PROFILE, as plain JSON. `env` in them must not be recorded."""
    try:
        changes = {field: profiles.CHECKS[field](value) for field, value in entries(patch, profiles.CHECKS).items()}
        patched = profiles.runnable(changed(profile, changes))
    except InvalidProfile as unfit:
        raise InvalidPatch(unfit.message, reason=unfit.reason, path=f"$.patch.{unfit.field}") from None
    if "command" in changes or patched.command != profile.command:
        changes["command"] = list(patched.command)
    return changes


def changed(profile: Profile, changes: Mapping[str, Any]) -> Profile:
    """PROFILE after CHANGES. With a new runtime, the default command of the old one is dropped."""
    command = profile.command
    if changes.get("runtime", profile.runtime) != profile.runtime and command == profiles.RUNTIMES[profile.runtime]:
        command = ()
    of_profile = {field: value for field, value in changes.items() if field in Profile.__match_args__}
    return profiles.filled(profile.replace(**{"command": command} | of_profile))


# -- roles and states


def roles(actors: Sequence[tuple[str, bool]]) -> dict[str, str]:
    """The role of each actor, given ids and whether enabled, in the order of joining. Without an enabled actor, there
    is no foreman."""
    foreman = next((actor for actor, is_enabled in actors if is_enabled), None)
    return {actor: FOREMAN if actor == foreman else PEER for actor, _ in actors}


def group_state(value: Any) -> str:
    """VALUE as the state of a group."""
    if value in (None, ""):
        raise MissingState()
    if value not in STATES:
        raise GroupSetStateFailed()
    return str(value)


def status(value: Any) -> str:
    """VALUE as the status of a headless actor."""
    if value not in STATUSES:
        raise InvalidStatus()
    return str(value)
