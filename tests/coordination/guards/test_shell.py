"""What a command line would start is read from it, however it is written, and nothing is ever run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.guards import shell
from tests.examples import examples

STASH = [("git", "stash")]


def words(text: str) -> list[tuple[str, ...]]:
    return [run.words for run in shell.runs(text)]


@pytest.mark.parametrize(
    "text",
    [
        "git stash",
        "  git\tstash\n",
        "git stash;",
        "git stash # push",
        "git stash > log.txt",
        "git stash >> log.txt 2>&1",
        "2>/dev/null git stash",
        "git stash </dev/null &>x",
        "git sta\\\nsh",
        "'git' \"stash\"",
        "g'i't s\"ta\"sh",
        "$'git' stash",
        "/usr/bin/git stash",
        "git.exe stash",
        "(git stash)",
        "{ git stash; }",
        "! git stash",
        "A=1 B='x y' git stash",
        "env -i -u HOME A=1 git stash",
        "sudo -u root git stash",
        "sudo env A=1 nice -n 5 git stash",
        "time git stash",
        "timeout -k 5 30 git stash",
        "nohup git stash &",
        "command git stash",
        "bash -c 'git stash'",
        'bash -lc "git stash"',
        "/bin/sh -e -c 'git stash' name",
        "bash -c \"sh -c 'git stash'\"",
        "eval git stash",
        "eval 'git stash'",
        "xargs -n 1 git stash",
    ],
)
def test_one_command_however_it_is_written(text: str):
    assert words(text) == STASH


@pytest.mark.parametrize(
    "text",
    [
        "ls; git stash",
        "ls && git stash",
        "ls || git stash",
        "ls & git stash",
        "ls | git stash",
        "ls |& git stash",
        "ls\ngit stash",
        "ls;git stash",
        "(ls; git stash)",
        "ls <<EOF\ngit push -f\nEOF\ngit stash",
        "ls <<-'EOF' # text\n\tgit push -f\n\tEOF\ngit stash",
        "ls <<A <<B\ngit push\nA\ngit pull\nB\ngit stash",
        "if ls; then git stash; fi",
        "while ls; do git stash; done",
        "ls <<< 'git push'; git stash",
    ],
)
def test_several_commands_are_each_seen(text: str):
    assert [run for run in words(text) if run[0] in ("ls", "git")] == [("ls",), ("git", "stash")]


@pytest.mark.parametrize(
    "text",
    ["echo $(git stash)", 'echo "$(git stash)"', "echo `git stash`", "x=$(git stash)", "diff <(git stash) /dev/null"],
)
def test_what_is_substituted_is_run_too(text: str):
    assert ("git", "stash") in words(text)


@pytest.mark.parametrize(
    "text",
    [
        "echo 'git stash'",
        'echo "git stash"',
        "echo git stash",
        "# git stash",
        "cat <<EOF\ngit stash\nEOF",
        "git 'stash",
        'git stash "',
        "git stash $(",
        "git stash `",
        "grep -r 'git stash' .",
        "$GIT stash",
        "",
        ";;;",
        "()",
        ")",
        "bash -c",
        "env",
        "eval",
        "bash script.sh -c 'git stash'",
    ],
)
def test_what_only_mentions_a_command_or_cannot_be_read_starts_no_git(text: str):
    assert [run for run in words(text) if run[0] == "git"] == []


@pytest.mark.parametrize(
    ("text", "directory"),
    [
        ("cd sub && git stash", "sub"),
        ("cd sub; cd deeper; git stash", "sub/deeper"),
        ("cd /tmp/x && git stash", "/tmp/x"),
        ("cd -- sub && git stash", "sub"),
        ("pushd sub && git stash", "sub"),
        ("(cd sub && ls); git stash", "."),
        ("(cd sub; git stash)", "sub"),
        ("cd sub && bash -c 'cd deeper; git stash'", "sub/deeper"),
        ("bash -c 'cd sub'; git stash", "."),
        ("cd $HOME && git stash", None),
        ("cd && git stash", None),
        ("cd - && git stash", None),
        ("cd ~/x && git stash", None),
        ("cd ~ ; cd /tmp ; git stash", "/tmp"),
        ("GIT_DIR=/x git stash", None),
        ("env GIT_WORK_TREE=/x git stash", None),
        ("if cd sub; then git stash; fi", "sub"),
    ],
)
def test_where_a_command_would_run_is_followed(text: str, directory: str | None):
    (found,) = [run for run in shell.runs(text) if run.words == ("git", "stash")]
    assert found.directory == directory


@examples(300)
@given(st.text(alphabet="git stash'\"\\$(){}`;&|<>#\n=-c bash eval cd EOF", max_size=60))
def test_no_text_is_too_odd_to_be_read(text: str):
    assert all(run.words for run in shell.runs(text))


def test_no_text_is_too_deep_or_too_long_to_be_read():
    assert shell.runs("$(" * 5000) == []
    assert shell.runs("$(" * 500 + ")" * 500)[:1] == [shell.Run(("$()",), ".")]
    assert shell.runs("(" * 50_000 + "git stash")[-1].words == ("git", "stash")
    assert shell.runs("git stash " + "x" * shell.LONGEST) == []
    nested = "git stash"
    for _ in range(shell.DEEPEST + 3):
        nested = f"eval '{nested}'" if "'" not in nested else f"eval {nested}"
    assert shell.runs("eval " * 40 + "git stash") == []
