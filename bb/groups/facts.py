"""What happened to a group."""

from __future__ import annotations

from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.groups.context_forms import Op

ACTIVE, IDLE, PAUSED = "active", "idle", "paused"
STATES = (ACTIVE, IDLE, PAUSED)


class Created(Record):
    """A group began."""

    by: str
    title: str
    topic: str = ""


class Changed(Record):
    """A group got another title or topic; what is None stayed as it was."""

    by: str
    title: str | None = None
    topic: str | None = None


class ScopeAttached(Record):
    """A directory belongs to the group from now on; TITLE is what people call it."""

    by: str
    scope: str
    title: str = ""


class ScopeDetached(Record):
    """A directory does not belong to the group any more."""

    by: str
    scope: str


class ScopeChosen(Record):
    """The directory that work is about, unless somebody says otherwise."""

    by: str
    scope: str


class StateSet(Record):
    """How much a group wants to be disturbed: active, idle or paused."""

    by: str
    state: str


class SettingsChanged(Record):
    """Some settings have other values."""

    by: str
    patch: dict[str, Any]


class GroupStarted(Record):
    """The group's actors are to run."""

    by: str
    actors: list[str]


class GroupStopped(Record):
    """The group's actors are not to run any more."""

    by: str
    actors: list[str]


class ContextChanged(Record):
    """BY changed the context; OPS are resolved, as `groups/context_forms.py` has them."""

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
