"""What every refusal keeps to, and texts that no command may pass on to a terminal as they are."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tests.forks import Call
from tests.near import run_all
from tests.stories.agents.agents_support import is_harmless, nothing_written
from tests.support import ROOT, Ran, Scratch

NOT_UTF8 = "\udcff\udcfeotter"  # the octets FF FE, as Python has them from the system
CONTROLS = {
    "link": "\x1b]8;;http://evil.invalid\x07here\x1b]8;;\x07",
    "clear": "\x1b[2J\x1b[H",
    "title": "\x1b]0;title\x07",
    "bell": "a\x07b",
    "return": "safe\rrm -rf",
    "backspace": "ab\b\bcd",
    "line": "a\nError: [FORGED] not ours",
    "delete": "a\x7fb",
    "c1": "\x9b2Jab\x9d0;t\x9c",
    "next-line": "a\x85b",
}
BIDI = {"override": "abc\u202egnp", "isolate": "a\u2066b\u2069", "mark": "a\u200fb", "line-separator": "a\u2028b"}


def _documented() -> dict[str, tuple[int, str]]:
    """The exit status and the hint of every code, as docs/errors.md has them."""
    page = (ROOT / "docs" / "errors.md").read_text()
    return {
        code: (int(status), hint)
        for code, status, hint in re.findall(r"(?m)^\| `(\w+)` \| (\d) \| .* \| (.*) \|$", page)
    }


DOCUMENTED = _documented()


def codes(repo: Scratch, calls: Sequence[Call]) -> list[str]:
    """The code that each of CALLS is refused with, to a program and to a person alike; nothing is written."""
    with nothing_written(repo):
        asked = run_all(repo, [Call([*call.words, "--json"], call.settings) for call in calls])
        told = run_all(repo, calls)
    for call, in_json, as_text in zip(calls, asked, told, strict=True):
        assert_refused_alike(in_json, as_text, str(call)[:300])
    return [answer.code for answer in asked]


def assert_refused_alike(asked: Ran, told: Ran, call: str) -> None:
    assert asked.status, f"{call} was not refused: {asked.out[:300]}"
    assert asked.err == "", call
    assert asked.out.isascii(), call
    assert is_harmless(asked.out), call
    error = asked.envelope["error"]
    status, hint = DOCUMENTED[error["code"]]
    assert asked.status == told.status == status, call
    assert status != 1, call
    assert error["hint"] or not hint, f"{call}: a documented hint is not given"
    assert told.out == "", call
    assert is_harmless(told.err), f"{call}: {told.err!r}"
    lines = told.err.splitlines()
    assert lines[0].startswith(f"Error: [{error['code']}] "), call
    assert [line[:6] for line in lines[1:]] == (["Hint: "] if error["hint"] else []), f"{call}: {told.err!r}"
    assert len(told.err) < 2000, f"{call}: a refusal does not repeat all it was given"
