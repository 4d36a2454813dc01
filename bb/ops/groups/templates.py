"""Templates: export a group as a text, and create or replace a group from such a text (CCCC daemon IPC §8.12).

An import is one record in the ledger, so it is atomic. Prompts are files on this machine (`ledger/local/prompts.py`):
the new ones are on the disk before the record and are put in place after it. Removed actors are stopped after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import bb
from bb.coordination.facts import Registered, Updated
from bb.groups import settings
from bb.groups.facts import Changed, SettingsChanged
from bb.groups.templates import replacement, templates
from bb.groups.templates.replacement import Plan
from bb.groups.templates.templates import PROMPTS, SIZE, InvalidTemplate, Template, TemplateActor, template_actor
from bb.kernel.errors import BbError, Usage
from bb.ledger.index.index import Index
from bb.ledger.journal.kinds import Fact
from bb.ledger.local import machine_registry as knowns
from bb.ledger.local import prompts
from bb.ledger.records.recordable import refuse_secrets_in
from bb.ops.catalogue import op
from bb.ops.desk import directories, group_desk, input_text, live_daemon
from bb.ops.desk.desk import Desk
from bb.ops.desk.group_desk import Actor, GroupDesk
from bb.ops.groups import actors
from bb.ops.groups.group import ConfirmationRequired, Confirmed, Path, Title, Topic, checked_title, checked_topic
from bb.ops.json_params import By, GroupId, JsonText

MissingTemplate = Usage.declare(
    "MISSING_TEMPLATE",
    "The request does not contain a template",
    hint="pass `template`, the text that `bb group template-export` prints",
)

InvalidTitle = Usage.declare(
    "INVALID_TITLE", "A title must be one line of 1 to 200 characters, a topic a text of at most 10,000 characters"
)


class TemplateText(JsonText):
    """The template; at a terminal, the file with the template."""

    metavar = "FILE"


@op(
    "group_template_export",
    reads=True,
    screen="chat",
    words="group template-export",
    examples=("bb group template-export", "bb group template-export --group-id g_3f2a91c07be4 --json"),
)
def export(desk: Desk, *, group_id: GroupId | None = None, by: By | None = None) -> dict[str, Any]:
    """Export a group as a text: actors, settings and prompts, but no messages and no environment variables."""
    group, _ = _steered(desk, group_id, by)
    current = _current(group, group.index(), _prompts(group))
    text = templates.export(
        current.title, current.topic, current.actors, current.settings, current.prompts, desk.now(), bb.__version__
    )
    return {"template": text, "filename": templates.filename(current.title)}


@op(
    "group_template_preview",
    reads=True,
    screen="chat",
    words="group template-preview",
    examples=("bb group template-preview team.yaml",),
)
def preview(
    desk: Desk, template: TemplateText | None = None, *, group_id: GroupId | None = None, by: By | None = None
) -> dict[str, Any]:
    """Show what importing a template would change, and change nothing."""
    group, _ = _steered(desk, group_id, by)
    if not template:
        raise MissingTemplate()
    parsed_template = _parsed(desk, template)
    return {
        "scope_root": group.known.scopes.get(group.group().active_scope, ""),
        "template": parsed_template.plain(),
        "diff": replacement.diff(parsed_template, _current(group, group.index(), _prompts(group))),
    }


@op(
    "group_template_import_replace",
    screen="chat",
    words="group template-import",
    examples=("bb group template-import team.yaml --group-id g_3f2a91c07be4 --confirm g_3f2a91c07be4",),
)
def import_replace(
    desk: Desk,
    template: TemplateText | None = None,
    *,
    group_id: GroupId | None = None,
    confirm: Confirmed | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """Apply a template to a group: it replaces the actors, settings and prompts. Other actors are removed.

    Messages and history stay. --confirm must repeat the group's id.
    """
    if group_id and confirm != group_id:
        raise _unconfirmed(str(group_id))
    group, who = _steered(desk, group_id, by)
    if confirm != group.id:
        raise _unconfirmed(group.id)
    planned, moved = _replaced(group, _parsed(desk, template), who)
    return {
        "group_id": group.id,
        "applied": True,
        "removed": list(planned.remove),
        "added": [actor.id for actor in planned.add],
        "updated": list(planned.update),
        "settings_patch": planned.settings_patch,
        "prompt_paths": moved,
    }


def _unconfirmed(group_id: str) -> BbError:
    hint = "this replaces the group's actors, settings and prompts; to confirm, repeat the group's id as confirm"
    return ConfirmationRequired(hint=hint, group_id=group_id[:64], path="$.confirm")


@op(
    "group_create_from_template",
    screen="chat",
    words="group create-from-template",
    examples=("bb group create-from-template ~/work/site --template team.yaml --title Site",),
)
def create(
    desk: Desk,
    path: Path | None = None,
    *,
    template: TemplateText | None = None,
    title: Title | None = None,
    topic: Topic | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """Create a group from a template, for a directory that does not belong to a group yet."""
    who = group_desk.group_author(desk, by)
    directories.root_of(desk, path)
    parsed_template = _parsed(desk, template)
    refuse_secrets_in(parsed_template.replace(prompts={}).plain())
    called = checked_title(title, InvalidTitle) or _usable(parsed_template.title)
    about = checked_topic(topic, InvalidTitle) or parsed_template.topic or None
    group, facts = directories.new_group_for(desk, path, who)
    try:
        _replaced(group, parsed_template, who, [*facts, *([Changed(who, called, about)] if called or about else [])])
    except BaseException:
        directories.forget(desk, group)
        raise
    return {"group_id": group.id, "applied": True}


def _usable(title: str) -> str | None:
    """A template's title if it is valid, else None."""
    try:
        return checked_title(title, InvalidTitle)
    except InvalidTitle.error:
        return None


# -- current state and wanted state


def _steered(desk: Desk, group_id: Any, by: Any) -> tuple[GroupDesk, str]:
    """The group and the caller. Refused if the caller has no permission to use templates."""
    group = group_desk.open_group(desk, group_id)
    who = group.by(by)
    group.check("group.template", who)
    return group, who


def _parsed(desk: Desk, template: Any) -> Template:
    """The parsed template. Only at a terminal may TEMPLATE be the name of a file; a socket client sends the text."""
    if desk.is_served or not isinstance(template, str) or "\n" in template:
        return templates.parse(template)
    try:
        text = input_text.read(desk, template, SIZE, _too_large).octets.decode()
    except (input_text.FileNotRead.error, ValueError):  # a folder, no permission, an invalid path, or invalid UTF-8
        raise InvalidTemplate(f"{template[:200]!r} cannot be read as text", path="$.template") from None
    return templates.parse(text)


def _too_large(name: str, size: int) -> BbError:
    return InvalidTemplate(f"{name} has {size:,} bytes; a template can have at most {SIZE:,}", path="$.template")


def _prompts(group: GroupDesk) -> dict[str, str]:
    return prompts.read(knowns.home(group.desk.env), group.id, PROMPTS)


def _current(group: GroupDesk, index: Index, own: Mapping[str, str]) -> Template:
    """The group's current state in the form of a template, with its OWN prompts."""
    state = group.group(index)
    present = tuple(template_actor(actor.id, actor.agent.title, actor.profile) for actor in group.actors(index))
    return Template(state.title, state.topic, present, settings.with_defaults(state.settings), own)


# -- applying a template


def _replaced(
    group: GroupDesk, wanted: Template, who: str, before: Sequence[Fact] = ()
) -> tuple[Plan, dict[str, str | None]]:
    """Record the facts BEFORE, then change the group to the WANTED state. Return the plan and the prompts' paths."""
    own = _prompts(group)
    planned = [replacement.plan(wanted, _current(group, group.index(), own))]

    def decide(index: Index) -> list[Fact]:
        planned[0] = replacement.plan(wanted, _current(group, index, own))
        return [*before, *_facts(group, index, planned[0], wanted, who)]

    with prompts.Change(knowns.home(group.desk.env), group.id, planned[0].prompts) as change:
        group.record(decide, who, author=actors.author_of_removal(who))
        moved = change.make()
    for name in planned[0].remove:
        actors.clean_up_removed(group, name)
    for name, changes in planned[0].update.items():
        if changes.get("enabled") is False:
            live_daemon.stop(group, name)
    return planned[0], moved


def _facts(group: GroupDesk, index: Index, planned: Plan, wanted: Template, who: str) -> list[Fact]:
    """The facts that carry out the plan."""
    present = {actor.id: actor for actor in group.actors(index)}
    joining = replacement.actors_to_rejoin(planned.order, list(present))
    facts: list[Fact] = []
    for name in planned.remove:
        facts += actors.facts_of_removal(group, index, name, who)
    for actor in wanted.actors:
        facts += _actor_facts(
            actor, present.get(actor.id), joins=actor.id in joining, changes=actor.id in planned.update
        )
    return [*facts, *([SettingsChanged(who, planned.settings_patch)] if planned.settings_patch else [])]


def _actor_facts(wanted: TemplateActor, present: Actor | None, *, joins: bool, changes: bool) -> list[Fact]:
    """The facts for one actor of the template: it joins (again, if its place in the order changes), or only changes."""
    scope = present.profile.default_scope_key if present else ""
    profile = wanted.profile.replace(default_scope_key=scope).stored()
    if joins:
        return [Registered(wanted.id, present.agent.role if present else actors.ROLE, wanted.title, profile)]
    return [Updated(wanted.id, None, wanted.title, profile)] if changes else []
