"""Every string of every kind of line is forged, published by somebody who may push, and taken in by everybody's sync.

Then everything that shows anything to a person or an agent is looked at. Nothing may be obeyed by a terminal, a browser
or a model, and no line may look as if bb had said it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from bb.attention.acts.tools import TOOLS
from bb.cli.watch import filters
from bb.cli.watch.layout import Framed, Layout
from bb.cli.watch.model import VIEWS, Chosen
from bb.cli.watch.watch import line
from bb.kernel.foreign import Foreign
from bb.mcp.tool_calls import Toolbox
from bb.ops.desk.desk import Desk
from bb.ops.overview.news import News
from bb.ops.overview.screen_view import ScreenData
from bb.web import pages, rendering, report
from tests import everything
from tests.mcp.mcp_support import ERAS, over_mcp
from tests.near import Near
from tests.scene import AMBER, COBALT, JADE
from tests.stories.forger.forger_support import TEXTS, Forge, closed, forgeries, obeyed
from tests.support import environment
from tests.web.test_pages import EVERY, must_be_harmless

SCREENS = [
    "status",
    "problems",
    "timeline --limit 500",
    "sessions list",
    "sessions show bb-1.1",
    "sessions show bb-2.2",
    *(f"resume --agent {agent}" for agent in (AMBER, COBALT)),
    "agent list",
    "agent status",
    f"agent show --agent {AMBER}",
    *(f"agent inbox --limit 500 --agent {agent}" for agent in (AMBER, COBALT, "user")),
    "protocol list --limit 500",
    "protocol incursions",
    f"check src/parser/dates.py docs/parser.md --agent {COBALT}",
    f"check src/parser/dates.py docs/parser.md --agent {JADE}",
    *(f"chat list --agent {agent} --body --limit 200" for agent in (AMBER, COBALT)),
    *(f"chat {verb} --agent {AMBER}" for verb in ("pending", "knocks", "digest --peek", "inject --peek")),
    "chat audit",
    "chat signals",
    *(f"cbcl conversations {thread} --agent {AMBER}" for thread in ("", "dates")),
    *(f"cbcl {verb} --agent {agent}" for verb in ("pending", "beliefs") for agent in (AMBER, COBALT)),
    "cbcl dialect list",
    "group show",
    "actor list",
    "events --limit 3000",
    "ledger log --limit 5000",
    "ledger status",
    "ledger verify",
    "doctor",
    "sync",
]
# What is quoted there stands in a sentence of ours, or in one of somebody else's; an agent must see where it ends.
HOOKS = ("session-start", "prompt", "stop")
HOSTS = ("claude", "gemini")


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Near:
    """A repository whose ledger has taken in all that the forger has published."""
    folder = tmp_path_factory.mktemp("forged")
    victim = everything.make(folder / "victim").repo
    hub = folder / "hub.git"
    victim.git("init", "--quiet", "--bare", str(hub))
    victim.git("remote", "add", "origin", str(hub))
    victim.git("push", "--quiet", "origin", "HEAD:refs/heads/main")
    assert victim.json("sync", "--publish").status == 0
    victim.git("clone", "--quiet", str(hub), str(folder / "forger"))
    forger = Near(folder / "forger")
    assert forger.json("agent", "register", "--name", "shy-lynx", "--role", "tester").status == 0
    assert forger.json("sync", "--publish").status == 0
    events = forger.json("ledger", "log", "--limit", "10000").data
    written = Forge(forger).write(forgeries(events, TEXTS))
    assert written > 1000
    assert forger.json("sync").data["went"] > 1000
    assert victim.json("sync").data["came"] > 1000
    return victim


@pytest.fixture
def desk(victim: Near) -> Iterator[Desk]:
    found = Desk(str(victim.path), environment(**victim.settings))
    yield found
    found.close()


def must_be_ours(said: str, *, is_quoted: bool = False) -> None:
    """Nothing in SAID is obeyed, or taken for words of bb; with IS_QUOTED, nothing ends the quotation it stands in."""
    assert obeyed(said) == []
    if is_quoted:
        assert closed(said) == []


@pytest.mark.parametrize("command", SCREENS)
def test_no_forged_line_gets_onto_the_screen_of(victim: Near, command: str):
    told = victim.bb(*command.split(), PYTHONIOENCODING="utf-8")

    assert told.status in (0, 3, 4, 7), told.err
    assert told.out + told.err
    must_be_ours(told.out + told.err)
    document = victim.bb(*command.split(), "--json").out
    assert (document.isascii(), document.count("\n")) == (True, 1)
    json.loads(document)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("agent", [AMBER, COBALT])
@pytest.mark.parametrize("verb", HOOKS)
def test_no_forged_line_gets_into_what_a_hook_tells_an_agent(victim: Near, verb: str, agent: str, host: str):
    said = []
    for number in range(3):
        told = victim.bb(
            *("hook", verb, "--agent", agent, "--host", host),
            *("--payload", json.dumps({"session_id": f"{verb}-{agent}-{host}"})),
        )
        assert told.status in (0, 2), told.err
        must_be_ours(told.err, is_quoted=True)
        texts = list(strings_of(json.loads(told.out))) if told.out.strip() else []
        for text in texts:
            must_be_ours(text, is_quoted=True)
        said += texts
        if not texts or verb == "session-start" or (number and verb == "stop"):
            break

    assert "".join(said) or verb != "session-start"


def strings_of(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings_of(each)


@pytest.mark.parametrize("agent", [AMBER, COBALT, JADE])
def test_no_forged_line_gets_into_a_refusal_that_a_hook_gives(victim: Near, agent: str):
    for path in ("src/parser/dates.py", "docs/parser.md", "src/web/pages.py", "tests/test_dates.py"):
        edit = {"tool_name": "Write", "tool_input": {"file_path": path}, "hook_event_name": "PreToolUse"}
        told = victim.bb("hook", "pre-tool", "--agent", agent, "--payload", json.dumps(edit))

        for text in (told.err, *(strings_of(json.loads(told.out)) if told.out.strip() else ())):
            must_be_ours(text, is_quoted=True)


@pytest.mark.parametrize(("name", "asked"), EVERY, ids=str)
def test_no_forged_line_gets_onto_a_page(desk: Desk, name: str, asked: dict[str, str]):
    must_be_harmless(rendering.page(name, pages.page(desk, name, asked)))


def test_no_forged_line_gets_into_a_report(desk: Desk):
    must_be_harmless(report.render_report(desk), is_report=True)


@pytest.mark.parametrize("columns", [40, 200])
@pytest.mark.parametrize("view", VIEWS)
def test_no_forged_line_gets_onto_a_live_screen(desk: Desk, view: str, columns: int):
    picture = ScreenData(desk, None, None, 0).picture()
    status = picture.status
    frame = Framed(status["repository"], status["sync"], status["is_damaged"], False, None)

    drawn = Layout().drawn(
        filters.applied(picture, filters.of(None, None, "")),
        frame,
        Chosen(view=view),
        columns,
        400,
        desk.now(),
    )

    must_be_ours("\n".join(drawn.lines))


def test_no_forged_line_gets_into_what_bb_watch_says_in_a_pipe(desk: Desk):
    said = [line(Foreign(each)) for each in News(desk, None, None).before(0)]

    assert len(said) > 100
    must_be_ours("\n".join(said))
    assert not [each for each in said if len(each.splitlines()) > 1]


def test_no_forged_line_gets_into_what_bb_notify_hands_on(victim: Near, tmp_path: Path):
    log = tmp_path / "told"
    tell = tmp_path / "tell"
    tell.write_text(f"#!/bin/sh\n{{ cat; env | grep '^BB_'; }} >>{log}\n")
    tell.chmod(0o755)

    ran = victim.bb("notify", "--existing", "--once", "--command", str(tell))

    assert ran.status == 0, ran.err
    must_be_ours(log.read_text() + ran.out + ran.err)


@pytest.mark.parametrize("era", ERAS)
def test_no_forged_line_gets_into_a_text_of_mcp(victim: Near, era: str):
    def bug(what: str, error: Exception) -> None:
        raise AssertionError(f"a bug at {what}") from error

    calls: list[tuple[str, dict[str, Any]]] = [
        ("session", {}),
        ("status", {}),
        ("inbox", {"limit": 20}),
        ("check", {"path": ["src/parser/dates.py", "docs/parser.md", "tests/test_dates.py"]}),
        ("reserve", {"scope": ["src/parser/dates.py"], "bead": "bb-1.1"}),
        ("chat", {"tool": "list_events", "arguments": {"include": "body"}}),
    ]
    assert {"chat", *TOOLS}

    async def read(client: Client, uri: str) -> str:
        try:
            return str((await client.read_resource(uri)).contents[0].text)
        except MCPError as refusal:
            return str(refusal.message)

    async def talk(client: Client) -> list[str]:
        found = [(await client.call_tool(name, given)).content[0].text for name, given in calls]
        return found + [await read(client, uri) for uri in ("bb://status", "bb://sessions", "bb://sessions/bb-1.1")]

    for agent in (AMBER, COBALT):
        box = Toolbox(str(victim.path), environment(**victim.settings, BB_AGENT=agent), bug)
        for text in over_mcp(box, era, talk):
            must_be_ours(text)


@pytest.mark.parametrize("form", ["text", "github", "sarif", "junit"])
def test_no_forged_line_gets_into_the_verdict_of_ci(victim: Near, form: str):
    told = victim.bb("ci", "check", "--base", "HEAD", "--head", "HEAD", "--local", "--format", form)

    must_be_ours(told.out + told.err)
