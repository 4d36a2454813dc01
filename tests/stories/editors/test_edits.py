"""Before an editor edits: what another agent holds stays as it is, and nobody else is kept from work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.stories.agents.agents_support import HARBOR, OTTER, after, crew, incursions, nothing_written, reserve
from tests.stories.editors.editors_support import hook, payload, refusal, reply
from tests.support import Scratch

EDITS = [
    *("claude/write", "claude/edit", "claude/multi-edit", "claude/notebook", "claude/mcp"),
    *("codex/apply-patch", "codex/apply-patch-move", "codex/patch-in-shell", "gemini/write-file", "gemini/replace"),
    *("opencode/edit", "opencode/write", "opencode/apply-patch", "cursor/write", "qwen/write", "qwen/edit"),
    *("vscode/replace-string", "vscode/edit-files", "vscode/copilot-edit", "vscode/copilot-as-claude"),
]


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """Where cobalt-harbor holds src/a.py."""
    made = crew(tmp_path / "repo", OTTER, HARBOR)
    (made.path / "src").mkdir()
    (made.path / "src" / "a.py").write_text("x = 1\n")
    assert reserve(made, HARBOR, "src/a.py").status == 0
    return made


@pytest.mark.parametrize("name", EDITS)
def test_what_another_agent_holds_is_refused_in_every_editor(repo: Scratch, name: str):
    with nothing_written(repo):
        why = refusal(hook(repo, "pre-tool", name, "--agent", OTTER))

    assert f"src/a.py is reserved by {HARBOR} for bb-1 (active, until 2026-01-05T14:00:00.000Z)" in why
    assert f"bb send {HARBOR}" in why
    assert "--queue" in why


@pytest.mark.parametrize("name", EDITS)
def test_the_holder_itself_and_whoever_nobody_knows_may_edit(repo: Scratch, name: str):
    mine = hook(repo, "pre-tool", name, BB_AGENT=HARBOR)
    somebodys = hook(repo, "pre-tool", name)

    assert (mine.status, mine.out, mine.err) == (0, "", "")
    assert "No agent is named" in reply(somebodys)["systemMessage"]
    assert "reserved by cobalt-harbor" in somebodys.err


def test_who_has_fallen_silent_is_to_be_taken_over_first(repo: Scratch):
    later = after(repo, 20)
    later.bb("agent", "heartbeat", "--agent", OTTER)

    why = refusal(hook(later, "pre-tool", "claude/write", BB_AGENT=OTTER))

    assert "(stale, until" in why
    assert "bb reserve src/a.py --takeover-stale" in why


def test_the_same_file_in_another_worktree_is_the_same_file(repo: Scratch, tmp_path: Path):
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    repo.git("worktree", "add", "-q", "-b", "inside", str(repo.path / "trees" / "inside"))
    for tree in (tmp_path / "side", repo.path / "trees" / "inside"):
        from_there = hook(repo, "pre-tool", "claude/write", BB_AGENT=OTTER, cwd=tree)
        elsewhere = repo.bb("hook", "pre-tool", stdin=payload("claude/write", tree, cwd=str(repo.path)), BB_AGENT=OTTER)

        assert "src/a.py is reserved" in refusal(from_there)
        assert "src/a.py is reserved" in refusal(elsewhere)


def test_a_link_leads_to_the_file_it_leads_to(repo: Scratch, tmp_path: Path):
    (tmp_path / "link").symlink_to(repo.path / "src")
    said = {"file_path": str(tmp_path / "link" / "a.py")}

    assert "src/a.py" in refusal(hook(repo, "pre-tool", "claude/write", BB_AGENT=OTTER, tool_input=said))


def test_what_lies_elsewhere_is_no_business_of_ours(repo: Scratch, tmp_path: Path):
    (tmp_path / "other").mkdir()
    for path in (tmp_path / "other" / "src" / "a.py", Path("/etc/hosts"), repo.path / "src" / "b.py"):
        ran = hook(repo, "pre-tool", "claude/write", BB_AGENT=OTTER, tool_input={"file_path": str(path)})
        assert (ran.status, ran.out, ran.err) == (0, "", ""), path

    ran = hook(repo, "pre-tool", "claude/write", BB_AGENT=OTTER, cwd=tmp_path / "other")
    assert (ran.status, ran.out) == (0, "")


def test_an_agent_that_has_gone_elsewhere_is_still_judged_where_the_file_is(repo: Scratch, tmp_path: Path):
    (tmp_path / "plain").mkdir()
    repo.git("init", "-q", str(tmp_path / "other"))
    said = {"file_path": str(repo.path / "src" / "a.py")}
    for folder in (tmp_path / "plain", tmp_path / "other"):
        there = hook(repo, "pre-tool", "claude/write", BB_AGENT=OTTER, cwd=folder, tool_input=said)
        assert "src/a.py is reserved" in refusal(there)
        own = hook(repo, "pre-tool", "claude/write", BB_AGENT=OTTER, cwd=folder)
        assert (own.status, own.out) == (0, ""), "a file of its own folder is no business of ours"


def test_a_submodules_files_are_files_of_the_repository_around_it(repo: Scratch):
    repo.git("init", "-q", str(repo.path / "vendor" / "lib"))
    reserve(repo, HARBOR, "vendor")
    said = {"file_path": str(repo.path / "vendor" / "lib" / "x.c")}

    assert "vendor/lib/x.c is reserved" in refusal(
        hook(repo, "pre-tool", "claude/write", BB_AGENT=OTTER, tool_input=said)
    )


@pytest.mark.parametrize(
    "said", ["", "junk", "[]", "{", '"\\ud800"', '{"hook_event_name": "Stop"}', '{"tool_name": "Write"}', "[" * 9000]
)
def test_what_is_not_understood_passes_and_says_so(repo: Scratch, said: str):
    ran = repo.bb("hook", "pre-tool", stdin=said, BB_AGENT=OTTER)

    assert (ran.status, ran.out) == (0, "")
    assert ran.err.startswith("bb: ")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("agent", "path", "about"),
    [
        ("nobody-here", "src/b.py", "nobody-here is registered"),
        ("No Agent", "src/b.py", "is not an agent id"),
        (OTTER, "src/\x00b.py", "cannot check"),
        (OTTER, "src/\ud800.py", "cannot check"),
    ],
)
def test_a_verdict_that_cannot_be_had_stops_an_agent(repo: Scratch, agent: str, path: str, about: str):
    said = payload("claude/write", repo.path, tool_input={"file_path": path}).replace(r"\\", "\\")

    ran = repo.bb("hook", "pre-tool", "--agent", agent, stdin=said)

    assert about in (refusal(ran) or ran.err)
    assert "\x1b" not in ran.out + ran.err


def test_a_damaged_ledger_stops_an_agent_and_tells_a_person(repo: Scratch):
    journal = repo.journal()
    journal.write_bytes(journal.read_bytes().replace(b"src/a.py", b"src/b.py"))
    for file in repo.store.glob("index.sqlite*"):
        file.unlink()

    assert refusal(hook(repo, "pre-tool", "claude/write", BB_AGENT=OTTER))
    assert reply(hook(repo, "pre-tool", "claude/write"))["systemMessage"]


def test_without_a_ledger_or_a_repository_everything_passes(tmp_path: Path):
    here = Scratch(tmp_path)
    for folder in ("plain", "repo"):
        (tmp_path / folder).mkdir()
    here.git("init", "-q", str(tmp_path / "repo"))
    for folder in ("plain", "repo"):
        ran = hook(here, "pre-tool", "claude/write", cwd=tmp_path / folder, BB_AGENT=OTTER)
        assert (ran.status, ran.out) == (0, ""), folder
    assert not (tmp_path / "repo" / ".git" / "bb").exists()


def test_an_editor_nobody_knows_is_stopped_by_the_exit_status(repo: Scratch):
    said = json.dumps({"tool_name": "Write", "tool_input": {"file_path": "src/a.py"}})

    ran = repo.bb("hook", "pre-tool", "--agent", OTTER, stdin=said)

    assert (ran.status, ran.out) == (2, "")
    assert "reserved by cobalt-harbor" in ran.err
    assert json.loads(repo.bb("hook", "pre-tool", "--host", "gemini", "--agent", OTTER, stdin=said).out)


@pytest.mark.parametrize("words", [["--nonsense"], ["--host", "vim"], ["stray"], ["--agent"]])
def test_a_mistake_in_calling_a_hook_never_looks_like_a_verdict(repo: Scratch, words: list[str]):
    ran = repo.bb("hook", "pre-tool", *words, stdin=payload("claude/write", repo.path))

    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("Error: [")


def test_a_first_edit_reserves_where_that_is_wanted(repo: Scratch):
    said = {"tool_input": {"file_path": str(repo.path / "app" / "[slug]" / "new.ts")}, "BB_AGENT": OTTER}

    assert refusal(hook(repo, "pre-tool", "claude/write", **said)) == ""
    assert repo.json("agent", "status", "--agent", OTTER).data["reservations"] == []
    for _ in range(2):
        ran = hook(repo, "pre-tool", "claude/write", "--auto-reserve", **said)
        assert (ran.status, ran.out) == (0, "")
    (made,) = repo.json("agent", "status", "--agent", OTTER).data["reservations"]
    assert (made["bead_id"], made["agent_id"], made["kind"]) == (None, OTTER, "open")
    assert repo.bb("check", "app/[slug]/new.ts", "--agent", HARBOR).status == 0
    assert refusal(hook(repo, "pre-tool", "claude/write", "--auto-reserve", **(said | {"BB_AGENT": HARBOR}))) == ""
    rows = repo.json("agent", "status").data["reservations"]
    here = [(row["agent_id"], row["kind"]) for row in rows if row["scope"].endswith("new.ts")]
    assert here == [(OTTER, "open"), (HARBOR, "open")]


def test_a_first_edit_reserves_for_the_bead_that_was_named_and_never_what_is_held(repo: Scratch):
    hook(repo, "pre-tool", "codex/apply-patch-move", "--auto-reserve", "--bead", "bb-9", BB_AGENT=OTTER)
    assert repo.json("agent", "status", "--agent", OTTER).data["reservations"] == []

    said = {"tool_input": {"file_path": "docs/new.md"}}
    hook(repo, "pre-tool", "gemini/write-file", "--auto-reserve", "--bead", "bb-9", BB_AGENT=OTTER, **said)
    (made,) = repo.json("agent", "status", "--agent", OTTER).data["reservations"]
    assert (made["scope"], made["bead_id"]) == ("docs/new.md", "bb-9")


# -- what a shell writes


def run(repo: Scratch, command: str, *words: str, cwd: Path | None = None, agent: str = OTTER) -> str:
    """Why the shell must not run a COMMAND; empty when it may."""
    name = "claude/bash"
    return refusal(hook(repo, "pre-tool", name, *words, cwd=cwd, BB_AGENT=agent, command=command))


@pytest.mark.parametrize(
    "command",
    [
        *("echo x > src/a.py", "cd src && sed -i s/x/y/ a.py", "ls | tee -a src/a.py", "perl -pi -e 's/x/y/' src/a.py"),
        *("cp b/a.py src", "cp b.py src/a.py", "mv src/a.py b.py", "mv b/a.py src/", "rm -f src/a.py", "rm -rf src"),
        *("git rm src/a.py", "git mv src/a.py b.py", "truncate -s 0 src/a.py", "dd if=/dev/zero of=src/a.py"),
        *("git mv src old", "touch docs/b.md src/a.py", "bash -lc 'ls > src/a.py'", "install b.py src/a.py"),
    ],
)
def test_a_shell_is_refused_what_another_agent_holds_like_any_edit(repo: Scratch, command: str):
    with nothing_written(repo):
        why = run(repo, command)
    assert f"reserved by {HARBOR} for bb-1" in why
    assert run(repo, command, agent=HARBOR) == ""


def test_a_folder_is_refused_for_what_lies_in_it(repo: Scratch):
    assert f"src/a.py in src is reserved by {HARBOR}" in run(repo, "rm -rf src")
    assert f"src/a.py in . is reserved by {HARBOR}" in run(repo, "mv . ../away")


def test_a_shell_may_read_and_write_everything_else(repo: Scratch, tmp_path: Path):
    for command in (
        *(
            "cat src/a.py 2>&1 > /dev/null",
            "wc < src/a.py",
            "sed -n 1p src/a.py > b.py",
            "cp src/a.py b.py",
            "touch src/b.py",
        ),
        *(
            f"rm -rf {tmp_path}/x",
            "cd /tmp && rm src/a.py",
            "rm src/*.pyc",
            "echo $((3 > 2))",
            "rm -r docs",
            "cp x.py src",
        ),
    ):
        ran = hook(repo, "pre-tool", "claude/bash", BB_AGENT=OTTER, command=command)
        assert (ran.status, ran.out, ran.err) == (0, "", ""), command


def test_a_shell_somewhere_else_is_judged_where_the_file_is(repo: Scratch, tmp_path: Path):
    (tmp_path / "plain").mkdir()

    assert "src/a.py" in run(repo, f"rm {repo.path}/src/a.py", cwd=tmp_path / "plain")
    assert run(repo, "rm src/a.py", cwd=tmp_path / "plain") == ""


def test_what_a_shell_writes_first_is_reserved_where_that_is_wanted(repo: Scratch):
    ignoring(repo, "*.log")

    assert run(repo, "make > build.log; sed -i s/x/y/ docs/a.md; cat README", "--auto-reserve") == ""

    (made,) = repo.json("agent", "status", "--agent", OTTER).data["reservations"]
    assert (made["scope"], made["bead_id"]) == ("docs/a.md", None)


def test_a_person_is_told_and_what_cannot_be_told_passes(repo: Scratch):
    ran = hook(repo, "pre-tool", "claude/bash", command="rm src/a.py")
    assert "No agent is named" in reply(ran)["systemMessage"]

    ran = hook(repo, "pre-tool", "claude/bash", BB_AGENT="nobody-here", command="rm src/a.py")
    assert (ran.status, ran.out) == (0, "")
    assert "cannot check whether this writes files that others hold, so it may run" in ran.err


# -- .bbignore


def ignoring(repo: Scratch, *names: str) -> None:
    (repo.path / ".bbignore").write_text("".join(f"{name}\n" for name in names))
    repo.git("add", ".bbignore")
    repo.git("commit", "--quiet", "-m", "Ignore")


def test_what_the_committed_ignore_file_names_is_neither_refused_nor_reserved_nor_reported(repo: Scratch):
    ignoring(repo, "*.lock")
    reserve(repo, HARBOR, "src/uv.lock")
    for name in ("src/uv.lock", "docs/uv.lock"):
        said = {"tool_input": {"file_path": name}, "BB_AGENT": OTTER}
        before = repo.journal().read_bytes()
        ran = hook(repo, "pre-tool", "claude/write", "--auto-reserve", **said)
        assert (ran.status, ran.out, ran.err) == (0, "", ""), name
        assert repo.journal().read_bytes() == before, name
        assert hook(repo, "post-tool", "claude/after-write", **said).out == ""

    assert incursions(repo) == []
    assert "src/a.py" in refusal(hook(repo, "pre-tool", "claude/write", BB_AGENT=OTTER))


def test_an_edit_does_not_choose_what_is_ignored(repo: Scratch):
    (repo.path / ".bbignore").write_text("src/\n")

    assert "src/a.py" in refusal(hook(repo, "pre-tool", "claude/write", BB_AGENT=OTTER))


def test_every_worktree_has_an_ignore_file_of_its_own(repo: Scratch, tmp_path: Path):
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    ignoring(repo, "src/")
    there = {"tool_input": {"file_path": str(tmp_path / "side" / "src" / "a.py")}}

    assert refusal(hook(repo, "pre-tool", "claude/write", BB_AGENT=OTTER)) == ""
    assert "src/a.py" in refusal(hook(repo, "pre-tool", "claude/write", BB_AGENT=OTTER, **there))


def test_what_cannot_be_reserved_is_not_edited(repo: Scratch):
    said = {"tool_input": {"file_path": "docs/new.md"}, "BB_AGENT": OTTER}

    why = refusal(hook(repo, "pre-tool", "gemini/write-file", "--auto-reserve", "--bead", "a\nb", **said))

    assert "cannot be reserved" in why
    assert refusal(hook(repo, "pre-tool", "gemini/write-file", **said)) == ""


def test_in_json_the_answer_wears_the_envelope(repo: Scratch):
    data = hook(repo, "pre-tool", "claude/write", "--json", BB_AGENT=OTTER).data

    assert (data["host"], data["moment"], data["verdict"], data["exit_status"]) == ("claude", "pre-tool", "refused", 0)
    assert data["reply"]["hookSpecificOutput"]["permissionDecision"] == "deny"
