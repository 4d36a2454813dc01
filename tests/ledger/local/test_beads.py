"""Who owns which bead in progress: read from the tracker's files, or by one bounded question. Never written."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from bb.coordination.agents import beads as rules
from bb.coordination.agents import names
from bb.coordination.guards.changes import changed_paths
from bb.kernel import clock, ids
from bb.ledger.git.place import Place
from bb.ledger.local import beads
from tests.support import ROOT, Scratch

AMBER = "amber-otter"
LINE = json.dumps({"id": "x-1", "title": "One", "status": "in_progress", "assignee": AMBER, "owner": "cobalt-harbor"})


def place(path: Path) -> Place:
    return Place(str(path / ".git"), str(path))


def tracker(path: Path, *lines: str, file: str = "issues.jsonl") -> Path:
    folder = path / ".beads"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text("".join(f"{line}\n" for line in lines))
    return folder


def owned(found: beads.KnownBeads) -> list[str]:
    return [bead.id for bead in rules.owned_by(found.beads, AMBER)]


def test_the_sample_is_read_whole_and_the_worker_is_the_assignee(tmp_path: Path):
    shutil.copytree(ROOT / ".beads-example", tmp_path / ".beads")

    found = beads.read_beads(place(tmp_path), {})

    assert (found.source, found.skipped, found.is_known) == (
        "jsonl",
        0,
        True,
    )  # the line that is a memory is meant to be no bead
    assert owned(found) == ["demo-a1.1"]
    known = {bead.id: bead for bead in found.beads}
    assert rules.epic_of(known["demo-a1.1"], known) == "demo-a1"


def test_what_cannot_be_read_is_skipped_and_counted(tmp_path: Path):
    folder = tracker(
        tmp_path, LINE, "{broken", '{"type": "memory"}', "[1]", '"x"', "\udcff".encode("utf-8", "replace").decode()
    )
    (folder / "issues.jsonl").write_bytes(
        (folder / "issues.jsonl").read_bytes() + b"\xff\x00\n" + b"{" * 100_000 + b"\n"
    )

    found = beads.read_beads(place(tmp_path), {})

    assert owned(found) == ["x-1"]
    assert found.skipped == 7


def test_a_redirect_is_followed_and_a_circle_of_them_ends(tmp_path: Path):
    tracker(tmp_path / "other", LINE)
    tracker(tmp_path / "here").joinpath("issues.jsonl").unlink()
    (tmp_path / "here" / ".beads" / "redirect").write_text("../other/.beads\n")
    assert owned(beads.read_beads(place(tmp_path / "here"), {})) == ["x-1"]

    (tmp_path / "other" / ".beads" / "redirect").write_text(str(tmp_path / "here" / ".beads"))
    lost = beads.read_beads(place(tmp_path / "here"), {})
    assert (lost.source, lost.note) == ("none", "the redirects in .beads lead nowhere")


def test_a_linked_worktree_sees_the_beads_of_the_main_one(repo: Scratch, tmp_path: Path):
    tracker(repo.path, LINE)
    repo.git("worktree", "add", "--quiet", str(tmp_path / "side"))

    found = beads.read_beads(Place(str(repo.path / ".git"), str(tmp_path / "side")), {})

    assert owned(found) == ["x-1"]


def test_old_and_configured_file_names_and_a_named_folder_are_found(tmp_path: Path):
    tracker(tmp_path / "old", LINE, file="beads.jsonl")
    folder = tracker(tmp_path / "set", LINE, file="mine.jsonl")
    (folder / "config.yaml").write_text("# settings\nexport.path: mine.jsonl\n")

    assert owned(beads.read_beads(place(tmp_path / "old"), {})) == ["x-1"]
    assert owned(beads.read_beads(place(tmp_path / "set"), {})) == ["x-1"]
    assert owned(beads.read_beads(place(tmp_path), {"BEADS_DIR": str(folder)})) == ["x-1"]
    (folder / "config.yaml").write_text(
        "export.path: ../../old/.beads/beads.jsonl\n"
    )  # leads out, so it does not count
    assert beads.read_beads(place(tmp_path / "set"), {"PATH": ""}).source == "none"


def test_how_old_it_is_is_what_the_tracker_says_or_the_files_own_time(tmp_path: Path):
    folder = tracker(tmp_path, LINE)
    assert beads.read_beads(place(tmp_path), {}).as_of == (folder / "issues.jsonl").stat().st_mtime_ns // 1_000_000

    (folder / "export-state.json").write_text('{"timestamp": "2026-01-05T12:00:00Z"}')
    assert beads.read_beads(place(tmp_path), {}).as_of == clock.parse("2026-01-05T12:00:00Z")


def tool(tmp_path: Path, name: str, body: str) -> dict[str, str]:
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{body}\n")
    path.chmod(0o755)
    return {"PATH": str(folder)}


ANSWERS = {
    "an array": f"print('[{LINE}]')",
    "an object with issues": f"print('{{\"issues\": [{LINE}]}}')",
    "an envelope": f'print(\'{{"schema_version": 1, "data": [{LINE}]}}\')',
    "the items of bd 1.3": f'print(\'{{"schema_version": 1, "items": [{LINE}]}}\')',
}


@pytest.mark.parametrize("body", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("name", ["bd", "br"])
def test_without_a_file_the_tracker_is_asked(tmp_path: Path, name: str, body: str):
    (tmp_path / ".beads").mkdir()

    found = beads.read_beads(place(tmp_path), tool(tmp_path, name, body))

    assert (found.source, owned(found)) == (name, ["x-1"])


PROBLEMS = {
    "it hangs": ("import time; time.sleep(60)", "took longer"),
    "it fails": ("raise SystemExit(3)", "failed with status 3"),
    "it prints rubbish": ("print('no beads today')", "not valid JSON"),
    "it prints something else": ("print('{\"a\": 1}')", "not a list of beads"),
}


@pytest.mark.parametrize(("body", "note"), PROBLEMS.values(), ids=PROBLEMS)
def test_a_tracker_that_does_not_answer_leaves_it_unknown(tmp_path: Path, body: str, note: str):
    (tmp_path / ".beads").mkdir()

    found = beads.read_beads(place(tmp_path), tool(tmp_path, "bd", body), 0.5)

    assert (found.source, found.is_known, found.beads) == ("none", False, ())
    assert note in (found.note or "")


def test_a_folder_in_the_place_of_a_file_is_no_file(tmp_path: Path):
    (tmp_path / ".beads" / "issues.jsonl").mkdir(parents=True)
    (tmp_path / ".beads" / "redirect").mkdir()

    assert beads.read_beads(place(tmp_path), {"PATH": ""}).source == "none"


# -- exports that are older than the tracker's data. The folders have the documented forms of bd 1.3 and br: neither
# program could be run here.


def older(path: Path, seconds: float = 3600) -> None:
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


def current_bd(tmp_path: Path, *lines: str) -> Path:
    """A folder as `bd` 1.3 leaves it with `export.auto`: an embedded Dolt database, and an export of an hour ago."""
    folder = tracker(tmp_path, *lines)
    (folder / "metadata.json").write_text(
        '{"database": "dolt", "backend": "dolt", "dolt_mode": "embedded", "dolt_database": "demo"}'
    )
    (folder / "config.yaml").write_text("export:\n  auto: true\n  path: issues.jsonl # the default\n")
    data = folder / "embeddeddolt" / "demo" / ".dolt" / "noms"
    data.mkdir(parents=True)
    for name in ("manifest", "v" * 32):
        (data / name).write_text("x")
        older(data / name)
    older(folder / "issues.jsonl")
    return folder


CHANGES = [f"embeddeddolt/demo/.dolt/noms/{name}" for name in ("manifest", "v" * 32)] + [
    "dolt/beads/.dolt/noms/manifest",
    "last-touched",
    "beads.db",
    "beads.db-wal",
]


@pytest.mark.parametrize("changed", CHANGES)
def test_an_export_older_than_the_trackers_data_is_used_and_the_answer_says_so(tmp_path: Path, changed: str):
    folder = current_bd(tmp_path, LINE)
    assert beads.read_beads(place(tmp_path), {"PATH": ""}).note is None

    (folder / changed).parent.mkdir(parents=True, exist_ok=True)
    (folder / changed).write_text("y")
    found = beads.read_beads(place(tmp_path), {"PATH": ""})

    assert (found.source, owned(found)) == ("jsonl", ["x-1"])
    assert (found.note or "").startswith(
        "the tracker has changed since issues.jsonl was written, so it may know more; "
    )
    assert found.as_of == (folder / "issues.jsonl").stat().st_mtime_ns // 1_000_000


def test_what_is_in_progress_is_the_programs_answer_if_the_export_is_old(tmp_path: Path):
    other = json.dumps({"id": "x-2", "title": "Two", "status": "in_progress", "assignee": AMBER})
    done = json.dumps({"id": "x-3", "title": "Three", "status": "closed"})
    folder = current_bd(tmp_path, other, done)
    (folder / "last-touched").write_text("x-1\n")

    found = beads.read_beads(place(tmp_path), tool(tmp_path, "bd", ANSWERS["the items of bd 1.3"]))

    assert (found.source, [(one.id, one.status) for one in found.beads]) == (
        "bd",
        [("x-1", "in_progress"), ("x-3", "closed")],
    )
    assert "the others are those of the older export" in (found.note or "")


def test_a_fresh_export_is_enough_and_no_program_is_run(tmp_path: Path):
    folder = current_bd(tmp_path, LINE)
    (folder / "last-touched").write_text("x-1\n")
    (folder / "export-state.json").write_text(
        json.dumps({"last_dolt_commit": "x", "timestamp": clock.text(clock.parse("2999-01-01T00:00:00Z"))})
    )

    found = beads.read_beads(place(tmp_path), tool(tmp_path, "bd", f"open({str(tmp_path / 'ran')!r}, 'w')"))

    assert (found.source, found.note, (tmp_path / "ran").exists()) == ("jsonl", None, False)


def test_a_dolt_database_without_an_export_is_for_bd_alone(tmp_path: Path):
    (current_bd(tmp_path, LINE) / "issues.jsonl").unlink()

    unknown = beads.read_beads(place(tmp_path), tool(tmp_path, "br", ANSWERS["an array"]))
    assert unknown.note == "there is no issues.jsonl in .beads, and `bd` is not installed"
    assert beads.read_beads(place(tmp_path), tool(tmp_path, "bd", ANSWERS["an array"])).source == "bd"


def test_an_sqlite_database_is_for_br_first(tmp_path: Path):
    folder = tmp_path / "_beads"  # br knows both names
    folder.mkdir()
    (folder / "beads.db").write_text("x")
    tool(tmp_path, "bd", "raise SystemExit(1)")

    assert beads.read_beads(place(tmp_path), tool(tmp_path, "br", ANSWERS["an object with issues"])).source == "br"


def test_a_program_is_asked_to_change_nothing(tmp_path: Path):
    (tmp_path / ".beads").mkdir()
    words = "import json, os, sys; print(json.dumps([{'id': 'x-1', 'title': ' '.join(sys.argv[1:]), 'status': '|'.join("
    body = f"{words}os.environ[n] for n in ('BD_EXPORT_AUTO', 'BD_DOLT_AUTO_PUSH', 'BD_METRICS_DISABLED'))}}]))"

    (asked,) = beads.read_beads(place(tmp_path), tool(tmp_path, "bd", body)).beads

    assert asked.title == "--readonly list --status in_progress --json --limit 0"
    assert asked.status == "false|false|true"


def test_a_backup_of_the_tracker_is_the_last_resort(tmp_path: Path):
    folder = tracker(tmp_path)
    (folder / "issues.jsonl").unlink()
    (folder / "backup").mkdir()
    (folder / "backup" / "issues.jsonl").write_text(LINE + "\n")

    found = beads.read_beads(place(tmp_path), {"PATH": ""})

    assert (found.source, owned(found)) == ("jsonl", ["x-1"])
    assert found.note == "from the tracker's backup, so the tracker may know more"


def test_the_mark_of_a_deleted_bead_is_no_bead_and_no_error(tmp_path: Path):
    tracker(tmp_path, json.dumps({"id": "x-9", "title": "Gone", "status": "tombstone"}))

    found = beads.read_beads(place(tmp_path), {})

    assert (found.beads, found.skipped) == ((), 0)


@pytest.mark.parametrize("written", ["# where it went\n\n../other/.beads\n", "\ufeff../other/.beads"])
def test_a_redirect_may_have_comments_and_a_byte_order_mark(tmp_path: Path, written: str):
    tracker(tmp_path / "other", LINE)
    (tmp_path / "here" / ".beads").mkdir(parents=True)
    (tmp_path / "here" / ".beads" / "redirect").write_text(written)

    assert owned(beads.read_beads(place(tmp_path / "here"), {})) == ["x-1"]


@pytest.mark.parametrize("name", ["../../out", "a/b", "\0", "..", 7, None, "x" * 5000])
def test_a_database_name_that_leads_out_of_the_folder_is_not_followed(tmp_path: Path, name: object):
    folder = current_bd(tmp_path, LINE)
    (folder / "metadata.json").write_text(json.dumps({"backend": "dolt", "dolt_database": name}))
    inside = [os.path.normpath(sign) for sign in beads.files_of(place(tmp_path), {})]

    assert all(sign.startswith(f"{folder}{os.sep}") for sign in inside)
    assert beads.read_beads(place(tmp_path), {"PATH": ""}).note is None


def test_a_circle_of_parents_ends():
    known = {name: rules.Bead(name, "t", "open", None, parent, None) for name, parent in (("a", "b"), ("b", "a"))}
    assert rules.epic_of(known["a"], known) == "b"


# -- what git says has changed


def test_both_sides_of_a_rename_count_and_the_tools_own_files_do_not():
    said = b"R  new name.py\0old.py\0?? src/x\0 M .beads/issues.jsonl\0?? .bb/x\0A  \xc3\xa4\xff\0!! build/\0"
    assert changed_paths(said) == ["new name.py", "old.py", "src/x", "ä\udcff"]


@pytest.mark.parametrize("said", [b"", b"\0\0", b"x", b"R  a", b"?? "])
def test_what_git_never_says_is_no_change(said: bytes):
    assert changed_paths(said) in ([], ["a"])


# -- names


def test_ten_thousand_agents_with_one_seed_do_not_collide():
    walk = names.sequence("x")
    found = [next(walk) for _ in range(10_000)]

    assert len(set(found)) == 10_000
    assert all(ids.is_agent_id(name) for name in found)
    assert [next(names.sequence("x")), names.free("x", {found[0]})] == found[:2]
    assert next(names.sequence("y")) != found[0]
