"""Groups and their directories (CCCC daemon IPC §8.3)."""

from __future__ import annotations

from typing import Any

from bb.coordination.facts import Started, Stopped
from bb.groups import settings
from bb.groups.actors import actors
from bb.groups.actors.profiles import HEADLESS
from bb.groups.facts import (
    STATES,
    Changed,
    GroupStarted,
    GroupStopped,
    ScopeChosen,
    ScopeDetached,
    SettingsChanged,
    StateSet,
)
from bb.groups.group import Group
from bb.kernel import secret_patterns
from bb.kernel.errors import BbError, NotFound, Refusal, Refused, Usage
from bb.kernel.escaping import has_control
from bb.ledger.local import machine_registry as knowns
from bb.ledger.records import events
from bb.ledger.records import events as recorded
from bb.ops.catalogue import op
from bb.ops.desk import directories, group_desk, live_daemon
from bb.ops.desk.desk import Desk
from bb.ops.desk.group_desk import GroupDesk
from bb.ops.json_params import By, GroupId, Json, JsonText

TITLE_LENGTH, TOPIC_LENGTH = 200, 10_000
AT_A_TERMINAL = "cli"  # CCCC clients pass this as `by` when they attach a directory; it means the person

GroupUpdateFailed = Usage.declare(
    "GROUP_UPDATE_FAILED",
    "A title must be one line of 1 to 200 characters, a topic a text of at most 10,000 characters",
)

GroupCreateFailed = Usage.declare(
    "GROUP_CREATE_FAILED",
    "A title must be one line of 1 to 200 characters, a topic a text of at most 10,000 characters",
)

GroupStartFailed = Refused.declare(
    "GROUP_START_FAILED",
    "The group's actors cannot be started",
    hint="attach a directory first: `bb group attach PATH`",
)

MissingScopeKey = Usage.declare(
    "MISSING_SCOPE_KEY",
    "The request does not name a directory's key",
    hint="pass `scope_key`; `bb group show --json` lists the group's directories with their keys",
)

ConfirmationRequired = Usage.declare("CONFIRMATION_REQUIRED", "The command cannot be undone, so it must be confirmed")


class Confirmed(JsonText):
    """The group's id again, as confirmation."""

    metavar = "GROUP"


class Title(JsonText):
    """The title of the group."""


class Topic(JsonText):
    """The topic of the group."""


class Path(JsonText):
    """A directory, or any path in it."""

    metavar = "PATH"


class State(JsonText):
    """active; idle: messages are delivered, but automation is off; paused: nothing is delivered."""

    offered = STATES


class Patch(Json):
    """The changes, as a JSON object."""


@op(
    "attach",
    screen="chat",
    words="group attach",
    examples=("bb group attach .", "bb group attach ~/work/site --group-id g_3f2a91c07be4"),
)
def attach(
    desk: Desk, path: Path | None = None, *, group_id: GroupId | None = None, by: By | None = None
) -> dict[str, Any]:
    """Attach a directory to a group, or create a group for it.

    The repository's ledger is the group's ledger, so commands in the repository and clients of the daemon see the
    same data. Without --group-id, the group is the one the directory already belongs to, or a new one.
    """
    who = None if by == AT_A_TERMINAL else by
    group, key = directories.attach(desk, path, str(group_id) if group_id else None, who)
    return {"group_id": group.id, "scope_key": key, "title": group.group().title}


@op("groups", reads=True, screen="chat", asks_daemon=True, words="group list", examples=("bb group list",))
def groups(desk: Desk) -> dict[str, Any]:
    """List the groups on this machine, latest activity first."""
    rows = []
    for registered in knowns.all_groups(knowns.home(desk.env)):
        try:
            rows.append(_row(group_desk.open_group(desk, registered.group_id)))
        except (Refused, NotFound):
            continue  # its repository is missing or not readable; `group_show` reports which
    return {"groups": sorted(rows, key=lambda row: row["updated_at"], reverse=True)}


def _row(group: GroupDesk) -> dict[str, Any]:
    state = group.group()
    return {
        "group_id": group.id,
        "title": state.title,
        "topic": state.topic,
        "created_at": state.created_at,
        "updated_at": events.last_recorded_at(group.store) or state.updated_at,
        "default_scope_key": state.active_scope,
        "path": group.known.scopes.get(state.active_scope, ""),
        "running": live_daemon.is_any_running(group),
        "state": state.state,
    }


@op(
    "group_show",
    reads=True,
    screen="chat",
    asks_daemon=True,
    words="group show",
    examples=("bb group show", "bb group show --group-id g_3f2a91c07be4 --json"),
)
def show(desk: Desk, *, group_id: GroupId | None = None) -> dict[str, Any]:
    """Show a group: its directories, actors, settings and state."""
    return {"group": group_row(group_desk.open_group(desk, group_id))}


def group_row(group: GroupDesk) -> dict[str, Any]:
    """A group as clients see it, without the environment variables of its actors."""
    state, set_to = group.group(), group.settings()
    row = _row(group)
    return {
        "v": 1,
        **{name: row[name] for name in ("group_id", "title", "topic", "created_at", "updated_at", "running", "state")},
        "active_scope_key": state.active_scope,
        "scopes": [_scope(group, scope.key, scope.title) for scope in state.scopes],
        "actors": [
            group_desk.actor_row(actor, running=live_daemon.is_running(group, actor.id)) for actor in group.actors()
        ],
        "settings": set_to,
        "delivery": {name: set_to[name] for name in DELIVERY},
        "automation": {name: value for name, value in set_to.items() if name not in DELIVERY + TRANSCRIPT},
        "terminal_transcript": {name.removeprefix("terminal_transcript_"): set_to[name] for name in TRANSCRIPT},
    }


DELIVERY = ("default_send_to", "min_interval_seconds")
TRANSCRIPT = tuple(name for name in settings.SETTINGS if name.startswith("terminal_transcript_"))


def _scope(group: GroupDesk, key: str, title: str) -> dict[str, Any]:
    return {
        "scope_key": key,
        "url": group.known.scopes.get(key, ""),
        "label": title,
        "is_here": key in group.known.scopes,
    }


@op("group_create", screen="chat", words="group create", examples=("bb group create --title Release",))
def create(
    desk: Desk, *, title: Title | None = None, topic: Topic | None = None, by: By | None = None
) -> dict[str, Any]:
    """Create a group that has no directory yet, with its own ledger."""
    called = checked_title(title, GroupCreateFailed) or actors.GROUP_TITLE
    about = checked_topic(topic, GroupCreateFailed) or ""
    secret_patterns.refuse_secrets(called)
    secret_patterns.refuse_secrets(about)
    home = knowns.home(desk.env)
    who = group_desk.group_author(desk, by)
    with knowns.lock(home):
        group = directories.create(desk, home, called, about, who)
    return {
        "group_id": group.id,
        "title": called,
        "event": group.shown(recorded.event(group.store, f"{group.store.writer}.1")),
    }


@op(
    "group_update",
    screen="chat",
    words="group update",
    examples=("""bb group update --patch '{"title": "Release 2"}'""",),
)
def update(
    desk: Desk, *, group_id: GroupId | None = None, patch: Patch | None = None, by: By | None = None
) -> dict[str, Any]:
    """Change a group's title or topic."""
    group = group_desk.open_group(desk, group_id)
    who = group.by(by)
    group.check("group.update", who)
    changes = settings.entries(patch, ("title", "topic"))
    title = checked_title(changes.get("title"), GroupUpdateFailed)
    topic = checked_topic(changes.get("topic"), GroupUpdateFailed)
    if "title" in changes and title is None:
        raise GroupUpdateFailed(path="$.patch.title")
    (event,) = group.record([Changed(who, title, topic)], who)
    return {"group_id": group.id, "group": group_row(group), "event": event}


@op(
    "group_delete",
    screen="chat",
    asks_daemon=True,
    words="group delete",
    examples=("bb group delete --group-id g_3f2a91c07be4 --confirm g_3f2a91c07be4",),
)
def delete(
    desk: Desk, *, group_id: GroupId | None = None, confirm: Confirmed | None = None, by: By | None = None
) -> dict[str, Any]:
    """Delete a group from this machine. A repository's ledger stays; a ledger that only the group used is deleted.

    At a terminal, --confirm must repeat the group's id.
    """
    group = group_desk.open_group(desk, group_id)
    who = group.by(by)
    group.check("group.delete", who)
    if confirm != group.id and not (desk.is_served and confirm is None):
        raise ConfirmationRequired(hint=f"repeat the command with --confirm {group.id}", group_id=group.id)
    for actor in group.actors():
        live_daemon.stop(group, actor.id)
    directories.forget(desk, group)
    return {"group_id": group.id}


@op("group_use", screen="chat", words="group use", examples=("bb group use .",))
def use(
    desk: Desk, path: Path | None = None, *, group_id: GroupId | None = None, by: By | None = None
) -> dict[str, Any]:
    """Set the active directory of a group: actors work there unless they have their own."""
    group = group_desk.open_group(desk, group_id)
    who = group.by(by)
    group.check("group.use", who)
    if not path:
        raise directories.MissingPath()
    key = directories.key_of(group, path)
    (event,) = group.record([ScopeChosen(who, key)], who)
    return {"group_id": group.id, "active_scope_key": key, "event": event}


@op(
    "group_detach_scope",
    screen="chat",
    words="group detach-scope",
    examples=("bb group detach-scope --scope-key s_3f2a91c07be4",),
)
def detach_scope(
    desk: Desk, *, group_id: GroupId | None = None, scope_key: JsonText | None = None, by: By | None = None
) -> dict[str, Any]:
    """Detach a directory from a group. The ledgers of the directory and of the group stay where they are.

    Parameters:
        scope_key (KEY): The key of the directory.
    """
    group = group_desk.open_group(desk, group_id)
    who = group.by(by)
    group.check("group.detach_scope", who)
    if not scope_key:
        raise MissingScopeKey()
    if str(scope_key) not in {scope.key for scope in group.group().scopes}:
        raise directories.ScopeNotAttached(
            f"the group has no directory with the key {str(scope_key)[:64]!r}", path="$.scope_key"
        )
    (event,) = group.record([ScopeDetached(who, str(scope_key))], who)
    group.update_registry(group.known.without_scope(str(scope_key)))
    return {"group_id": group.id, "event": event}


@op("group_set_state", screen="chat", words="group set-state", examples=("bb group set-state paused",))
def set_state(
    desk: Desk, state: State | None = None, *, group_id: GroupId | None = None, by: By | None = None
) -> dict[str, Any]:
    """Set the state of a group: active, idle or paused."""
    group = group_desk.open_group(desk, group_id)
    who = group.by(by)
    group.check("group.set_state", who)
    to = actors.group_state(state)
    (event,) = group.record([StateSet(who, to)], who)
    return {"group_id": group.id, "state": to, "event": event}


@op(
    "group_settings_update",
    screen="chat",
    words="group settings",
    examples=("""bb group settings --patch '{"nudge_after_seconds": 120}'""", "bb group settings"),
)
def update_settings(
    desk: Desk, *, group_id: GroupId | None = None, patch: Patch | None = None, by: By | None = None
) -> dict[str, Any]:
    """Change the settings of a group: the times of reminders, the pace of delivery, who may see which terminals.

    At a terminal, without --patch, the command shows the settings.
    """
    group = group_desk.open_group(desk, group_id)
    if patch is None and not desk.is_served:
        return {"group_id": group.id, "settings": group.settings(), "event": None}
    who = group.by(by)
    group.check("group.settings", who)
    changes = settings.checked_patch(patch)
    (event,) = group.record([SettingsChanged(who, changes)], who)
    return {"group_id": group.id, "settings": group.settings(), "event": event}


@op("group_start", screen="chat", words="group start", live=True, examples=("bb group start",))
def start(desk: Desk, *, group_id: GroupId | None = None, by: By | None = None) -> dict[str, Any]:
    """Start all actors of a group. The daemon starts them again after a restart of its own."""
    group = group_desk.open_group(desk, group_id)
    who = group.by(by)
    group.check("group.start", who)
    _refuse_without_directory(group, group.group())
    started, failed = [], {}
    for actor in group.actors():
        try:
            live_daemon.running_actors(desk).start(group, actor)
            started.append(actor.id)
        except BbError as refusal:
            failed[actor.id] = refusal.message
    events = group.record([*map(Started, started), GroupStarted(who, started)], who)
    if failed:
        why = "; ".join(f"{name}: {message}" for name, message in failed.items())
        raise GroupStartFailed(f"{', '.join(failed)} could not be started: {why}", started=started, failed=failed)
    return {"group_id": group.id, "started": started, "forced_headless": [], "event": events[-1]}


@op("group_stop", screen="chat", asks_daemon=True, words="group stop", examples=("bb group stop",))
def stop(desk: Desk, *, group_id: GroupId | None = None, by: By | None = None) -> dict[str, Any]:
    """Stop all actors of a group."""
    group = group_desk.open_group(desk, group_id)
    who = group.by(by)
    group.check("group.stop", who)
    stopped = [actor.id for actor in group.actors()]
    for actor in stopped:
        live_daemon.stop(group, actor)
    events = group.record([*map(Stopped, stopped), GroupStopped(who, stopped)], who)
    return {"group_id": group.id, "stopped": stopped, "event": events[-1]}


def _refuse_without_directory(group: GroupDesk, state: Group) -> None:
    """Refuse to start actors with a terminal if the group has no active directory on this machine."""
    needs_one = any(actor.profile.runner != HEADLESS for actor in group.actors())
    if needs_one and not group.known.scopes.get(state.active_scope):
        raise GroupStartFailed("the group has no active directory on this machine for its actors to work in")


def checked_title(value: Any, refusal: Refusal) -> str | None:
    """VALUE as a group's title; None if it is absent or empty."""
    if value in (None, ""):
        return None
    text = value.strip() if isinstance(value, str) else ""
    if not 0 < len(text) <= TITLE_LENGTH or has_control(text):
        raise refusal(path="$.title")
    return text


def checked_topic(value: Any, refusal: Refusal) -> str | None:
    """VALUE as a group's topic; None if it is absent."""
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > TOPIC_LENGTH:
        raise refusal(path="$.topic")
    return value
