"""A group as a text that can be kept and read again (IPC §8.12)."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bb.groups.actors import profiles
from bb.groups.actors.profiles import Profile
from bb.groups.settings import SETTINGS, with_defaults
from bb.groups.templates import templates
from bb.groups.templates.templates import (
    InvalidTemplate,
    Template,
    TemplateActor,
    TemplateExportFailed,
    export,
    filename,
    parse,
    template_actor,
)
from bb.kernel.errors import BbError
from bb.kernel.escaping import has_control
from tests.examples import examples
from tests.support import ROOT

NOON = 1_767_614_400_000
HEAD = "kind: cccc.group_template\nv: 1\n"
ADA = TemplateActor("ada", "Ada L.", Profile("claude", "pty", ("claude", "--more"), "enter", "", True))
BO = TemplateActor("bo", "bo", Profile("custom", "headless", (), "none", "", False))


def refused(text: Any) -> BbError:
    with pytest.raises(InvalidTemplate.error) as refusal:
        parse(text)
    assert (refusal.value.code, refusal.value.exit_status) == ("INVALID_TEMPLATE", 2)
    assert len(refusal.value.message) < 400
    return refusal.value


def exported(template: Template) -> str:
    of = template
    return export(of.title, of.topic, of.actors, of.settings, of.prompts, NOON, of.cccc_version)


# -- there and back

lines = st.text(st.characters(exclude_categories=("C", "Z")), max_size=20).filter(lambda line: not has_control(line))
words = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=20)
names = st.from_regex(r"[a-z0-9][A-Za-z0-9_-]{0,31}", fullmatch=True).filter(
    lambda name: name.lower() not in profiles.ids.RESERVED
)
runs = st.builds(
    Profile,
    runtime=st.sampled_from(sorted(set(profiles.RUNTIMES) - {"custom"})),
    runner=st.sampled_from(profiles.RUNNERS),
    command=st.lists(words, max_size=4).map(lambda rest: ("tool", *rest)),
    submit=st.sampled_from(profiles.SUBMITS),
    enabled=st.booleans(),
)
team = st.lists(st.builds(TemplateActor, names, lines.map(lambda line: line or "x"), runs), max_size=4)
whole = st.builds(
    Template,
    title=words,
    topic=words,
    actors=team.map(lambda actors: tuple({actor.id.lower(): actor for actor in actors}.values())),
    settings=st.fixed_dictionaries({}, optional={"nudge_after_seconds": st.integers(0, 999)}).map(with_defaults),
    prompts=st.dictionaries(st.sampled_from(templates.PROMPTS), words.filter(str.strip)),
    exported_at=st.just("2026-01-05T12:00:00.000Z"),
    cccc_version=st.just("1.2.3"),
)


@given(whole)
def test_ipc_8_12_what_was_exported_is_read_as_it_was(template: Template):
    assert parse(exported(template)) == template


@given(whole)
@examples(15)  # it takes a third of a second for each
def test_ipc_8_12_other_readers_of_yaml_find_the_same_in_it(template: Template):
    assert yaml.safe_load(exported(template)) == template.plain()


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML has no libyaml here")
@given(whole)
def test_ipc_8_12_and_so_does_libyaml(template: Template):
    assert yaml.load(exported(template), Loader=yaml.CSafeLoader) == template.plain()


def test_a_template_is_a_text_that_people_can_read():
    settings = with_defaults({"terminal_transcript_visibility": "off"})
    text = export("Parser", "", [ADA, BO], settings, {"help": "Be kind.\nAsk.\n"}, NOON, "1.2.3")
    assert text.startswith(
        "kind: cccc.group_template\nv: 1\ntitle: Parser\ntopic: ''\nexported_at: '2026-01-05T12:00:00.000Z'\n"
        "cccc_version: 1.2.3\nactors:\n- id: ada\n  title: Ada L.\n  runtime: claude\n  runner: pty\n"
    )
    assert "  terminal_transcript_visibility: 'off'\n" in text
    assert text.endswith("prompts:\n  help: |\n    Be kind.\n    Ask.\n")


def test_ipc_8_12_what_only_one_group_knows_of_an_actor_is_not_in_its_template():
    actor = template_actor("ada", "Ada", ADA.profile.replace(default_scope_key="s_1"))
    text = export("t", "", [actor], with_defaults({}), {}, NOON, "1")
    assert "env" not in text
    assert "s_1" not in text
    assert actor == parse(text).actors[0]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"prompts": {"help": "x" * templates.SIZE}}, ""),
        ({"topic": "x" * 4001}, ".topic"),
        ({"prompts": {"help": "\ud800"}}, ".prompts.help"),
        ({"actors": tuple(ADA.replace(id=f"a{n}") for n in range(101))}, ".actors"),
    ],
)
def test_a_group_that_could_not_be_read_again_is_not_exported(change: dict[str, Any], path: str):
    with pytest.raises(TemplateExportFailed.error) as refusal:
        exported(Template("t", "", (), with_defaults({}), {}).replace(**change))
    assert (refusal.value.code, refusal.value.details) == ("TEMPLATE_EXPORT_FAILED", {"path": f"$.template{path}"})


# -- reading


def test_the_smallest_template_is_an_empty_group_as_usual():
    assert parse(HEAD) == Template("", "", (), with_defaults({}), {})


def test_what_is_not_named_is_as_usual():
    template = parse(HEAD + "actors: [{id: ada}, {id: Bo, title: '', command: [], runner: headless}]\nprompts:\n")
    usual = Profile("codex", "pty", ("codex",), "enter", "", True)
    assert template.actors == (
        TemplateActor("ada", "ada", usual),
        TemplateActor("Bo", "Bo", usual.replace(runner="headless")),
    )


def test_unknown_keys_are_let_be():
    text = HEAD + "rules: [1]\nactors: [{id: ada, env: {A: b}, role: x}]\nsettings: {y: 1}\nprompts: {z: [1]}\n7: x\n"
    template = parse(text)
    assert [actor.id for actor in template.actors] == ["ada"]
    assert (template.settings, template.prompts) == (with_defaults({}), {})


def test_words_of_old_yaml_are_taken_for_what_people_mean():
    template = parse(HEAD + "title: no\nsettings: {terminal_transcript_visibility: off}\nexported_at: 2026-01-01\n")
    assert (template.title, template.exported_at) == ("no", "2026-01-01")
    assert template.settings["terminal_transcript_visibility"] == "off"


@pytest.mark.parametrize("prompt", ["", "~", "' '", '"\\n"'])
def test_a_blank_prompt_is_the_built_in_one(prompt: str):
    assert parse(HEAD + f"prompts: {{help: {prompt}, preamble: x}}\n").prompts == {"preamble": "x"}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        *((text, "") for text in (None, 1, [], {}, b"x", "a: [", "\0", "\ud800", "a: &a 1", "x" * (256 * 1024 + 1))),
        *((text, ".kind") for text in ("", "~", "[]", "x", "1", "{}", "v: 1", "kind: other\nv: 1", "kind: [x]\nv: 1")),
        *((f"kind: cccc.group_template\n{v}", ".v") for v in ("", "v: 2", "v: '1'", "v: true", "v: []")),
        (HEAD + "title: [x]", ".title"),
        (HEAD + "title: 12", ".title"),
        (HEAD + 'title: "\\ud800"', ".title"),
        (HEAD + f"title: {'x' * 4001}", ".title"),
        (HEAD + "topic: {}", ".topic"),
        (HEAD + f"topic: {'x' * 4001}", ".topic"),
        (HEAD + "actors: ada", ".actors"),
        (HEAD + "actors: {id: ada}", ".actors"),
        (HEAD + "actors:\n" + "".join(f"- id: a{n}\n" for n in range(101)), ".actors"),
        (HEAD + "actors: [ada]", ".actors[0]"),
        (HEAD + "actors: [{}]", ".actors[0].id"),
        (HEAD + "actors: [{id: ada}, {id: '@bo'}]", ".actors[1].id"),
        (HEAD + "actors: [{id: user}]", ".actors[0].id"),
        (HEAD + "actors: [{id: 7}]", ".actors[0].id"),
        (HEAD + "actors: [{id: ada}, {id: bo}, {id: Ada}]", ".actors[2].id"),
        (HEAD + "actors: [{id: ada, title: 0}]", ".actors[0].title"),
        (HEAD + "actors: [{id: ada, runtime: emacs}]", ".actors[0].runtime"),
        (HEAD + "actors: [{id: ada, runner: tmux}]", ".actors[0].runner"),
        (HEAD + "actors: [{id: ada, submit: off}]", ".actors[0].submit"),
        (HEAD + "actors: [{id: ada, command: claude}]", ".actors[0].command"),
        (HEAD + "actors: [{id: ada, command: [1]}]", ".actors[0].command"),
        (HEAD + "actors: [{id: ada, runtime: custom}]", ".actors[0].command"),
        (HEAD + "actors: [{id: ada, enabled: 'no'}]", ".actors[0].enabled"),
        (HEAD + "settings: []", ".settings"),
        (HEAD + "settings: {nudge_after_seconds: -1}", ".settings.nudge_after_seconds"),
        (HEAD + "settings: {nudge_after_seconds: ~}", ".settings.nudge_after_seconds"),
        (HEAD + "settings: {terminal_transcript_notify_tail: 'yes'}", ".settings.terminal_transcript_notify_tail"),
        (HEAD + "prompts: x", ".prompts"),
        (HEAD + "prompts: {help: [x]}", ".prompts.help"),
        (HEAD + 'prompts: {standup: "\\udc00"}', ".prompts.standup"),
    ],
)
def test_ipc_8_12_what_is_wrong_in_a_template_is_refused_where_it_stands(text: Any, path: str):
    assert refused(text).details == {"path": f"$.template{path}"}


def test_the_largest_text_is_read():
    head = HEAD + "prompts: {help: "
    assert len(parse(head + "x" * (256 * 1024 - len(head) - 1) + "}").prompts["help"]) > 262_000


keys = st.sampled_from(
    ["kind", "v", "title", "topic", "actors", "settings", "prompts", "id", "runtime", "help", *SETTINGS]
)
trees = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.sampled_from(["ada", "user", "claude", "off"])
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=15,
)


@given(st.dictionaries(keys, trees))
def test_whatever_a_template_holds_it_is_read_or_refused_where_it_is_wrong(tree: dict[str, Any]):
    text = yaml.safe_dump(tree | {"kind": templates.KIND, "v": 1})
    try:
        template = parse(text)
    except InvalidTemplate.error as refusal:
        assert refusal.details["path"].startswith("$.template")  # noqa: PT017
        return
    again = parse(exported(template))
    assert again.replace(exported_at=template.exported_at) == template


# -- names of files


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Parser", "group-template-parser.yaml"),
        ("My  Group: v2!", "group-template-my-group-v2.yaml"),
        ("../../etc/passwd", "group-template-etc-passwd.yaml"),
        ("", "group-template.yaml"),
        ("審査", "group-template.yaml"),
        ("a\0b\nc", "group-template-a-b-c.yaml"),
        ("x" * 10_000, "group-template-" + "x" * 45 + ".yaml"),
        ("x" * 44 + " y", "group-template-" + "x" * 44 + ".yaml"),
    ],
)
def test_the_file_of_a_template_is_called_after_its_group(title: str, name: str):
    assert filename(title) == name


# -- what it costs to know the rules


def test_nothing_heavy_is_loaded_until_a_template_is_read_or_written():
    code = (
        "import sys; from bb.groups import permissions, settings; "
        "from bb.groups.actors import actors, automation, profiles; "
        "from bb.groups.templates import plain_yaml, replacement, templates; print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {"bb.groups.templates.templates", "bb.groups.actors.automation"} <= {*loaded.stdout.split()}
    assert {"yaml", "json", "dataclasses"} & {*loaded.stdout.split()} == set()
