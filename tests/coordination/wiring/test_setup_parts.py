"""Which hosts are in use, which parts a request means, and which options hooks were written with."""

from __future__ import annotations

import pytest

from bb.coordination.wiring import hook_options, hosts, opencode_plugin, setup_parts
from bb.coordination.wiring.editor_hooks import Wiring, command, wired
from bb.coordination.wiring.editors import PRE_TOOL, SESSION_START


def names(only: list[str] | None, *used: str) -> list[str]:
    return [part.name for part in setup_parts.chosen(only, used)]


def test_without_only_the_hosts_in_use_get_their_parts():
    assert names(None, "cursor") == [
        *("ledger", "git-hooks"),
        *(part.name for part in setup_parts.PARTS if part.host == "cursor"),
        "skill",
    ]


def test_a_kind_means_the_hosts_in_use_and_a_name_means_itself():
    assert names(["mcp"], "codex") == ["mcp-codex"]
    assert names(["mcp-claude"], "codex") == ["mcp-claude"]
    assert names(["claude", "skill"]) == ["hooks-claude", "mcp-claude", "skill"]


def test_every_name_is_taken_once():
    assert len(setup_parts.BY_NAME) == len(setup_parts.PARTS)
    assert len(set(setup_parts.CHOICES)) == len(setup_parts.CHOICES)


def test_a_host_is_in_use_by_its_files_or_its_programs():
    found = hosts.in_use([".claude"], ["claude", "code"])

    assert [(each.host, each.signs) for each in found] == [
        ("claude", (".claude", "claude on the PATH")),
        ("vscode", ("code on the PATH",)),
    ]


@pytest.mark.parametrize(
    ("files", "origin", "services"),
    [
        ([".github"], "git@gitlab.com:a/b", ["github"]),
        ([], "https://github.com/a/b.git", ["github"]),
        ([], "ssh://git@gitlab.example.org/a/b", ["gitlab"]),
        ([], "/srv/git/kettle.git", []),
    ],
)
def test_files_show_the_ci_service_before_the_origin_does(files: list[str], origin: str, services: list[str]):
    assert setup_parts.ci_services(files, origin) == services


def test_the_options_of_hooks_are_read_back():
    wiring = Wiring("claude", "/opt/my tools/bb", "amber-otter", auto_reserve=True, bead="bb-1", register=True)

    assert hook_options.wiring_of(wired("{}\n", wiring), "claude") == wiring


@pytest.mark.parametrize(
    "line",
    [
        "bb hook pre-tool --host claude; rm -rf src",
        "bb hook pre-tool --host claude && true",
        "env X=1 bb hook pre-tool --host claude",
        "bb hook pre-tool --host claude --payload '{}'",
        "bb hook pre-tool --host codex",
        "bb  hook pre-tool --host claude",
        "bb hook session-start --host claude",
        "bb hook pre-tool --host 'claude",
    ],
)
def test_a_line_that_bb_would_not_write_is_never_taken_for_one(line: str):
    assert hook_options.exact_options(line, "claude", PRE_TOOL) is None


def test_hooks_are_found_in_the_form_of_each_host():
    """Some hosts list groups of hooks, others list hooks, and OpenCode has a plugin."""
    line = "bb hook pre-tool --host cursor"
    listed = '{"version": 1, "hooks": {"preToolUse": [{"command": "./mine"}, {"command": "' + line + '"}]}}'
    plugin = opencode_plugin.plugin({"pre-tool": ["bb", "hook", "pre-tool", "--host", "opencode"]})

    assert list(hook_options.commands(listed, "cursor")) == [line]
    assert list(hook_options.commands(plugin, "opencode")) == ["bb hook pre-tool --host opencode"]
    assert list(hook_options.commands(plugin + "evil()", "opencode")) == []


def test_a_line_that_bb_wrote_is_recognised():
    wiring = Wiring("codex", register=True)

    found = hook_options.exact_options(command(wiring, SESSION_START), "codex", SESSION_START)

    assert found == wiring
