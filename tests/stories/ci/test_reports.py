"""What a verdict looks like to the programs that show it: GitHub's log, code scanning, test reports."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bb.coordination.guards import ci as rules
from bb.kernel.foreign import Foreign
from bb.wire import github, junit, sarif
from tests.stories.ci.ci_support import HARBOR, OTTER, Project, project
from tests.support import Ran, Scratch

LEX = "src/parser/lex.py"
NASTY = "a\n::error::b\r%0A,c:d]](x)<&\"'>\x1b[2J\x00\ufffe\udcff.py"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """An error, a warning, a doubt."""
    made = project(tmp_path_factory.mktemp("reports") / "work")
    made.publish()
    made.commit(HARBOR, {LEX: "2\n"}, "BB-Agent: ../x")
    made.commit(None, {"src/parser/new.py": "1\n"})
    return made


def said(work: Project, form: str, *words: str) -> Ran:
    return work.repo.bb("ci", "check", "--base", "origin/main", "--format", form, *words)


def answer(path: str | None, text: str = "It is held.", severity: str = "error") -> Foreign:
    finding = {
        "rule": "held-then",
        "severity": severity,
        "path": path,
        "agent_id": HARBOR,
        "commits": ["c0ffee" * 6],
        "text": text,
        "held_by": OTTER,
        "scope": "src",
        "bead_id": "bb-1",
        "reservation_id": "aaaaaaaaaaaa.1",
    }
    counts = {"commits": 1, "errors": 1, "warnings": 0}
    return Foreign({"findings": [finding], "ledger": {"note": NASTY}, **counts})


def test_github_is_told_in_annotations(work: Project):
    ran = said(work, "github")

    first, second, third, last = ran.out.splitlines()
    assert first.startswith(f"::error file={LEX},line=1,title=bb%3A held-then::amber-otter has held src/parser")
    assert second.startswith("::warning file=src/parser/new.py,line=1,")
    assert third.startswith("::warning title=bb%3A unclear-author::commit ")
    assert last == "::notice title=bb::1 error, 2 warnings in 2 commits"
    assert ran.status == 7


def test_nothing_in_a_path_or_a_text_ends_an_annotation_or_begins_another():
    rows = list(github.commands(answer(NASTY, NASTY)))

    assert all(row.isprintable() and row.startswith("::") for row in rows)
    properties, _, _ = rows[0].removeprefix("::error ").partition("::")
    assert [each.partition("=")[0] for each in properties.split(",")] == ["file", "line", "title"]
    assert "%250A" in rows[0]


def test_sarif_has_what_the_standard_and_code_scanning_require(work: Project):
    document = json.loads(said(work, "sarif").out)

    assert (document["version"], document["$schema"][:5]) == ("2.1.0", "https")
    (run,) = document["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "bb"
    assert [rule["id"] for rule in driver["rules"]] == list(rules.RULES)
    assert all(rule["shortDescription"]["text"] for rule in driver["rules"])
    assert [result["level"] for result in run["results"]] == ["error", "warning"]
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        assert result["partialFingerprints"]["bbFinding/v1"]
        (location,) = result["locations"]
        assert location["physicalLocation"]["artifactLocation"]["uri"].startswith("src/parser/")
        assert location["physicalLocation"]["region"]["startLine"] == 1
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is True
    (doubt,) = invocation["toolExecutionNotifications"]
    assert (doubt["level"], "not a valid agent id" in doubt["message"]["text"]) == ("warning", True)


def test_a_fingerprint_is_the_same_for_the_same_and_another_for_another():
    def fingerprint(path: str, text: str) -> str:
        document = json.loads(sarif.document(answer(path, text), rules.RULES, "1"))
        return str(document["runs"][0]["results"][0]["partialFingerprints"]["bbFinding/v1"])

    assert fingerprint("a", "until noon") == fingerprint("a", "until one")
    assert fingerprint("a", "until noon") != fingerprint("b", "until noon")


def test_a_uri_is_the_name_octet_by_octet_and_a_text_has_no_links():
    document = json.loads(sarif.document(answer("ä b%/\udcff.py", "[x](y)"), rules.RULES, "1"))
    (result,) = document["runs"][0]["results"]

    place = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place["uri"] == "%C3%A4%20b%25/%FF.py"
    assert "](" not in result["message"]["text"]


def test_junit_is_xml_with_a_case_for_every_finding(work: Project):
    suites = ElementTree.fromstring(said(work, "junit").out)

    (suite,) = suites
    assert (suites.tag, suite.get("tests"), suite.get("failures")) == ("testsuites", "3", "1")
    cases = suite.findall("testcase")
    assert [case.get("file") for case in cases] == [LEX, "src/parser/new.py", None]
    assert [len(case.findall("failure")) for case in cases] == [1, 0, 0]
    failure = cases[0].find("failure")
    assert failure is not None
    assert (failure.get("type"), work.head("HEAD^") in (failure.text or "")) == ("held-then", True)


def test_nothing_makes_a_junit_report_other_than_xml():
    (suite,) = ElementTree.fromstring(junit.document(answer(NASTY, NASTY)))

    (case,) = suite.findall("testcase")
    assert case.get("name", "").startswith("a\\x0a::error::b")


def test_a_report_about_nothing_says_that_it_was_looked_at(work: Project):
    ran = said(work, "junit", "--head", "origin/main")

    (suite,) = ElementTree.fromstring(ran.out)
    assert (ran.status, suite.get("tests"), suite.get("failures")) == (0, "1", "0")
    assert json.loads(said(work, "sarif", "--head", "origin/main").out)["runs"][0]["results"] == []


def test_a_change_without_commits_is_said_to_be_empty(work: Project):
    """A workflow that compares a branch with itself would pass for ever."""
    assert "Note: the change is empty" in said(work, "text", "--head", "origin/main").out
    assert "Note: the change is empty" not in said(work, "text", "--head", "HEAD").out


@pytest.mark.parametrize("form", ["text", "github", "sarif", "junit"])
def test_a_report_goes_to_a_file_whatever_the_verdict_and_the_terminal_gets_text(work: Project, form: str):
    for head, status in (("HEAD", 7), ("origin/main", 0)):
        report = work.repo.path.parent / f"report-{form}-{status}"

        ran = said(work, form, "--head", head, "--output", f"../{report.name}")

        assert ran.status == status
        assert ran.out.startswith(("2 commits, 2 paths, checked against", "0 commits, 0 paths, checked against"))
        expected = ran.out if form == "text" else said(work, form, "--head", head).out
        assert report.read_text() == expected


def test_where_github_runs_it_a_report_in_a_file_does_not_cost_the_annotations(work: Project, tmp_path: Path):
    words = ["ci", "check", "--base", "origin/main", "--format", "sarif", "--output", str(tmp_path / "bb.sarif")]

    assert work.repo.bb(*words, GITHUB_ACTIONS="true").out.startswith("::error file=")


def test_json_and_a_report_may_be_wanted_together(work: Project, tmp_path: Path):
    ran = work.check(None, "--format", "sarif", "--output", str(tmp_path / "bb.sarif"))

    assert ran.code == "CI_INCURSION"
    assert json.loads((tmp_path / "bb.sarif").read_text())["version"] == "2.1.0"


def test_a_report_that_cannot_be_written_is_refused(work: Project):
    assert work.check(None, "--format", "sarif", "--output", "/nowhere/bb.sarif").code == "OUTPUT_NOT_WRITTEN"


def test_no_report_is_written_about_what_was_not_judged(work: Project, tmp_path: Path):
    ran = work.check(None, "--output", str(tmp_path / "report"), base="nowhere")

    assert ran.code == "REVISION_NOT_FOUND"
    assert list(tmp_path.iterdir()) == []


def test_people_are_told_in_a_few_lines(work: Project):
    out = said(work, "text").out.splitlines()

    assert out[0].startswith("2 commits, 2 paths, checked against the ledger of origin at ")
    assert [row for row in out if not row.startswith(" ")][1:] == [
        "error: held-then",
        "warning: held-then",
        "warning: unclear-author",
    ]
    assert out[2].startswith(f"  {LEX}  amber-otter has held src/parser for bb-1 since 2026-01-05T12:00Z")


def test_a_form_that_there_is_not_is_refused(work: Project):
    assert said(work, "yaml").status == 2


def test_an_escape_is_shown_and_not_obeyed(work: Project):
    made = Scratch(work.repo.path, work.repo.settings)

    assert made.json("ci", "check", "--base", "\x1b[2J").code == "INVALID_REVISION"
