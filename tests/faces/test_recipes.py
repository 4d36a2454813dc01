"""The recipes of docs/contributing.md work: each is applied to a copy of `bb/`, exactly as the page shows it, and then
its commands run there and answer as the page says."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.faces import documents
from tests.support import ROOT, Scratch
from tests.web.served import Caller, Served

PAGE = (ROOT / "docs" / "contributing.md").read_text().partition("\n## Recipes\n")[2].partition("\n## ")[0]
RECIPES: dict[str, str] = dict(re.findall(r"^### (.+?)\n(.*?)(?=^### |\Z)", PAGE, re.MULTILINE | re.DOTALL))
BLOCK = re.compile(r"^ {3}```(\w+)\n(.*?)^ {3}```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"\b(New\s+file|In)\s+`([\w/.]+)`:")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of `bb/`. The compiled files come along, so that nothing unchanged is compiled again."""
    shutil.copytree(ROOT / "bb", tmp_path / "checkout" / "bb")
    return tmp_path / "checkout"


def apply(recipe: str, checkout: Path) -> None:
    """Apply the blocks of RECIPE that change files to CHECKOUT. A file is named before its block or blocks."""
    changes = _changes(recipe)
    assert len(changes) > 1
    for kind, block, way, path in changes:
        file = checkout / path
        if way == "In":
            assert kind == "diff", f"{path}: a block of {kind} does not say where it belongs"
            file.write_text(_patched(file.read_text(), block, path))
        else:
            assert not file.exists(), f"{path} is not new"
            file.write_text(block)


def _changes(recipe: str) -> list[tuple[str, str, str, str]]:
    found = []
    for match in BLOCK.finditer(recipe):
        if match[1] != "console":
            *_, (way, path) = FILE.findall(recipe[: match.start()])
            found.append((match[1], _unindented(match[2]), way, path))
    return found


def _unindented(block: str) -> str:
    """BLOCK without the indentation of the list in which it is."""
    return "".join(line[3:] or "\n" for line in block.splitlines(keepends=True))


def _patched(text: str, diff: str, path: str) -> str:
    """TEXT after DIFF, whose place is found by its lines without `+`."""
    lines = diff.splitlines()
    before = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
    after = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("-"))
    assert text.count(before) == 1, f"{path} has this {text.count(before)} times, not once:\n{before}"
    return text.replace(before, after)


def commands(recipe: str) -> str:
    """The blocks of RECIPE with commands, as a document of its own."""
    return "".join(
        f"```console\n{_unindented(match[2])}```\n" for match in BLOCK.finditer(recipe) if match[1] == "console"
    )


def test_the_page_has_the_four_recipes():
    assert list(RECIPES) == ["A verb", "A field of an event", "A page", "A surface"]


@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_works_in_a_copy_as_the_page_shows_it(title: str, checkout: Path, repo: Scratch):
    apply(RECIPES[title], checkout)
    here = Scratch(repo.path, {"PYTHONPATH": str(checkout)})

    ran = documents.play(here, commands(RECIPES[title]), fill_in=str)

    assert len(ran) > 1
    for address in re.findall(r"shows the page at `(/\w+)`", RECIPES[title]):
        with Served.started(here) as served:
            page = Caller(served).get(address)
        assert page.status == 200
        for text in (page.text, (repo.path / "report.html").read_text()):
            assert "<h1>Protocol events</h1>" in text
            assert '<b class="label">BLOCKED</b>' in text


def test_every_file_that_a_recipe_names_exists_or_is_made_by_it():
    made = {path for recipe in RECIPES.values() for _, _, way, path in _changes(recipe) if way != "In"}
    named = set(re.findall(r"`((?:bb|tests|docs|scripts)/[\w/.]+)`", PAGE))

    assert {path for path in named - made if not (ROOT / path).exists()} == set()
