"""The group of a ledger, as a fold over the facts about it.

A ledger belongs to exactly one group. Each property is a register that keeps the value latest in the total order. Each
scope and each setting is a separate property.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from bb.groups.facts import (
    ACTIVE,
    Changed,
    Created,
    GroupFact,
    GroupStarted,
    GroupStopped,
    ScopeAttached,
    ScopeChosen,
    ScopeDetached,
    SettingsChanged,
    StateSet,
)
from bb.kernel.record import Record
from bb.kernel.total_order import Place, State, earliest, latest

NAME = "group"
FACTS = get_args(GroupFact)
ENTRY = "group"
SCOPE, SETTING = "scope ", "setting "


class Scope(Record):
    """A directory of the group, by its key. Its path differs between machines and is not in the ledger."""

    key: str
    title: str


class Group(Record):
    """The current state of a group."""

    title: str = ""
    topic: str = ""
    state: str = ACTIVE
    created_at: str = ""
    updated_at: str = ""
    scopes: tuple[Scope, ...] = ()
    active_scope: str = ""
    settings: dict[str, Any] = {}  # noqa: RUF012  (frozen)
    is_running: bool = False  # set by the latest start or stop of all actors


def keys(fact: GroupFact, at: Place) -> list[str]:  # noqa: ARG001
    """The same key for every fact, since a ledger has one group."""
    return [ENTRY]


def step(state: State | None, fact: GroupFact, at: Place, ts: str) -> State:
    """STATE after one more fact."""
    after = dict(state or {})
    match fact:
        case Created(_, title, topic):
            earliest(after, "created", at, ts)
            _name(after, at, title, topic or None)
        case Changed(_, title, topic):
            _name(after, at, title, topic)
        case ScopeAttached(_, scope, title):
            latest(after, SCOPE + scope, at, title)
            earliest(after, f"joined {scope}", at, ts)
        case ScopeDetached(_, scope):
            latest(after, SCOPE + scope, at, None)
        case ScopeChosen(_, scope):
            latest(after, "active scope", at, scope)
        case StateSet(_, to):
            latest(after, "state", at, to)
        case SettingsChanged(_, patch):
            for name, value in patch.items():
                latest(after, SETTING + name, at, value)
        case GroupStarted() | GroupStopped():
            latest(after, "running", at, isinstance(fact, GroupStarted))
    latest(after, "updated", at, ts)
    return after


def _name(state: State, at: Place, title: str | None, topic: str | None) -> None:
    if title is not None:
        latest(state, "title", at, title)
    if topic is not None:
        latest(state, "topic", at, topic)


def group(state: Mapping[str, Any] | None) -> Group:
    """The group that STATE describes."""
    value = {name: register[3] for name, register in (state or {}).items()}
    joined = sorted((name for name in state or {} if name.startswith("joined ")), key=lambda name: (state or {})[name])
    keys = [name.removeprefix("joined ") for name in joined]
    scopes = tuple(Scope(key, value[SCOPE + key]) for key in keys if value.get(SCOPE + key) is not None)
    active = value.get("active scope", "")
    scope_keys = [scope.key for scope in scopes]
    return Group(
        title=value.get("title", ""),
        topic=value.get("topic", ""),
        state=value.get("state", ACTIVE),
        created_at=value.get("created", ""),
        updated_at=value.get("updated", ""),
        scopes=scopes,
        active_scope=active if active in scope_keys else (scope_keys[0] if scope_keys else ""),
        settings={name.removeprefix(SETTING): kept for name, kept in value.items() if name.startswith(SETTING)},
        is_running=value.get("running", False),
    )
