"""`bb hooks`: git asks bb before a commit, beside whatever it asked before; and afterwards all is as it was."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from tests.stories.guards.guards_support import HARBOR, OTTER, git, history, well, write
from tests.support import Scratch, scratch
from tests.waiting import until

AS_HARBOR = {"BB_AGENT": HARBOR}
NAMES = [
    *("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"),
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "post-merge", "post-checkout", "pre-push"),
]


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    return history(tmp_path / "repo")


def install(repo: Scratch, *more: str) -> dict[str, str]:
    return {each["hook"]: each["outcome"] for each in repo.json("hooks", "install", *more).data["hooks"]}


def uninstall(repo: Scratch, *more: str) -> dict[str, str]:
    return {each["hook"]: each["outcome"] for each in repo.json("hooks", "uninstall", *more).data["hooks"]}


def states(repo: Scratch) -> dict[str, str]:
    return {each["hook"]: each["state"] for each in repo.json("hooks", "status").data["hooks"]}


def snapshot(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """Every file beneath FOLDER: its mode, and its octets or where it leads."""
    files = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return {
        str(path.relative_to(folder)): (
            stat.S_IMODE(path.lstat().st_mode),
            str(path.readlink()) if path.is_symlink() else path.read_bytes(),
        )
        for path in files
    }


def hook(path: Path, text: str, *, mode: int = 0o755) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def try_to_commit(repo: Scratch, name: str = "src/parser/a.py", *, cwd: Path | None = None, **settings: str):
    """A commit that changes one file."""
    top = cwd or repo.path
    write(repo, name, f"{os.urandom(4).hex()}\n", cwd=top)
    well(git(repo, "add", name, cwd=top))
    return git(repo, "commit", "-m", "Change", cwd=top, **settings)


def test_once_installed_git_refuses_what_bb_refuses(repo: Scratch):
    assert set(install(repo).values()) == {"installed"}

    refused = try_to_commit(repo, **AS_HARBOR)

    assert refused.status == 1
    assert "[PATH_HELD] amber-otter holds src/parser, so you may not change src/parser/a.py" in refused.err
    well(try_to_commit(repo, BB_AGENT=OTTER))
    told = well(try_to_commit(repo))
    assert "amber-otter holds src/parser" in told.err
    assert "this is only a warning; the commit continues" in told.err
    well(git(repo, "commit", "--amend", "--no-edit", **AS_HARBOR))
    quiet = well(try_to_commit(repo, "lib/x.py", **AS_HARBOR))
    assert quiet.err == ""


def test_an_agent_goes_ahead_by_an_explicit_word(repo: Scratch):
    install(repo)

    well(try_to_commit(repo, BB_OVERRIDE="agreed by mail", **AS_HARBOR))

    told = [each["text"] for each in repo.json("timeline").data]
    assert any(text.endswith("although held by others: agreed by mail") for text in told)


def test_installing_again_changes_nothing_and_uninstalling_leaves_no_trace(repo: Scratch):
    folder = repo.path / ".git" / "hooks"
    before = snapshot(folder)
    install(repo)
    assert set(states(repo).values()) == {"ours"}
    after = snapshot(folder)

    assert set(install(repo).values()) == {"unchanged"}
    assert snapshot(folder) == after
    assert set(uninstall(repo).values()) == {"removed"}
    assert snapshot(folder) == before
    assert set(uninstall(repo).values()) == {"none"}


def test_a_folder_that_was_made_for_the_hooks_goes_with_them(repo: Scratch):
    folder = repo.path / ".git" / "hooks"
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    install(repo)
    install(repo)

    uninstall(repo)

    assert not folder.exists()


def test_a_dry_run_says_the_same_and_does_nothing(repo: Scratch):
    folder = repo.path / ".git" / "hooks"
    hook(folder / "pre-push", "#!/bin/sh\n")
    before = snapshot(folder)

    would = install(repo, "--dry-run")

    assert snapshot(folder) == before
    assert install(repo) == would
    installed = snapshot(folder)
    would = uninstall(repo, "--dry-run")
    assert snapshot(folder) == installed
    assert uninstall(repo) == would


@pytest.mark.parametrize("name", NAMES)
def test_a_hook_that_was_there_runs_first_with_all_it_was_given(repo: Scratch, tmp_path: Path, name: str):
    log = tmp_path / "log"
    path = repo.path / ".git" / "hooks" / name
    hook(path, f'#!/bin/sh\necho "$@" >> "{log}"\ncat >> "{log}"\n', mode=0o750)
    before = snapshot(path.parent)
    remote = tmp_path / "remote.git"
    repo.git("init", "--quiet", "--bare", str(remote))
    assert install(repo)[name] == "chained"

    well(try_to_commit(repo, "lib/x.py", **AS_HARBOR))
    well(git(repo, "checkout", "--quiet", "-b", "side"))
    well(try_to_commit(repo, "lib/x.py", **AS_HARBOR))
    well(git(repo, "checkout", "--quiet", "main"))
    well(git(repo, "merge", "--quiet", "side"))
    well(git(repo, "push", "--quiet", str(remote), "main"))

    words = log.read_text()
    assert {"prepare-commit-msg": "COMMIT_EDITMSG message", "pre-push": "refs/heads/main"}.get(name, "") in words
    assert uninstall(repo)[name] == "restored"
    assert snapshot(path.parent) == before


def test_what_a_hook_refused_before_stays_refused_with_its_own_status(repo: Scratch):
    hook(repo.path / ".git" / "hooks" / "pre-push", "#!/bin/sh\nexit 3\n")
    hook(repo.path / ".git" / "hooks" / "pre-commit", "#!/bin/sh\necho No. >&2\nexit 5\n")
    install(repo)

    refused = try_to_commit(repo, "lib/x.py", BB_AGENT=OTTER)

    assert refused.status != 0
    assert refused.err == "No.\n"
    ran = git(repo, "hook", "run", "pre-push")
    assert ran.status == 3


def test_a_hook_that_git_would_not_have_run_is_not_run_now_either(repo: Scratch, tmp_path: Path):
    hook(repo.path / ".git" / "hooks" / "pre-commit", f'#!/bin/sh\ntouch "{tmp_path}/ran"\n', mode=0o644)
    before = snapshot(repo.path / ".git" / "hooks")
    install(repo)

    well(try_to_commit(repo, "lib/x.py", **AS_HARBOR))

    assert not (tmp_path / "ran").exists()
    uninstall(repo)
    assert snapshot(repo.path / ".git" / "hooks") == before


def test_a_hook_that_is_a_link_or_no_shell_script_is_kept_as_it_is(repo: Scratch, tmp_path: Path):
    folder = repo.path / ".git" / "hooks"
    hook(repo.path / "scripts" / "guard", f"#!{sys.executable}\nimport sys; sys.exit('not today')\n")
    (folder / "pre-commit").symlink_to("../../scripts/guard")
    before = snapshot(folder)
    install(repo)

    assert try_to_commit(repo, "lib/x.py", BB_AGENT=OTTER).err == "not today\n"
    uninstall(repo)
    assert snapshot(folder) == before


# -- who changed what since


def test_a_hook_of_ours_that_somebody_changed_is_left_and_told(repo: Scratch):
    folder = repo.path / ".git" / "hooks"
    install(repo)
    with (folder / "pre-commit").open("a") as file:
        file.write("echo mine too\n")
    changed = (folder / "pre-commit").read_bytes()

    assert states(repo)["pre-commit"] == "changed"
    assert repo.json("hooks", "install").code == "HOOK_IN_THE_WAY"
    assert uninstall(repo)["pre-commit"] == "left"
    assert (folder / "pre-commit").read_bytes() == changed
    assert not (folder / "post-commit").exists()


def test_a_hook_that_came_in_the_place_of_ours_is_not_touched(repo: Scratch):
    folder = repo.path / ".git" / "hooks"
    hook(folder / "pre-commit", "#!/bin/sh\n# the first\n")
    install(repo)
    hook(folder / "pre-commit", "#!/bin/sh\n# the second\n")

    assert states(repo)["pre-commit"] == "foreign"
    assert repo.json("hooks", "install").code == "HOOK_IN_THE_WAY"
    assert uninstall(repo)["pre-commit"] == "left"
    assert "the second" in (folder / "pre-commit").read_text()
    assert "the first" in (folder / "pre-commit.before-bb").read_text()


def test_a_tool_that_writes_its_hook_anew_is_chained_again(repo: Scratch):
    """As husky does whenever packages are installed."""
    folder = repo.path / ".git" / "hooks"
    hook(folder / "pre-commit", "#!/bin/sh\n# generated\n")
    before = snapshot(folder)
    install(repo)
    hook(folder / "pre-commit", "#!/bin/sh\n# generated\n")

    assert install(repo)["pre-commit"] == "chained"
    assert states(repo)["pre-commit"] == "ours"
    hook(folder / "pre-commit", "#!/bin/sh\n# generated\n")
    uninstall(repo)
    assert snapshot(folder) == before


def test_what_was_cut_off_in_the_middle_is_finished_by_the_next(repo: Scratch):
    folder = repo.path / ".git" / "hooks"
    hook(folder / "pre-commit", "#!/bin/sh\nexit 9\n")
    before = snapshot(folder)
    (folder / "pre-commit").rename(folder / "pre-commit.before-bb")  # and then the power went

    assert uninstall(repo)["pre-commit"] == "restored"
    assert snapshot(folder) == before
    (folder / "pre-commit").rename(folder / "pre-commit.before-bb")
    install(repo)
    assert try_to_commit(repo, "lib/x.py", BB_AGENT=OTTER).status != 0


# -- where git looks


def test_a_linked_worktree_shares_the_hooks_of_its_clone(repo: Scratch, tmp_path: Path):
    side = tmp_path / "side"
    repo.git("worktree", "add", "--quiet", "-b", "side", str(side))

    assert repo.json("hooks", "install", cwd=side).data["folder"] == str(repo.path / ".git" / "hooks")

    for top in (repo.path, side):
        assert try_to_commit(repo, cwd=top, **AS_HARBOR).status != 0


@pytest.mark.parametrize("where", [".git/my hooks", "../elsewhere"])
def test_a_folder_of_ones_own_is_obeyed(repo: Scratch, where: str):
    repo.git("config", "core.hooksPath", where)
    hook(repo.path / where / "commit-msg", "#!/bin/sh\n")

    install(repo)

    assert (repo.path / where / "pre-commit").exists()
    assert try_to_commit(repo, **AS_HARBOR).status != 0


def test_a_folder_in_the_work_tree_is_written_to_only_when_asked(repo: Scratch):
    repo.git("config", "core.hooksPath", ".githooks")
    hook(repo.path / ".githooks" / "pre-commit", "#!/bin/sh\n")
    repo.git("add", ".")
    repo.git("commit", "--quiet", "-m", "Hooks", "--no-verify")

    refused = repo.json("hooks", "install")

    assert refused.code == "HOOKS_SHARED"
    assert "bb hook pre-commit" in refused.envelope["error"]["hint"]
    assert repo.git("status", "--porcelain") == ""
    assert install(repo, "--anywhere")["pre-commit"] == "chained"
    text = (repo.path / ".githooks" / "pre-commit").read_text()
    assert str(Path(sys.executable).parent) not in text, "what others get must not name a path of ours"
    uninstall(repo, "--anywhere")
    assert repo.git("status", "--porcelain") == ""


def test_a_folder_for_all_repositories_is_written_to_only_when_asked(repo: Scratch, tmp_path: Path):
    settings = tmp_path / "gitconfig"
    settings.write_text(f"[core]\n\thooksPath = {tmp_path / 'for all'}\n")

    assert repo.json("hooks", "install", GIT_CONFIG_GLOBAL=str(settings)).code == "HOOKS_SHARED"
    assert repo.json("hooks", "install", "--anywhere", GIT_CONFIG_GLOBAL=str(settings)).status == 0
    assert (tmp_path / "for all" / "pre-commit").exists()


def test_hooks_that_are_switched_off_stay_off(repo: Scratch):
    repo.git("config", "core.hooksPath", "/dev/null")

    assert repo.json("hooks", "install").code == "HOOKS_OFF"


def test_outside_any_repository_there_is_nothing_to_install(tmp_path: Path):
    assert Scratch(tmp_path).json("hooks", "install").code == "NOT_A_REPOSITORY"


# -- other tools


HUSKY_9 = """#!/usr/bin/env sh
n=$(basename "$0")
s=$(dirname "$(dirname "$0")")/$n
[ ! -f "$s" ] && exit 0
sh -e "$s" "$@"
c=$?
[ $c != 0 ] && echo "husky - $n script failed (code $c)"
exit $c
"""


def test_husky_still_finds_its_scripts_by_the_name_it_is_called_by(repo: Scratch, tmp_path: Path):
    inner = repo.path / ".husky" / "_"
    hook(inner / "h", HUSKY_9, mode=0o644)
    hook(inner / ".gitignore", "*", mode=0o644)
    for name in ("pre-commit", "commit-msg", "prepare-commit-msg"):
        hook(inner / name, '#!/usr/bin/env sh\n. "$(dirname "$0")/h"')
    write(repo, ".husky/pre-commit", f'echo "$0 ran" >> "{tmp_path}/log"\ntest ! -e stop\n')
    repo.git("config", "core.hooksPath", ".husky/_")
    before = snapshot(inner)

    note = repo.json("hooks", "install").data["note"]

    assert "husky" in note
    assert try_to_commit(repo, **AS_HARBOR).status != 0
    well(try_to_commit(repo, BB_AGENT=OTTER))
    assert (tmp_path / "log").read_text() == ".husky/pre-commit ran\n" * 2
    write(repo, "stop", "")
    assert "husky - pre-commit script failed" in try_to_commit(repo, BB_AGENT=OTTER).err
    uninstall(repo)
    assert snapshot(inner) == before


def test_lefthook_and_pre_commit_are_chained_and_told_apart_by_nothing_but_their_files(repo: Scratch, tmp_path: Path):
    folder = repo.path / ".git" / "hooks"
    hook(folder / "pre-commit", f'#!/bin/sh\n# lefthook\necho "run pre-commit" "$@" >> "{tmp_path}/log"\n')
    hook(
        folder / "pre-push",
        "#!/usr/bin/env bash\n# File generated by pre-commit: https://pre-commit.com\n"
        f'HERE="$(cd "$(dirname "$0")" && pwd)"\necho "$HERE" >> "{tmp_path}/log"\n',
    )

    assert "lefthook" in repo.json("hooks", "install").data["note"]

    assert try_to_commit(repo, **AS_HARBOR).status != 0
    well(git(repo, "hook", "run", "pre-push"))
    assert (tmp_path / "log").read_text() == f"run pre-commit\n{folder}\n"


# -- where bb is gone


def broken(repo: Scratch) -> None:
    """The hooks, as if the bb that wrote them were gone."""
    for name in NAMES:
        path = repo.path / ".git" / "hooks" / name
        path.write_text(path.read_text().replace(str(Path(sys.executable).parent), "/nowhere"))


def test_where_bb_is_gone_people_pass_and_agents_do_not(repo: Scratch):
    install(repo)
    broken(repo)
    plain = {"PATH": "/usr/bin:/bin"}

    told = well(try_to_commit(repo, **plain))
    refused = try_to_commit(repo, "lib/x.py", **AS_HARBOR, **plain)

    assert "bb is not installed any more" in told.err
    assert refused.status == 1
    assert "cobalt-harbor may not commit unchecked" in refused.err


def test_another_bb_on_the_path_takes_its_place_but_never_somebody_elses_command(repo: Scratch, tmp_path: Path):
    install(repo)
    broken(repo)
    hook(tmp_path / "bin" / "bb", "#!/bin/sh\necho babashka\nexit 0\n")
    path = f"{tmp_path}/bin:/usr/bin:/bin"
    assert try_to_commit(repo, PATH=path, **AS_HARBOR).status != 0
    hook(tmp_path / "bin" / "beadboard", f'#!/bin/sh\nexec "{sys.executable}" -P -m bb "$@"\n')

    assert "[PATH_HELD]" in try_to_commit(repo, PATH=path, **AS_HARBOR).err
    repo.git("reset", "--quiet", "--hard")
    well(try_to_commit(repo, "docs/guide.md", PATH=path, **AS_HARBOR))


def test_a_folder_named_bb_in_the_repository_is_not_run(repo: Scratch):
    install(repo)
    write(repo, "bb/__init__.py", "raise SystemExit('the wrong one')\n")
    write(repo, "bb/__main__.py", "raise SystemExit('the wrong one')\n")

    assert "[PATH_HELD]" in try_to_commit(repo, **AS_HARBOR).err


def asked_to_sync(log: Path, times: int) -> bool:
    """Whether bb has been asked so often by now; it is asked in the background."""
    until(lambda: log.exists() and log.read_text().count("\n") >= times, f"{times} syncs")
    return log.exists() and log.read_text() == "sync --background\n" * times


def test_what_changes_history_has_the_ledger_travel_and_waits_for_nothing(repo: Scratch, tmp_path: Path):
    install(repo)
    broken(repo)
    log = tmp_path / "asked"
    stop = f"while ! [ -e {tmp_path}/go ]; do sleep 0.05; done"
    hook(
        tmp_path / "bin" / "beadboard", f'#!/bin/sh\n[ "$1" = sync ] || exit 0\n{stop}\necho "$@" >> "{log}"\nexit 2\n'
    )
    path = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}

    assert well(try_to_commit(repo, "lib/x.py", **path)).err == ""
    well(git(repo, "checkout", "-b", "side", **path))
    well(git(repo, "checkout", "--", "lib/x.py", **path))  # no other branch, nothing to tell

    assert not log.exists(), "git is done before the ledger has travelled"
    (tmp_path / "go").touch()
    assert asked_to_sync(log, 2)
    remote = tmp_path / "remote.git"
    repo.git("init", "--quiet", "--bare", str(remote))
    assert well(git(repo, "push", "--quiet", str(remote), "side", **path)).err == ""
    assert asked_to_sync(log, 3)
    well(git(repo, "rebase", "--quiet", "--force-rebase", "HEAD~2", **path))
    well(git(repo, "commit", "--quiet", "--allow-empty", "-m", "Last", **path))
    assert asked_to_sync(log, 4), "a rebase makes many commits and is none of them"


def test_in_a_repository_without_a_ledger_the_hooks_are_silent(tmp_path: Path):
    bare = scratch(tmp_path / "bare")
    install(bare)

    ran = well(try_to_commit(bare, "a", **AS_HARBOR))

    assert ran.err == ""
    assert not bare.store.exists()
