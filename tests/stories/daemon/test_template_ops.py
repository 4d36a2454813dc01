"""Groups as templates, and templates as groups, asked of a daemon that runs (IPC §8.12)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.grids import some
from tests.stories.daemon.ipc_support import Daemon, running
from tests.support import Scratch, scratch

TOKEN = "ghp_" + "aZ09" * 9


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One for all stories here, which work in a group each."""
    with running(tmp_path_factory.mktemp("template") / "home") as made:
        yield made


class Group:
    """A group with a foreman, `ada`, and two peers."""

    def __init__(self, daemon: Daemon, group_id: str | None = None) -> None:
        self.daemon = daemon
        self.id = group_id or str(daemon.call("group_create", title="Dates")["group_id"])
        for name in () if group_id else ("ada", "bo", "cy"):
            self.ask("actor_add", actor_id=name, runner="headless", env={"TOKEN": f"of {name}"})

    def ask(self, op: str, **args: Any) -> dict[str, Any]:
        return self.daemon.call(op, group_id=self.id, **args)

    def refused(self, op: str, **args: Any) -> dict[str, Any]:
        return self.daemon.refusal(op, group_id=self.id, **args)

    def actors(self) -> dict[str, dict[str, Any]]:
        return {each["id"]: each for each in self.ask("actor_list")["actors"]}

    def exported(self) -> dict[str, Any]:
        return yaml.safe_load(self.ask("group_template_export")["template"])

    def replace(self, template: dict[str, Any], **args: Any) -> dict[str, Any]:
        return self.ask("group_template_import_replace", **{"confirm": self.id, **args}, template=text(template))

    def events(self) -> list[str]:
        """The kinds of all that is in the ledger, in order."""
        (journal,) = (self.daemon.home / "groups" / self.id / "ledger.git" / "bb").glob("j/*/*.jsonl")
        return [json.loads(line)["kind"] for line in journal.read_text().splitlines()]

    def prompts(self) -> dict[str, str]:
        folder = self.daemon.home / "groups" / self.id / "prompts"
        return {path.name: path.read_text() for path in folder.iterdir()} if folder.exists() else {}

    def everything(self) -> list[Any]:
        return [self.actors(), self.ask("group_show")["group"]["settings"], self.prompts()]


@pytest.fixture
def group(daemon: Daemon) -> Group:
    return Group(daemon)


def text(template: dict[str, Any]) -> str:
    return str(yaml.safe_dump(template, sort_keys=False))


def template(*actors: str | dict[str, Any], **more: Any) -> dict[str, Any]:
    """A template of headless actors."""
    listed = [{"id": each, "runner": "headless"} if isinstance(each, str) else each for each in actors]
    return {"kind": "cccc.group_template", "v": 1, "actors": listed, **more}


# -- export


def test_ipc_8_12_a_group_is_exported_as_a_text_with_a_name_for_its_file(group: Group):
    group.ask("group_settings_update", patch={"nudge_after_seconds": 60})

    found = group.ask("group_template_export")

    assert found["filename"] == "group-template-dates.yaml"
    plain = yaml.safe_load(found["template"])
    assert (plain["kind"], plain["v"], plain["title"]) == ("cccc.group_template", 1, "Dates")
    assert [each["id"] for each in plain["actors"]] == ["ada", "bo", "cy"]
    assert plain["settings"]["nudge_after_seconds"] == 60
    assert "of ada" not in found["template"], "what an actor is given in its environment is nobody's business"


def test_what_was_exported_changes_nothing_where_it_came_from(group: Group):
    exported = group.exported()

    found = group.ask("group_template_preview", template=text(exported))["diff"]
    assert (found["actors_add"], found["actors_update"], found["actors_remove"]) == ([], [], [])
    assert found["settings_changed"] == {}
    before = group.events()
    done = group.replace(exported)
    assert done == {
        "group_id": group.id,
        "applied": True,
        "removed": [],
        "added": [],
        "updated": [],
        "settings_patch": {},
        "prompt_paths": {},
    }
    assert group.events() == before


# -- preview


def test_ipc_8_12_a_preview_says_what_would_change_and_changes_nothing(group: Group):
    wanted = template("bo", {"id": "ada", "runner": "headless", "title": "Lead"}, "di", prompts={"help": "Ask."})
    before = group.everything()

    found = group.ask("group_template_preview", template=text(wanted))

    assert group.everything() == before
    assert [each["id"] for each in found["template"]["actors"]] == ["bo", "ada", "di"]
    diff = found["diff"]
    assert (diff["actors_add"], diff["actors_remove"]) == (["di"], ["cy"])
    assert "ada" in diff["actors_update"]
    assert diff["prompts_changed"]["help"]["changed"]


def test_ipc_8_12_a_preview_names_the_directory_of_the_group(daemon: Daemon, repo: Scratch):
    group = Group(daemon, daemon.call("attach", path=str(repo.path))["group_id"])
    assert group.ask("group_template_preview", template=text(template()))["scope_root"] == str(repo.path)
    assert Group(daemon).ask("group_template_preview", template=text(template()))["scope_root"] == ""


def test_a_preview_without_a_template_is_refused(group: Group):
    for missing in ({}, {"template": ""}, {"template": None}):
        assert group.refused("group_template_preview", **missing)["code"] == "missing_template"


# -- import


def test_ipc_8_12_an_import_makes_the_group_as_the_template_says(group: Group):
    wanted = template(
        {"id": "di", "runner": "headless", "runtime": "claude"},
        {"id": "bo", "runner": "headless", "title": "Reader", "submit": "newline"},
        "ada",
        settings={"nudge_after_seconds": 60},
        title="Other",
    )

    done = group.replace(wanted)

    assert (done["removed"], done["added"]) == (["cy"], ["di"])
    assert "bo" in done["updated"]
    assert done["settings_patch"]["nudge_after_seconds"] == 60
    found = group.actors()
    assert [(name, each["role"]) for name, each in found.items()] == [
        ("di", "foreman"),
        ("bo", "peer"),
        ("ada", "peer"),
    ]
    assert (found["bo"]["title"], found["bo"]["submit"], found["di"]["runtime"]) == ("Reader", "newline", "claude")
    shown = group.ask("group_show")["group"]
    assert (shown["title"], shown["settings"]["nudge_after_seconds"]) == ("Dates", 60)


def test_settings_that_a_template_does_not_name_are_what_they_are_in_a_new_group(group: Group):
    group.ask("group_settings_update", patch={"nudge_after_seconds": 60})
    group.replace(template("ada"))
    assert group.ask("group_show")["group"]["settings"]["nudge_after_seconds"] == 300


@pytest.mark.parametrize(
    "order",
    [("ada", "bo", "cy"), ("cy", "bo", "ada"), ("bo", "ada", "cy"), ("ada", "cy", "bo"), ("cy", "di", "ada"), ("bo",)],
)
def test_actors_stand_in_the_order_of_the_template_and_the_first_leads(group: Group, order: tuple[str, ...]):
    group.replace(template(*order))

    found = group.actors()
    assert tuple(found) == order
    assert [each["role"] for each in found.values()] == ["foreman", *["peer"] * (len(order) - 1)]
    assert group.ask("group_template_preview", template=text(template(*order)))["diff"]["actors_update"] == []


def test_who_only_stands_elsewhere_can_still_acknowledge_what_was_said_before(group: Group):
    said = group.ask("send", text="Stop!", priority="attention", to=["bo"])["event"]["id"]
    group.replace(template("cy", "bo", "ada"))
    assert group.ask("chat_ack", actor_id="bo", by="bo", event_id=said)["acked"]


def test_who_leaves_and_joins_again_cannot(group: Group):
    said = group.ask("send", text="Stop!", priority="attention", to=["bo"])["event"]["id"]
    group.replace(template("ada"))
    group.replace(template("ada", "bo"))
    assert group.refused("chat_ack", actor_id="bo", by="bo", event_id=said)["code"] == "event_not_for_actor"


def test_an_import_is_one_record(group: Group):
    before = len(group.events())
    group.replace(template("cy", "di", "ada", settings={"nudge_after_seconds": 60}))
    assert group.events()[before:] == ["actor.remove", "actor.add", "actor.add", "group.settings_update"]


def test_who_stays_keeps_what_only_its_own_group_knows(daemon: Daemon, repo: Scratch):
    group = Group(daemon, daemon.call("attach", path=str(repo.path))["group_id"])
    key = group.ask("group_show")["group"]["active_scope_key"]
    group.ask("actor_add", actor_id="ada", runner="headless", env={"TOKEN": "of ada"}, default_scope_key=key)
    group.ask("actor_add", actor_id="bo", runner="headless", env={"TOKEN": "of bo"})

    group.replace(template("di", {"id": "ada", "runner": "headless", "title": "Lead"}))

    assert group.actors()["ada"]["default_scope_key"] == key
    known = json.loads((daemon.home / "groups" / group.id / "group.json").read_text())
    assert known["env"] == {"ada": {"TOKEN": "of ada"}}


def test_who_is_removed_or_disabled_stops_and_nobody_else(group: Group):
    for name in ("ada", "bo", "cy"):
        group.ask("actor_start", actor_id=name)

    group.replace(template("ada", {"id": "bo", "runner": "headless", "enabled": False, "title": "Off"}))

    found = group.actors()
    assert {name: (each["running"], each["enabled"]) for name, each in found.items()} == {
        "ada": (True, True),
        "bo": (False, False),
    }
    assert group.refused("headless_status", actor_id="bo")["code"] == "session_not_found"
    assert group.refused("headless_status", actor_id="cy")["code"] == "actor_not_found"


def test_who_is_removed_gives_back_what_it_held(daemon: Daemon, repo: Scratch):
    group = Group(daemon, daemon.call("attach", path=str(repo.path))["group_id"])
    repo.settings |= daemon.env
    for name in ("amber-otter", "cobalt-harbor"):
        assert repo.bb("agent", "register", "--name", name, "--role", "builder").status == 0
        assert repo.bb("agent", "reserve", "--agent", name, "--scope", f"src/{name}", "--bead", "bb-1").status == 0

    group.replace(template("cobalt-harbor"))

    held = repo.json("agent", "status").data["reservations"]
    assert [each["agent_id"] for each in held] == ["cobalt-harbor"]
    assert [each["agent_id"] for each in repo.json("agent", "list").data] == ["cobalt-harbor"]


def test_who_registered_by_itself_is_run_as_the_template_says(daemon: Daemon, repo: Scratch):
    group = Group(daemon, daemon.call("attach", path=str(repo.path))["group_id"])
    assert repo.bb("agent", "register", "--name", "amber-otter", "--role", "builder").status == 0
    exported = group.exported()
    exported["actors"][0]["submit"] = "newline"

    assert group.replace(exported)["updated"] == ["amber-otter"]

    (found,) = group.actors().values()
    assert (found["runner"], found["runtime"], found["submit"]) == ("headless", "custom", "newline")
    assert repo.json("agent", "show", "--agent", "amber-otter").data["role"] == "builder"


def test_a_change_to_who_registered_by_itself_leaves_the_rest_as_it_was(daemon: Daemon, repo: Scratch):
    group = Group(daemon, daemon.call("attach", path=str(repo.path))["group_id"])
    assert repo.bb("agent", "register", "--name", "amber-otter", "--role", "builder").status == 0
    for op, more in (("actor_update", {"patch": {"submit": "newline"}}), ("actor_stop", {}), ("actor_start", {})):
        found = group.ask(op, actor_id="amber-otter", **more)["actor"]
        assert (found["runner"], found["runtime"], found["submit"]) == ("headless", "custom", "newline"), op


# -- prompts


def test_prompts_are_files_beside_the_group_and_a_work_tree_is_let_be(daemon: Daemon, repo: Scratch):
    group = Group(daemon, daemon.call("attach", path=str(repo.path))["group_id"])
    prompts = {"preamble": "You are careful.\n", "help": "Ask ‘user’."}

    done = group.replace(template(prompts=prompts))

    paths = {name: daemon.home / "groups" / group.id / "prompts" / f"{name}.md" for name in prompts}
    assert done["prompt_paths"] == {name: str(path) for name, path in paths.items()}
    assert {name: path.read_text() for name, path in paths.items()} == prompts
    assert group.exported()["prompts"] == prompts
    assert repo.git("status", "--porcelain") == ""


def test_a_prompt_that_a_template_does_not_name_is_the_built_in_one_again(group: Group):
    group.replace(template("ada", prompts={"preamble": "Mine.", "help": "Ask."}))

    done = group.replace(template("ada", prompts={"help": "Ask.", "standup": " \n"}))

    assert done["prompt_paths"] == {"preamble": None}
    assert group.prompts() == {"help.md": "Ask."}


def test_a_prompt_that_was_changed_by_hand_is_the_groups_prompt(group: Group):
    group.replace(template("ada", prompts={"help": "Ask."}))
    (group.daemon.home / "groups" / group.id / "prompts" / "help.md").write_text("Ask twice.")
    assert group.exported()["prompts"] == {"help": "Ask twice."}


# -- refusals leave everything as it was


@pytest.mark.parametrize("confirm", [None, "", "yes", "g_other", True, ["x"]])
def test_ipc_8_12_an_import_must_be_confirmed_by_the_groups_own_id(group: Group, confirm: Any):
    before = group.everything()
    error = group.refused("group_template_import_replace", template=text(template()), confirm=confirm)
    assert (error["code"], error["details"]["group_id"]) == ("confirmation_required", group.id)
    assert group.everything() == before


def test_ipc_8_12_confirmation_is_asked_for_before_anything_else(daemon: Daemon):
    error = daemon.refusal("group_template_import_replace", group_id="g_nowhere", confirm="x", template="x")
    assert error["code"] == "confirmation_required"
    op = "group_template_import_replace"
    assert daemon.refusal(op, group_id="g_nowhere", confirm="g_nowhere", template="x")["code"] == "group_not_found"
    assert daemon.refusal(op, confirm="x", template="x")["code"] == "missing_group_id"


WRONG: dict[str, tuple[Any, str]] = {
    "no text": (None, "invalid_template"),
    "empty": ("", "invalid_template"),
    "another type": (["x"], "invalid_template"),
    "no YAML": ("a: [", "invalid_template"),
    "another kind": (text({"kind": "x", "v": 1}), "invalid_template"),
    "another version": (text(template() | {"v": 2}), "invalid_template"),
    "two of a name": (text(template("ada", "ada")), "invalid_template"),
    "a reserved name": (text(template("user")), "invalid_template"),
    "a setting that is none": (text(template(settings={"nudge_after_seconds": -1})), "invalid_template"),
    "nothing to run": (text(template({"id": "ada", "runtime": "custom"})), "invalid_template"),
    "a secret": (text(template({"id": "ada", "command": ["x", TOKEN]})), "secret_found"),
    "the name of a file": ("/etc/passwd", "invalid_template"),
    "too large": (text(template(prompts={"help": "x" * 300_000})), "invalid_template"),
}


@pytest.mark.parametrize(("wrong", "code"), WRONG.values(), ids=WRONG)
def test_ipc_8_12_a_template_that_is_wrong_changes_nothing(group: Group, wrong: Any, code: str):
    before = group.everything(), group.events()
    error = group.refused("group_template_import_replace", template=wrong, confirm=group.id)
    assert error["code"] == code
    assert (group.everything(), group.events()) == before


def test_a_refusal_says_where_in_the_template(group: Group):
    wrong = text(template("ada", {"id": "bo", "runner": "walking"}))
    for op in ("group_template_preview", "group_template_import_replace"):
        error = group.refused(op, template=wrong, confirm=group.id)
        assert error["details"]["path"] == "$.template.actors[1].runner"


def test_prompts_that_cannot_be_written_leave_the_group_as_it_was(group: Group):
    (group.daemon.home / "groups" / group.id / "prompts").write_text("in the way")
    before = group.actors(), group.events()

    group.refused(
        "group_template_import_replace", confirm=group.id, template=text(template("x1", prompts={"help": "A"}))
    )

    assert (group.actors(), group.events()) == before


def test_a_secret_in_an_actors_command_leaves_the_prompts_as_they_were(group: Group):
    group.replace(template("ada", prompts={"help": "Ask."}))
    wrong = template({"id": "ada", "command": ["x", TOKEN]}, prompts={"help": "Other.", "standup": "New."})
    group.refused("group_template_import_replace", confirm=group.id, template=text(wrong))
    assert group.prompts() == {"help.md": "Ask."}


@pytest.mark.parametrize("by", ["bo", "svc:build", "nobody-here"])
def test_templates_are_for_those_who_steer_the_group(group: Group, by: str):
    asked = {"template": text(template()), "confirm": group.id}
    for op in ("group_template_export", "group_template_preview", "group_template_import_replace"):
        assert group.refused(op, by=by, **asked)["code"] == "permission_denied"
        assert group.daemon.ask(op, group_id=group.id, **asked)["ok"], "who does not say who asks is the person"


def test_the_foreman_may(group: Group):
    assert group.replace(template("ada"), by="ada")["removed"] == ["bo", "cy"]


# -- create


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "site").mkdir()
    return tmp_path / "site"


def test_ipc_8_12_a_group_is_made_for_a_directory_as_a_template_says(daemon: Daemon, folder: Path):
    wanted = template("bo", "ada", title="Dates", topic="How to parse them", prompts={"help": "Ask."})

    done = daemon.call("group_create_from_template", path=str(folder), template=text(wanted))

    assert done["applied"] is True
    group = Group(daemon, done["group_id"])
    shown = group.ask("group_show")["group"]
    assert (shown["title"], shown["topic"]) == ("Dates", "How to parse them")
    assert [each["url"] for each in shown["scopes"]] == [str(folder)]
    assert list(group.actors()) == ["bo", "ada"]
    assert group.prompts() == {"help.md": "Ask."}
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("asked", "said", "found"),
    [
        ({"title": "Mine", "topic": "T"}, {"title": "Theirs", "topic": "x"}, ("Mine", "T")),
        ({"title": "", "topic": ""}, {"title": "Theirs", "topic": "x"}, ("Theirs", "x")),
        ({}, {}, ("site", "")),
        ({}, {"title": "two\nlines"}, ("site", "")),
    ],
)
def test_what_is_asked_for_names_the_group_before_the_template_does(
    daemon: Daemon, folder: Path, asked: dict[str, str], said: dict[str, str], found: tuple[str, str]
):
    done = daemon.call("group_create_from_template", path=str(folder), template=text(template(**said)), **asked)
    shown = daemon.call("group_show", group_id=done["group_id"])["group"]
    assert (shown["title"], shown["topic"]) == found


def test_a_group_for_a_repository_is_the_groups_whose_ledger_is_there(daemon: Daemon, repo: Scratch):
    done = daemon.call("group_create_from_template", path=str(repo.path), template=text(template("ada")))

    assert daemon.call("attach", path=str(repo.path))["group_id"] == done["group_id"]
    assert [each["agent_id"] for each in repo.json("agent", "list").data] == ["ada"]
    assert repo.git("status", "--porcelain") == ""


def test_ipc_8_12_a_directory_that_belongs_to_a_group_is_refused_and_the_group_is_named(daemon: Daemon, folder: Path):
    found = daemon.call("attach", path=str(folder))
    group_id = found["group_id"]
    assert found["title"] == "site"
    error = daemon.refusal("group_create_from_template", path=str(folder), template=text(template()))
    assert (error["code"], error["details"]["group_id"]) == ("scope_already_attached", group_id)


def test_a_repository_where_somebody_works_is_not_made_anew(daemon: Daemon, repo: Scratch):
    assert repo.bb("agent", "register", "--name", "amber-otter", "--role", "builder").status == 0

    error = daemon.refusal("group_create_from_template", path=str(repo.path), template=text(template("ada")))

    assert error["code"] == "scope_already_attached"
    assert [each["agent_id"] for each in repo.json("agent", "list").data] == ["amber-otter"]
    assert daemon.call("attach", path=str(repo.path))["group_id"] == error["details"]["group_id"]


@pytest.mark.parametrize(("path", "code"), [(None, "missing_path"), ("", "missing_path"), ("nowhere", "invalid_path")])
@pytest.mark.parametrize("wanted", ["", text(template())])
def test_ipc_8_12_a_group_is_made_for_a_directory_that_is_there(daemon: Daemon, path: Any, code: str, wanted: str):
    assert daemon.refusal("group_create_from_template", path=path, template=wanted)["code"] == code


@pytest.mark.parametrize(("wrong", "code"), WRONG.values(), ids=WRONG)
def test_ipc_8_12_nothing_is_left_behind_when_the_template_is_wrong(
    daemon: Daemon, tmp_path: Path, wrong: Any, code: str
):
    repo, groups = scratch(tmp_path / "repo"), daemon.home / "groups"
    groups.mkdir(exist_ok=True)  # where no test before has made a group, there is none yet
    before = sorted(groups.iterdir())

    error = daemon.refusal("group_create_from_template", path=str(repo.path), template=wrong)

    assert error["code"] == code
    assert sorted(groups.iterdir()) == before
    assert not repo.store.exists()


def test_a_group_that_cannot_be_called_so_is_not_made(daemon: Daemon, folder: Path):
    error = daemon.refusal("group_create_from_template", path=str(folder), template=text(template()), title="a\nb")
    assert (error["code"], error["details"]["path"]) == ("invalid_title", "$.title")


# -- at a terminal


def test_a_template_goes_from_one_group_to_another_as_a_file(daemon: Daemon, tmp_path: Path):
    here, there = (scratch(tmp_path / name, **daemon.env) for name in ("here", "there"))
    for repo in (here, there):
        assert repo.bb("init").status == 0
    assert here.bb("actor", "add", "ada", "--runner", "headless").status == 0
    (there.path / "team.yaml").write_text(here.bb("group", "template-export").out)

    preview = there.json("group", "template-preview", "team.yaml").data
    assert preview["diff"]["actors_add"] == ["ada"]
    refused = there.json("group", "template-import", "team.yaml")
    assert refused.code == "CONFIRMATION_REQUIRED"
    done = there.json(
        "group", "template-import", "team.yaml", "--confirm", refused.envelope["error"]["details"]["group_id"]
    )
    assert done.data["added"] == ["ada"]
    assert "Nothing would change" in there.bb("group", "template-preview", "team.yaml").out
    assert there.json("group", "template-preview", "nothing.yaml").code == "INVALID_TEMPLATE"


@pytest.mark.parametrize("named", ["nothing.yaml", ".", "no-text.yaml", "a\0b", "\ud800", "x" * 5000, "", 7, ["x"]])
def test_a_file_that_holds_no_template_is_refused(tmp_path: Path, named: Any):
    repo = scratch(tmp_path / "repo", CCCC_HOME=str(tmp_path / "home"))
    (repo.path / "no-text.yaml").write_bytes(b"kind: \xff\n")
    assert repo.bb("init").status == 0
    ran = repo.json("call", "group_template_preview", "--args", json.dumps({"template": named}))
    assert ran.code == {"": "MISSING_TEMPLATE", "\ud800": "INVALID_TEXT"}.get(str(named), "INVALID_TEMPLATE")


def test_a_person_reads_what_a_template_changes(daemon: Daemon, tmp_path: Path):
    repo = scratch(tmp_path / "repo", **daemon.env)
    wanted = template("ada", "bo", settings={"nudge_after_seconds": 60}, prompts={"help": "Ask."})
    (repo.path / "team.yaml").write_text(text(wanted))
    made = repo.bb("group", "create-from-template", ".", "--template", "team.yaml").out
    group_id = made.split()[1].rstrip(",")
    (repo.path / "team.yaml").write_text(text(template("cy", "bo")))

    said = repo.bb("group", "template-preview", "team.yaml").out.splitlines()
    assert said[:3] == ["Would add: cy", "Would remove: ada", "Would change prompts: help"]
    assert "300 (now 60)" in said[3]
    said = repo.bb("group", "template-import", "team.yaml", "--confirm", group_id).out.splitlines()
    assert said[:3] == ["Added: cy", "Removed: ada", "Prompts: help (built-in)"]


# -- whatever is sent

JUNK: list[Any] = [0, -1, 1.5, True, "", "x" * 300, "\x1b[2J", [], [[]], ["x", 1], {}, {"a": {"b": [None]}}, "\ud800"]
ASKED = {
    "group_template_export": ("group_id", "by"),
    "group_template_preview": ("group_id", "by", "template"),
    "group_template_import_replace": ("group_id", "by", "template", "confirm"),
    "group_create_from_template": ("path", "title", "topic", "template", "by"),
}


@pytest.mark.parametrize(("op", "name"), [(op, name) for op, names in ASKED.items() for name in names])
def test_whatever_is_sent_is_answered_or_refused_and_no_bug(group: Group, folder: Path, op: str, name: str):
    for junk in some(JUNK, 5):
        right = {"group_id": group.id, "confirm": group.id, "template": text(template("ada")), "path": str(folder)}
        answer = group.daemon.ask(op, **{**right, name: junk})
        assert answer["ok"] or answer["error"]["code"] not in ("internal_error", ""), (junk, answer)
