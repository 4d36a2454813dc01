"""An idempotency key makes a retry harmless, and never swallows another request."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.agents.agents_support import (
    HARBOR,
    OTTER,
    WREN,
    after,
    crew,
    inbox,
    log,
    nothing_written,
    reserve,
    stay,
)
from tests.support import Scratch

KEY = ["--key", "k"]
LETTER = ["--bead", "bb-1", "--category", "INFO", "--subject", "News", "--body", "Done."]


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    return crew(tmp_path / "repo", OTTER, HARBOR)


def test_the_same_request_again_records_nothing_and_answers_alike(repo: Scratch):
    requests = [
        ["agent", "reserve", "--agent", OTTER, "--scope", "src", "--bead", "bb-1", "--key", "1"],
        ["agent", "renew", "--agent", OTTER, "--scope", "src", "--ttl", "60", "--key", "2"],
        ["agent", "send", "--from", OTTER, "--to", HARBOR, *LETTER, "--key", "3"],
        ["agent", "release", "--agent", OTTER, "--scope", "src", "--key", "4"],
        ["agent", "retire", "--agent", OTTER, "--key", "5"],
    ]
    for request in requests:
        first = repo.json(*request).data
        events = log(repo)
        assert repo.json(*request).data == first
        assert log(repo) == events


@pytest.mark.parametrize(
    ("first", "other"),
    [
        (["reserve", "--scope", "src", "--bead", "bb-1"], ["release", "--scope", "src"]),
        (["reserve", "--scope", "src", "--bead", "bb-1"], ["reserve", "--scope", "docs", "--bead", "bb-1"]),
        (
            ["reserve", "--scope", "src", "--bead", "bb-1"],
            ["reserve", "--scope", "src", "--bead", "bb-1", "--ttl", "9"],
        ),
        (["release", "--scope", "a"], ["release", "--scope", "b"]),
        (["release", "--scope", "a"], ["release", "--all"]),
    ],
    ids=" ".join,
)
def test_another_request_under_the_same_key_is_refused_and_not_swallowed(
    repo: Scratch, first: list[str], other: list[str]
):
    for scope in ("a", "b"):
        reserve(repo, OTTER, scope).data  # noqa: B018  (must succeed)
    repo.json("agent", *first, "--agent", OTTER, *KEY).data  # noqa: B018

    with nothing_written(repo):
        refused = repo.json("agent", *other, "--agent", OTTER, *KEY)

    assert (refused.code, refused.status) == ("KEY_REUSED", 7)


def test_registering_with_another_role_is_another_request(repo: Scratch):
    register = ["agent", "register", "--name", WREN, *KEY, "--role"]
    repo.json(*register, "builder").data  # noqa: B018

    assert repo.json(*register, "builder").data["role"] == "builder"
    assert repo.json(*register, "reviewer").code == "KEY_REUSED"


def test_a_retry_is_the_same_request_although_the_world_has_changed(repo: Scratch):
    """Its sender had been silent, its recipients have changed, the path exists now."""
    later = after(repo, 20)
    send = ["agent", "send", "--from", OTTER, "--to", "broadcast", *LETTER, *KEY]
    hold = ["agent", "reserve", "--agent", HARBOR, "--scope", "new.py", "--bead", "bb-1", *KEY]
    sent, held = later.json(*send).data, later.json(*hold).data

    crew_grows = later.json("agent", "register", "--name", WREN, "--role", "tester")
    (repo.path / "new.py").write_text("x")

    assert crew_grows.status == 0
    assert later.json(*send).data["message_id"] == sent["message_id"]
    assert later.json(*hold).data["reservation_id"] == held["reservation_id"]
    assert inbox(later, WREN) == []


def test_a_retry_finds_what_it_sent_although_the_recipient_has_left(repo: Scratch):
    send = ["agent", "send", "--from", OTTER, "--to", HARBOR, *LETTER, *KEY]
    sent = repo.json(*send).data
    repo.json("agent", "retire", "--agent", HARBOR).data  # noqa: B018

    assert repo.json(*send).data["message_id"] == sent["message_id"]


def test_what_comes_from_stdin_is_part_of_the_request(repo: Scratch):
    send = ["agent", "send", "--from", OTTER, "--to", HARBOR, *LETTER[:-1], "-", *KEY]
    first = repo.json(*send, stdin="one").data

    assert repo.json(*send, stdin="one").data["message_id"] == first["message_id"]
    assert repo.json(*send, stdin="two").code == "KEY_REUSED"


def test_the_same_relative_scope_elsewhere_is_another_request(repo: Scratch):
    (repo.path / "sub").mkdir()
    hold = ["agent", "reserve", "--agent", OTTER, "--scope", "x", "--bead", "bb-1", *KEY]
    repo.json(*hold).data  # noqa: B018

    assert repo.json(*hold, cwd=repo.path / "sub").code == "KEY_REUSED"


def test_how_long_one_would_wait_is_no_part_of_the_request(repo: Scratch):
    hold = ["agent", "reserve", "--agent", OTTER, "--scope", "x", "--bead", "bb-1", *KEY]
    held = repo.json(*hold).data

    assert repo.json(*hold, "--wait", "5").data["reservation_id"] == held["reservation_id"]


def test_what_is_noted_down_about_a_request_is_shown_nowhere(repo: Scratch):
    reserve(repo, OTTER, "src", *KEY).data  # noqa: B018
    stay(repo, OTTER)

    assert b'"_q":"' in repo.journal().read_bytes()
    for words in (["ledger", "log"], ["ledger", "export"], ["timeline"], ["agent", "status"]):
        assert "_q" not in repo.bb(*words, "--json").out
