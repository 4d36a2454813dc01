"""Whose a line is: edits that are bracketed by hand or by hooks, commands, claims, `bb blame` and `bb diff`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.stories.agents.agents_support import HARBOR, OTTER, moment
from tests.stories.lines.lines_support import TWENTY, Desk, desk
from tests.support import environment


@pytest.fixture
def work(tmp_path: Path) -> Desk:
    return desk(tmp_path / "repo")


# -- by hand


def test_what_changes_between_begin_and_end_is_the_agents(work: Desk):
    """Issue 24: agents without hooks bracket with `bb edit begin|end`."""
    work.replaces(OTTER, "a.py", "line 3\n", "line 3\nnew\n")

    assert work.whose("a.py")[:5] == [None, None, None, [OTTER], None]


def test_what_nobody_claims_is_unattributed_never_guessed(work: Desk):
    """Issue 24: what nobody claims is unattributed, never guessed."""
    work.write("a.py", TWENTY.replace("line 3\n", "x\n"))
    assert work.whose("a.py")[2] == []

    work.replaces(OTTER, "a.py", "line 17\n", "y\n")
    assert (work.whose("a.py")[2], work.whose("a.py")[16]) == ([], [OTTER])


def test_an_agent_claims_what_changed_since_its_last_call(work: Desk):
    """Issue 24: `bb mine PATH` claims what changed since their last call."""
    work.write("a.py", TWENTY.replace("line 3\n", "before\n"))
    work.replaces(OTTER, "a.py", "line 10\n", "mine\n")
    work.write("a.py", work.read("a.py").replace("line 17\n", "after\n"))

    assert work.bb(OTTER, "mine", "a.py").status == 0

    assert [work.whose("a.py")[at] for at in (2, 9, 16)] == [[], [OTTER], [OTTER]]
    assert work.bb(HARBOR, "mine", "a.py").status == 0
    assert work.whose("a.py")[2] == [HARBOR]


def test_a_claim_of_a_folder_takes_all_changed_files_in_it(work: Desk):
    for name in ("src/x.py", "src/y.py", "z.py"):
        work.write(name, "x\n")

    claimed = work.ask(OTTER, "mine", "src")

    assert [row["path"] for row in claimed["files"]] == ["src/x.py", "src/y.py"]
    assert work.whose("z.py") == [[]]


def test_lines_of_a_silent_agent_are_taken_over_and_those_of_an_active_one_are_not(work: Desk):
    work.replaces(HARBOR, "a.py", "line 3\n", "x\n")
    assert work.refused(OTTER, "mine", "a.py", "--from", HARBOR)["code"] == "OWNER_ACTIVE"

    later = moment(20)
    assert work.bb(OTTER, "agent", "heartbeat", BB_NOW=later).status == 0
    assert work.bb(OTTER, "mine", "a.py", "--from", HARBOR, BB_NOW=later).status == 0
    assert work.whose("a.py")[2] == [OTTER]


def test_edits_of_two_agents_at_once_are_unattributed_where_nobody_can_tell(work: Desk):
    assert work.bb(OTTER, "edit", "begin", "a.py").status == 0
    assert work.bb(HARBOR, "edit", "begin", "a.py", BB_NOW=moment(0.1)).status == 0
    work.write("a.py", TWENTY.replace("line 3\n", "x\n"))
    assert work.bb(OTTER, "edit", "end", BB_NOW=moment(0.1)).status == 0

    assert work.whose("a.py")[2] == []


def test_an_edit_that_was_not_begun_does_not_end(work: Desk):
    assert work.refused(OTTER, "edit", "end")["code"] == "EDIT_NOT_BEGUN"
    assert work.refused(OTTER, "edit", "end", "a.py")["code"] == "EDIT_NOT_BEGUN"
    assert work.bb(HARBOR, "edit", "begin", "a.py").status == 0
    assert work.refused(OTTER, "edit", "end", "a.py")["code"] == "EDIT_NOT_BEGUN"


@pytest.mark.parametrize("verb", ["edit begin", "mine", "blame"])
def test_what_is_no_file_of_the_repository_is_refused(work: Desk, verb: str):
    agent = None if verb == "blame" else OTTER

    assert work.refused(agent, *verb.split(), "../other.py")["code"] == "SCOPE_OUTSIDE"
    assert work.refused(agent, *verb.split(), "a\0b" if os.name == "nt" else "a\nb")["code"] == "INVALID_SCOPE"
    if verb != "edit begin":  # a file that does not exist yet may be edited
        assert work.refused(agent, *verb.split(), "missing.py")["code"] == "FILE_NOT_FOUND"


def test_a_folder_a_binary_file_and_a_deleted_one_have_no_lines(work: Desk):
    work.write("src/x.bin", b"\0")
    (work.repo.path / "a.py").unlink()

    for name in ("src", "src/x.bin", ".", "a.py"):
        assert work.refused(None, "blame", name)["code"] == "NO_LINES", name
    assert work.refused(OTTER, "edit", "begin", "src")["code"] == "NOT_A_FILE"


# -- blame and diff


def test_blame_shows_committed_lines_as_git_has_them_and_uncommitted_ones_by_agent(work: Desk):
    """Issue 24: `bb blame`: committed lines as git has them, uncommitted ones by agent."""
    work.replaces(OTTER, "a.py", "line 3\n", "x\n")

    rows = work.ask(None, "blame", "a.py")["lines"]

    assert (rows[0]["author"], rows[0]["commit"]) == ("Tester", work.git("rev-parse", "HEAD").strip())
    assert (rows[2]["agents"], rows[2]["commit"], rows[2]["text"]) == ([OTTER], None, "x")
    told = work.bb(None, "blame", "a.py").out.splitlines()
    assert len(told) == 20
    assert told[2].split() == ["*", OTTER, "3", "x"]


def test_anchors_move_with_edits_above_them(work: Desk):
    """Issue 24: anchors move with edits above them."""
    work.replaces(OTTER, "a.py", "line 17\n", "mine\n")
    work.replaces(HARBOR, "a.py", "line 1\n", "".join(f"new {n}\n" for n in range(50)))

    assert work.whose("a.py")[65] == [OTTER]


def test_the_diff_of_an_agent_is_a_patch_with_its_changes_only(work: Desk):
    work.replaces(OTTER, "a.py", "line 3\n", "by otter\n")
    work.replaces(HARBOR, "a.py", "line 17\n", "by harbor\n")
    work.edits(OTTER, "new.py", "new\nno end")
    work.write("nobody.py", "x\n")

    patch = work.bb(None, "diff", "--agent", OTTER).out
    (work.repo.path.parent / "otter.patch").write_text(patch)
    work.git("worktree", "add", "-q", "--detach", "../other")
    other = work.repo.path.parent / "other"
    subprocess.run(["git", "apply", "../otter.patch"], cwd=other, env=environment(), check=True)

    assert (other / "a.py").read_text() == TWENTY.replace("line 3\n", "by otter\n")
    assert (other / "new.py").read_text() == "new\nno end"
    assert not (other / "nobody.py").exists()
    assert work.bb(None, "diff", "--agent", "-").out.startswith("diff --git a/nobody.py b/nobody.py\n")


def test_the_diff_of_everybody_names_the_owners(work: Desk):
    work.replaces(OTTER, "a.py", "line 3\n", "by otter\n")
    work.write("a.py", work.read("a.py").replace("line 17\n", "by nobody\n"))

    assert work.bb(None, "diff").out.splitlines() == [
        f"a.py: nobody known +1 -1; {OTTER} +1 -1",
        f"@@ line 3 @@ {OTTER}",
        "-line 3",
        "+by otter",
        "@@ line 17 @@ nobody known",
        "-line 17",
        "+by nobody",
    ]
    assert work.bb(None, "diff", "a.py", "--agent", HARBOR).out == "No uncommitted changes.\n"


def test_what_a_terminal_would_obey_in_a_file_is_shown_harmless(work: Desk):
    work.edits(OTTER, "x.py", "\x1b[2J\x1b]0;title\x07\r\x9b\n")

    for words in (["diff"], ["blame", "x.py"], ["diff", "--agent", OTTER]):
        assert work.bb(None, *words).out.replace("\n", "").isprintable(), words


# -- what git does meanwhile


def test_lines_that_are_put_aside_and_come_back_keep_their_owners(work: Desk):
    work.replaces(OTTER, "a.py", "line 3\n", "by otter\n")
    work.replaces(HARBOR, "a.py", "line 17\n", "by harbor\n")
    work.git("stash", "-q")
    assert work.ask(None, "diff")["files"] == []
    work.git("stash", "pop", "-q")

    assert (work.whose("a.py")[2], work.whose("a.py")[16]) == ([OTTER], [HARBOR])


def test_lines_that_were_reset_out_of_head_are_nobody_s_and_the_others_stay(work: Desk):
    work.replaces(OTTER, "a.py", "line 3\n", "by otter\n")
    work.commits(OTTER)
    work.replaces(HARBOR, "a.py", "line 17\n", "by harbor\n")
    work.git("reset", "-q", "--soft", "HEAD^")

    assert (work.whose("a.py")[2], work.whose("a.py")[16]) == ([], [HARBOR])


def test_a_commit_by_git_of_a_whole_file_leaves_no_uncommitted_line(work: Desk):
    work.replaces(OTTER, "a.py", "line 3\n", "by otter\n")
    work.git("commit", "-qam", "By a person")

    assert work.ask(None, "diff")["files"] == []
    assert set(map(str, work.whose("a.py"))) == {"None"}


# -- hooks of editors


def test_hooks_bracket_an_edit(work: Desk):
    """Issue 24: hooks before and after an edit bracket it."""
    assert work.tool_edit(OTTER, "a.py", "line 3\n", "x\n") == ""
    assert work.tool_write(HARBOR, "new.py", "y\n") == ""

    assert (work.whose("a.py")[2], work.whose("new.py")) == ([OTTER], [[HARBOR]])


def test_another_place_of_the_same_file_is_free(work: Desk):
    """Issue 24: `open`: others may work in the same file."""
    assert work.tool_edit(OTTER, "a.py", "line 3\n", "x\n") == ""
    assert work.tool_edit(HARBOR, "a.py", "line 4\n", "y\n") == ""
    assert work.tool_edit(OTTER, "a.py", "x\n", "z\n") == ""


def test_an_edit_is_refused_where_it_would_change_lines_that_another_has_not_committed_with_the_other_s_diff(
    work: Desk,
):
    """Issue 24: an edit is refused only where it would change or split lines that another has changed and not
    committed. Everything an agent needs to know is in that one refusal, with the other's diff."""
    work.tool_edit(OTTER, "a.py", "line 3\nline 4\n", "three\nfour\n")

    why = work.tool_edit(HARBOR, "a.py", "three\n", "drei\n")

    assert f"uncommitted lines of {OTTER}, line 3 of a.py" in why
    assert "| -line 3\n| -line 4\n| +three\n| +four\n" in why
    assert f"{OTTER} has had uncommitted lines there for 0 s, edited it 0 s ago, is active" in why
    assert f"bb send {OTTER}" in why
    assert work.read("a.py") == TWENTY.replace("line 3\nline 4\n", "three\nfour\n")
    assert "put something between uncommitted lines" in work.tool_edit(HARBOR, "a.py", "three\n", "three\nnew\n")


def test_a_refused_patch_has_begun_in_none_of_its_files(work: Desk):
    work.write("b.py", TWENTY)
    work.tool_edit(OTTER, "b.py", "line 3\n", "three\n")
    chunk = "*** Update File: {}\n@@\n-{}\n+drei\n"
    patch = f"*** Begin Patch\n{chunk.format('a.py', 'line 3')}{chunk.format('b.py', 'three')}*** End Patch"

    assert f"uncommitted lines of {OTTER}" in work.hook("pre-tool", HARBOR, "apply_patch", {"input": patch})
    work.write("a.py", TWENTY.replace("line 3\n", "drei\n"))

    assert work.whose("a.py")[2] == [], "a person has typed it"


def test_a_refused_edit_is_free_once_the_other_has_committed(work: Desk):
    work.tool_edit(OTTER, "a.py", "line 3\n", "three\n")
    assert work.tool_edit(HARBOR, "a.py", "three\n", "drei\n") != ""
    work.commits(OTTER)

    assert work.tool_edit(HARBOR, "a.py", "three\n", "drei\n") == ""
    assert work.whose("a.py")[2] == [HARBOR]


def test_a_structural_change_asks_for_exclusive_and_says_how_to_get_it(work: Desk):
    """Issue 24: a structural change of the whole file asks for `exclusive`."""
    work.tool_edit(OTTER, "a.py", "line 20\n", "last\n")

    why = work.tool_write(HARBOR, "a.py", "".join(f"rewritten {n}\n" for n in range(20)) + "last\n")

    assert f"{OTTER} has uncommitted lines in it" in why
    assert "bb reserve a.py --exclusive --queue" in why


def test_a_stale_copy_of_the_whole_file_is_refused_once(work: Desk):
    work.tool_edit(OTTER, "a.py", "line 10\n", "mine\n")
    copy = work.read("a.py")
    work.tool_edit(HARBOR, "a.py", "line 3\n", "three\n")
    work.commits(HARBOR)

    mine = copy.replace("line 17\n", "seventeen\n")
    why = work.tool_write(OTTER, "a.py", mine)

    assert f"without the latest change of {HARBOR}, line 3 of a.py; you read it before that" in why
    assert work.tool_write(OTTER, "a.py", mine) == "", "whoever means it repeats it"


def test_one_refusal_of_an_old_copy_names_all_files_to_read_again(work: Desk):
    """Issue 24: everything an agent needs to know is in that one refusal."""
    for name in ("b.py", "c.py", "d.py"):
        work.write(name, TWENTY)
    copy = work.read("a.py")
    for name in ("a.py", "b.py", "c.py"):
        assert work.tool_edit(HARBOR, name, "line 3\n", "three\n") == ""
    assert work.tool_edit(OTTER, "c.py", "line 17\n", "seventeen\n") == "", "so it knows this file"

    why = work.tool_write(OTTER, "a.py", copy.replace("line 17\n", "seventeen\n"))

    assert f"without the latest change of {HARBOR}, line 3 of a.py; you read it before that" in why
    assert "Read a.py again, then make your change there.\n" in why, "who repeats it is refused again"
    assert "read them again as well: b.py\n" in why
    assert f"uncommitted lines of {HARBOR}" in work.tool_write(OTTER, "a.py", copy.replace("line 17\n", "seventeen\n"))


def test_a_silent_agent_s_lines_can_be_taken_over_and_the_refusal_says_how(work: Desk):
    work.tool_edit(OTTER, "a.py", "line 3\n", "three\n")
    work.repo.settings["BB_NOW"] = moment(20)

    why = work.tool_edit(HARBOR, "a.py", "three\n", "drei\n")

    assert f"bb mine a.py --from {OTTER} --agent {HARBOR}" in why
    assert work.bb(HARBOR, "mine", "a.py", "--from", OTTER).status == 0
    assert work.tool_edit(HARBOR, "a.py", "three\n", "drei\n") == ""


def test_a_formatter_is_attributed_to_who_ran_it_without_taking_over_lines_that_only_moved(work: Desk):
    """Issue 24: a formatter that rewrites a file is attributed to who ran it, without taking over lines whose content
    only moved."""
    work.tool_edit(OTTER, "a.py", "line 17\n", "by otter\n")

    assert work.shell(HARBOR, "sed -i '1i # head' a.py && sed -i 's/^line 5$/line five/' a.py") == ""

    owners = work.whose("a.py")
    assert (owners[0], owners[5], owners[17]) == ([HARBOR], [HARBOR], [OTTER])


def test_a_command_that_has_changed_lines_of_another_agent_says_so(work: Desk):
    work.tool_edit(OTTER, "a.py", "line 3\n", "three\n")

    told = work.shell(HARBOR, "sed -i 's/three/drei/' a.py")

    assert f"has changed uncommitted lines of {OTTER}" in told
    assert f"bb commit --with {OTTER}" in told
    assert work.whose("a.py")[2] == [OTTER, HARBOR]
    assert work.shell(HARBOR, "sed -i 's/line 17/x/' a.py") == "", "it is said once"


def test_a_command_that_is_not_known_may_make_any_file(work: Desk):
    assert work.shell(OTTER, "awk 'BEGIN { print \"x\" }' > made.txt; ./missing || cp a.py copy.py") == ""

    assert (work.whose("made.txt"), work.whose("copy.py")[0]) == ([[OTTER]], [OTTER])


def test_a_file_that_is_moved_keeps_the_owners_of_its_lines(work: Desk):
    work.tool_edit(HARBOR, "a.py", "line 17\n", "by harbor\n")

    assert work.shell(OTTER, "mv a.py b.py") == ""

    owners = work.whose("b.py")
    assert (owners[0], owners[16]) == ([OTTER], [HARBOR])


def test_what_a_long_command_changes_while_another_edits_is_the_editor_s_where_it_edits(work: Desk):
    command = {"command": "./server"}
    assert work.hook("pre-tool", OTTER, "Bash", command) == ""
    assert work.tool_edit(HARBOR, "a.py", "line 3\n", "three\n") == ""
    work.write("log.txt", "started\n")
    assert work.hook("post-tool", OTTER, "Bash", command) == ""

    assert (work.whose("a.py")[2], work.whose("log.txt")) == ([HARBOR], [[OTTER]])


def test_an_edit_by_a_person_s_editor_is_nobody_s(work: Desk):
    given = {"file_path": str(work.repo.path / "a.py"), "old_string": "line 3", "new_string": "x"}
    assert work.hook("pre-tool", "", "Edit", given) == ""
    work.write("a.py", TWENTY.replace("line 3\n", "x\n"))
    assert work.hook("post-tool", "", "Edit", given) == ""

    assert work.whose("a.py")[2] == []


# -- git commit by an agent's hand


def test_git_commit_by_an_agent_s_hand_is_judged_by_whose_lines_are_in_it(work: Desk):
    """Issue 24: "these 12 lines are cobalt-harbor's; `bb commit` leaves them out"."""
    assert work.bb(None, "hooks", "install").status == 0
    work.tool_edit(HARBOR, "a.py", "line 3\n", "".join(f"three {n}\n" for n in range(11)))
    work.tool_edit(OTTER, "a.py", "line 17\n", "seventeen\n")

    ran = work.by_hand("commit", "-qam", "All", agent=OTTER)

    assert ran.status != 0
    assert f"12 lines are {HARBOR}'s, in a.py" in ran.err
    assert "`bb commit -m MESSAGE` leaves them out" in ran.err
    work.commits(OTTER)
    assert work.by_hand("commit", "-qam", "Rest", agent=HARBOR).status == 0


def test_git_commit_of_one_s_own_lines_or_by_the_person_passes(work: Desk):
    assert work.bb(None, "hooks", "install").status == 0
    work.tool_edit(OTTER, "a.py", "line 17\n", "seventeen\n")
    assert work.by_hand("commit", "-qam", "Mine", agent=OTTER).status == 0
    work.tool_edit(HARBOR, "a.py", "line 3\n", "three\n")

    assert work.by_hand("commit", "-qam", "The person's").status == 0


# -- told, not asked


def test_my_next_turn_says_what_changed_in_a_few_lines_when_somebody_commits_to_a_file_that_i_have_changed(
    tmp_path: Path,
):
    """Issue 24: told, not asked."""
    text = "def parse(x):\n    y = x\n    return y\n\n\ndef last():\n    return 1\n"
    work = desk(tmp_path / "repo", text)
    work.tool_edit(OTTER, "a.py", "    return 1\n", "    return parse(1)\n")
    work.bb(OTTER, "turn")
    work.tool_edit(HARBOR, "a.py", "def parse(x)", "def read(x)")
    work.commits(HARBOR, message="Rename parse")

    (news,) = work.ask(OTTER, "turn")["committed"]
    assert (news["path"], news["by"], news["subject"]) == ("a.py", HARBOR, "Rename parse")
    assert (news["renamed"], news["you_use"]) == ([["parse", "read"]], ["parse"])
    assert work.ask(OTTER, "turn").get("committed", []) == [], "it is told once"
    assert work.ask(HARBOR, "turn").get("committed", []) == []
