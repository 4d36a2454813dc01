"""Templates: a group as a text, and a group made as a text says (CCCC daemon IPC §8.12).

An import is one record in the ledger, so it happens or it does not. Programs are stopped and prompts change when it has
happened; prompts are files of this machine (`ledger/local/prompts.py`), and are on the disk before.
"""

from __future__ import annotations

import bb
from bb.coordination.facts import Registered, Updated
from bb.groups import settings
from bb.groups.facts import Changed, SettingsChanged
from bb.groups.templates import replacement, templates
from bb.groups.templates.templates import PROMPTS, SIZE, InvalidTemplate, Template, template_actor
from bb.kernel.errors import Usage
from bb.ledger.local import machine_registry as knowns
from bb.ledger.local import prompts
from bb.ledger.records.store import refuse_secrets_in
from bb.ops.catalogue import op
from bb.ops.desk import directories, group_desk, run_states, sources
from bb.ops.groups import actors
from bb.ops.groups.group import ConfirmationRequired, Confirmed, Path, Title, Topic, checked_title, checked_topic
from bb.ops.params import By, GroupId, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from bb.groups.templates.replacement import Plan
    from bb.groups.templates.templates import TemplateActor
    from bb.ledger.index.index import Index
    from bb.ledger.journal.kinds import Fact
    from bb.ops.desk.desk import Desk
    from bb.ops.desk.group_desk import Actor, GroupDesk


class MissingTemplate(Usage):
    """The request has no template."""

    code = "MISSING_TEMPLATE"
    hint = "pass template, as `bb group template-export` makes it"


class InvalidTitle(Usage):
    """A group's title is one line of 1 to 200 characters, its topic a text of at most 10,000."""

    code = "INVALID_TITLE"


class Text(Word):
    """The template; at a terminal, the file it is in."""

    metavar = "FILE"


@op(
    "group_template_export",
    reads=True,
    screen="chat",
    words="group template-export",
    examples=("bb group template-export", "bb group template-export --group-id g_3f2a91c07be4 --json"),
)
def export(desk: Desk, *, group_id: GroupId | None = None, by: By | None = None) -> dict[str, Any]:
    """A group as a text: its actors, settings and prompts, and nothing that was said or given in secret."""
    group, _ = _steered(desk, group_id, by)
    stands = _standing(group, group.index(), _prompts(group))
    text = templates.export(
        stands.title, stands.topic, stands.actors, stands.settings, stands.prompts, desk.now(), bb.__version__
    )
    return {"template": text, "filename": templates.filename(stands.title)}


@op(
    "group_template_preview",
    reads=True,
    screen="chat",
    words="group template-preview",
    examples=("bb group template-preview team.yaml",),
)
def preview(
    desk: Desk, template: Text | None = None, *, group_id: GroupId | None = None, by: By | None = None
) -> dict[str, Any]:
    """What would change if a template were imported into a group. Nothing does."""
    group, _ = _steered(desk, group_id, by)
    if not template:
        raise MissingTemplate
    wanted = _parsed(desk, template)
    return {
        "scope_root": group.known.scopes.get(group.group().active_scope, ""),
        "template": wanted.plain(),
        "diff": replacement.diff(wanted, _standing(group, group.index(), _prompts(group))),
    }


@op(
    "group_template_import_replace",
    screen="chat",
    words="group template-import",
    examples=("bb group template-import team.yaml --group-id g_3f2a91c07be4 --confirm g_3f2a91c07be4",),
)
def import_replace(
    desk: Desk,
    template: Text | None = None,
    *,
    group_id: GroupId | None = None,
    confirm: Confirmed | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """Make a group as a template says: actors that are not in it leave, settings and prompts become its own.

    What was said and done stays. The group's id must be repeated, as --confirm.
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
        "added": [each.id for each in planned.add],
        "updated": list(planned.update),
        "settings_patch": planned.settings_patch,
        "prompt_paths": moved,
    }


def _unconfirmed(group_id: str) -> ConfirmationRequired:
    hint = "repeat the group's id as confirm: its actors, settings and prompts are replaced"
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
    template: Text | None = None,
    title: Title | None = None,
    topic: Topic | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """Make a group for a directory that belongs to none, as a template says."""
    who = group_desk.founder(desk, by)
    directories.root_of(desk, path)
    wanted = _parsed(desk, template)
    refuse_secrets_in(wanted.but(prompts={}).plain())
    called = checked_title(title, InvalidTitle) or _usable(wanted.title)
    about = checked_topic(topic, InvalidTitle) or wanted.topic or None
    group, facts = directories.begin(desk, path, who)
    try:
        _replaced(group, wanted, who, [*facts, *([Changed(who, called, about)] if called or about else [])])
    except BaseException:
        directories.forget(desk, group)
        raise
    return {"group_id": group.id, "applied": True}


def _usable(title: str) -> str | None:
    """A template's title, if a group can be called so."""
    try:
        return checked_title(title, InvalidTitle)
    except InvalidTitle:
        return None


# -- what there is, and what is wanted


def _steered(desk: Desk, group_id: Any, by: Any) -> tuple[GroupDesk, str]:
    """The group, and who asks; refused when who asks does not steer it."""
    group = group_desk.of(desk, group_id)
    who = group.by(by)
    group.check("group.template", who)
    return group, who


def _parsed(desk: Desk, template: Any) -> Template:
    """The template that is meant. A socket takes the text itself; nobody there has us read files."""
    if desk.is_served or not isinstance(template, str) or "\n" in template:
        return templates.parse(template)
    try:
        text = sources.read(desk, template, SIZE, _too_large).octets.decode()
    except (sources.TextNotRead, ValueError):  # a folder, another's file; what can be no path; what is no UTF-8
        raise InvalidTemplate(f"{template[:200]!r} cannot be read as text", path="$.template") from None
    return templates.parse(text)


def _too_large(name: str, size: int) -> InvalidTemplate:
    return InvalidTemplate(f"{name} has {size:,} bytes, and a template {SIZE:,} at most", path="$.template")


def _prompts(group: GroupDesk) -> dict[str, str]:
    return prompts.read(knowns.home(group.desk.env), group.id, PROMPTS)


def _standing(group: GroupDesk, index: Index, own: Mapping[str, str]) -> Template:
    """The group as a template would have it, with its OWN prompts."""
    stands = group.group(index)
    present = tuple(template_actor(each.id, each.agent.title, each.profile) for each in group.actors(index))
    return Template(stands.title, stands.topic, present, settings.complete(stands.settings), own)


# -- making it so


def _replaced(
    group: GroupDesk, wanted: Template, who: str, before: Sequence[Fact] = ()
) -> tuple[Plan, dict[str, str | None]]:
    """Make the group as it is WANTED, behind what comes BEFORE; what was done, and where its prompts are."""
    own = _prompts(group)
    planned = [replacement.plan(wanted, _standing(group, group.index(), own))]

    def decide(index: Index) -> list[Fact]:
        planned[0] = replacement.plan(wanted, _standing(group, index, own))
        return [*before, *_facts(group, index, planned[0], wanted, who)]

    with prompts.Change(knowns.home(group.desk.env), group.id, planned[0].prompts) as change:
        group.record(decide, who, author=actors.author(who))
        moved = change.make()
    for name in planned[0].remove:
        actors.left(group, name)
    for name, changes in planned[0].update.items():
        if changes.get("enabled") is False:
            run_states.stop(group, name)
    return planned[0], moved


def _facts(group: GroupDesk, index: Index, planned: Plan, wanted: Template, who: str) -> list[Fact]:
    """What is to be recorded, so that everything PLANNED is done."""
    present = {each.id: each for each in group.actors(index)}
    joining = replacement.moved(planned.order, list(present))
    facts: list[Fact] = []
    for name in planned.remove:
        facts += actors.leaving(group, index, name, who)
    for each in wanted.actors:
        facts += _made(each, present.get(each.id), joins=each.id in joining, changes=each.id in planned.update)
    return [*facts, *([SettingsChanged(who, planned.settings_patch)] if planned.settings_patch else [])]


def _made(wanted: TemplateActor, present: Actor | None, *, joins: bool, changes: bool) -> list[Fact]:
    """An actor as it is WANTED: it JOINS, or joins again to stand where it should, or only CHANGES."""
    scope = present.profile.default_scope_key if present else ""
    profile = wanted.profile.but(default_scope_key=scope).stored()
    if joins:
        return [Registered(wanted.id, present.agent.role if present else actors.ROLE, wanted.title, profile)]
    return [Updated(wanted.id, None, wanted.title, profile)] if changes else []
