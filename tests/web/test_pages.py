"""What stands on each page, as a browser is sent it; and that nothing in it is obeyed instead of shown."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

from bb.ops.desk.desk import Desk
from bb.web import pages, rendering, report
from tests.hostile import BIDI, EVERYTHING, MARKUP, has_raw
from tests.near import Near
from tests.scene import AMBER, COBALT, JADE, OLIVE, RUSSET
from tests.web.conftest import desk_at

EVERY = [
    *((name, {}) for name in pages.TITLES),
    ("sessions", {"bead": "bb-1.1"}),
    ("sessions", {"bead": "bb-2.2"}),
    ("cbcl", {"agent": AMBER, "thread": "dates"}),
    ("map", {"under": "src"}),
    ("ledger", {"kind": "chat.message", "since": "1d"}),
]


class Read(HTMLParser):
    """A page as a browser reads it: its elements, its attributes and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute of <{tag}> is there twice"
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.said.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.said).split())

    def every(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def shown(desk: Desk, name: str, **asked: str) -> Read:
    return Read(rendering.page(name, pages.page(desk, name, asked)))


# -- what is there


def test_6_3_sessions_are_cards_by_bead_and_epic_with_state_owner_and_talk(desk: Desk):
    text = shown(desk, "sessions").text

    assert "Parser for the new format bb-1 3 missions" in text
    assert "amber-otter pulled bb-1.1" in text
    assert "Read dates as the standard says “Freeze at five”" in text
    assert "Needs input On mission 2 to accept 9 unread in_progress" in text
    assert "Unassigned bb-1.2" in text
    assert "Needs input On mission Conflict" in text
    assert "A page for newcomers" in text
    assert text.count("Conflict ") == 3  # at the top, and on the cards of both sides
    assert "Conflict detected: cobalt-harbor is in docs/parser.md, held by olive-finch" in text


def test_4_3_who_is_here_is_shown_by_liveness(desk: Desk):
    groups = pages.page(desk, "agents", {})["groups"]

    assert {state: [agent["agent_id"] for agent in found] for state, found in groups.items()} == {
        "active": [AMBER, COBALT],
        "stale": [OLIVE],
        "evicted": [JADE, RUSSET],
    }
    assert "Active 2" in shown(desk, "agents").text
    assert "Lease expiring 1" in shown(desk, "agents").text
    assert "Disconnected 2" in shown(desk, "agents").text


def test_6_3_the_labels_of_the_conversation_are_those_of_the_specification(desk: Desk):
    text = shown(desk, "sessions", bead="bb-1.1").text

    assert "jade-heron Passed to amber-otter" in text
    assert "amber-otter Needs input → user" in text
    assert "cobalt-harbor Deciding → amber-otter" in text
    assert "user Update → amber-otter cobalt-harbor jade-heron olive-finch russet-pine" in text


def test_6_3_the_actions_are_called_seen_and_accepted_and_are_offered_to_whom_the_message_is(desk: Desk):
    drawer = shown(desk, "sessions", bead="bb-1.1")
    offered = [form["action"] for form in drawer.every("form") if str(form.get("class")) == "one"]

    assert offered == ["/act/seen", "/act/accepted"]
    assert "Seen" in drawer.text
    assert "Accepted" in drawer.text


@pytest.mark.parametrize(("bead", "label"), [("bb-2.2", "Incursion"), ("bb-1.3", "Resumed")])
def test_6_3_incursions_and_resumptions_are_first_class_rows(day: Near, bead: str, label: str):
    (day.path / "src/web/app.py").write_text("# changed\n")
    adopted = day.bb("init", "--adopt", JADE, "--non-interactive", "--json")
    assert adopted.status == 0, adopted.out
    found = desk_at(day)
    row = next(
        element
        for element in shown(found, "sessions", bead=bead).every("li")
        if "protocol" in str(element.get("class")) and label.lower()[:6] in str(element.get("class"))
    )
    found.close()

    assert "protocol" in str(row["class"])


def test_a_message_to_several_is_one_row(desk: Desk):
    rows = pages.page(desk, "sessions", {"bead": "bb-1.1"})["drawer"]["conversation"]
    (row,) = [row for row in rows if row["subject"] == "Freeze at five"]

    assert len(row["copies"]) == 5


def test_a_flood_is_shown_from_its_end_with_a_way_to_the_rest(desk: Desk):
    drawer = pages.page(desk, "sessions", {"bead": "bb-1.1", "rows": "2"})["drawer"]

    assert len(drawer["conversation"]) == 2
    assert drawer["conversation"][-1]["subject"] == "Freeze at five"
    assert "Show more" in shown(desk, "sessions", bead="bb-1.1", rows="2").text


@pytest.mark.parametrize(
    ("asked", "cards"),
    [
        ({"q": "newcomers"}, ["bb-2.1"]),
        ({"q": "SRC/PARSER"}, ["bb-1.1"]),
        ({"state": "completed"}, ["bb-1.3"]),
        ({"owner": COBALT}, ["bb-2.2"]),
        ({"epic": "bb-2", "sort": "name"}, ["bb-2.1", "bb-2.2"]),
        ({"epic": "-"}, []),
        ({"epic": "bb-1", "sort": "priority", "show": "1"}, ["bb-1.1"]),
        ({"q": "nothing like it"}, []),
        ({"sort": "x", "show": "-3", "state": ""}, None),
    ],
)
def test_sessions_can_be_found(desk: Desk, asked: dict[str, str], cards: list[str] | None):
    epics = pages.page(desk, "sessions", asked)["epics"]
    found = [task["id"] for group in epics for task in group["tasks"]]

    assert found == cards if cards is not None else len(found) == 5


def test_the_map_says_who_holds_what(desk: Desk):
    text = shown(desk, "map").text

    assert "amber-otter holds src/parser for bb-1.1" in text
    assert "docs / 4 files" in text.replace("docs/", "docs /")
    assert "russet-pine holds tests for bb-1.2, expired" in text


def test_the_timeline_is_a_picture_and_the_same_in_words(desk: Desk):
    page = shown(desk, "timeline")

    assert page.every("svg")[0]["role"] == "img"
    assert "jade-heron handed over to amber-otter: Parser" in page.text
    assert len(page.every("marker")) == 1


def test_attention_says_what_waits_for_whom_and_why(desk: Desk):
    text = shown(desk, "attention").text

    assert "Waiting for you 2" in text
    assert "The sender asks you to accept it. Once accepted, the work is yours." in text
    assert "This is a question. Answering it" in text
    assert "Passed to from jade-heron: Parser" in text
    assert "cobalt-harbor asked in CBCL:" in text
    assert "may respond: the message is addressed only to this agent" in text


def test_problems_are_on_every_page_and_first(desk: Desk):
    assert "Problems 5 open" in shown(desk, "ledger").text
    assert shown(desk, "sessions").text.index("russet-pine is evicted") < shown(desk, "sessions").text.index("bb-1.1")
    assert len([each for each in shown(desk, "problems").every("li") if "problem" in str(each.get("class"))]) == 5


def test_the_ledger_can_be_filtered(desk: Desk):
    found = pages.page(desk, "ledger", {"kind": "x.bb.reserved", "agent": COBALT})["events"]

    assert {event["kind"] for event in found} == {"x.bb.reserved"}
    assert {event["by"] for event in found} == {COBALT}


def test_conversations_in_cbcl_are_shown_once_with_all_who_take_part(desk: Desk):
    (talk,) = pages.page(desk, "cbcl", {})["talks"]

    assert (talk["thread"], talk["who"], talk["messages"]) == ("dates", [AMBER, COBALT], 2)
    assert "Nearly. Two tests fail." in shown(desk, "cbcl", agent=AMBER, thread="dates").text


def test_a_repository_in_which_nothing_has_happened_has_pages_that_say_so(tmp_path: Any):
    from tests.near import near

    repo = near(tmp_path / "repo")
    repo.bb("init")
    desk = desk_at(repo)

    assert "No sessions found" in shown(desk, "sessions").text
    assert "Nothing needs your attention." in shown(desk, "problems").text
    assert "Nothing is waiting for you." in shown(desk, "attention").text
    assert "No CBCL messages yet." in shown(desk, "cbcl").text
    assert "No reservations or hand-offs in this period." in shown(desk, "timeline").text
    desk.close()


# -- what must never be there


@pytest.fixture(scope="module")
def haunted_desk(haunted: Near) -> Iterator[Desk]:
    found = desk_at(haunted)
    yield found
    found.close()


@pytest.mark.parametrize(("name", "asked"), EVERY, ids=str)
def test_a_hostile_ledger_is_shown_harmless_on_every_page(haunted_desk: Desk, name: str, asked: dict[str, str]):
    text = rendering.page(name, pages.page(haunted_desk, name, asked))

    must_be_harmless(text)


@pytest.mark.parametrize("text", EVERYTHING.values(), ids=EVERYTHING)
@pytest.mark.parametrize("name", pages.TITLES)
def test_an_address_that_was_made_to_do_harm_does_none(desk: Desk, name: str, text: str):
    fields = ("q", "bead", "state", "owner", "epic", "sort", "under", "thread", "show", "hours", "rows")
    asked = dict.fromkeys(fields, text)

    must_be_harmless(rendering.page(name, pages.page(desk, name, asked)))


def test_what_a_page_shows_of_hostile_text_is_what_was_said(haunted_desk: Desk):
    text = shown(haunted_desk, "ledger", show="1000").text

    assert all(" ".join(markup.split()) in text for markup in MARKUP.values())
    assert BIDI not in text
    assert "abc\\u202edef" in text


def test_a_report_of_a_hostile_ledger_is_harmless_too(haunted_desk: Desk):
    text = report.render_report(haunted_desk)

    must_be_harmless(text, is_report=True)


def test_a_report_is_one_file_that_loads_nothing(desk: Desk):
    page = Read(report.render_report(desk))

    assert page.every("script") == page.every("link") == page.every("img") == page.every("form") == []
    assert all(str(link["href"]).startswith("#") for link in page.every("a"))
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    assert {str(link["href"])[1:] for link in page.every("a")} <= ids
    for name in pages.TITLES:
        assert name in ids
    assert "jade-heron Passed to amber-otter" in page.text


def must_be_harmless(text: str, *, is_report: bool = False) -> None:
    assert not has_raw(text)
    page = Read(text)
    assert [each.get("src", "").startswith("/static/bb.js") for each in page.every("script")] == [True] * (
        not is_report
    )
    for tag, attributes in page.elements:
        assert tag not in ("iframe", "object", "embed", "base", "img"), tag
        assert not [name for name in attributes if name.startswith("on") or (name == "style")], attributes
        for name in ("href", "src", "action"):
            address = attributes.get(name)
            assert address is None or address.startswith(("/", "#")), address
            assert address is None or not address.startswith("//"), address
