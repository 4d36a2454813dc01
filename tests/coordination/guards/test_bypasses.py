"""Which shell commands switch off a protection of bb: its hooks, its branch, its refs, its files."""

from __future__ import annotations

import pytest

from bb.coordination.guards import bypasses, harmed_files, hazards
from bb.ledger.published.layout import BRANCH

FOUND = {
    "hooks": [
        "git commit --no-verify -m x",
        "git commit -n -m x",
        "git commit -nm x",
        "git commit -anm x",
        "git commit -qsn",
        "git commit --no-veri -m x",
        "git -C sub commit -n",
        "cd sub && git commit -n",
        "command git commit -n",
        "/usr/lib/git-core/git-commit -n",
        "bash -lc 'git commit --no-verify -m x'",
        "if ! git commit -n; then echo x; fi",
        "find . -name x -exec git commit -n ;",
        "git -c core.hooksPath=/dev/null commit -m x",
        "git -c core.hookspath= cherry-pick side",
        "git --config-env core.hooksPath=NOTHING revert HEAD",
        "git --config-env=core.hooksPath=NOTHING am x.patch",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=/dev/null git commit -m x",
        "GIT_CONFIG_PARAMETERS=\"'core.hooksPath'='/dev/null'\" git commit -m x",
        "HUSKY=0 git commit -m x",
        "env HUSKY=0 git commit -m x",
        "export HUSKY=0; git commit -m x",
        "HUSKY=0 bash -c 'git commit -m x'",
        "HUSKY_SKIP_HOOKS=1 git merge side",
        "LEFTHOOK=0 git commit -m x",
        "SKIP=ruff,bb-check git commit -m x",
        "git merge --no-verify side",
        "git pull --no-verify",
        "git am --no-verify x.patch",
        "git config core.hooksPath /dev/null",
        "git config --global --unset core.hooksPath",
        "git config set core.hooksPath x",
        "git config --remove-section core",
        "bb hooks uninstall",
        "pre-commit uninstall",
    ],
    "branch": [
        "git push origin --delete bb-ledger",
        "git push -d origin bb-ledger",
        "git push --del origin bb-ledger",
        "git push origin :bb-ledger",
        "git push origin :refs/heads/bb-ledger",
        "git push origin +x:bb-ledger",
        "git push -f origin bb-ledger",
        "git push --force-with-lease origin x:refs/heads/bb-ledger",
        "git push origin main:bb-ledger",
        "git push --mirror",
        "git push --mirr origin",
        "git push --prune",
        "git push --prune origin 'refs/heads/*'",
        "git push --prune --all origin",
        "git send-pack ../hub :refs/heads/bb-ledger",
        "git branch -D bb-ledger",
        "git branch -M bb-ledger other",
        "git branch -f bb-ledger HEAD",
    ],
    "refs": [
        "git update-ref -d refs/bb/ledger",
        "git update-ref refs/bb/ledger HEAD",
        "git symbolic-ref refs/bb/ledger refs/heads/main",
        "git for-each-ref --format='%(refname)' refs/bb | xargs -n1 git update-ref -d",
        "echo 'delete refs/bb/ledger' | git update-ref --stdin",
        "git fetch origin +main:refs/bb/ledger",
        "git push . HEAD:refs/bb/ledger",
        "git push origin --delete refs/bb/published",
        "git push origin :refs/bb/published",
        "git filter-branch --tree-filter x -- --all",
        "git filter-repo --path src",
    ],
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in FOUND.items() for text in texts])
def test_a_bypass_is_known_for_what_it_is(kind: str, text: str):
    assert [found.kind for found in bypasses.find_bypasses(text)] == [kind]
    assert "Instead: " in bypasses.find_bypasses(text)[0].reason()


@pytest.mark.parametrize(
    "text",
    [
        *("git commit -m -n", "git commit -uno -m x", "git commit -Sn", "git commit -m --no-verify", "git commit -F n"),
        *("git commit -n --dry-run", "git merge -n side", "git push --no-verify", "git cherry-pick -n side"),
        *("git revert -n HEAD", "git -c core.hooksPath=/dev/null status", "git -c user.name=x commit", "git fetch"),
        *("git config core.hooksPath", "git config --get core.hooksPath", "git config user.name x", "git config -l"),
        *("HUSKY=1 git commit -m x", "HUSKY=0 npm install", "SKIP=ruff git commit -m x", "export HUSKY=0; ls"),
        *("git push origin main", "git push --dry-run --mirror", "git push origin --delete side", "git push"),
        *("git push origin --prune main:main", "git branch bb-ledgers", "git log bb-ledger", "git branch -D side"),
        *(
            "git fetch origin bb-ledger",
            "git update-ref -d refs/heads/side",
            "git show refs/bb/ledger",
            "bb hooks status",
        ),
        *("echo git commit -n", "git commit -m 'do not use --no-verify'", "git filter-repo --refs main"),
    ],
)
def test_what_is_no_bypass_is_left_alone(text: str):
    assert bypasses.find_bypasses(text) == []


def test_the_branch_is_the_one_that_sync_writes():
    assert f"refs/heads/{bypasses.LEDGER_BRANCH}" == BRANCH


@pytest.mark.parametrize(
    "text",
    [
        *(
            "rm -rf .git/bb",
            "rm -rf .git",
            "rm -rf ./.git/",
            "rm -rf ../r",
            "rm -rf /r",
            "rm -r .git/b*",
            "rm .git/bb/x",
        ),
        *("cd .git && rm -rf bb", "rm -rf .git/{hooks,bb}", "mv .git/bb /tmp", "mv .git elsewhere", "rmdir .git/bb"),
        *("find .git/bb -delete", "find . -delete", "find .git -path '*/bb/*' -delete", "find .git/bb -exec rm {} +"),
        *("echo x > .git/bb/clone.json", ": >> .git/bb/j/w/1.jsonl", "tee .git/bb/x", "cp x .git/bb/clone.json"),
        *("chmod -R 000 .git", "chmod 000 .git/bb", "sed -i s/a/b/ .git/bb/clone.json", "truncate -s 0 .git/bb/x"),
        *("rsync -a --delete x/ .git/bb/", "ln -sf /dev/null .git/bb/clone.json", "shred .git/bb/x", "sudo rm -r .git"),
        *("rm -rf $(git rev-parse --git-dir)/bb", "git --work-tree=.git/bb clean -fdx", "dd if=/dev/zero of=.git/bb/x"),
    ],
)
def test_a_command_that_would_harm_the_ledgers_files_is_found(text: str):
    assert is_harmful(text)


@pytest.mark.parametrize(
    "text",
    [
        *("rm -rf build", "rm -rf *", "rm .git", "rm -rf .git/bbx", "rm -f .git/index.lock", "rm -rf .git/hooks", "ls"),
        *("find . -name '*.pyc' -delete", "find . -name x -exec rm -rf {} +", "find .git -name '*.lock' -delete"),
        *("chmod -R u+w .", "cat .git/bb/clone.json", "cp -r .git/bb /tmp/x", "mv a b", "rsync -a .git/bb/ /tmp/x/"),
        *("grep x .git/bb/j/w/1.jsonl > /tmp/x", "rm -rf $HOME/x", "rm -rf ~/x", "git clean -fdx", "touch x .github/y"),
    ],
)
def test_other_files_are_no_business_of_this_check(text: str):
    assert not is_harmful(text)


def is_harmful(text: str) -> bool:
    """Whether the ledger of /r would be harmed by a command that is run in /r."""
    found = harmed_files.find_harmed_files(text)
    return any(file.harms(_absolute(file.path), "/r/.git/bb", "/r/.git") for file in found)


def _absolute(path: str) -> str:
    parts: list[str] = []
    for part in (path if path.startswith("/") else f"/r/{path}").split("/"):
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("BB_AGENT=user git commit -m x", "BB_AGENT=user git commit"),
        ("BB_AGENT= git revert HEAD", "BB_AGENT= git revert"),
        ("env -u BB_AGENT git commit -m x", "BB_AGENT= git commit"),
        ("env -i git commit -m x", "BB_AGENT= git commit"),
        ("unset BB_AGENT && git commit -m x", "BB_AGENT= git commit"),
        ("export BB_AGENT=user; bb reserve src", "bb reserve src"),
        ("BB_AGENT=user bash -c 'bb release --all'", "bb release --all"),
        ("BB_AGENT=amber-otter git commit -m x", None),
        ("env -i BB_AGENT=amber-otter git commit -m x", None),
        ("BB_AGENT=user git status", None),
        ("BB_AGENT=user bb inbox", None),
    ],
)
def test_an_agent_that_takes_its_name_away_acts_as_the_person(text: str, order: str | None):
    assert hazards.find_person_command(text, lambda words: words[0] == "inbox") == order
