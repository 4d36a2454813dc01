"""Where `bb ci check` finds the ledger, and what becomes of a branch that holds something else."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.near import Near
from tests.stories.ci.ci_support import HARBOR, OTTER, Project, charter, project, reserve, told
from tests.support import Scratch

LEX = "src/parser/lex.py"
Alter = Callable[[dict[str, bytes]], None]


@pytest.fixture
def work(tmp_path: Path) -> Project:
    """HARBOR has changed what OTTER holds; the ledger is not published yet."""
    made = project(tmp_path)
    made.commit(HARBOR, {LEX: "2\n"})
    made.push("work")
    return made


def everything(repo: Scratch) -> dict[str, Any]:
    """What a repository holds, but for when its files were last read."""
    return {str(path): path.read_bytes() for path in repo.path.rglob("*") if path.is_file()}


def test_of_several_remotes_none_is_guessed_and_nothing_passes_unchecked(work: Project):
    work.publish()
    ci = work.checkout("several")
    ci.git("remote", "rename", "origin", "hub")
    assert work.check(ci, base="HEAD").status == 0

    ci.git("remote", "add", "other", work.url)
    assert work.check(ci, base="HEAD").code == "REMOTE_NOT_FOUND"
    assert work.check(ci, "--unreachable", "pass", base="HEAD").code == "REMOTE_NOT_FOUND"
    assert work.check(ci, "--remote", "hub", base="HEAD").status == 0


def test_looking_at_the_ledger_leaves_nothing_behind(work: Project, tmp_path: Path):
    """No ref, no object, no shallow file: a full clone stays a full clone."""
    work.publish()
    ci = work.checkout("checkout")
    (tmp_path / "temporary").mkdir()
    before = everything(ci)

    ran = ci.json("ci", "check", "--base", "origin/main", TMPDIR=str(tmp_path / "temporary"))

    assert told(ran) == [("error", "held-then", LEX)]
    assert everything(ci) == before
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_large_ledger_in_several_files_is_read_whole(work: Project):
    def split(files: dict[str, bytes]) -> None:
        (path,) = [path for path in files if path.startswith("w/")]
        rows = files.pop(path).splitlines(keepends=True)
        for place, row in enumerate(rows, 1):
            files[f"{os.path.dirname(path)}/{place:012}.jsonl"] = row

    work.publish(split)

    assert told(work.check(work.checkout("checkout"))) == [("error", "held-then", LEX)]


def test_the_lines_of_several_writers_are_read_together(work: Project):
    other = work.repo.path.parent / "other"
    work.repo.git("clone", "--quiet", work.url, str(other))
    second = Near(other, dict(work.repo.settings))
    second.json("agent", "register", "--name", "dusty-wren", "--role", "tester").data  # noqa: B018
    reserve(second, "dusty-wren", "docs").data  # noqa: B018

    def both(files: dict[str, bytes]) -> None:
        for journal in second.store.glob("j/*/*.jsonl"):
            files[f"w/{journal.parent.name[:2]}/{journal.parent.name}/{journal.name}"] = journal.read_bytes()

    work.publish(both)
    work.commit(HARBOR, {"docs/a.md": "A\n"})
    work.push("work")

    assert {path for _, _, path in told(work.check(work.checkout("checkout")))} == {LEX, "docs/a.md"}


def test_a_repository_without_a_ledger_passes_and_says_so_unless_strict(work: Project):
    ci = work.checkout("checkout")

    ran = work.check(ci)

    assert (ran.data["ledger"]["kind"], ran.data["findings"]) == ("none", [])
    assert "has no branch bb-ledger" in ran.data["ledger"]["note"]
    assert "Note: origin has no branch bb-ledger" in ci.bb("ci", "check", "--base", "origin/main").out
    assert work.check(ci, "--strict").code == "LEDGER_UNPUBLISHED"
    assert work.check(ci, "--remote", "origin").code == "LEDGER_UNPUBLISHED"
    assert work.check(ci, "--local").code == "NOT_INITIALIZED"


def test_where_none_is_published_the_ledger_of_this_clone_counts(work: Project):
    ran = work.check(work.repo)

    assert told(ran) == [("error", "held-then", LEX)]
    ledger = ran.envelope["error"]["details"]["ledger"]
    assert ledger["kind"] == "local"
    assert "has no branch" in ledger["note"]


def test_local_asks_no_remote(work: Project):
    work.repo.git("config", "remote.origin.url", "file:///nowhere")

    assert told(work.check(work.repo, "--local", base="main")) == [("error", "held-then", LEX)]


def test_without_a_remote_there_is_only_what_is_here(tmp_path: Path):
    made = project(tmp_path)
    made.commit(HARBOR, {LEX: "2\n"})
    made.repo.git("remote", "remove", "origin")

    assert told(made.check(base="main")) == [("error", "held-then", LEX)]


def test_a_clone_with_several_remotes_may_name_one_or_use_its_own_ledger(work: Project):
    for name in ("one", "two"):
        work.repo.git("remote", "add", name, work.url)
    work.repo.git("remote", "remove", "origin")

    assert work.check(base="main").code == "REMOTE_NOT_FOUND"
    assert work.check(None, "--local", base="main").envelope["error"]["details"]["ledger"]["kind"] == "local"


# -- what is recorded


def test_what_was_found_reaches_the_holder_once_when_it_is_to_be_recorded(work: Project):
    work.commit(None, {"src/parser/new.py": "1\n"})

    first, again = (work.check(None, "--record").envelope["error"]["details"] for _ in range(2))

    assert (len(first["recorded"]), again["recorded"]) == (2, [])
    found = work.repo.json("protocol", "incursions").data
    assert {(each["from_agent"], each["to_agent"], each["state"]) for each in found} == {
        (HARBOR, OTTER, "open"),
        ("user", OTTER, "open"),
    }
    assert len(work.repo.json("agent", "inbox", "--agent", OTTER).data) == 2
    work.commit(HARBOR, {LEX: "3\n"})
    assert "Recorded; the holders are notified" in work.repo.bb("ci", "check", "--base", "main", "--record").out


def test_what_the_holder_accepts_passes(work: Project):
    (event,) = work.check(None, "--record").envelope["error"]["details"]["recorded"]
    work.repo.json("protocol", "resolve", event, "--as", "accepted", "--agent", OTTER).data  # noqa: B018
    work.publish()

    ran = work.check(work.checkout("checkout"))

    assert told(ran) == [("warning", "held-then", LEX)]
    assert ran.status == 0
    assert "this was accepted" in ran.data["findings"][0]["text"]


def test_what_an_agent_is_only_warned_of_is_not_recorded(work: Project):
    work.repo.json("agent", "release", "--agent", OTTER, "--all").data  # noqa: B018
    reserve(work.repo, HARBOR, "docs").data  # noqa: B018
    work.repo.git("reset", "--quiet", "--hard", "origin/main")
    work.commit(HARBOR, {"docs/a.md": "A\n"})
    work.at(20).repo.json("agent", "release", "--agent", HARBOR, "--all").data  # noqa: B018
    reserve(work.repo, OTTER, "docs").data  # noqa: B018

    ran = work.check(None, "--record")

    assert told(ran) == [("warning", "held-now", "docs/a.md")]
    assert ran.data["recorded"] == []


def test_without_a_ledger_here_nothing_can_be_recorded(work: Project):
    work.publish()

    refused = work.check(work.checkout("checkout"), "--record")
    assert refused.code == "NOT_INITIALIZED"
    assert "`bb sync --pull`" in refused.envelope["error"]["hint"]


def test_what_this_clone_does_not_know_of_is_judged_and_not_recorded(work: Project):
    work.publish()
    ci = work.checkout("checkout")
    ci.json("init").data  # noqa: B018

    details = work.check(ci, "--record").envelope["error"]["details"]

    assert (details["errors"], details["recorded"]) == (1, [])


# -- what cannot be reached


def test_a_ledger_that_cannot_be_reached_stops_the_change_unless_it_may_pass(work: Project):
    ci = work.checkout("checkout")
    ci.git("config", "remote.origin.url", "file:///nowhere/at/all")

    ran = work.check(ci)
    passed = work.check(ci, "--unreachable", "pass")

    assert (ran.status, ran.code) == (4, "LEDGER_UNREACHABLE")
    assert (passed.data["ledger"]["kind"], passed.data["findings"]) == ("unreachable", [])
    assert "nothing was checked" in ci.bb("ci", "check", "--base", "origin/main", "--unreachable", "pass").out


@pytest.mark.parametrize("remote", ["nobody", "--upload-pack=touch", "-u/x", "a\nb/c"])
def test_what_is_no_remote_is_refused(work: Project, remote: str):
    ran = work.repo.json("ci", "check", "--base", "main", f"--remote={remote}")

    assert ran.code == "REMOTE_NOT_FOUND"


def test_a_remote_that_would_run_a_program_is_not_reached(work: Project, tmp_path: Path):
    ran = work.repo.json("ci", "check", "--base", "main", f"--remote=ext::touch {tmp_path}/made")

    assert ran.code == "LEDGER_UNREACHABLE"
    assert not (tmp_path / "made").exists()


def test_a_password_in_a_url_is_not_repeated(work: Project):
    ran = work.repo.json("ci", "check", "--base", "main", "--remote=https://user:hunter2@127.0.0.1:1/x.git")

    assert ran.code == "LEDGER_UNREACHABLE"
    assert "hunter2" not in ran.out


def test_what_the_checkouts_configuration_says_about_transport_counts(work: Project):
    """Checkouts in CI keep URLs and credentials there, some of it in included files."""
    work.publish()
    ci = work.checkout("checkout")
    (ci.path / ".git" / "more").write_text(f'[url "{work.hub.path.parent}/"]\n\tinsteadOf = far://away/\n')
    ci.git("config", "include.path", "more")
    ci.git("config", "remote.origin.url", "far://away/hub.git")

    assert told(work.check(ci)) == [("error", "held-then", LEX)]


def test_a_remote_by_a_relative_path_is_found_from_anywhere_in_the_work_tree(work: Project):
    work.publish()
    ci = work.checkout("checkout")
    ci.git("config", "remote.origin.url", "../hub.git")

    ran = ci.json("ci", "check", "--base", "origin/main", cwd=ci.path / "docs")

    assert told(ran) == [("error", "held-then", LEX)]


def test_what_a_hook_leaves_in_the_environment_leads_nowhere(work: Project):
    work.publish()
    ci = work.checkout("checkout")

    ran = ci.json("ci", "check", "--base", "origin/main", GIT_INDEX_FILE="/nowhere", GIT_OBJECT_DIRECTORY="/nowhere")

    assert told(ran) == [("error", "held-then", LEX)]


# -- who may push to the branch can put anything there


def forge(files: dict[str, bytes]) -> None:
    """OTTER's reservation is made HARBOR's."""
    (path,) = [path for path in files if path.startswith("w/")]
    files[path] = files[path].replace(b'"by":"amber-otter"', b'"by":"dusty-trout"')


def drop_the_first_line(files: dict[str, bytes]) -> None:
    (path,) = [path for path in files if path.startswith("w/")]
    files[path] = files[path].partition(b"\n")[2]


def drop_a_file(files: dict[str, bytes]) -> None:
    (path,) = [path for path in files if path.startswith("w/")]
    first, _, rest = files.pop(path).split(b"\n", 2)
    files[path] = first + b"\n"
    files[f"{os.path.dirname(path)}/{3:012}.jsonl"] = rest


def tear(files: dict[str, bytes]) -> None:
    (path,) = [path for path in files if path.startswith("w/")]
    files[path] = files[path][:-20]


def put(path: str, octets: bytes = b"x\n") -> Alter:
    return lambda files: files.update({path: octets})


HOSTILE: dict[str, Alter] = {
    "no charter": lambda files: files.pop("bb.json") and None,
    "a charter that is none": put("bb.json", b"[1, 2"),
    "a charter of lists": put("bb.json", charter(format=[1])),
    "a huge charter": put("bb.json", b"{" + b" " * 100_000 + b"}"),
    "a forged line": forge,
    "a line gone": drop_the_first_line,
    "a file gone": drop_a_file,
    "a torn file": tear,
    "a strange file": put("evil.sh"),
    "a strange writer": put("w/aa/nobody/000000000001.jsonl"),
    "a writer in the wrong folder": put("w/zz/aaaaaaaaaaaa/000000000001.jsonl"),
    "a file that is no number": put("w/aa/aaaaaaaaaaaa/1.jsonl"),
    "a file too deep": put("w/aa/aaaaaaaaaaaa/x/000000000001.jsonl"),
    "lines that are none": put("w/aa/aaaaaaaaaaaa/000000000001.jsonl"),
    "a file too large": put("w/aa/aaaaaaaaaaaa/000000000001.jsonl", b"x" * (2 << 20)),
    "an empty file": put("w/aa/aaaaaaaaaaaa/000000000001.jsonl", b""),
    "an empty line": put("w/aa/aaaaaaaaaaaa/000000000001.jsonl", b"\n"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_branch_that_is_no_sound_ledger_is_refused(work: Project, what: str):
    work.publish(HOSTILE[what])
    ci = work.checkout("checkout")
    before = everything(ci)

    ran = work.check(ci, "--unreachable", "pass")

    assert (ran.status, ran.code) == (4, "NOT_A_LEDGER"), ran.out
    assert everything(ci) == before


@pytest.mark.parametrize(
    ("mode", "kind", "path"),
    [
        ("120000", "blob", "w/aa/aaaaaaaaaaaa/000000000001.jsonl"),
        ("100755", "blob", "w/aa/aaaaaaaaaaaa/000000000001.jsonl"),
        ("160000", "commit", "w/aa/aaaaaaaaaaaa"),
        ("100644", "blob", "w/aa/.git/config"),
        ("100644", "blob", "w/../../../evil"),
    ],
)
def test_a_tree_of_anything_but_plain_files_is_refused(work: Project, mode: str, kind: str, path: str, tmp_path: Path):
    name = work.head() if kind == "commit" else work.blob(b"/etc/passwd")
    work.publish_tree([("100644", "blob", work.blob(charter()), "bb.json"), (mode, kind, name, path)])

    ran = work.check(work.checkout("checkout"))

    assert ran.code == "NOT_A_LEDGER", ran.out
    assert not list(tmp_path.rglob("evil"))


def test_a_ledger_that_only_newer_programs_read_is_refused(work: Project):
    work.publish(put("bb.json", charter(format=9, min_reader=9)))

    assert work.check(work.checkout("checkout")).code == "LEDGER_TOO_NEW"


def test_terminal_escapes_in_what_is_held_are_not_obeyed(work: Project):
    reserve(work.repo, OTTER, "docs").data  # noqa: B018
    work.commit(HARBOR, {"docs/a.md": "A\n"}, f"BB-Agent: \x1b[2J{OTTER}")
    work.push("work")
    work.publish()
    ci = work.checkout("checkout")

    for form in ("text", "github", "sarif", "junit"):
        ran = ci.bb("ci", "check", "--base", "origin/main", "--format", form)
        assert all(line.isprintable() for line in (ran.out + ran.err).splitlines()), form


def test_a_huge_answer_tells_how_much_it_leaves_out(work: Project):
    work.commit(HARBOR, {f"src/parser/{number}.py": "1\n" for number in range(1100)})
    work.push("work")
    work.publish()

    details = work.check(work.checkout("checkout")).envelope["error"]["details"]

    assert (len(details["findings"]), details["errors"]) == (1000, 1101)
    assert json.dumps(details)


# -- a ledger as `bb sync` publishes it


def test_a_ledger_that_was_really_published_is_judged_by(work: Project):
    assert work.repo.json("sync", "--publish").status == 0

    ran = work.check(work.checkout("checkout"))

    assert told(ran) == [("error", "held-then", LEX)]
    ledger = ran.envelope["error"]["details"]["ledger"]
    assert (ledger["generation"], ledger["tip"]) == (1, work.hub.git("rev-parse", "bb-ledger").strip())


@pytest.fixture
def fenced(work: Project) -> Project:
    """HARBOR was granted docs in every clone, and gave it back; then OTTER was granted docs."""
    assert work.repo.json("sync", "--publish").status == 0
    reserve(work.repo, HARBOR, "docs", "--global").data  # noqa: B018
    work.at(12).repo.json("agent", "release", "--agent", HARBOR, "--all").data  # noqa: B018
    assert work.repo.json("sync").status == 0
    reserve(work.at(14).repo, OTTER, "docs", "--global").data  # noqa: B018
    work.repo.git("reset", "--quiet", "--hard", "origin/main")
    return work


def test_who_works_under_a_token_that_has_been_superseded_is_fenced_off(fenced: Project):
    fenced.at(11).commit(HARBOR, {"docs/a.md": "A\n"}, "BB-Token: 2")
    fenced.at(20).push("work")

    ran = fenced.check(fenced.checkout("checkout"))

    assert (ran.code, told(ran)) == ("CI_INCURSION", [("error", "stale-token", "docs/a.md")])


def test_who_works_under_the_latest_token_passes(fenced: Project):
    fenced.commit(OTTER, {"docs/a.md": "A\n"}, "BB-Token: 4")
    fenced.push("work")

    assert told(fenced.check(fenced.checkout("checkout"))) == []


def test_a_global_reservation_that_was_not_admitted_holds_nothing(work: Project):
    """Its line says it was checked against a commit that its own commit does not stand on."""
    assert work.repo.json("sync", "--publish").status == 0
    reserve(work.repo, OTTER, "docs", "--global").data  # noqa: B018
    work.commit(HARBOR, {"docs/a.md": "A\n"})
    work.push("work")
    granted = work.check(work.checkout("granted"))
    work.publish()

    left_over = work.check(work.checkout("left-over"))

    assert ("error", "held-then", "docs/a.md") in told(granted)
    assert told(left_over) == [("error", "held-then", LEX)]
