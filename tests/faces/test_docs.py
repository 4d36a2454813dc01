"""The pages say what is there."""

from __future__ import annotations

import re

from tests.support import ROOT

PAGE = (ROOT / "docs" / "operative-protocol.md").read_text()


def test_every_test_that_the_table_of_clauses_names_exists():
    known = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    named = re.findall(r"`(test_\w+)`", PAGE)

    assert len(named) > 30
    assert [name for name in named if name not in known] == []


def test_every_room_and_script_that_the_table_names_exists():
    named = re.findall(r"`((?:coordination|ledger|ops|cli|wire)/\w+\.py|scripts/[\w-]+|skills/[\w-]+)`", PAGE)

    assert [name for name in named if not any((ROOT / base / name).exists() for base in ("bb", "."))] == []


def test_links_between_pages_lead_somewhere():
    for page in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} -> {target}"
