"""The pages in a real Chromium: live, answered, by keys, in two windows, on a phone, without a script."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bb.kernel import clock
from bb.web import pages
from tests.grids import some
from tests.near import Near
from tests.scene import AMBER, COBALT
from tests.support import Scratch
from tests.web.served import Served

playwright = pytest.importorskip("playwright.sync_api")

PICTURES = os.environ.get("BB_SCREENSHOTS", "")
IS_NEEDED = bool(os.environ.get("BB_TESTS_NEED_BROWSER"))  # as in CI, which installs one
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --process-per-site"
)
SOON = 120_000  # milliseconds, after which something is not coming any more; how fast it comes is measured elsewhere
SHAPES: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light", "has_touch": True},
}
EVERY = [*pages.TITLES, "sessions?bead=bb-1.1", f"cbcl?agent={AMBER}&thread=dates"]

Window = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The system's own Chromium. While its driver is there, no other test can run an event loop in this thread."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        assert not IS_NEEDED, "no Chromium is installed, and it was to be tested with"
        pytest.skip("no Chromium is installed")
    playwright.expect.set_options(timeout=SOON)
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=path, args=QUIET.split())
        yield found
        found.close()


@pytest.fixture
def served(day: Near) -> Iterator[Served]:
    with Served(day) as found:
        yield found


@pytest.fixture(scope="module")
def still(the_scene: Path) -> Iterator[Served]:
    """Pages that are only looked at."""
    with Served(Near(the_scene)) as found:
        yield found


@pytest.fixture(scope="module")
def profile(browser: Any) -> Any:
    """The profile in which most windows open. A page of the same site stays open in it: otherwise Chromium starts a
    process for each window, which takes longer than the test."""
    context = browser.new_context(**SHAPES["light"])
    stays = context.new_page()
    stays.route("**/*", lambda route: route.fulfill(body=""))
    stays.goto("http://127.0.0.1/")
    return context


@pytest.fixture
def window(browser: Any, profile: Any) -> Iterator[Window]:
    """Opens a window at a page; at the end there must have been no error in any of them, and nothing reloaded.

    It has no cookies, drafts or routes of other tests. What a test changes of its profile, such as the clock, needs a
    profile of its own: name a shape.
    """
    opened_here: list[Any] = []
    wrong: list[str] = []
    profile.clear_cookies()

    def opened(served: Served, page: str = "sessions", **shape: Any) -> Any:
        context = browser.new_context(**shape) if shape else profile
        context.set_default_timeout(SOON)
        found = context.new_page()
        opened_here.append(context if shape else found)
        found.on("pageerror", lambda error: wrong.append(str(error)))
        found.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        context.request.get(served.url)  # which gives it the cookie
        found.goto(f"{served.base}/{page}")
        if shape.get("java_script_enabled", True):
            found.evaluate("window.stayed = true")
        return found

    yield opened
    for each in opened_here:
        each.close()
    assert [text for text in wrong if "Failed to load resource" not in text and "ERR_" not in text] == []


def expect(found: Any) -> Any:
    return playwright.expect(found, "it has not come")


def is_live(page: Any) -> None:
    expect(page.locator("#link")).to_have_text("Live", timeout=SOON)


# -- live


def test_9_an_event_of_another_process_appears_without_a_reload(served: Served, window: Window):
    page = window(served)
    is_live(page)
    served.repo.bb("agent", "reserve", "--agent", AMBER, "--scope", "lib/new", "--bead", "bb-9.9")

    expect(page.get_by_text("lib/new")).to_be_visible(timeout=SOON)
    assert page.evaluate("window.stayed")


def test_4_3_a_badge_turns_when_its_threshold_passes_though_nothing_is_written(day: Near, window: Window):
    with Served(day, BB_AGENT_STALE_MINUTES="1") as served:
        seen = clock.text(int(time.time() * 1000) - 50 * clock.SECOND)  # ten seconds for a busy machine to show it
        day.bb("agent", "heartbeat", "--agent", AMBER, BB_NOW=seen)
        page = window(served, "agents")
        card = page.locator(f'[data-key="agent {AMBER}"]')
        expect(card.locator(".badge").first).to_have_text("On mission")

        expect(card).to_contain_text("Lease expiring", timeout=30_000)
        assert page.evaluate("window.stayed")


def test_what_is_half_typed_survives_updates(served: Served, window: Window):
    page = window(served, "sessions?bead=bb-1.1")
    is_live(page)
    page.get_by_label("Comment as user").fill("Four digits, bec")
    page.locator(".composer select[name=to]").select_option(COBALT)
    served.repo.bb(
        *("agent", "send", "--from", AMBER, "--to", "user", "--bead", "bb-1.1", "--category", "INFO"),
        *("--subject", "News from elsewhere", "--body", "x"),
    )

    expect(page.locator(".thread").get_by_text("News from elsewhere")).to_be_visible(timeout=SOON)
    assert page.get_by_label("Comment as user").input_value() == "Four digits, bec"
    assert page.locator(".composer select[name=to]").input_value() == COBALT
    assert page.evaluate("document.activeElement.name") in ("to", "body")


def test_what_is_half_typed_about_something_that_is_settled_meanwhile_is_kept(served: Served, window: Window):
    page = window(served, "problems")
    is_live(page)
    note = page.locator(".problem.incursion input[name=note]")
    note.fill("They agr")
    (event,) = served.repo.json("protocol", "incursions", "--state", "open").data
    served.repo.bb("protocol", "resolve", event["id"], "--agent", "user", "--as", "accepted")

    expect(page.locator(".gone")).to_be_visible(timeout=SOON)
    assert note.input_value() == "They agr"


def test_what_was_typed_waits_for_whoever_goes_elsewhere_and_comes_back(served: Served, window: Window):
    page = window(served, "sessions?bead=bb-1.1")
    is_live(page)
    page.get_by_label("Comment as user").fill("Four digits, bec")
    page.get_by_label("Close the conversation").click()
    expect(page.locator("#drawer")).to_have_count(0, timeout=SOON)
    page.locator('[data-key="card bb-2.2"] a').click()
    expect(page.locator("#drawer-title")).to_contain_text("bb-2.2", timeout=SOON)
    assert page.get_by_label("Comment as user").input_value() == ""
    page.get_by_label("Close the conversation").click()
    page.locator('[data-key="card bb-1.1"] a').click()

    expect(page.get_by_label("Comment as user")).to_have_value("Four digits, bec", timeout=SOON)
    assert page.locator(".gone").count() == 0


def by_a_link(page: Any) -> None:
    page.get_by_role("link", name="Agents").click()
    page.wait_for_url("**/agents")
    page.get_by_role("link", name="Sessions").click()
    page.wait_for_url("**/sessions")
    page.locator('[data-key="card bb-1.1"] a').click()


def by_a_key(page: Any) -> None:
    page.keyboard.press("Escape")  # out of the field
    page.keyboard.press("2")
    page.wait_for_url("**/agents")
    page.keyboard.press("1")
    page.wait_for_url("**/sessions")
    page.locator('[data-key="card bb-1.1"] a').click()


def by_going_back_and_forward(page: Any) -> None:
    page.get_by_role("link", name="Agents").click()
    page.wait_for_url("**/agents")
    page.go_back()
    page.go_back()
    page.go_forward()


def by_loading_it_again(page: Any) -> None:
    page.reload()


def by_closing_the_drawer(page: Any) -> None:
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.locator("#drawer")).to_have_count(0, timeout=SOON)
    page.locator('[data-key="card bb-1.1"] a').click()


LEAVING = [by_a_link, by_a_key, by_going_back_and_forward, by_loading_it_again, by_closing_the_drawer]


def test_an_answer_that_was_lost_is_asked_for_again_after_a_reload_and_said_once(served: Served, window: Window):
    page = window(served, "sessions?bead=bb-1.1")
    is_live(page)

    def lose(route: Any) -> None:
        route.fetch()  # it is done, and nobody hears of it
        route.abort()

    page.route("**/act/comment", lose)
    page.get_by_label("Comment as user").fill("Two digits.")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("#said .bad")).to_contain_text("Your text is still in the form")
    page.unroute("**/act/comment")
    page.reload()
    is_live(page)
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_label("Comment as user")).to_have_value("", timeout=SOON)

    said = [line for line in served.repo.json("ledger", "log").data if line["data"].get("text") == "Two digits."]
    assert len(said) == 1


@pytest.mark.parametrize("leave", LEAVING)
def test_what_was_typed_waits_however_one_leaves_and_goes_once_it_was_sent(
    served: Served, window: Window, leave: Callable[[Any], None]
):
    page = window(served, "sessions?bead=bb-1.1")
    is_live(page)
    comment = page.get_by_label("Comment as user")
    comment.fill("Four digits, bec")
    page.locator(".composer select[name=to]").select_option(COBALT)
    comment.focus()

    leave(page)

    expect(comment).to_have_value("Four digits, bec", timeout=SOON)
    expect(page.locator(".composer select[name=to]")).to_have_value(COBALT)
    comment.fill("Four digits, because of ISO 8601")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("#said")).not_to_be_empty(timeout=SOON)
    expect(comment).to_have_value("", timeout=SOON)
    page.reload()
    is_live(page)
    assert comment.input_value() == ""
    assert page.evaluate("sessionStorage.getItem('bb-drafts')") == "[]"


def test_what_was_typed_on_a_card_waits_too_and_what_was_taken_back_does_not(served: Served, window: Window):
    page = window(served, "agents")
    is_live(page)
    form = page.locator(f'form[data-key="send {COBALT}"]')
    form.locator("xpath=ancestor::details[1]").locator("summary").first.click()
    form.locator("textarea").fill("Could you")
    page.get_by_role("link", name="Timeline").click()
    page.wait_for_url("**/timeline")
    page.get_by_role("link", name="Agents").click()
    page.wait_for_url("**/agents")

    expect(form.locator("textarea")).to_be_visible(timeout=SOON)
    expect(form.locator("textarea")).to_have_value("Could you")
    form.locator("textarea").fill("")
    page.reload()
    is_live(page)
    assert form.locator("textarea").input_value() == ""


def test_a_browser_that_keeps_nothing_for_the_page_has_a_page_all_the_same(served: Served, window: Window):
    page = window(served, "sessions?bead=bb-1.1")
    page.add_init_script("Object.defineProperty(window, 'sessionStorage', {get() { throw new Error('no') }})")
    page.reload()
    is_live(page)
    page.get_by_label("Comment as user").fill("Said without a draft")
    page.get_by_role("button", name="Send", exact=True).click()

    expect(page.locator(".thread").get_by_text("Said without a draft")).to_be_visible(timeout=SOON)


def test_an_answer_that_was_lost_and_asked_for_again_is_said_once(served: Served, window: Window):
    page = window(served, "sessions?bead=bb-1.1")
    is_live(page)

    lost: list[Any] = []

    def lose(route: Any) -> None:
        if lost:
            route.continue_()
            return
        lost.append(route.fetch())  # it is done, and nobody hears of it
        route.abort()

    page.route("**/act/comment", lose)
    page.get_by_label("Comment as user").fill("Four digits.")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("#said .bad")).to_contain_text("Your text is still in the form")
    expect(page.locator(".thread").get_by_text("Four digits.")).to_be_visible(timeout=SOON)
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_label("Comment as user")).to_have_value("", timeout=SOON)

    said = [line for line in served.repo.json("ledger", "log").data if line["data"].get("text") == "Four digits."]
    assert len(said) == 1


def test_who_was_offline_for_a_moment_is_live_again_without_anything_happening(served: Served, window: Window):
    page = window(served)
    is_live(page)
    page.route("**/sessions?*", lambda route: route.abort())
    page.locator('[data-key="card bb-1.1"] a').click()
    expect(page.locator("#link")).to_have_text("Connection lost; reconnecting", timeout=SOON)
    page.unroute("**/sessions?*")

    expect(page.locator("#drawer-title")).to_contain_text("bb-1.1", timeout=SOON)
    is_live(page)


def test_a_server_that_hangs_is_not_live(served: Served, window: Window):
    page = window(served, "agents", **SHAPES["light"])
    page.clock.install()
    page.reload()
    is_live(page)
    os.kill(served.pid, signal.SIGSTOP)
    page.clock.fast_forward(25_000)
    expect(page.locator("#link")).to_have_text("Connection lost; reconnecting", timeout=SOON)
    os.kill(served.pid, signal.SIGCONT)
    page.clock.fast_forward(5_000)

    is_live(page)


def test_a_ledger_that_is_taken_away_is_no_live_page(day: Near, window: Window):
    with Served(day) as served:
        page = window(served, "agents")
        is_live(page)
        shutil.rmtree(day.store)

        expect(page.locator("#link")).to_have_text("The server refused this page", timeout=SOON)
        expect(page.locator("#said .bad")).to_have_count(1)
        expect(page.locator("#said")).to_contain_text("there is no ledger here")


def test_what_is_opened_stays_open(served: Served, window: Window):
    page = window(served, "agents")
    is_live(page)
    page.get_by_text(f"Write to {AMBER}").click()
    served.repo.bb("agent", "register", "--name", "dusty-wren", "--role", "builder")

    expect(page.locator('[data-key="agent dusty-wren"]')).to_be_visible(timeout=SOON)
    expect(page.get_by_role("button", name="Send as user")).to_be_visible()


def test_without_a_line_the_page_asks_now_and_then(served: Served, window: Window):
    page = window(served)
    page.route("**/live?*", lambda route: route.abort())
    page.reload()
    expect(page.locator("#link")).to_have_text("Polling every two seconds", timeout=SOON)
    served.repo.bb("agent", "reserve", "--agent", AMBER, "--scope", "lib/new", "--bead", "bb-9.9")

    expect(page.get_by_text("lib/new")).to_be_visible(timeout=SOON)


def test_a_connection_that_was_lost_is_shown_and_what_was_missed_is_caught_up_with(served: Served, window: Window):
    page = window(served, **SHAPES["light"])
    is_live(page)
    os.kill(served.pid, signal.SIGSTOP)  # it does not answer any more
    page.context.set_offline(True)
    page.evaluate("line.close(); line = null; listen()")
    expect(page.locator("#link")).to_have_text("Connection lost; reconnecting", timeout=SOON)
    os.kill(served.pid, signal.SIGCONT)
    served.repo.bb("agent", "reserve", "--agent", AMBER, "--scope", "lib/new", "--bead", "bb-9.9")
    page.context.set_offline(False)

    expect(page.get_by_text("lib/new")).to_be_visible(timeout=SOON)
    assert page.evaluate("window.stayed")


def test_a_server_that_was_started_anew_is_told_from_one_that_is_lost(day: Near, window: Window):
    first = Served(day)
    page = window(first)
    is_live(page)
    assert first.end() == 130
    with Served(day, first.port):
        expect(page.locator("#link")).to_contain_text("restarted", timeout=SOON)


# -- what a person does


def test_6_3_seen_and_accepted_in_one_window_show_in_the_other(served: Served, window: Window):
    one, other = window(served, "sessions?bead=bb-1.1"), window(served, "attention")
    is_live(other)
    row = other.locator("li.letter.blocked")
    expect(row).to_be_visible()

    one.get_by_role("button", name="Seen").click()
    expect(one.locator("#said")).to_contain_text("Marked as seen.")
    one.get_by_role("button", name="Accepted").click()

    expect(row).to_have_count(0, timeout=SOON)
    by = [line["by"] for line in served.repo.json("ledger", "log", "--limit", "2").data]
    assert by == ["user", "user"]


def test_a_comment_is_said_as_the_person_and_the_form_is_empty_again(served: Served, window: Window):
    page = window(served, "sessions?bead=bb-1.1")
    page.get_by_label("Comment as user").fill("Four digits.\nAlways <b>four</b>.")
    page.get_by_role("button", name="Send", exact=True).click()

    expect(page.locator(".thread").get_by_text("Always <b>four</b>.")).to_be_visible(timeout=SOON)
    assert page.get_by_label("Comment as user").input_value() == ""
    said = served.repo.json("ledger", "log", "--limit", "1").data[0]
    assert (said["by"], said["data"]["mail"]["subject"]) == ("user", "Four digits.")


def test_6_3_work_is_passed_on_from_its_conversation(served: Served, window: Window):
    page = window(served, "sessions?bead=bb-1.1")
    is_live(page)
    page.get_by_text("Pass this work on").click()
    form = page.locator("form[action='/act/handoff']")
    form.locator("select[name=to]").select_option(COBALT)
    for name, text in (("subject", "Dates"), ("summary", "Two tests fail."), ("next_action", "Mend them.")):
        form.locator(f"[name={name}]").fill(text)
    form.get_by_role("button", name="Pass on as user").click()

    expect(page.locator(".thread")).to_contain_text("Dates", timeout=SOON)
    event = served.repo.json("protocol", "list", "--type", "HANDOFF").data[0]
    assert (event["from_agent"], event["to_agent"]) == ("user", COBALT)
    assert event["payload"]["next_action"] == "Mend them."


def test_a_question_is_answered_from_where_it_waits(served: Served, window: Window):
    page = window(served, "attention")
    question = page.locator("li.letter.decision")
    question.locator("summary").click()
    question.get_by_label("Text").fill("Yes, do.")
    question.get_by_role("button", name="Send as user").click()

    expect(question).to_have_count(0, timeout=SOON)
    assert served.repo.json("agent", "inbox", "--agent", COBALT).data[0]["body"] == "Yes, do."


def test_a_reservation_is_released_and_a_refusal_is_shown_and_harms_nothing(served: Served, window: Window):
    page = window(served, "agents")
    is_live(page)
    row = page.locator(f'[data-key="agent {AMBER}"] .holds li').first
    row.locator("summary").click()
    page.route("**/agents", lambda route: route.abort())  # so it does not hear of what happens
    served.repo.bb("agent", "release", "--agent", AMBER, "--all")
    row.get_by_role("button", name="Release it").click()
    expect(page.locator("#said .bad").first).to_contain_text("there is no reservation for exactly src/parser")
    page.unroute("**/agents")
    served.repo.bb("agent", "heartbeat", "--agent", AMBER)

    expect(page.locator(f'[data-key="agent {AMBER}"]')).to_contain_text("No reservations.", timeout=SOON)


def test_enter_in_a_note_settles_nothing(served: Served, window: Window):
    page = window(served, "problems")
    note = page.locator(".problem.incursion input[name=note]")
    note.fill("They have agreed.")
    note.press("Enter")
    served.repo.bb("agent", "register", "--name", "dusty-wren", "--role", "builder")

    assert len(served.repo.json("protocol", "incursions", "--state", "open").data) == 1
    assert note.input_value() == "They have agreed."


def test_the_focus_stays_near_what_is_gone(served: Served, window: Window):
    page = window(served, "agents")
    is_live(page)
    row = page.locator(f'[data-key="agent {AMBER}"] .holds li').first
    row.locator("summary").press("Enter")
    row.get_by_role("button", name="Release it").press("Enter")
    expect(row).to_have_count(0, timeout=SOON)

    assert page.evaluate("document.activeElement.closest('[data-key]').dataset.key").endswith(AMBER)


def test_an_incursion_is_settled_with_a_note(served: Served, window: Window):
    page = window(served, "problems")
    problem = page.locator(".problem.incursion")
    problem.get_by_label("Note").fill("They have agreed.")
    problem.get_by_role("button", name="Accept the change").click()

    expect(problem).to_have_count(0, timeout=SOON)
    event = served.repo.json("protocol", "list", "--type", "INCURSION").data[0]
    assert (event["state"], event["resolution"]["note"]) == ("accepted", "They have agreed.")
    assert event["resolution"]["by"] == "user"


def test_a_reservation_is_handed_over(served: Served, window: Window):
    page = window(served, "agents")
    is_live(page)
    row = page.locator(f'[data-key="agent {AMBER}"] .holds li').first
    row.locator("summary").click()
    row.locator("select[name=to]").select_option(COBALT)
    row.get_by_role("button", name="Hand over").click()

    expect(page.locator(f'[data-key="agent {COBALT}"] .holds')).to_contain_text("src/parser", timeout=SOON)
    expect(page.locator(f'[data-key="agent {AMBER}"]')).to_contain_text("No reservations.")


def test_paths_are_frozen_on_the_map_and_thawed_among_the_agents(served: Served, window: Window):
    page, other = window(served, "map"), window(served, "agents")
    is_live(other)
    page.get_by_label("Freeze docs", exact=True).click()
    page.locator('[data-key="freeze docs"]').get_by_label("Why").fill("the release")
    page.get_by_role("button", name="Freeze docs").click()

    expect(page.locator('[data-key="place docs"]').first).to_contain_text(
        "user has frozen docs (the release)", timeout=SOON
    )
    expect(other.locator(".orders")).to_contain_text("docs the release", timeout=SOON)
    other.get_by_role("button", name="Thaw").click()
    expect(other.locator(".orders .badge.paused")).to_have_count(0, timeout=SOON)


def test_an_agent_is_paused_and_goes_on(served: Served, window: Window):
    page = window(served, "agents")
    is_live(page)
    card = page.locator(f'[data-key="agent {AMBER}"]')
    card.get_by_text(f"Pause {AMBER}").first.click()
    card.get_by_label("Why").last.fill("wait for the review")
    card.get_by_role("button", name=f"Pause {AMBER}").click()
    expect(card).to_contain_text("wait for the review", timeout=SOON)

    assert served.repo.json("check", "src/parser/dates.py", "--agent", AMBER).code == "AGENT_PAUSED"
    card.get_by_role("button", name="Unpause it").click()
    expect(card.locator(".badge.paused")).to_have_count(0, timeout=SOON)


# -- by keys, in a narrow window, without a script


def test_the_drawer_opens_and_closes_by_keys_and_gives_the_focus_back(still: Served, window: Window):
    page = window(still)
    page.keyboard.press("j")
    opener = page.evaluate("document.activeElement.closest('[data-key]').dataset.key")
    page.keyboard.press("Enter")
    expect(page.locator("#drawer-title")).to_be_focused(timeout=SOON)
    assert page.url.endswith(f"bead={opener.removeprefix('card ')}")
    page.keyboard.press("Escape")

    expect(page.locator("#drawer")).to_have_count(0, timeout=SOON)
    assert page.evaluate("document.activeElement.closest('[data-key]').dataset.key") == opener
    page.go_back()
    expect(page.locator("#drawer")).to_be_visible(timeout=SOON)
    assert page.evaluate("window.stayed")


def test_keys_lead_to_pages_search_and_help(still: Served, window: Window):
    page = window(still)
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()
    page.keyboard.press("/")
    page.keyboard.type("newcomers")
    page.keyboard.press("Enter")
    expect(page.locator(".card")).to_have_count(1, timeout=SOON)
    page.keyboard.press("Escape")
    page.keyboard.press("3")

    page.wait_for_url("**/map")


def test_filters_are_in_the_address_and_survive_a_reload(still: Served, window: Window):
    page = window(still)
    page.locator("select[name=owner]").select_option(COBALT)
    expect(page.locator(".card")).to_have_count(1, timeout=SOON)
    page.reload()

    expect(page.locator(".card")).to_have_count(1)
    assert page.locator("select[name=owner]").input_value() == COBALT


def test_filters_show_what_is_in_force_after_going_back(still: Served, window: Window):
    page = window(still)
    page.locator("select[name=state]").select_option("completed")
    expect(page.locator(".card")).to_have_count(1, timeout=SOON)
    page.go_back()

    expect(page.locator(".card")).to_have_count(5, timeout=SOON)
    expect(page.locator("select[name=state]")).to_have_value("")


@pytest.mark.parametrize("size", [(640, 450), (390, 664)], ids=str)
def test_in_a_low_window_everything_in_the_drawer_can_be_reached(still: Served, window: Window, size: tuple[int, int]):
    shape = {"viewport": {"width": size[0], "height": size[1]}}
    page = window(still, "sessions?bead=bb-1.1", **shape)
    page.get_by_text("Pass this work on").click()

    for name in ("Pass on as user", "Send"):
        button = page.get_by_role("button", name=name, exact=True)
        button.scroll_into_view_if_needed()
        box = button.bounding_box()
        assert 0 <= box["y"] <= box["y"] + box["height"] <= size[1]


def test_a_report_opens_the_conversation_that_is_followed(browser: Any, day: Near):
    far = Scratch(day.path, day.settings)
    far.bb("report", "--output", "report.html")
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto((day.path / "report.html").as_uri())
    page.locator("#sessions .card a").first.click()

    expect(page.locator(":target")).to_be_visible()
    assert page.locator(":target").bounding_box()["y"] >= page.locator("header.top").bounding_box()["height"]
    page.close()


def test_no_page_is_wider_than_a_phone(still: Served, window: Window):
    page = window(still, **SHAPES["phone"])
    for name in some(EVERY, 5):
        page.goto(f"{still.base}/{name}")

        assert page.evaluate("document.scrollingElement.scrollWidth") <= 390, name


def test_on_a_phone_the_drawer_takes_the_whole_screen(still: Served, window: Window):
    box = window(still, "sessions?bead=bb-1.1", **SHAPES["phone"]).locator("#drawer").bounding_box()

    assert (box["x"], box["width"], box["height"]) == (0, 390, 844)


def test_without_a_script_pages_are_shown_and_forms_work(served: Served, window: Window):
    page = window(served, "sessions?bead=bb-1.1", java_script_enabled=False)
    page.get_by_role("button", name="Accepted").click()

    assert page.url == f"{served.base}/sessions?bead=bb-1.1"
    assert page.get_by_role("button", name="Accepted").count() == 0
    assert "Accepted" in page.locator(".thread").inner_text()


# -- for everybody's eyes and ears

# What can be used or seen and has no name that a screen reader could say.
NAMELESS = """() => [...document.querySelectorAll(
    "input:not([type=hidden]), select, textarea, button:not([hidden]), a, summary, svg[role=img]"
  )]
  .filter((each) => !each.labels?.length && !each.getAttribute("aria-label") && !each.textContent.trim())
  .map((each) => each.outerHTML)"""
# Text whose contrast to what is behind it is less than WCAG's 4.5.
FAINT = """() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const part = (value) => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const light = ([red, green, blue]) =>
    0.2126 * part(red / 255) + 0.7152 * part(green / 255) + 0.0722 * part(blue / 255);
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const found = numbers(getComputedStyle(node).backgroundColor);
      if (found.length < 4 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  const faint = new Set(), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const said = walker.currentNode.data.trim(), node = walker.currentNode.parentElement;
    if (!said || !node.checkVisibility() || node.closest("svg, .unseen, .skip, option, dialog")) continue;
    const both = [light(numbers(getComputedStyle(node).color)), light(ground(node))].sort((one, other) => other - one);
    const contrast = (both[0] + 0.05) / (both[1] + 0.05);
    if (contrast < 4.5) faint.add(`${contrast.toFixed(2)} ${node.className} ${said.slice(0, 40)}`);
  }
  return [...faint];
}"""


@pytest.mark.parametrize("shape", ["light", "dark"])
def test_everything_has_a_name_and_can_be_read(still: Served, window: Window, shape: str):
    page = window(still, **SHAPES[shape])
    for name in some(EVERY, 7):
        page.goto(f"{still.base}/{name}")

        assert page.evaluate(NAMELESS) == [], name
        assert page.evaluate(FAINT) == [], name
        assert page.locator("h1").count() == 1
        assert page.locator("[id]").evaluate_all("all => all.length === new Set(all.map((each) => each.id)).size")


def test_a_hostile_ledger_does_nothing_in_a_browser(haunted: Near, window: Window):
    with Served(haunted) as served:
        page = window(served, **SHAPES["light"])
        page.add_init_script("window.haunted = () => { window.isHaunted = true }")
        for name in pages.TITLES:
            _looked_at(page, served, name)


def _looked_at(page: Any, served: Served, name: str) -> None:
    """Open all there is on a page, and let it be brought up to date: nothing that it shows may run."""
    page.goto(f"{served.base}/{name}")
    is_live(page)
    page.locator("summary").evaluate_all("all => all.slice(0, 40).forEach((each) => each.click())")
    served.repo.bb("agent", "heartbeat", "--agent", AMBER)
    page.wait_for_timeout(500)

    assert page.evaluate("window.isHaunted") is None
    assert page.title().startswith(pages.TITLES[name])


@pytest.mark.skipif(not PICTURES, reason="BB_SCREENSHOTS names a folder for pictures of the pages")
def test_pictures_for_somebody_to_look_at(still: Served, window: Window):
    folder = Path(PICTURES)
    folder.mkdir(parents=True, exist_ok=True)
    for shape in SHAPES:
        page = window(still, **SHAPES[shape])
        for name in EVERY:
            page.goto(f"{still.base}/{name}")
            is_live(page)
            page.screenshot(path=folder / f"{name.replace('?', '-').replace('&', '-')}.{shape}.png")
