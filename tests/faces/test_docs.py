"""The pages say what is there."""

from __future__ import annotations

import posixpath
import re
import tomllib
from typing import Any

import pytest

from bb.ops import catalogue
from tests.support import ROOT

CLAUSES = pytest.mark.parametrize("page", ["operative-protocol.md", "cccs.md", "cccc-ipc.md"])


@CLAUSES
def test_every_test_that_the_table_of_clauses_names_exists(page: str):
    known = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    named = re.findall(r"`(test_\w+)`", (ROOT / "docs" / page).read_text())

    assert len(named) > 30
    assert [name for name in named if name not in known] == []


@CLAUSES
def test_every_room_and_script_that_the_table_names_exists(page: str):
    rooms = "kernel|coordination|groups|messaging|ledger|ops|wire|cli|daemon"
    text = (ROOT / "docs" / page).read_text()
    named = re.findall(rf"`((?:{rooms})/\w+\.py|scripts/[\w-]+|skills/[\w-]+)`", text)

    assert [name for name in named if not any((ROOT / base / name).exists() for base in ("bb", "."))] == []


def test_links_between_pages_lead_somewhere():
    for page in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} -> {target}"


def test_every_heading_that_a_link_names_is_there():
    folder = ROOT / "docs"
    pages = {
        page.relative_to(folder).as_posix(): page.read_text()
        for page in [*folder.glob("*.md"), *folder.glob("bridges/*.md")]
    }
    for name, text in pages.items():
        for page, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", text):
            there = posixpath.normpath(posixpath.join(posixpath.dirname(name), page)) if page else name
            headings = re.findall(r"^#+ (.+)$", pages.get(there, ""), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
            assert anchor in anchors, f"{name} -> {page}#{anchor}"


def test_the_page_about_sync_names_only_codes_and_options_that_exist():
    page = (ROOT / "docs" / "sync.md").read_text()
    codes = (ROOT / "docs" / "errors.md").read_text()
    known = {parameter.option for op in catalogue.all_ops() for parameter in op.parameters} | {"--json"}
    commands = " ".join(re.findall(r"^(?:\$ )?bb .+$", page, re.MULTILINE) + re.findall(r"`bb [^`]+`", page))

    named = set(re.findall(r"`([A-Z]+_[A-Z_]+|OFFLINE|CONTENDED)`", page)) - {"FETCH_HEAD"}
    assert len(named) > 8
    assert [code for code in named if f"`{code}`" not in codes] == []
    assert set(re.findall(r"(--[a-z-]+)", commands)) - known == set()


def test_the_site_has_every_page_once():
    """Pages about single decisions are reached from their list."""
    found = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]
    listed: list[str] = []

    def walk(entries: list[dict[str, Any]]) -> None:
        for entry in entries:
            (below,) = entry.values()
            listed.append(below) if isinstance(below, str) else walk(below)

    walk(found)
    folder = ROOT / "docs"
    pages = [path.relative_to(folder).as_posix() for path in folder.rglob("*.md")]
    assert sorted(listed) == sorted(page for page in pages if not re.match(r"decisions/\d", page))
    assert [next(iter(entry)) for entry in found][1:] == ["Tutorials", "How to", "Reference", "Explanation"]
