"""`bb web` as a server: it begins, answers, tells of changes, refuses what is wrong, and ends."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.near import Near
from tests.support import Scratch, scratch
from tests.waiting import until
from tests.web.served import Caller, Served


@pytest.fixture
def served(day: Near) -> Iterator[Served]:
    with Served(day, _free()) as found:
        yield found


def _free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def asked(the_scene: Path) -> Iterator[Caller]:
    """Somebody who only asks, or asks for what is refused."""
    with Served(Near(the_scene)) as found:
        yield Caller(found)


def test_it_says_where_it_is_answers_there_and_ends_when_interrupted(day: Near):
    served = Served.started(day)
    caller = Caller(served)

    assert caller.get("/").headers["location"] == "/sessions"
    assert "Read dates" in caller.get("/sessions").text
    assert served.end() == 130


def test_a_browser_is_opened_where_that_is_asked_for(day: Near, tmp_path: Path):
    opener, opened = tmp_path / "opener", tmp_path / "opened"
    opener.write_text(f'#!/bin/sh\nprintf %s "$1" > "{opened}"\n')
    opener.chmod(0o755)
    with Served.started(day, "--open", BROWSER=str(opener)) as served:
        until(lambda: opened.exists() and opened.read_text(), "the browser")

        assert opened.read_text() == served.url


def test_it_listens_on_loopback_only(served: Served):
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]

    assert next(each for each in listening if each.endswith(f":{served.port:04X}")).startswith("0100007F")


def test_a_port_that_is_taken_is_refused_if_it_was_asked_for_and_else_another_is_found(served: Served, day: Near):
    taken = Served.started(day, "--port", str(served.port))

    assert taken.refusal["code"] == "PORT_TAKEN"
    assert taken.end() == 6
    with Served.started(day) as one, Served.started(day, "--port", "0") as other:
        assert one.port != other.port


def test_without_a_ledger_there_is_nothing_to_show(tmp_path: Path):
    refused = Served.started(scratch(tmp_path / "repo"))

    assert refused.refusal["code"] == "NOT_INITIALIZED"
    assert refused.end() == 3


def test_nothing_is_imported_from_the_repository(day: Near):
    for name in ("starlette", "uvicorn", "jinja2", "json", "bb"):
        (day.path / f"{name}.py").write_text("raise SystemExit('hijacked')\n")

    with Served.started(day) as served:
        assert Caller(served).get("/sessions").status == 200


def test_a_page_that_has_not_changed_is_not_sent_again(served: Served):
    caller = Caller(served)
    mark = caller.get("/sessions").headers["etag"]

    assert caller.get("/sessions", If_None_Match=mark).status == 304
    served.repo.bb("agent", "register", "--name", "dusty-wren", "--role", "builder")
    assert caller.get("/sessions", If_None_Match=mark).status == 200


def test_what_another_process_records_is_told_with_a_cursor(served: Served):
    with Caller(served).listen() as stream:
        first = stream.change()
        served.repo.bb("agent", "register", "--name", "dusty-wren", "--role", "builder")

        assert stream.kind.startswith("text/event-stream")
        assert stream.change() != first


def test_a_heartbeat_is_told_too_though_the_ledger_has_no_line_of_it(served: Served):
    with Caller(served).listen() as stream:
        first = stream.change()
        served.repo.bb("agent", "heartbeat", "--agent", "amber-otter")

        assert stream.change() != first


def test_who_comes_back_is_told_at_once_what_it_has_missed_and_else_nothing(served: Served):
    caller = Caller(served)
    with caller.listen() as stream:
        known = stream.change()
    served.repo.bb("agent", "register", "--name", "dusty-wren", "--role", "builder")

    with caller.listen(Last_Event_ID=known) as stream:
        now = stream.change()
    assert now != known
    assert caller.get("/live/now").json["cursor"] == now
    with caller.listen(Last_Event_ID=now) as stream:
        served.repo.bb("agent", "register", "--name", "dusky-wren", "--role", "builder")
        assert stream.change() != now


def test_an_act_without_a_script_leads_back_to_the_page(served: Served):
    done = Caller(served).post("/act/release", scope="src/parser", back="/agents?x=1")

    assert (done.status, done.headers["location"]) == (303, "/agents?x=1")
    assert "src/parser" not in served.repo.bb("agent", "status").out


@pytest.mark.parametrize(
    "back", ["//evil.invalid", "https://evil.invalid", "/\\evil.invalid", "javascript:x", "/a\r\nX: y"]
)
def test_an_act_leads_nowhere_else(served: Served, back: str):
    assert Caller(served).post("/act/release", scope="src/parser", back=back).headers["location"] == "/"


def test_a_refusal_is_told_as_the_house_tells_refusals(asked: Caller):
    page = asked.post("/act/release", scope="nowhere")
    answer = asked.post("/act/release", script=True, scope="nowhere").json

    assert (page.status, "RESERVATION_NOT_FOUND" in page.text) == (404, True)
    assert list(answer) == ["ok", "command", "data", "error"]
    assert answer["error"]["code"] == "RESERVATION_NOT_FOUND"


@pytest.mark.parametrize(
    ("path", "octets", "status"),
    [
        ("/act/seen", b"message=" + b"x" * (1 << 20), 413),
        ("/act/seen", b"\xff\xfe", 400),
        ("/act/nothing", b"", 404),
        ("/sessions", b"", 405),
        ("/act/seen", b"", 400),
    ],
)
def test_what_makes_no_sense_is_refused_and_the_server_goes_on(asked: Caller, path: str, octets: bytes, status: int):
    assert asked.post(path, octets).status == status
    assert asked.get("/sessions").status == 200


@pytest.mark.parametrize(
    "path", ["/nowhere", "/static/../app.py", "/static/app.py", "/sessions/x", "/..%2f..%2fetc/passwd", "/act/seen"]
)
def test_there_is_nothing_elsewhere(asked: Caller, path: str):
    assert asked.get(path).status in (404, 405)


def test_half_a_request_and_many_lines_at_once_do_no_harm(asked: Caller):
    with contextlib.ExitStack() as held:
        for _ in range(20):
            half = held.enter_context(socket.create_connection(("127.0.0.1", asked.served.port)))
            half.sendall(b"GET /sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
        streams = [held.enter_context(asked.listen()) for _ in range(30)]

        assert len({stream.change() for stream in streams}) == 1
        assert asked.get("/sessions").status == 200


def test_a_repository_that_goes_away_is_told_as_a_refusal(day: Near):
    with Served(day) as served:
        caller = Caller(served)
        (day.path / ".git" / "bb").rename(day.path / ".git" / "gone")
        answer = caller.get("/sessions")
        (day.path / ".git" / "gone").rename(day.path / ".git" / "bb")

        assert answer.status in (200, 404)
        assert "INTERNAL_ERROR" not in answer.text
        assert caller.get("/sessions").status == 200


def test_bb_report_writes_one_file_and_says_how_large_it_is(day: Near):
    far = Scratch(day.path, day.settings)
    done = far.bb("report", "--output", "report.html", "--json")

    assert done.data == {"path": "report.html", "bytes": (day.path / "report.html").stat().st_size}
    assert far.bb("report", "--output", "-").out.startswith("<!doctype html>")
    assert far.bb("report", "--output", "no/such/folder/x.html", "--json").code == "OUTPUT_NOT_WRITTEN"
    assert far.bb("report", "--json").code == "MISSING_OPTION"
    assert far.bb("report", "--output", "-", "--json").code == "TWO_DOCUMENTS"
