"""Who may come in: our own machine's browser with the token, and no other site's page."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from bb.web.access_control import POLICY, Gate

HERE = "127.0.0.1:4780"


class Visitor:
    """Somebody who sends requests to the gate, and keeps the cookies that are set."""

    def __init__(self) -> None:
        self.gate = Gate(PlainTextResponse("inside"), 4780)
        self.cookie = ""

    def asks(self, path: str = "/", method: str = "GET", **headers: str) -> tuple[int, dict[str, str], str]:
        """The status, the headers and the text of the answer."""
        named = {"host": HERE, **({"cookie": self.cookie} if self.cookie else {})}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        path, _, query = path.partition("?")
        scope: dict[str, Any] = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in named.items() if value],
        }
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": b""}

        async def send(message: Any) -> None:
            sent.append(message)

        with pytest.raises(StopIteration):  # nothing in it waits, so it is done at once; a loop may run here already
            self.gate(scope, receive, send).send(None)
        found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return sent[0]["status"], found, b"".join(each.get("body", b"") for each in sent).decode()

    def comes_in(self) -> Visitor:
        _, headers, _ = self.asks(f"/?token={self.gate.token}")
        self.cookie = headers["set-cookie"].partition(";")[0]
        return self


@pytest.fixture
def stranger() -> Visitor:
    return Visitor()


@pytest.fixture
def guest() -> Visitor:
    return Visitor().comes_in()


def test_without_the_token_nothing_is_shown(stranger: Visitor):
    status, _, text = stranger.asks("/sessions")

    assert status == 401
    assert "inside" not in text
    assert "bb web" in text


@pytest.mark.parametrize("given", ["", "x", "é", "%00", "../.."])
def test_a_wrong_token_is_refused(stranger: Visitor, given: str):
    assert stranger.asks(f"/?token={given}")[0] == 401


def test_the_token_is_exchanged_for_a_cookie_that_no_script_reads_and_leaves_the_address(stranger: Visitor):
    status, headers, _ = stranger.asks(f"/sessions?bead=bb-1&token={stranger.gate.token}")

    assert (status, headers["location"]) == (303, "/sessions?bead=bb-1")
    assert "HttpOnly" in headers["set-cookie"]
    assert "SameSite=lax" in headers["set-cookie"]
    assert stranger.gate.token not in headers["set-cookie"]


def test_the_token_leads_to_no_other_host(stranger: Visitor):
    _, headers, _ = stranger.asks(f"//evil.invalid/x?token={stranger.gate.token}")

    assert headers["location"] == "/evil.invalid/x"


def test_with_the_cookie_one_is_in(guest: Visitor):
    assert guest.asks("/sessions")[::2] == (200, "inside")


def test_the_cookie_of_another_server_opens_nothing(guest: Visitor):
    other = Visitor()
    other.cookie = guest.cookie

    assert other.asks("/sessions")[0] == 401


@pytest.mark.parametrize(
    "other", ['zprefs={"a":1}', "name=John Smith", 'q="open', "flag", "a/b=c", "=x", "bb-4780=old", "é=ü"]
)
def test_what_other_servers_of_this_machine_have_set_does_not_keep_one_out(guest: Visitor, other: str):
    ours = guest.cookie

    assert guest.asks("/sessions", cookie=f"{other}; {ours}")[0] == 200
    assert guest.asks("/sessions", cookie=f"{ours}; {other}")[0] == 200


@pytest.mark.parametrize("cookie", ["bb-4780=", "bb-4780=x", "bb-4780=\\", "=;=", "bb-4781=x", '"', "bb-4780=é"])
def test_a_cookie_that_is_none_of_ours_opens_nothing(stranger: Visitor, cookie: str):
    assert stranger.asks("/sessions", cookie=cookie)[0] == 401


@pytest.mark.parametrize(
    "host", ["evil.invalid", "evil.invalid:4780", "127.0.0.1", "127.0.0.1:80", "", "localhost:4781"]
)
def test_a_name_that_was_made_to_point_here_is_refused(guest: Visitor, host: str):
    assert guest.asks("/sessions", host=host)[0] == 421


@pytest.mark.parametrize("host", ["localhost:4780", "[::1]:4780", "LOCALHOST:4780"])
def test_this_machine_s_own_names_will_do(guest: Visitor, host: str):
    assert guest.asks("/sessions", host=host)[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.invalid", "null", "https://127.0.0.1:4780", "http://127.0.0.1:8080"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_site_s_page_may_ask_for_nothing(guest: Visitor, origin: str, method: str):
    assert guest.asks("/act/seen", method, origin=origin)[0] == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", ""])
def test_without_an_origin_only_our_own_page_may_change_anything(guest: Visitor, site: str):
    assert guest.asks("/act/seen", "POST", sec_fetch_site=site)[0] == 403
    assert guest.asks("/act/seen", "POST", sec_fetch_site="same-origin")[0] == 200
    assert guest.asks("/act/seen", "POST", origin=f"http://{HERE}")[0] == 200


def test_a_link_from_elsewhere_leads_here_but_nothing_is_loaded_from_there(guest: Visitor):
    followed = guest.asks("/sessions", sec_fetch_site="cross-site", sec_fetch_mode="navigate")
    fetched = guest.asks("/live", sec_fetch_site="cross-site", sec_fetch_mode="cors")

    assert (followed[0], fetched[0]) == (200, 403)


def test_every_answer_forbids_what_pages_do_not_need(guest: Visitor, stranger: Visitor):
    for _, headers, _ in (guest.asks("/sessions"), stranger.asks("/sessions"), stranger.asks("/", host="x")):
        assert headers["content-security-policy"] == POLICY
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
    assert "unsafe" not in POLICY
    assert "http" not in POLICY
