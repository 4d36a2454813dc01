"""Replacing a group by a template: the differences for a preview, and the plan of changes.

Everything is replaced except the group's title, topic and history. An actor that stays keeps its scope and environment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bb.groups.settings import Value
from bb.groups.templates.templates import PROMPTS, Template, TemplateActor
from bb.kernel.record import Record

BUILT_IN, OWN = "builtin", "home"  # the source of a prompt


class Plan(Record):
    """The changes that make a group match a template."""

    remove: tuple[str, ...]
    add: tuple[TemplateActor, ...]
    update: Mapping[str, dict[str, Any]]  # actor -> its changes, as a patch
    order: tuple[str, ...]  # of all actors; the first enabled one is the foreman
    settings_patch: dict[str, Value]
    prompts: dict[str, str | None]  # the changed prompts; None means the built-in one


def plan(template: Template, current: Template) -> Plan:
    """The changes that turn CURRENT into TEMPLATE."""
    template_actors = {actor.id: actor for actor in template.actors}
    present = {actor.id: actor for actor in current.actors}
    changes = {name: _changes(template_actors[name], present[name]) for name in template_actors if name in present}
    return Plan(
        remove=tuple(name for name in present if name not in template_actors),
        add=tuple(actor for name, actor in template_actors.items() if name not in present),
        update={name: changed for name, changed in changes.items() if changed},
        order=tuple(template_actors),
        settings_patch={key: value for key, value in template.settings.items() if value != current.settings.get(key)},
        prompts={name: new for name in PROMPTS if (new := template.prompts.get(name)) != current.prompts.get(name)},
    )


def actors_to_rejoin(order: Sequence[str], present: Sequence[str]) -> tuple[str, ...]:
    """The actors of ORDER that have to join, again or for the first time, to bring the group into that order.

    An actor that joins is put last. PRESENT are the present actors, in their current order.
    """
    places = {name: place for place, name in enumerate(present)}
    stays, last = 0, -1
    while stays < len(order) and places.get(order[stays], -1) > last:
        last = places[order[stays]]
        stays += 1
    return tuple(order[stays:])


def diff(template: Template, current: Template) -> dict[str, Any]:
    """The differences between CURRENT and TEMPLATE, for a preview."""
    planned = plan(template, current)
    return {
        "actors_add": [actor.id for actor in planned.add],
        "actors_update": list(planned.update),
        "actors_remove": list(planned.remove),
        "settings_changed": {
            key: {"from": current.settings.get(key), "to": value} for key, value in planned.settings_patch.items()
        },
        "prompts_changed": {
            name: {
                "changed": name in planned.prompts,
                "current_chars": len(current.prompts.get(name, "")),
                "new_chars": len(template.prompts.get(name, "")),
                "current_source": OWN if name in current.prompts else BUILT_IN,
                "new_source": OWN if name in template.prompts else BUILT_IN,
            }
            for name in PROMPTS
        },
    }


def _changes(wanted: TemplateActor, present: TemplateActor) -> dict[str, Any]:
    before = present.plain()
    return {field: value for field, value in wanted.plain().items() if value != before[field]}
