"""The script that docs/attention.md shows does what it says there."""

from __future__ import annotations

from pathlib import Path

from tests.support import ROOT, Scratch


def script() -> str:
    text = (ROOT / "docs" / "attention.md").read_text()
    return text.partition("```jsonl\n")[2].partition("```")[0]


def test_the_script_in_the_documentation_is_answered_as_it_expects(repo: Scratch, tmp_path: Path):
    (tmp_path / "policy.jsonl").write_text(script())

    played = repo.json("chat", "replay", str(tmp_path / "policy.jsonl"))

    assert len(played.data) == len(script().splitlines())


def test_a_script_that_is_answered_otherwise_fails_and_names_the_step(repo: Scratch, tmp_path: Path):
    (tmp_path / "policy.jsonl").write_text(script().replace("content 2 must_respond", "content 2 may_respond"))

    played = repo.json("chat", "replay", str(tmp_path / "policy.jsonl"))

    assert (played.status, played.code) == (7, "NOT_AS_EXPECTED")
    assert played.envelope["error"]["details"]["step"] == 5
