"""The screen of `bb watch` as a rule: a picture and a size in, lines out."""

from __future__ import annotations

from typing import Any

import pytest

from bb.cli.screens import styling
from bb.cli.watch import filters
from bb.cli.watch import rows as watch_rows
from bb.cli.watch.layout import Drawn, Framed, Layout
from bb.cli.watch.model import VIEWS, Chosen
from bb.kernel import clock
from bb.kernel.foreign import Foreign
from bb.ops.overview.screen_view import Picture
from tests.faces.test_hostile_text import HOSTILE, RAW
from tests.grids import grid

NOW = clock.parse("2026-01-05T12:00:00.000Z")
AMBER, COBALT = "amber-otter", "cobalt-harbor"
EVIL = "<b>bold</b><script>alert(1)</script>" + "".join(HOSTILE.values())
WIDE = "会議の記録を読むための新しい構文解析器の設計🦦"
LONG = "x" * 300


def at(ago: int) -> str:
    return clock.text(NOW - ago * clock.SECOND)


def agent(name: str, liveness: str = "active", ago: int = 5, role: str = "builder") -> dict[str, Any]:
    return {"agent_id": name, "display_name": name, "role": role, "liveness": liveness, "last_seen_at": at(ago)}


def held(name: str, scope: str, bead: str = "bb-1", left: int = 600) -> dict[str, Any]:
    return {
        "reservation_id": f"w.{scope}",
        "scope": scope,
        "agent_id": name,
        "bead_id": bead,
        "state": "active",
        "shared": False,
        "kind": "exclusive",
        "expires_at": at(-left),
        "owner_liveness": "active",
    }


FROZEN = {"agent_id": "user", "bead_id": "freeze", "frozen": True, "why": "the release", "expires_at": None}


def message(subject: str, to: str = COBALT, name: str = "w.1", bead: str = "bb-1") -> dict[str, Any]:
    return {
        "message_id": name,
        "from_agent": AMBER,
        "to_agent": to,
        "bead_id": bead,
        "subject": subject,
        "label": "Passed to",
        "created_at": at(90),
    }


def problem(text: str, **more: Any) -> dict[str, Any]:
    return {
        "id": "asked:w.9",
        "kind": "asked",
        "since": at(200),
        "text": text,
        "next_step": "bb agent ack --agent user --message w.9",
        "bead_id": "bb-1",
        **more,
    }


def told(text: str, by: str = AMBER, ago: int = 60, bead: str | None = "bb-1") -> dict[str, Any]:
    return {"at": at(ago), "by": by, "text": text, "bead_id": bead, "about": [by], "event_id": "w.3"}


def incursion(where: str = "src/a") -> dict[str, Any]:
    return {
        "id": "w.5",
        "from_agent": COBALT,
        "to_agent": AMBER,
        "outcome": "touched",
        "scope": where,
        "count": 3,
        "held": "src",
        "created_at": at(10),
        "bead_id": "bb-1",
    }


def picture(**more: Any) -> Picture:
    status = {
        "repository": "demo",
        "agents": [agent(AMBER), agent(COBALT, "stale", 1000)],
        "reservations": [held(AMBER, "src/parser")],
        "unacked": [message("Parser is done")],
        "incursions": [],
        "waiting": [],
        "is_damaged": False,
        "sync": None,
    }
    problems, happened = more.pop("problems", []), more.pop("told", [told("reserved src/parser for 120 minutes")])
    return Picture(NOW, status | more, problems, happened)


def drawn(shown: Picture, columns: int = 80, height: int = 24, chosen: Chosen | None = None, **frame: Any) -> Drawn:
    chosen = chosen or Chosen()
    status = shown.status
    framed = Framed(
        Foreign(status["repository"]),
        Foreign(status["sync"]),
        status["is_damaged"],
        frame.pop("is_narrowed", False),
        **frame,
    )
    wanted = filters.of(None, None, chosen.filter)
    return Layout().drawn(filters.applied(shown, wanted), framed, chosen, columns, height, NOW)


def crowd(text: str) -> Picture:
    """Much of everything, with TEXT wherever somebody may choose one."""
    return picture(
        repository=text,
        agents=[agent(f"agent-{n}", ("active", "stale", "evicted")[n % 3], n, text) for n in range(30)],
        reservations=[held(f"agent-{n % 9}", f"src/{n}/{text}", text) for n in range(40)],
        unacked=[message(text, name=f"w.{n}", bead=text) for n in range(9)],
        incursions=[incursion(text)] * 3,
        waiting=[{"agent_id": AMBER, "scopes": [text, text]}],
        sync={"ok_at": at(5), "unpublished": 3, "failed_with": text},
        problems=[problem(f"{n} {text}", body=f"{text}\n\n{text}", answer=text) for n in range(9)],
        told=[told(f"{n} {text}", ago=n * 4000, bead=text) for n in range(80)],
    )


SIZES = [(20, 5), (40, 10), (80, 24), (100, 50), (149, 24), (150, 24), (213, 60)]
TEXTS = {**HOSTILE, "html": EVIL, "wide": WIDE * 9, "long": LONG, "words": "a word " * 60, "empty": ""}


@pytest.mark.parametrize(("columns", "height", "text"), grid(SIZES, [*TEXTS.values()], 3))
def test_whatever_somebody_wrote_is_harmless_and_columns_hold(columns: int, height: int, text: str):
    for view in VIEWS:
        for more in ({}, {"filter": text[:40]}, {"draft": text[:200]}, {"is_help": True, "paused_at": NOW}):
            screen = drawn(crowd(text), columns, height, Chosen(view=view, **more), trouble=text if more else None)

            assert len(screen.lines) == height
            assert max(map(styling.display_width, screen.lines)) <= columns
            assert not RAW & set("".join(screen.lines))


@pytest.mark.parametrize("view", VIEWS)
def test_colours_change_no_line_and_are_all_switched_off(monkeypatch: pytest.MonkeyPatch, view: str):
    plain = drawn(crowd(WIDE), chosen=Chosen(view=view)).lines
    monkeypatch.setattr(styling, "is_coloured", lambda: True)

    coloured = drawn(crowd(WIDE), chosen=Chosen(view=view)).lines

    assert any("\x1b[" in line for line in coloured)
    for line, bare in zip(coloured, plain, strict=True):
        assert styling.display_width(line) == styling.display_width(bare)
        assert line.rfind(styling.PLAIN) >= line.rfind("\x1b") or "\x1b" not in line


def test_problems_come_first_then_agents_with_what_they_hold_then_the_rest():
    screen = drawn(
        picture(problems=[problem("amber-otter asks user: Which?")], incursions=[incursion()], waiting=[])
    ).lines

    wanted = ["demo  12:00:00Z", "1 problem, 1 active, 1 stale, 1 held, 1 to be accepted, 1 in each other's way"]
    assert screen[:2] == wanted
    order = ["Problems", "Agents", "To be accepted", "In each other's way", "Lately"]
    assert [line for line in screen if line in order] == order
    assert "  3m      amber-otter asks user: Which?" in screen
    assert "  amber-otter   active  5s      src/parser 10m" in screen
    assert "  cobalt-harbor stale   16m     builder" in screen
    assert '  1m      amber-otter -> cobalt-harbor  Passed to: "Parser is done" [bb-1]' in screen
    assert "  10s     cobalt-harbor changed src/a and 2 more, held by amber-otter (src)" in screen
    assert "  11:59:00 amber-otter reserved src/parser for 120 minutes [bb-1]" in screen
    assert screen[-1] == "q quit   space pause   / filter   f view: all   ? help"


def test_what_waits_to_be_accepted_or_collides_and_is_a_problem_is_told_once():
    known = [problem("It waits", message_id="w.1"), problem("They collide", event_id="w.5")]
    screen = "\n".join(drawn(picture(problems=known, incursions=[incursion()])).lines)

    assert "1 to be accepted, 1 in each other's way" in screen
    assert "To be accepted\n" not in screen
    assert "In each other's way\n" not in screen


def test_what_is_too_long_is_cut_at_its_last_column():
    assert watch_rows.clipped("src/parser/dates.py", 10) == "src/parse…"
    assert watch_rows.clipped("会議会議", 6) == "会議…"
    assert watch_rows.clipped("short", 5) == "short"
    assert watch_rows.clipped("\x1b[31mred and more\x1b[0m", 6) == "\x1b[31mred a…\x1b[0m"


def test_nothing_is_said_where_there_is_nothing():
    screen = drawn(picture(agents=[], reservations=[], unacked=[], told=[])).lines

    assert [line.strip() for line in screen[2:11]] == [
        *("Problems", "nothing needs you", "", "Agents", "no registered agents", "", "Lately", "no events", "")
    ]


def test_who_holds_something_comes_first_among_the_equally_lively():
    names = [f"agent-{n}" for n in range(4)]
    shown = picture(agents=[*map(agent, names), agent("stale-one", "stale")], reservations=[held(names[2], "src")])

    rows = [line.split()[0] for line in drawn(shown).lines if "  builder" in line or "  src" in line]

    assert rows == ["agent-2", "agent-0", "agent-1", "agent-3", "stale-one"]


@pytest.mark.parametrize(("columns", "height"), SIZES[1:])
def test_each_part_gets_its_share_and_says_how_much_it_leaves_out(columns: int, height: int):
    screen = "\n".join(drawn(crowd("words"), columns, height).lines)

    assert "Problems" in screen
    assert "Agents" in screen
    assert " of 30" in screen
    if height >= 24:
        assert "Lately" in screen
        assert " of 80" in screen


def test_a_long_view_is_scrolled_and_says_where_one_is():
    first = drawn(crowd("words"), 80, 10, Chosen(view="held"))
    last = drawn(crowd("words"), 80, 10, Chosen(view="held", offset=10_000))

    assert first.lines[2].startswith("Held  1-6 of ")
    total = int(first.lines[2].rpartition(" ")[2])
    assert (first.page, first.furthest) == (6, total - 6)
    assert last.lines[2] == f"Held  {total - 5}-{total} of {total}"
    assert drawn(crowd("words"), 80, 10, Chosen(view="held", offset=3)).lines[3] == first.lines[6]


def test_a_view_in_full_says_all_that_there_is():
    asked = problem("amber-otter asks user: " + "which " * 30, body="One.\n\nTwo.", answer="bb agent send …")

    screen = drawn(picture(problems=[asked]), 60, 24, Chosen(view="problems")).lines

    text = " ".join(line.strip() for line in screen)
    assert "which " * 30 in text + " "
    assert "| One. | Two. -> bb agent send … -> bb agent ack --agent user --message w.9" in text


@pytest.mark.parametrize(
    ("typed", "seen", "gone"),
    [
        ("cobalt", ["cobalt-harbor", "Parser is done"], ["amber-otter   active"]),
        ("SRC/parser", ["amber-otter active", "reserved src/parser"], ["cobalt-harbor stale"]),
        ("bb-7", ["no matches"], ["amber-otter", "Parser is done"]),
        ("parser done", ["Parser is done"], ["reserved src/parser"]),
        ("stale", ["cobalt-harbor stale"], ["amber-otter "]),
    ],
)
def test_a_filter_shows_what_has_all_its_words(typed: str, seen: list[str], gone: list[str]):
    screen = drawn(picture(), chosen=Chosen(filter=typed)).lines

    assert f"only: {typed}" in screen[0]
    assert [text for text in seen if text not in "\n".join(screen)] == []
    assert [text for text in gone if text in "\n".join(screen[1:])] == []


def test_only_what_is_about_an_agent_or_a_bead():
    shown = picture(
        reservations=[held(AMBER, "src", "bb-1"), held(COBALT, "docs", "bb-2")],
        told=[told("one", AMBER, bead="bb-1"), told("two", COBALT, bead="bb-2")],
        unacked=[],
    )

    of_cobalt = filters.applied(shown, filters.of(COBALT, None, ""))
    of_bead = filters.applied(shown, filters.of(None, "bb-1", ""))

    assert [each["agent_id"] for each in of_cobalt.agents] == [COBALT]
    assert [each["text"] for each in of_cobalt.told] == ["two"]
    assert [each["scope"] for each in of_bead.held] == ["src"]
    assert [(each["agent_id"], len(each["holds"])) for each in of_bead.agents] == [(AMBER, 1)]


def test_the_head_says_what_is_switched_on_and_the_foot_what_went_wrong():
    sync = {"ok_at": at(240), "unpublished": 12, "failed_with": None}
    shown = picture(sync=sync, is_damaged=True)

    screen = drawn(shown, 140, 24, Chosen(paused_at=NOW - 5000, filter="src"), trouble="[LEDGER_BUSY] busy").lines

    wanted = ["demo", "12:00:00Z", "PAUSED since 11:59:55Z", "the ledger is damaged: bb doctor", "only: src"]
    assert screen[0].split("  ") == [*wanted, "synced 4m ago, 12 to publish"]
    assert screen[-1] == "[LEDGER_BUSY] busy"


def test_what_is_typed_is_seen_to_its_end_however_narrow_it_is():
    typed = "a" * 60 + "END"

    assert drawn(picture(), 40, 10, Chosen(draft=typed)).lines[-1].endswith("aEND_")
    assert drawn(picture(), 80, 10, Chosen(draft="src")).lines[-1] == "/src_  Enter applies, Esc clears"


def test_lines_are_folded_at_spaces_and_within_words_only_where_they_must():
    assert watch_rows.folded("one two three", 9, 2) == ["  one two", "  three"]
    assert watch_rows.folded("x" * 10, 6, 2) == ["  xxxx", "  xxxx", "  xx"]
    assert watch_rows.folded("会議会議", 5) == ["会議", "会議"]
    assert watch_rows.folded("", 5, 1) == [" "]


def test_what_the_person_has_frozen_stands_first_and_has_no_end():
    frozen = held("user", "src/core") | FROZEN

    assert watch_rows.held(Foreign(frozen), NOW, 80).split() == ["src/core", "frozen", "by", "user", '"the', 'release"']


def test_who_is_paused_is_told_so_and_why():
    paused = agent(AMBER) | {"paused": {"why": "wait for the review"}, "holds": [held(AMBER, "src")]}

    assert "PAUSED src" in watch_rows.agent(Foreign(paused), NOW, 12, 80)
    assert 'PAUSED "wait for the review"' in watch_rows.whole_agent(Foreign(paused), NOW, 12, 80)[1]
