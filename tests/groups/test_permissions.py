"""Who may do what in a group: every cell of the table, and what is refused to everybody."""

from __future__ import annotations

import pytest

from bb.groups import permissions
from bb.groups.permissions import check, may, role_of
from bb.kernel.errors import PermissionDenied

ROLES = ("user", "system", "service", "foreman", "peer")
NAMES = {"user": "user", "system": "system", "service": "svc:ci", "foreman": "ada", "peer": "bo"}

# action -> for each role: on itself, on others. Written out once more, so that a slip in the table shows.
ALL, NOBODY, OWN, OTHERS_TOO = (True, True), (False, False), (True, False), (True, True)
LEADING = [ALL, ALL, NOBODY, ALL, NOBODY]
EVERYBODY = [ALL] * 5
WANTED = {
    "actor.list": EVERYBODY,
    "actor.add": [ALL, ALL, NOBODY, NOBODY, NOBODY],
    "actor.start": LEADING,
    "actor.stop": [ALL, ALL, NOBODY, ALL, OWN],
    "actor.restart": [ALL, ALL, NOBODY, ALL, OWN],
    "actor.remove": [ALL, ALL, NOBODY, OWN, OWN],
    "actor.update": [ALL, ALL, NOBODY, NOBODY, NOBODY],
    "group.show": EVERYBODY,
    "group.create": LEADING,
    "group.attach": LEADING,
    "group.use": LEADING,
    "group.start": LEADING,
    "group.stop": LEADING,
    "group.update": LEADING,
    "group.set_state": LEADING,
    "group.detach_scope": LEADING,
    "group.delete": LEADING,
    "group.settings": LEADING,
    "group.template": LEADING,
    "inbox.list": [ALL, ALL, NOBODY, OTHERS_TOO, OWN],
    "inbox.mark": [ALL, ALL, NOBODY, OTHERS_TOO, OWN],
    "terminal.read": [ALL, ALL, NOBODY, OTHERS_TOO, OWN],
    "terminal.clear": [ALL, ALL, NOBODY, OTHERS_TOO, OWN],
    "chat.send": EVERYBODY,
    "chat.ack": [OWN] * 5,
    "notify.send": EVERYBODY,
    "notify.ack": [OWN] * 5,
    "events.read": EVERYBODY,
    "context.read": EVERYBODY,
    "context.sync": [ALL, ALL, NOBODY, ALL, ALL],
    "ledger.snapshot": LEADING,
    "ledger.compact": LEADING,
    "observability": [ALL, ALL, NOBODY, NOBODY, NOBODY],
}
CELLS = [(action, role, *cell) for action, row in WANTED.items() for role, cell in zip(ROLES, row, strict=True)]


def test_no_action_is_left_out_of_these_tests():
    assert WANTED.keys() == permissions.GRANTS.keys()


def test_every_cell_of_the_table_grants_something_that_there_is():
    cells = [grant for row in permissions.GRANTS.values() for grant in row.values()]
    assert set(cells) == {"yes", "no", "self", "clone", "visibility"}
    assert {tuple(row) for row in permissions.GRANTS.values()} == {ROLES}


@pytest.mark.parametrize(("action", "role", "on_itself", "on_others"), CELLS)
def test_everybody_may_do_what_the_table_says(action: str, role: str, on_itself: bool, on_others: bool):
    by = NAMES[role]
    assert may(action, by=by, role=role, target=by) is on_itself
    assert may(action, by=by, role=role, target="cyd") is on_others
    assert may(action, by=by, role=role) is on_others  # on nobody in particular


@pytest.mark.parametrize("action", WANTED)
@pytest.mark.parametrize("role", [None, "", "admin", "Foreman", "what"])
def test_somebody_unknown_is_refused_everything(action: str, role: str | None):
    for target in (None, "mallory", "user"):
        assert not may(action, by="mallory", role=role, target=target, visibility="all", is_clone=True)


@pytest.mark.parametrize(("role", "allowed"), [("user", True), ("system", True), ("foreman", True), ("peer", False)])
def test_a_foreman_may_add_only_an_actor_that_is_exactly_like_itself(role: str, allowed: bool):
    assert may("actor.add", by=NAMES[role], role=role, target="dee", is_clone=True) is allowed


@pytest.mark.parametrize("action", ["terminal.read", "terminal.clear"])
@pytest.mark.parametrize(
    ("visibility", "foreman", "peer"),
    [("off", False, False), ("foreman", True, False), ("all", True, True), ("rubbish", False, False)],
)
def test_whose_terminals_are_shown_to_whom_is_a_setting(action: str, visibility: str, foreman: bool, peer: bool):
    assert may(action, by="ada", role="foreman", target="bo", visibility=visibility) is foreman
    assert may(action, by="bo", role="peer", target="ada", visibility=visibility) is peer
    assert may(action, by="user", role="user", target="ada", visibility=visibility)
    for who, role in (("ada", "foreman"), ("bo", "peer")):
        assert may(action, by=who, role=role, target=who, visibility=visibility)


@pytest.mark.parametrize("action", ["chat.ack", "notify.ack"])
def test_cccs_5_nobody_confirms_in_the_name_of_another_not_even_the_daemon(action: str):
    for role, by in NAMES.items():
        check(action, by=by, role=role, target=by)
        with pytest.raises(PermissionDenied.error):
            check(action, by=by, role=role, target="cyd")


def test_ipc_7_1_a_blank_by_is_the_user():
    check("chat.ack", by="", role="user", target="user")
    with pytest.raises(PermissionDenied.error):
        check("chat.ack", by="", role="user", target="")


def test_a_refusal_says_who_may_not_do_what():
    with pytest.raises(PermissionDenied.error) as refusal:
        check("actor.remove", by="ada", role="foreman", target="bo")
    error = refusal.value
    assert (error.code, error.exit_status) == ("PERMISSION_DENIED", 5)
    assert error.details == {"action": "actor.remove", "by": "ada", "by_role": "foreman"}
    assert error.message == "'ada' may not do actor.remove: its role in the group is foreman"
    assert "only for itself" in (error.hint or "")


@pytest.mark.parametrize(
    ("action", "role", "word"),
    [("actor.update", "peer", "user"), ("actor.add", "foreman", "runtime"), ("terminal.read", "peer", "visibility")],
)
def test_a_refusal_hints_at_what_would_be_granted(action: str, role: str, word: str):
    with pytest.raises(PermissionDenied.error) as refusal:
        check(action, by=NAMES[role], role=role, target="cyd")
    assert word in (refusal.value.hint or "")


def test_a_refusal_of_somebody_with_an_endless_name_is_short():
    with pytest.raises(PermissionDenied.error) as refusal:
        check("chat.send", by="x" * 100_000, role=None)
    assert len(refusal.value.message) < 150
    assert refusal.value.details["by_role"] is None
    assert len(refusal.value.details["by"]) == 60


def test_an_action_that_is_not_in_the_table_is_a_bug_and_never_granted():
    with pytest.raises(KeyError):
        may("actor.promote", by="user", role="user")


# -- who somebody is


@pytest.mark.parametrize(
    ("by", "role"),
    [
        ("", "user"),
        ("user", "user"),
        ("system", "system"),
        ("svc:ci", "service"),
        ("svc:com.example.bot", "service"),
        ("svc:", None),
        ("svc", None),
        ("ada", "foreman"),
        ("bo", "peer"),
        ("Ada", None),
        ("mallory", None),
        ("@user", None),
    ],
)
def test_what_somebody_is_follows_from_the_name(by: str, role: str | None):
    assert role_of(by, {"ada": "foreman", "bo": "peer"}) == role
