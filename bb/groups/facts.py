"""The facts about a group."""

from __future__ import annotations

from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.groups.context_forms import Op

ACTIVE, IDLE, PAUSED = "active", "idle", "paused"
STATES = (ACTIVE, IDLE, PAUSED)


class Created(Record):
    """A group was created."""

    by: str
    title: str
    topic: str = ""


class Changed(Record):
    """The title or topic was changed. None: unchanged."""

    by: str
    title: str | None = None
    topic: str | None = None


class ScopeAttached(Record):
    """A directory was attached to the group. TITLE is its name for people."""

    by: str
    scope: str
    title: str = ""


class ScopeDetached(Record):
    """A directory was detached from the group."""

    by: str
    scope: str


class ScopeChosen(Record):
    """The active directory was set."""

    by: str
    scope: str


class StateSet(Record):
    """The state was set: active, idle or paused."""

    by: str
    state: str


class SettingsChanged(Record):
    """Settings were changed."""

    by: str
    patch: dict[str, Any]


class GroupStarted(Record):
    """The group's actors were started."""

    by: str
    actors: list[str]


class GroupStopped(Record):
    """The group's actors were stopped."""

    by: str
    actors: list[str]


class ContextChanged(Record):
    """BY changed the context. OPS are in the recorded form that `groups/context_forms.py` describes."""

    by: str
    ops: tuple[Op, ...]


GroupFact = (
    Created
    | Changed
    | ScopeAttached
    | ScopeDetached
    | ScopeChosen
    | StateSet
    | SettingsChanged
    | GroupStarted
    | GroupStopped
)
