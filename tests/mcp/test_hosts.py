"""`bb mcp install`: one entry in a host's configuration, put in once, taken out again, and nothing else touched."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from bb.coordination.wiring import mcp_hosts
from bb.coordination.wiring.mcp_hosts import HOSTS, NameTaken, Wanted, entry, is_ours, unwired, wired
from bb.kernel.json_text import NotJson
from tests.mcp.mcp_support import Here
from tests.support import Ran

SCHEMA = "https://opencode.ai/config.json"

JSON_HOSTS = [name for name, host in HOSTS.items() if not host.is_toml]
OTHER = {"type": "stdio", "command": "npx", "args": ["-y", "some-server"], "env": {"KEY": "$KEY"}}


def read(here: Here, host: str) -> dict[str, Any]:
    text = (here.repo.path / HOSTS[host].file).read_text()
    found: dict[str, Any] = tomllib.loads(text) if HOSTS[host].is_toml else json.loads(text)
    return found


def install(here: Here, host: str, *more: str) -> Ran:
    return here.repo.bb("mcp", "install", "--host", host, *more, "--json")


def config(here: Here, host: str, text: str) -> Path:
    path = here.repo.path / HOSTS[host].file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("host", HOSTS)
def test_an_entry_is_written_once_and_taken_out_without_a_trace(here: Here, host: str):
    before = sorted(path.name for path in here.repo.path.iterdir())

    assert install(here, host).data["changed"] is True
    schema = {"$schema": SCHEMA} if host == "opencode" else {}
    assert read(here, host) == schema | {HOSTS[host].servers: {"bb": entry(Wanted(host))}}
    assert install(here, host).data["changed"] is False
    assert install(here, host, "--undo").data["changed"] is True
    assert install(here, host, "--undo").data["changed"] is False
    assert sorted(path.name for path in here.repo.path.iterdir()) == before


@pytest.mark.parametrize("host", HOSTS)
def test_there_is_no_secret_in_it_and_no_path_of_this_machine(here: Here, host: str):
    install(here, host)

    text = (here.repo.path / HOSTS[host].file).read_text()
    assert str(here.repo.path) not in text
    assert "/" not in text.replace("${workspaceFolder}", "").replace(SCHEMA, "")
    assert "token" not in text.lower()


@pytest.mark.parametrize("host", HOSTS)
def test_a_dry_run_says_what_would_be_done_and_does_nothing(here: Here, host: str):
    told = install(here, host, "--dry-run").data

    assert (told["changed"], told["is_done"]) == (True, False)
    assert told["entry"] == entry(Wanted(host))
    assert not (here.repo.path / HOSTS[host].file).exists()


@pytest.mark.parametrize("host", JSON_HOSTS)
@pytest.mark.parametrize(
    "form",
    [
        json.dumps,
        lambda found: json.dumps(found, indent=2) + "\n",
        lambda found: json.dumps(found, indent="\t"),
        lambda found: json.dumps(found, indent=4).replace("\n", "\r\n") + "\r\n",
        lambda found: "\n\n" + json.dumps(found, separators=(",", ":")) + "  ",
    ],
    ids=["line", "two", "tabs", "crlf", "dense"],
)
def test_everything_else_in_a_json_file_stays_byte_for_byte(here: Here, host: str, form: Any):
    servers = HOSTS[host].servers
    text = form({"z": [1, {"a": 1.50}], servers: {"other": OTHER}, "é": "\u00e9\\u00e9", "a": None})
    path = config(here, host, text)

    assert install(here, host).data["changed"] is True
    found = json.loads(path.read_text())
    assert list(found) == ["z", servers, "é", "a"]
    assert found[servers] == {"other": OTHER, "bb": entry(Wanted(host))}
    assert install(here, host, "--undo").data["changed"] is True
    assert path.read_bytes() == text.encode()


TOML = """# Mine.
model = "o9"   # the good one
[mcp_servers.other]
command = "npx"
args = [ "-y",
  "some-server" ]

[mcp_servers.other.env]
KEY = '''
[mcp_servers.bb]
'''
[[profiles]]
name = "x"
"""


@pytest.mark.parametrize("text", [TOML, TOML.replace("\n", "\r\n"), "\n# only a note\n", "model = 1\n"])
def test_everything_else_in_a_toml_file_stays_byte_for_byte(here: Here, text: str):
    path = config(here, "codex", text)

    assert install(here, "codex").data["changed"] is True
    assert path.read_bytes().startswith(text.encode())
    assert tomllib.loads(path.read_text())["mcp_servers"]["bb"] == entry(Wanted("codex"))
    assert install(here, "codex").data["changed"] is False
    assert install(here, "codex", "--undo").data["changed"] is True
    assert path.read_bytes() == text.encode()


def test_what_stands_behind_our_table_stays_with_the_note_above_it():
    ours = wired("a = 1\n", Wanted("codex"))
    text = ours + "\n# the other one\n[mcp_servers.x]\ncommand = 'x'\n"

    assert unwired(text, "codex") == "a = 1\n\n# the other one\n[mcp_servers.x]\ncommand = 'x'\n"


@pytest.mark.parametrize("host", HOSTS)
def test_with_other_options_it_is_ours_that_is_replaced(here: Here, host: str):
    install(here, host)

    assert install(here, host, "--program", "beadboard", "--agent", "amber-otter").data["changed"] is True
    (found,) = read(here, host)[HOSTS[host].servers].values()
    assert "amber-otter" in str(found)
    assert "beadboard" in str(found)
    assert install(here, host, "--undo").data["changed"] is True
    assert not (here.repo.path / HOSTS[host].file).exists()


@pytest.mark.parametrize("host", HOSTS)
def test_what_somebody_added_to_our_entry_stays(host: str):
    text = wired("", Wanted(host))
    more = "timeout = 5\n" if HOSTS[host].is_toml else '"timeout": 5, '
    at = len(text) if HOSTS[host].is_toml else text.index('"command"')
    text = text[:at] + more + text[at:]

    assert wired(text, Wanted(host)) == text
    again = wired(text, Wanted(host, "beadboard"))
    found = (tomllib.loads if HOSTS[host].is_toml else json.loads)(again)[HOSTS[host].servers]["bb"]
    assert found == entry(Wanted(host, "beadboard")) | {"timeout": 5}


@pytest.mark.parametrize("host", HOSTS)
def test_another_server_of_that_name_is_left_alone(here: Here, host: str):
    text = '[mcp_servers.bb]\ncommand = "bb"\nargs = ["run", "server.clj"]\n'
    if not HOSTS[host].is_toml:
        text = json.dumps({HOSTS[host].servers: {"bb": {"command": "bb", "args": ["run", "server.clj"]}}})
    path = config(here, host, text)

    refused = install(here, host)

    assert (refused.status, refused.code) == (7, "MCP_NAME_TAKEN")
    assert install(here, host, "--undo").data["changed"] is False
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("claude", "{"),
        ("claude", "[]"),
        ("claude", '{"mcpServers": []}'),
        ("claude", '{"mcpServers": {"bb": {}},}'),
        ("vscode", '// mine\n{"servers": {}}'),
        ("gemini", "\ufeff{}"),
        ("codex", "model = "),
        ("codex", 'mcp_servers = "none"'),
        ("codex", 'mcp_servers = {other = {command = "x"}}'),
        ("codex", '[mcp_servers."bb"]\ncommand = "old"\nargs = ["mcp"]\n'),
        ("codex", '[mcp_servers.bb]\ncommand = "old"\nargs = ["mcp"]\n[mcp_servers.bb.env]\nA = "1"\n'),
    ],
)
def test_a_file_that_cannot_be_understood_is_left_as_it_is(here: Here, host: str, text: str):
    path = config(here, host, text)

    refused = install(here, host)

    assert (refused.status, refused.code) == (4, "SETTINGS_UNREADABLE")
    assert "docs/mcp.md" in refused.envelope["error"]["hint"]
    assert path.read_bytes() == text.encode()
    assert list(path.parent.glob("*.tmp")) == []


@pytest.mark.parametrize(
    "text",
    [
        '// mine\n{"servers": {}}',
        '{"servers": {/* none\nyet */}}',
        '{"servers": {"a": {"url": "http://a.invalid/,}"},},}',
        '{"a": "\\"//", // why\n "servers": {"x": {"args": ["/*", ",]",],}}}',
    ],
)
def test_a_file_with_comments_is_left_alone_and_what_to_add_is_named(here: Here, text: str):
    path = config(here, "vscode", text)

    refused = install(here, "vscode").envelope["error"]
    undone = install(here, "vscode", "--undo").envelope["error"]

    assert "it seems to have comments, or commas" in refused["message"]
    assert refused["details"]["servers"] == "servers"
    assert refused["details"]["entry"] == {
        "type": "stdio",
        "command": "bb",
        "args": ["mcp", "--directory", "${workspaceFolder}"],
    }
    assert refused["hint"].endswith(f': "bb": {entry_text(refused)} in servers')
    assert "remove bb from its servers by hand" in undone["hint"]
    assert path.read_text() == text


def entry_text(refused: dict[str, Any]) -> str:
    return json.dumps(refused["details"]["entry"], separators=(",", ":"))


@pytest.mark.parametrize("text", ["{", "[// a list\n]", '{"a": "// no comment"} x', "{/* never closed", '{"a": ,}'])
def test_what_is_broken_otherwise_is_not_called_commented(here: Here, text: str):
    config(here, "vscode", text)

    refused = install(here, "vscode").envelope["error"]

    assert refused["code"] == "SETTINGS_UNREADABLE"
    assert "comments" not in refused["message"]


def test_where_the_file_is_toml_the_table_to_add_is_named(here: Here):
    config(here, "codex", "model = ")

    hint = install(here, "codex").envelope["error"]["hint"]

    assert 'the table [mcp_servers.bb] with command = "bb", args = ["mcp"], env_vars = ["BB_AGENT"]' in hint


def test_what_is_no_text_is_left_as_it_is(here: Here):
    path = here.repo.path / ".mcp.json"
    path.write_bytes(b'{"a": "\xff"}')

    assert install(here, "claude").code == "SETTINGS_UNREADABLE"
    assert path.read_bytes() == b'{"a": "\xff"}'


def test_permissions_of_the_file_stay(here: Here):
    real = here.repo.path / ".mcp.json"
    real.write_text("{}\n")
    real.chmod(0o640)

    install(here, "claude")

    assert real.stat().st_mode & 0o777 == 0o640
    assert "bb" in json.loads(real.read_text())["mcpServers"]


def test_a_link_in_the_place_of_the_file_is_not_written_through(here: Here, tmp_path: Path):
    real = tmp_path / "real.json"
    real.write_text("{}\n")
    (here.repo.path / ".mcp.json").symlink_to(real)

    assert install(here, "claude").code == "LINK_IN_THE_WAY"
    assert real.read_text() == "{}\n"


def test_from_a_folder_below_it_is_the_project_s_file_that_is_written(here: Here):
    (here.repo.path / "src").mkdir()

    told = here.repo.bb("mcp", "install", "--host", "claude", "--json", cwd=here.repo.path / "src").data

    assert told["path"] == str(here.repo.path / ".mcp.json")


def test_outside_a_repository_nothing_is_written(here: Here, tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    assert here.repo.bb("mcp", "install", "--host", "claude", "--json", cwd=elsewhere).code == "NOT_A_REPOSITORY"
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(
    ("found", "is_it"),
    [
        (None, False),
        ({}, False),
        ({"command": "bb"}, False),
        ({"command": "bb", "args": "mcp"}, False),
        ({"command": ["bb"], "args": ["mcp"]}, True),
        ({"command": "/opt/x/bb", "args": ["mcp", "--agent", "amber-otter"]}, True),
        ({"command": "python3", "args": ["-m", "bb", "mcp"]}, True),
        ({"command": "bb", "args": ["mcp", "serve"]}, False),
        ({"command": "bb", "args": [5, {}]}, False),
    ],
)
def test_ours_is_what_starts_bb_mcp(found: Any, is_it: bool):
    assert is_ours(found) is is_it


def test_a_refusal_says_which_file_it_is_about():
    with pytest.raises(NameTaken.error) as refusal:
        wired('{"mcp": {"bb": {"command": ["other"]}}}', Wanted("opencode"))

    assert refusal.value.details == {"file": "opencode.json"}
    with pytest.raises(NotJson):
        mcp_hosts.unwired("[]", "claude")


def test_a_new_configuration_of_opencode_has_its_schema_so_that_opencode_leaves_it():
    made = wired("", Wanted("opencode"))

    assert list(json.loads(made)) == ["$schema", "mcp"]
    assert unwired(made, "opencode") == "{}\n"  # an empty file is removed
    theirs = '{"model": "x"}'
    assert unwired(wired(theirs, Wanted("opencode")), "opencode") == theirs
