"""For which hosts a story is told, and for which of them it is not true yet."""

from __future__ import annotations

import pytest

from tests.hosts.programs import HOSTS

NO_STOP = "bb's plugin for OpenCode is not called before an agent stops"
NO_SESSION = "the host's session id does not reach bb here"


def hosts(fixture: str = "day", **missing: str) -> pytest.MarkDecorator:
    """Run a test for every host.

    MISSING says for which hosts the story is not true yet, and why. If it becomes true, the test fails, so that the
    reason is removed.
    """
    marks = {name: pytest.mark.xfail(reason=reason, strict=True) for name, reason in missing.items()}
    found = [pytest.param(name, marks=[marks[name]] if name in marks else []) for name in HOSTS]
    return pytest.mark.parametrize(fixture, found, indirect=True)
