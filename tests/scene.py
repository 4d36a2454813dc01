"""A repository in the middle of a day's work: agents alive, silent and gone, talk, hand-offs, a collision, a question.

What the faces show is looked at in it, by tests and by whoever wants to see the pages: `python -m tests.scene PATH`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from bb.kernel import clock
from tests.near import Near, near

AMBER, COBALT, JADE, OLIVE, RUSSET = "amber-otter", "cobalt-harbor", "jade-heron", "olive-finch", "russet-pine"
BEADS = (
    ("bb-1", "Parser for the new format", "open", "epic", None),
    ("bb-1.1", "Read dates as the standard says", "in_progress", "task", AMBER),
    ("bb-1.2", "Tell the line of a mistake", "open", "task", None),
    ("bb-1.3", "Remove the old reader", "closed", "task", JADE),
    ("bb-2", "Documentation", "open", "epic", None),
    ("bb-2.1", "A page for newcomers", "in_progress", "task", OLIVE),
    ("bb-2.2", "Which pages are out of date?", "blocked", "task", COBALT),
)
FILES = (
    *(f"src/parser/{name}.py" for name in ("__init__", "dates", "lines", "numbers", "strings")),
    *(f"src/web/{name}.py" for name in ("app", "pages", "routes")),
    *(f"docs/{name}.md" for name in ("index", "install", "parser", "web")),
    *(f"tests/test_{name}.py" for name in ("dates", "lines", "pages")),
    "README.md",
)


class Scene:
    """What happens, and how many minutes ago."""

    def __init__(self, repo: Near) -> None:
        self.repo = repo
        self.now = int(time.time() * 1000)

    def at(self, minutes: float, *words: str, agent: str = "", status: int = 0) -> Any:
        """What a command answers that is called so many MINUTES ago, by an AGENT or by the person."""
        moment = clock.text(self.now - int(minutes * clock.MINUTE))
        ran = self.repo.bb(*words, "--json", BB_NOW=moment, **({"BB_AGENT": agent} if agent else {}))
        assert ran.status == status, ran.out + ran.err
        answered = ran.envelope
        return answered["data"] if answered["ok"] else answered["error"]


def set_scene(path: Path) -> Scene:
    """Make a repository at PATH, and let the day begin."""
    repo = near(path)
    for name in FILES:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(f"# {name}\n")
    (path / ".beads").mkdir()
    (path / ".beads" / "issues.jsonl").write_text("".join(map(_bead, BEADS)))
    repo.git("add", ".")
    repo.git("commit", "--quiet", "-m", "Begin")
    scene = Scene(repo)
    _people(scene)
    _work(scene)
    _talk(scene)
    return scene


def _bead(row: tuple[str, str, str, str, str | None]) -> str:
    name, title, status, kind, assignee = row
    bead = {"id": name, "title": title, "status": status, "issue_type": kind, "assignee": assignee}
    return json.dumps({**bead, "updated_at": "2026-01-05T11:00:00Z"}) + "\n"


def _people(scene: Scene) -> None:
    scene.at(300, "init")
    for minutes, name, role in (
        (300, RUSSET, "tester"),
        (240, AMBER, "builder"),
        (200, COBALT, "reviewer"),
        (180, JADE, "builder"),
        (120, OLIVE, "writer"),
    ):
        scene.at(minutes, "agent", "register", "--name", name, "--role", role)


def _work(scene: Scene) -> None:
    scene.at(290, "agent", "reserve", "--scope", "tests", "--bead", "bb-1.2", agent=RUSSET)
    scene.at(230, "agent", "reserve", "--scope", "src/parser", "--bead", "bb-1.1", agent=AMBER)
    scene.at(170, "agent", "reserve", "--scope", "src/web/*", "--bead", "bb-1.3", agent=JADE)
    scene.at(150, "agent", "release", "--all", agent=JADE)
    scene.at(110, "agent", "reserve", "--scope", "docs/**/*.md", "--bead", "bb-2.1", agent=OLIVE)
    scene.at(60, "agent", "reserve", "--scope", "src/parser/dates.py", "--bead", "bb-1.2", agent=COBALT, status=7)
    scene.at(
        *(22, "agent", "reserve", "--scope", "docs/parser.md", "--scope", "src/web/pages.py", "--bead", "bb-2.2"),
        "--allow-overlap",
        agent=COBALT,
        status=0,
    )
    scene.at(20, "agent", "heartbeat", agent=OLIVE)
    for name in (AMBER, COBALT):
        scene.at(1, "agent", "heartbeat", agent=name)


def _talk(scene: Scene) -> None:
    said = (
        "--subject",
        "Parser",
        "--summary",
        "Reads everything but dates.\nThe tests pass.",
        "--next-action",
        "Read dates.",
    )
    scene.at(145, "protocol", "handoff", "--to", AMBER, "--bead", "bb-1.1", *said, agent=JADE)
    scene.at(
        *(40, "protocol", "blocked", "--to", "user", "--bead", "bb-1.1", "--subject", "Two digits or four?"),
        *("--blocker", "The standard allows both.", "--requested-action", "Say which.", "--urgency", "high"),
        agent=AMBER,
    )
    for minutes, sender, to, category, subject, body in (
        (35, COBALT, AMBER, "DECISION", "Which name?", "read_date, or parse_date?"),
        (30, AMBER, COBALT, "INFO", "parse_date", "As everywhere else in the module."),
        (12, COBALT, "user", "DECISION", "May I rename a page?", "docs/web.md is about more than the web by now."),
        (6, "user", "broadcast", "INFO", "Freeze at five", "Nothing is merged after five o'clock."),
    ):
        scene.at(
            *(minutes, "agent", "send", "--from", sender, "--to", to, "--bead", "bb-2.2" if to == "user" else "bb-1.1"),
            *("--category", category, "--subject", subject, "--body", body),
        )
    scene.at(10, "cbcl", "send", f'(ask @{AMBER} "Is the date reader done?" :thread dates)', agent=COBALT)
    scene.at(9, "cbcl", "hear", agent=AMBER)
    scene.at(5, "cbcl", "send", f'(tell @{COBALT} "Nearly. Two tests fail." :thread dates)', agent=AMBER)


if __name__ == "__main__":
    set_scene(Path(sys.argv[1]))
