"""Whose lines are whose when a real host works in a repository that `bb setup` has set up.

Each host works for two days. On the first it changes files in every way that it has. On the second, another agent has
uncommitted lines in the same files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.hosts import tools
from tests.hosts.bench import HOLDER, Bench, Days, days_of
from tests.hosts.model.turns import Step, Turn
from tests.hosts.programs import HOSTS
from tests.hosts.stories import hosts

pytestmark = pytest.mark.hosts

LINES = [f"line {n}" for n in range(1, 41)]
FILES = ("edited", "sed", "script", "failed", "inside", "unfit", "old", "shared", "typed", "stale", "again", "both")
SCRIPT = (
    "import pathlib as p; f = p.Path('lib/script.txt'); f.write_text(f.read_text().replace('line 7', 'line seven'))"
)
FAILING = "python3 -c \"open('lib/failed.txt', 'a').write('the end\\n')\" && exit 3"
MINE = "HEAD^{/^Change my lines}"
TYPED = ([], [], ["typed by a person"])
THEIRS = ([HOLDER], ["line 20"], ["line twenty of the other"])

# Why a story is not true for a host.
NO_GIT_HOOKS = "the host switches the hooks of git off in its shell"
NO_FOLDER = "the host's shell takes no folder"
NO_OVERWRITING = "the host's tool for whole files only makes new ones"


def joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def made(name: str, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A repository with files of forty lines, set up for the host."""
    host = HOSTS[name]
    assert host.path.exists(), f"{host.package} {host.version} is not installed: run scripts/test --hosts"
    bench = Bench(host, tmp_path_factory.mktemp(f"lines-{name}"))
    for file in FILES:
        path = bench.repo.path / "lib" / f"{file}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(joined(LINES))
    bench.set_up_at_once()
    bench.repo.git("config", "user.name", "Tester")
    bench.repo.git("config", "user.email", "tester@example.invalid")
    bench.repo.git("add", ".")
    bench.repo.git("commit", "-qm", "Add files of forty lines")
    return bench


def alone(bench: Bench) -> None:
    """The host changes files by its tools and in its shell. A person types after a command and an edit that fail."""
    name, lib = bench.host.name, bench.repo.path / "lib"
    unfit = tools.edit(name, lib / "unfit.txt", "no such line", "a line")

    def typing(file: str, turn: Turn) -> Step:
        def type_a_line() -> Turn:
            bench.wait_for_hooks()
            with (lib / file).open("a") as open_file:
                open_file.write("typed by a person\n")
            bench.bb("diff")
            return turn

        return type_a_line

    bench.ran = bench.run(
        *tools.edit(name, lib / "edited.txt", "line 3\nline 4", "line three\nline four"),
        *tools.write(name, lib / "new.txt", "one\ntwo\n"),
        tools.shell(name, "sed -i 's/^line 5$/line five/' lib/sed.txt"),
        tools.shell(name, f'python3 -c "{SCRIPT}"'),
        tools.shell(name, "git mv lib/old.txt lib/moved.txt"),
        tools.shell(name, FAILING),
        typing("typed.txt", unfit[0]),
        *unfit[1:],
        typing("unfit.txt", tools.shell(name, "sed -i 's/^line 9$/line nine/' inside.txt", folder=lib)),
        tools.shell(name, "echo 'x = 3' > a.py", folder=bench.repo.path / "src"),
        "All done.",
    )


def beside(bench: Bench) -> None:
    """The host works in files in which the other agent has uncommitted lines, and commits."""
    name, repo = bench.host.name, bench.repo.path
    lib = repo / "lib"
    old_copy = joined(["line one", *LINES[1:]])
    first = tools.edit(name, lib / "shared.txt", THEIRS[2][0], "line 20 of the host")

    def other_edits() -> Turn:
        for file in ("shared", "both"):
            change_as_other(bench, f"lib/{file}.txt", THEIRS[1][0], THEIRS[2][0])
        return first[0]

    def other_commits() -> Turn:
        for file in ("stale", "again"):
            change_as_other(bench, f"lib/{file}.txt", "line 30", "line thirty of the other")
        bench.bb("commit", "-m", "Change line thirty", "lib/stale.txt", "lib/again.txt", "--agent", HOLDER)
        return tools.read(name, lib / "stale.txt")[0]  # Claude Code writes no file that it has not read as it is

    def disguised() -> Turn:
        bench.noted |= {"left": changes(bench)}
        return tools.shell(name, "g=git; $g commit -qam 'Take everything in disguise'")

    bench.ran = bench.run(
        other_edits,
        *first[1:],
        *tools.edit(name, lib / "shared.txt", "line 35", "line 35 of the host"),
        *tools.edit(name, lib / "both.txt", "line 10\nline 11", "line ten\nline eleven"),
        other_commits,
        *tools.write(name, lib / "stale.txt", old_copy),
        *tools.read(name, lib / "again.txt"),
        *tools.write(name, lib / "again.txt", old_copy),
        *tools.write(name, lib / "again.txt", old_copy),
        tools.shell(name, f"{bench.program} run -- cat lib/shared.txt"),
        tools.shell(name, "git commit -qam 'Take everything'"),
        tools.shell(name, f"{bench.program} commit -m 'Change my lines'"),
        disguised,
        "All done.",
    )


def change_as_other(bench: Bench, path: str, old: str, new: str) -> None:
    """The other agent changes a line of a file. It has no hooks."""
    bench.bb("edit", "begin", path, "--agent", HOLDER)
    before = bench.text(path)
    assert f"{old}\n" in before
    (bench.repo.path / path).write_text(before.replace(f"{old}\n", f"{new}\n"))
    bench.bb("edit", "end", "--agent", HOLDER)


@pytest.fixture(scope="session")
def days_alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Days]:
    yield from days_of(lambda name: made(name, tmp_path_factory), alone)


@pytest.fixture(scope="session")
def days_beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Days]:
    yield from days_of(lambda name: made(name, tmp_path_factory), beside)


@pytest.fixture
def day_alone(request: pytest.FixtureRequest, days_alone: Days) -> Bench:
    return days_alone(request.param)


@pytest.fixture
def day_beside(request: pytest.FixtureRequest, days_beside: Days) -> Bench:
    return days_beside(request.param)


def changes(bench: Bench) -> dict[str, list[tuple[list[str], list[str], list[str]]]]:
    """The uncommitted changes by file: the agents, the deleted and the added lines of each."""
    return {
        row["path"]: [(each["agents"], each["deleted"], each["added"]) for each in row["changes"]]
        for row in bench.bb("diff")["files"]
    }


def owned(bench: Bench, *changes: tuple[list[str], list[str]]) -> list[tuple[list[str], list[str], list[str]]]:
    """These deleted and added lines as changes of the host's agent."""
    return [([bench.agent], deleted, added) for deleted, added in changes]


def refusals(bench: Bench, words: str) -> list[str]:
    """What the hook answered before each tool whose input contains WORDS, where it refused."""
    asked = [call for call in bench.calls("hook pre-tool") if words in json.dumps(call.payload["tool_input"])]
    return [call.said for call in asked if "deny" in call.said]


def committed(bench: Bench, file: str) -> list[str]:
    return bench.repo.git("show", f"{MINE}:lib/{file}.txt").splitlines()


# -- alone


@hosts("day_alone")
def test_the_lines_that_the_host_changes_by_its_tools_are_its_agents(day_alone: Bench):
    assert day_alone.ran.status == 0, day_alone.ran.err
    found = changes(day_alone)
    assert found["lib/edited.txt"] == owned(day_alone, (["line 3", "line 4"], ["line three", "line four"]))
    assert found["lib/new.txt"] == owned(day_alone, ([], ["one", "two"]))


@hosts("day_alone")
def test_the_lines_that_its_shell_changes_are_its_agents_whether_bb_sees_it_in_the_command_or_not(day_alone: Bench):
    found = changes(day_alone)
    assert found["lib/sed.txt"] == owned(day_alone, (["line 5"], ["line five"]))
    assert found["lib/script.txt"] == owned(day_alone, (["line 7"], ["line seven"]))
    assert found["lib/failed.txt"] == owned(day_alone, ([], ["the end"]))
    assert found["lib/old.txt"] == owned(day_alone, (LINES, []))
    assert found["lib/moved.txt"] == owned(day_alone, ([], LINES))


@hosts("day_alone")
def test_blame_names_the_agent_beside_the_commits(day_alone: Bench):
    rows = day_alone.bb("blame", "lib/edited.txt")["lines"]
    assert [row["line"] for row in rows if row["agents"] == [day_alone.agent]] == [3, 4]
    assert [row["text"] for row in rows if row["agents"]] == ["line three", "line four"]
    assert len([row for row in rows if row["agents"] is None]) == len(LINES) - 2


@hosts("day_alone")
def test_a_command_that_fails_ends_so_what_a_person_types_then_is_nobodys(day_alone: Bench):
    assert changes(day_alone)["lib/typed.txt"] == [TYPED]


@hosts("day_alone")
def test_an_edit_that_fails_ends_so_what_a_person_types_then_is_nobodys(day_alone: Bench):
    assert changes(day_alone)["lib/unfit.txt"] == [TYPED]


@hosts("day_alone", claude=NO_FOLDER, copilot=NO_FOLDER)
def test_a_command_in_another_folder_is_judged_there(day_alone: Bench):
    assert changes(day_alone)["lib/inside.txt"] == owned(day_alone, (["line 9"], ["line nine"]))
    assert day_alone.text("src/a.py") == "x = 1\n"
    (why,) = refusals(day_alone, "> a.py")
    assert f"src/a.py is reserved by {HOLDER}" in why


# -- beside another agent


@hosts("day_beside")
def test_an_edit_of_another_agents_lines_is_refused_and_the_model_is_shown_its_change(day_beside: Bench):
    assert day_beside.ran.status == 0, day_beside.ran.err
    told = day_beside.told_after(f"this edit would change uncommitted lines of {HOLDER}, line 20 of lib/shared.txt")
    assert f"{HOLDER} has had uncommitted lines there for" in told
    assert "| -line 20\n| +line twenty of the other\n" in told
    assert "Instead: make your change elsewhere in the file" in told
    assert "line 20 of the host" not in day_beside.text("lib/shared.txt")


@hosts("day_beside")
def test_an_edit_elsewhere_in_the_file_passes(day_beside: Bench):
    assert not refusals(day_beside, "line 35 of the host")
    assert day_beside.text("lib/shared.txt").splitlines()[34] == "line 35 of the host"


@hosts("day_beside")
def test_bb_run_in_the_hosts_shell_leaves_the_others_lines_out(day_beside: Bench):
    (ran,) = day_beside.calls("run")
    assert ran.said.splitlines() == [*LINES[:34], "line 35 of the host", *LINES[35:]]


@hosts("day_beside")
def test_a_git_commit_with_lines_of_another_agent_is_refused_before_it_runs(day_beside: Bench):
    (why,) = refusals(day_beside, "'Take everything'")
    assert "would include changes to lib/both.txt and lib/shared.txt" in why
    assert "bb commit -m MESSAGE" in day_beside.told_after("would include changes to lib/both.txt")


@hosts("day_beside", gemini=NO_GIT_HOOKS)
def test_a_git_commit_that_the_hook_before_the_tool_cannot_see_is_refused_by_the_hook_of_git(day_beside: Bench):
    assert not refusals(day_beside, "in disguise")
    told = day_beside.told_after("[LINES_OF_OTHERS]")
    assert HOLDER in told
    assert "in disguise" not in day_beside.repo.git("log", "--format=%s")


@hosts("day_beside")
def test_bb_commit_in_the_hosts_shell_takes_exactly_its_own_lines(day_beside: Bench):
    (trailer,) = day_beside.repo.git("show", "-s", "--format=%(trailers:key=BB-Agent)", MINE).split("\n\n")[0:1]
    assert trailer.strip() == f"BB-Agent: {day_beside.agent}"
    assert committed(day_beside, "shared") == [*LINES[:34], "line 35 of the host", *LINES[35:]]
    assert committed(day_beside, "both") == [*LINES[:9], "line ten", "line eleven", *LINES[11:]]
    assert day_beside.noted["left"] == {"lib/shared.txt": [THEIRS], "lib/both.txt": [THEIRS]}


@hosts("day_beside")
def test_a_whole_file_from_an_old_copy_is_refused(day_beside: Bench):
    (why,) = refusals(day_beside, "lib/stale.txt")
    assert f"this writes the file without the latest change of {HOLDER}, line 30 of lib/stale.txt" in why
    assert "uncommitted" not in why
    assert "line thirty of the other" in day_beside.text("lib/stale.txt")
    assert day_beside.model.turns[-1].text.count("without the latest change of") >= 2


@hosts("day_beside", copilot=NO_OVERWRITING)
def test_a_whole_file_from_an_old_copy_is_refused_once(day_beside: Bench):
    assert len(refusals(day_beside, "lib/again.txt")) == 1
    assert committed(day_beside, "again") == ["line one", *LINES[1:]]
