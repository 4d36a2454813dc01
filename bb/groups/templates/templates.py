"""A group as a text that people can store, edit and import again: `cccc.group_template`, version 1.

Unknown keys are ignored, because templates can come from other versions. Known keys must be valid. Anything missing in
a template gets the value of a new group: a missing setting its default, a missing prompt the built-in one. An actor
missing in the template is removed from the group. The environment of an actor is never part of a template.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bb.groups import settings
from bb.groups.actors import profiles
from bb.groups.actors.actors import ID_LENGTH, is_actor_id
from bb.groups.actors.profiles import InvalidProfile, Profile
from bb.groups.settings import InvalidPatch, Value
from bb.groups.templates import plain_yaml
from bb.kernel import clock
from bb.kernel.errors import BbError, Refused, Usage
from bb.kernel.record import Record
from bb.kernel.validation import is_unicode

KIND, VERSION = "cccc.group_template", 1
PROMPTS = ("preamble", "help", "standup")
OF_PROFILE = ("runtime", "runner", "command", "submit", "enabled")

SIZE = 256 * 1024
ACTORS = 100
TEXT_LENGTH = 4000  # of title and topic
SLUG_LENGTH = 60

InvalidTemplate = Usage.declare(
    "INVALID_TEMPLATE",
    "The template is not valid",
    hint="`bb group template-export` prints a valid template of an existing group",
)

TemplateExportFailed = Refused.declare("TEMPLATE_EXPORT_FAILED", "The group cannot be exported as a template")


class TemplateActor(Record):
    """An actor of a template, without the scope and environment, which belong to one group only."""

    id: str
    title: str
    profile: Profile

    def plain(self) -> dict[str, Any]:
        """The actor as plain JSON."""
        stored = self.profile.stored()
        return {"id": self.id, "title": self.title} | {field: stored[field] for field in OF_PROFILE}


class Template(Record):
    """A group in the form of a template. An existing group is converted to this form to compare the two."""

    title: str
    topic: str
    actors: tuple[TemplateActor, ...]  # in the order of joining
    settings: Mapping[str, Value]  # all of them
    prompts: Mapping[str, str]  # without the built-in ones
    exported_at: str = ""
    cccc_version: str = ""

    def plain(self) -> dict[str, Any]:
        """The template as plain JSON."""
        return {
            "kind": KIND,
            "v": VERSION,
            "title": self.title,
            "topic": self.topic,
            "exported_at": self.exported_at,
            "cccc_version": self.cccc_version,
            "actors": [actor.plain() for actor in self.actors],
            "settings": dict(self.settings),
            "prompts": dict(self.prompts),
        }


def template_actor(actor_id: str, title: str, profile: Profile) -> TemplateActor:
    """An actor in the form of a template."""
    return TemplateActor(actor_id, title, profile.replace(default_scope_key=""))


def export(
    title: str,
    topic: str,
    actors: Sequence[TemplateActor],
    settings: Mapping[str, Value],
    prompts: Mapping[str, str],
    exported_at: int,
    version: str,
) -> str:
    """A group as the text of a template. Refused if the text could not be imported again."""
    template = Template(title, topic, tuple(actors), settings, prompts, clock.text(exported_at), version)
    text = plain_yaml.dump(template.plain())
    try:
        parse(text)
    except InvalidTemplate.error as refusal:
        raise TemplateExportFailed(refusal.message, **refusal.details) from None
    return text


def filename(title: str) -> str:
    """The name of a template's file."""
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in title.lower()).split()
    return "-".join(["group-template", *words])[:SLUG_LENGTH].rstrip("-") + ".yaml"


# -- reading


def parse(text: Any) -> Template:
    """Parse and check the text of a template."""
    if not isinstance(text, str) or len(text.encode("utf-8", "surrogatepass")) > SIZE:
        raise _wrong("", f"a template must be a text of at most {SIZE // 1024} KiB")
    try:
        content = plain_yaml.read(text)
    except plain_yaml.NotPlain as error:
        raise _wrong("", f"the template cannot be read: {error}") from None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise _wrong(".kind", f"the template must contain `kind: {KIND}`")
    if content.get("v") != VERSION or content["v"] is True:
        raise _wrong(".v", f"only version {VERSION} of templates is supported")
    return Template(
        title=_text(content.get("title"), ".title", TEXT_LENGTH),
        topic=_text(content.get("topic"), ".topic", TEXT_LENGTH),
        actors=_actors(content.get("actors")),
        settings=settings.with_defaults(_settings(content.get("settings"))),
        prompts=_prompts(content.get("prompts")),
        exported_at=_informative(content.get("exported_at")),
        cccc_version=_informative(content.get("cccc_version")),
    )


def _actors(value: Any) -> tuple[TemplateActor, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > ACTORS:
        raise _wrong(".actors", f"actors must be a list of at most {ACTORS} actors")
    actors = [_actor(actor, f".actors[{n}]") for n, actor in enumerate(value)]
    names = [actor.id.lower() for actor in actors]
    for n, name in enumerate(names):
        if name in names[:n]:
            raise _wrong(f".actors[{n}].id", f"the template has two actors {name}")
    return tuple(actors)


def _actor(value: Any, path: str) -> TemplateActor:
    if not isinstance(value, dict):
        raise _wrong(path, "an actor must be a mapping")
    name = value.get("id")
    if not isinstance(name, str) or not is_actor_id(name):
        why = f"an actor's id must have 1 to {ID_LENGTH} letters, digits, - and _, and must not be reserved"
        raise _wrong(f"{path}.id", why)
    try:
        title = name if value.get("title") in (None, "") else profiles.title(value["title"])
        return TemplateActor(name, title, profiles.profile({field: value.get(field) for field in OF_PROFILE}))
    except InvalidProfile as unfit:
        raise _wrong(f"{path}.{unfit.field}", unfit.message) from None


def _settings(value: Any) -> dict[str, Value]:
    patch = {key: setting for key, setting in _mapping(value, ".settings").items() if key in settings.SETTINGS}
    try:
        return settings.checked_patch(patch) if patch else {}
    except InvalidPatch.error as refusal:
        raise _wrong(f".settings{refusal.details['path'].removeprefix('$.patch')}", refusal.message) from None


def _prompts(value: Any) -> dict[str, str]:
    content = _mapping(value, ".prompts")
    prompts = {name: _text(content.get(name), f".prompts.{name}") for name in PROMPTS}
    return {name: text for name, text in prompts.items() if text.strip()}


def _mapping(value: Any, path: str) -> dict[Any, Any]:
    if not (value is None or isinstance(value, dict)):
        raise _wrong(path, f"{path[1:]} must be a mapping")
    return value or {}


def _text(value: Any, path: str, most: int = SIZE) -> str:
    text = "" if value is None else value
    if not isinstance(text, str) or len(text) > most or not is_unicode(text):
        raise _wrong(path, f"{path[1:]} must be a text of at most {most:,} characters")
    return text


def _informative(value: Any) -> str:
    return value if isinstance(value, str) and value.isprintable() else ""


def _wrong(path: str, message: str) -> BbError:
    return InvalidTemplate(message, path=f"$.template{path}")
