"""Groups within groups: three words are typed and answered like two."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.ops import catalogue, command_groups
from tests.near import Near, near

NESTED = [op for op in catalogue.all_ops() if len(op.words.split()) == 3]


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Near:
    folder: Path = tmp_path_factory.mktemp("nested")
    return near(folder / "repo", XDG_CONFIG_HOME=str(folder / "config"))


def test_there_are_some_and_each_is_in_a_group_that_says_what_it_is_about():
    assert {op.words.rpartition(" ")[0] for op in NESTED} == set(command_groups.SUBGROUPS)
    assert {op.words.partition(" ")[0] for op in NESTED} <= set(command_groups.GROUPS)


@pytest.mark.parametrize("op", NESTED, ids=lambda op: op.name)
def test_an_op_is_found_by_its_dotted_name(op: catalogue.Op):
    assert catalogue.find(op.name) is op
    assert op.words == op.name.replace(".", " ")
    assert op.group == "cbcl"


@pytest.mark.parametrize(
    "name", ["cbcl.trust", "cbcl.trust.", "cbcl.trust.fly", "cbcl..add", "trust.add", "cbcl.trust.add.x"]
)
def test_what_is_no_op_is_not_found(name: str):
    with pytest.raises(catalogue.UnknownOp):
        catalogue.find(name)


@pytest.mark.parametrize("group", command_groups.SUBGROUPS)
def test_a_group_alone_shows_what_is_in_it(repo: Near, group: str):
    words = group.split()
    shown = repo.bb(*words)
    assert shown.status == 0
    assert shown.out.startswith(f"Usage: bb {group} ")
    for op in NESTED:
        if op.words.startswith(f"{group} "):
            assert f"\n  {op.words.split()[-1]} " in shown.out
    assert repo.bb(*words, "--help").out == repo.bb("help", *words).out == shown.out
    assert repo.bb(words[0], "help", *words[1:]).out == shown.out


@pytest.mark.parametrize("group", command_groups.SUBGROUPS)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_group_alone_is_no_command_for_programs(repo: Near, group: str, place: int):
    words = group.split()
    refused = repo.bb(*words[:place], "--json", *words[place:])
    assert (refused.status, refused.code) == (2, "MISSING_COMMAND")
    assert refused.envelope["command"] == group
    assert refused.envelope["error"]["hint"] == f"see `bb {group} --help`"


@pytest.mark.parametrize("place", range(4))
def test_json_may_stand_before_between_and_behind(repo: Near, place: int):
    words = ["cbcl", "trust", "list"]
    answer = repo.bb(*words[:place], "--json", *words[place:])
    assert answer.data == {"authors": []}
    assert answer.envelope["command"] == "cbcl trust list"


@pytest.mark.parametrize(
    ("words", "command", "code", "hint"),
    [
        (["cbcl", "fly"], "cbcl fly", "UNKNOWN_COMMAND", "bb cbcl --help"),
        (["cbcl", "trust", "fly"], "cbcl trust fly", "UNKNOWN_COMMAND", "bb cbcl trust --help"),
        (["cbcl", "trust", "list", "stray"], "cbcl trust list", "UNEXPECTED_ARGUMENT", "bb cbcl trust list --help"),
        (["cbcl", "--fly"], "cbcl", "UNKNOWN_OPTION", "bb cbcl --help"),
        (["cbcl", "trust", "--fly"], "cbcl trust", "UNKNOWN_OPTION", "bb cbcl trust --help"),
        (["cbcl", "trust", "list", "--fly"], "cbcl trust list", "UNKNOWN_OPTION", "bb cbcl trust list --help"),
        (["cbcl", "trust", "remove", "a", "--public-key"], "cbcl trust remove", "MISSING_VALUE", "--help"),
        (["cbcl", "trust", "add"], "cbcl trust add", "MISSING_OPTION", "for example `bb cbcl trust add "),
    ],
)
def test_a_mistake_at_each_level_wears_the_envelope(repo: Near, words: list[str], command: str, code: str, hint: str):
    refused = repo.json(*words)
    assert (refused.status, refused.code, refused.envelope["command"]) == (2, code, command)
    assert hint in refused.envelope["error"]["hint"]
    told = repo.bb(*words)
    assert (told.status, told.out) == (2, "")
    assert told.err.startswith(f"Error: [{code}] ")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["cbcl", "trust", "lst"], "'list'"),
        (["cbcl", "trst", "list"], "'trust'"),
        (["trust"], "'bb cbcl trust'"),
        (["keygen"], "'bb cbcl keygen'"),
    ],
)
def test_a_misspelt_word_is_told_what_it_may_have_meant(repo: Near, words: list[str], meant: str):
    assert f"did you mean {meant}" in repo.json(*words).envelope["error"]["message"]


def test_the_same_name_is_called_on_the_socket_and_by_call(repo: Near):
    assert repo.json("call", "cbcl.trust.list").data == {"authors": []}
    assert repo.json("call", "cbcl.trust.list").envelope["command"] == "cbcl trust list"
    listed = {each["op"] for each in repo.json("call", "--list").data}
    assert {op.name for op in NESTED} <= listed
