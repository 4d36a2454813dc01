"""Agents type what the skill says: every command in it is run here, and what it shows is what they will see."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from bb.cli import own_commands
from bb.ops import catalogue
from tests.faces import documents
from tests.faces.documents import Step
from tests.support import NOON, ROOT, Scratch

SKILLS = ROOT / "skills"
SKILL = SKILLS / "beadboard-driver" / "SKILL.md"
SNIPPET = SKILLS / "AGENTS.snippet.md"
PAGES = {page.relative_to(SKILLS).as_posix(): page.read_text() for page in sorted(SKILLS.rglob("*.md"))}
TEXT = SKILL.read_text()
EVERY_PAGE = pytest.mark.parametrize("page", PAGES)
AT_HOME = ("SKILL.md", "AGENTS.snippet.md")  # those that begin with taking a name
TWENTY_TO, AN_HOUR_AGO = "2026-01-05T11:40:00Z", "2026-01-05T11:00:00Z"


@pytest.fixture
def shared(repo: Scratch, tmp_path: Path) -> Scratch:
    """At noon: one agent at work, one silent for twenty minutes, one for an hour, each with something in its hands; a
    file that nobody has committed; a remote on which the ledger is published."""
    repo.settings["BB_NOW"] = NOON
    hub = tmp_path / "hub.git"
    repo.git("init", "--quiet", "--bare", str(hub))
    repo.git("remote", "add", "origin", str(hub))
    for name, role, scope, bead, when in (
        ("dusky-flame", "builder", "examples", "demo-a1.4", AN_HOUR_AGO),
        ("silver-fox", "builder", "tests/lexer", "demo-a1.3", TWENTY_TO),
        ("cobalt-harbor", "reviewer", "src/lexer", "demo-a1.2", NOON),
    ):
        assert repo.bb("agent", "register", "--name", name, "--role", role, BB_NOW=when).status == 0
        held = repo.bb("agent", "reserve", "--agent", name, "--scope", scope, "--bead", bead, BB_NOW=when)
        assert held.status == 0
    assert repo.bb("sync", "--publish").status == 0
    for setting, value in (("user.name", "Someone"), ("user.email", "someone@example.invalid")):
        repo.git("config", setting, value)
    (repo.path / "src").mkdir()
    (repo.path / "src" / "draft.py").write_text("x = 1\n")
    return repo


class Others:
    """What the other agents do meanwhile, so that what a document says next can be said."""

    def __init__(self, repo: Scratch) -> None:
        self.repo = repo

    def act(self, step: Step) -> None:
        """Before a STEP about a message there is one; before one about an incursion too."""
        verb = step.words[1:3] if step.words[1] == "agent" else step.words[:2]
        if verb[1] in ("wait", "read") or (verb[1] == "inbox" and step.shown and "HANDOFF" in step.shown[0]):
            self.message_id("unread")
        if "INCURSION" in step.words:
            self.incursion_id()

    def fill_in(self, placeholder: str) -> str:
        ids = {"MESSAGE": lambda: self.message_id("unread", "read"), "INCURSION": self.incursion_id}
        return ids[placeholder]() if placeholder in ids else placeholder

    def message_id(self, *states: str) -> str:
        """A message to amber-otter in one of those states, sent if there is none yet."""
        for state in states:
            if found := self.repo.json("agent", "inbox", "--agent", "amber-otter", "--state", state).data:
                return str(found[0]["message_id"])
        about = ["--bead", "demo-a1.2", "--category", "HANDOFF", "--subject", "Dates", "--body", "Yours from here."]
        sent = self.repo.json("agent", "send", "--from", "cobalt-harbor", "--to", "amber-otter", *about, BB_AGENT="")
        return str(sent.data["message_id"])

    def incursion_id(self) -> str:
        """An open incursion by amber-otter, which has changed what cobalt-harbor holds."""
        if not (found := self.repo.json("protocol", "incursions", "--state", "open").data):
            payload = """{"hook_event_name": "PostToolUse", "tool_name": "Write", "tool_input": {"file_path": "%s"}}"""
            path = self.repo.path / "src" / "lexer" / "tokens.py"
            told = ["--agent", "amber-otter", "--payload", payload % path]
            assert self.repo.bb("hook", "post-tool", "--host", "claude", *told).status == 0
            found = self.repo.json("protocol", "incursions", "--state", "open").data
        return str(found[0]["id"])


def prose(text: str) -> str:
    """What a page says outside its blocks."""
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


@EVERY_PAGE
def test_every_command_of_the_skill_does_what_it_says_from_start_to_end(shared: Scratch, page: str):
    if not page.endswith(AT_HOME):
        shared.bb("init", "--non-interactive", "--register", "amber-otter", "--role", "builder")
        shared.settings["BB_AGENT"] = "amber-otter"
    others = Others(shared)

    ran = documents.play(shared, PAGES[page], others.fill_in, others.act)

    assert len(ran) > 2


def test_8_4_the_skill_is_where_the_protocol_has_it_and_is_a_skill():
    header, body = re.fullmatch(r"---\n(.*?)^---\n(.*)", TEXT, re.MULTILINE | re.DOTALL).groups()
    said = yaml.safe_load(header)

    assert said["name"] == SKILL.parent.name == "beadboard-driver"
    assert set(said) == {"name", "description"}
    assert 100 < len(said["description"]) <= 1024
    assert "Use it" in said["description"]
    assert TEXT.count("\n") <= 200
    assert body.strip().startswith("# ")


def test_the_section_for_agents_md_is_short():
    assert 15 <= SNIPPET.read_text().count("\n") <= 25


@EVERY_PAGE
def test_every_page_names_only_commands_options_and_codes_that_exist(page: str):
    known = {op.words for op in catalogue.all_ops()} | set(own_commands.COMMANDS) | set(catalogue.SHORT)
    options = {parameter.option for op in catalogue.all_ops() for parameter in op.parameters} | {"--json", "--help"}
    spoken = re.findall(r"`bb ([a-z][a-z -]*?)(?: --?[a-z-]+.*?| [A-Z].*?)?`", prose(PAGES[page]))
    codes = (ROOT / "docs" / "errors.md").read_text()
    shouted = set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+|OFFLINE|CONTENDED)`", PAGES[page]))

    assert [words for words in spoken if words.strip() not in known] == []
    assert set(re.findall(r"`(--[a-z-]+)", prose(PAGES[page]))) <= options | {"--force", "--force-with-lease"}
    ours = {name for name in shouted if name.startswith("BB_")}
    assert ours <= {"BB_AGENT", "BB_AGENT_STALE_MINUTES", "BB_OVERRIDE"}
    assert [code for code in shouted - ours if f"`{code}`" not in codes] == []


def test_every_verb_that_the_skill_speaks_of_is_among_its_commands():
    """What stands in a sentence is run too, because it stands in a block as well."""
    run = [step.line for text in PAGES.values() for step in documents.steps(text)]
    for page, text in PAGES.items():
        spoken = set(re.findall(r"`bb ([a-z]+ [a-z]+|[a-z]+)", prose(text)))
        assert {words for words in spoken if not any(line.startswith(f"bb {words}") for line in run)} == set(), page


def test_who_cannot_export_a_name_can_say_it_each_time(shared: Scratch):
    """Every command of the skill that acts takes `--agent`, and so does every command that is sent."""
    assert shared.bb("start", "amber-otter", BB_AGENT="").status == 0
    spoken = [
        step for step in documents.steps(TEXT) if step.words[0] == "bb" and step.words[1] not in ("start", "init")
    ]

    for step in spoken:
        words = ["0" if before == "--timeout" else word for before, word in pairwise(step.words)]  # nothing comes
        answer = shared.bb(*words, "--agent", "amber-otter", BB_AGENT="")
        assert "UNKNOWN_OPTION" not in answer.err, step.line
        assert "NO_AGENT" not in answer.err, step.line
    assert len(spoken) > 20


def test_links_within_the_skill_lead_somewhere():
    for page, text in PAGES.items():
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert ((SKILLS / page).parent / target).exists(), f"{page} -> {target}"


def test_9_the_skill_follows_the_protocol_from_bootstrap_to_release():
    """§9: reserve before the work, heartbeats during it, protocol events when work moves or stands still."""
    commands = [step.line for step in documents.steps(TEXT)]
    order = [
        "bb start",
        "--adopt",
        "bb reserve",
        "bb turn",
        "agent heartbeat",
        "send broadcast",
        "protocol incursions",
        "bb blocked",
        "bb handoff",
        "release --all",
    ]
    places = [next(place for place, command in enumerate(commands) if part in command) for part in order]
    assert places == sorted(places)
    assert TEXT.index("bb reserve") < TEXT.index("claim the bead in its tracker")
