"""One envelope, one exit status, one wording: for every op, every mistake, and wherever `--json` stands."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from bb.cli.calls import output
from bb.ops import catalogue
from bb.ops.catalogue import Op
from bb.ops.params import Flag
from tests.faces.faces_support import statuses
from tests.faces.good_calls import commands, good_words, prepare
from tests.forks import Call
from tests.grids import some
from tests.near import near, run_all
from tests.support import NOON, Ran, Scratch, environment

OPS = commands()
FAMILIES = statuses()
QUESTIONS = ["agent.list", "agent.show", "ledger.status", "ledger.log", "ledger.show", "ledger.verify", "ledger.export"]


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    made = near(tmp_path_factory.mktemp("everywhere") / "repo")
    made.settings["BB_NOW"] = NOON
    prepare(made)
    return made


def mistakes(op: Op, repo: Scratch) -> Iterator[list[str]]:
    """Words that cannot be right for OP, whatever it does."""
    good = good_words(op, repo)
    yield [*good, "--no-such-option"]
    yield [*good, "--no-such-option=1"]
    yield [*good, "-q"]
    if not any(parameter.is_argument and parameter.is_repeated for parameter in op.parameters):
        yield [*good, "stray"]
        yield [*good, "--", "stray"]
        yield [*good, "stray\x1b[2J\n"]
    yield [*good, "--json=1"]
    yield [*good, "--help=1"]
    yield [*good, "\udcff"]
    for parameter in op.parameters:
        if parameter.is_argument:
            continue
        yield [*good, parameter.option[:-1]]
        if parameter.kind is Flag:
            yield [*good, f"{parameter.option}=1"]
        else:
            yield [*good, parameter.option]
            yield [*good, parameter.option, parameter.option]


EDITORS = {op.words for op in catalogue.all_ops() if op.output == catalogue.EDITOR}


def assert_refused_in_both_forms(asked: Ran, told: Ran, call: Call) -> None:
    assert not asked.envelope["ok"], f"{call}: {asked.out}"
    error = asked.envelope["error"]
    assert set(error) <= {"code", "message", "hint", "details"}, call
    assert asked.err == "", call
    assert error["code"] != "INTERNAL_ERROR", f"{call}: {error['message']}"
    # An editor takes 2 from its hook for an order to stop, so there a mistake has a status of its own.
    is_hook = asked.envelope["command"] in EDITORS
    assert asked.status == told.status == (output.NO_VERDICT if is_hook else FAMILIES[error["code"]]), call
    assert told.out == "", call
    said = [f"Error: [{error['code']}]", *([f"Hint: {error['hint']}"] if "hint" in error else [])]
    lines = told.err.splitlines()
    assert len(lines) == len(said), call
    assert lines[0].startswith(said[0] + " "), call
    assert lines[1:] == said[1:], call
    assert told.err.replace("\n", "").isprintable(), call


@pytest.mark.parametrize("op", OPS.values(), ids=OPS)
def test_a_mistake_is_refused_alike_in_json_and_for_people(repo: Scratch, op: Op):
    words = some(mistakes(op, repo), 8)
    ledger = repo.journal().read_bytes()

    asked = run_all(repo, [Call([one[0], "--json", *one[1:]]) for one in words])
    told = run_all(repo, [Call(one) for one in words])

    for one, in_json, as_text in zip(words, asked, told, strict=True):
        assert_refused_in_both_forms(in_json, as_text, Call(one))
        assert in_json.envelope["command"] == op.words
        assert in_json.status == (output.NO_VERDICT if op.output == catalogue.EDITOR else 2)
    assert repo.journal().read_bytes() == ledger


@pytest.mark.parametrize("name", QUESTIONS)
def test_json_may_stand_anywhere_and_twice(repo: Scratch, name: str):
    words = good_words(OPS[name], repo)
    placed = [[*words[:place], "--json", *words[place:]] for place in range(len(words) + 1)]
    # Between an option and its value it would be the value's place; that it is taken there too is not promised.
    placed = [one for one in placed if "--agent" not in one or one[one.index("--agent") + 1] != "--json"]
    placed += [["--json", *one] for one in placed]

    answers = run_all(repo, [Call(one) for one in placed])

    assert {answer.status for answer in answers} == {0}
    assert len({answer.out for answer in answers}) == 1
    assert answers[0].envelope["command"] == OPS[name].words


@pytest.mark.parametrize("op", OPS.values(), ids=OPS)
def test_help_is_given_in_json_too_wherever_it_is_asked_for(repo: Scratch, op: Op):
    words = op.words.split()
    ways = [
        [*words, "--help", "--json"],
        ["--json", *words, "--help"],
        [*words, "-h", "--json"],
        ["help", *words, "--json"],
        ["--json", "help", *words],
        [*good_words(op, repo), "--help", "--json"],
    ]
    told = repo.bb(*words, "--help", COLUMNS="100").out

    answers = run_all(repo, [Call(one) for one in ways])

    assert told.startswith(f"Usage: bb {op.words} ")
    for one, answer in zip(ways, answers, strict=True):
        assert answer.data == {"help": told}, one
        assert answer.envelope["command"] == op.words, one


HELP_ASKED_WRONGLY = [
    ["agent", "heartbeat", "--agent", "--help"],
    ["agent", "register", "--role", "--help", "--name", "x-y"],
    ["agent", "heartbeat", "--nonsense", "--help"],
    ["agent", "heartbeat", "--help", "--nonsense"],
    ["agent", "heartbeat", "stray", "--help"],
    ["agent", "nonsense", "--help"],
    ["nonsense", "--help"],
    ["nonsense", "-h"],
    ["help", "nonsense"],
    ["help", "agent", "nonsense"],
    ["help", "agent", "heartbeat", "--agent"],
    ["agent", "heartbeat", "--", "-h"],
    ["agent", "list", "--", "--help"],
    ["--nonsense", "--help"],
    ["call", "--args", "--help"],
    ["demo", "--keep=1", "--help"],
]


@pytest.mark.parametrize("words", HELP_ASKED_WRONGLY, ids=" ".join)
def test_json_does_not_change_what_becomes_of_a_mistake_beside_help(repo: Scratch, words: list[str]):
    """Where a person is told what is wrong, a program is told the same; where a person gets help, so does a program."""
    asked, told = run_all(repo, [Call(["--json", *words]), Call(words)])

    if told.status == 0:
        assert asked.data == {"help": told.out}
    else:
        assert_refused_in_both_forms(asked, told, Call(words))


@pytest.mark.parametrize(
    "words",
    [
        ["agent", "show", "--agent", "-h"],
        ["agent", "register", "--role", " ", "--name", "-h"],
        ["ledger", "log", "--limit", "-h"],
        ["call", "agent.show", "--args", "-h"],
    ],
    ids=" ".join,
)
def test_a_short_help_in_the_place_of_a_value_is_help_or_a_value_but_not_one_in_json_and_the_other_as_text(
    repo: Scratch, words: list[str]
):
    asked, told = run_all(repo, [Call([*words, "--json"]), Call(words)])

    assert asked.status == told.status
    if asked.status == 0:
        assert asked.data == {"help": told.out}
    else:
        assert_refused_in_both_forms(asked, told, Call(words))


def test_a_role_is_not_called_help_by_accident(repo: Scratch):
    """`--role --help` is refused for want of a value, so `--role -h` may not become the role `-h`."""
    run_all(repo, [Call(["agent", "register", "--name", "shy-lynx", "--role", "-h"])])

    assert repo.json("agent", "show", "--agent", "shy-lynx").code == "AGENT_NOT_FOUND"


@pytest.mark.parametrize("words", [["agent", "help"], ["ledger", "help"], ["agent", "help", "heartbeat"]])
def test_help_is_a_word_at_either_level(repo: Scratch, words: list[str]):
    """`help` at either level prints help and exits 0 (the original's command line)."""
    (told,) = run_all(repo, [Call(words)])

    assert (told.status, told.out[:12]) == (0, f"Usage: bb {words[0]}"[:12])


FAMILY = {
    2: ["agent", "show", "--agent", "../x"],
    3: ["agent", "show", "--agent", "nobody-here"],
    4: ["init", "--undo"],
    7: ["agent", "register", "--name", "amber-otter", "--role", "builder"],
}


@pytest.mark.parametrize("status", FAMILY)
def test_a_family_has_its_exit_status(repo: Scratch, status: int):
    asked, told = run_all(repo, [Call([*FAMILY[status], "--json"]), Call(FAMILY[status])])

    assert (asked.status, told.status) == (status, status)
    assert_refused_in_both_forms(asked, told, Call(FAMILY[status]))


REFUSING = """
import sys
from bb.kernel.errors import {family}
from bb.ops import catalogue
def refuse(desk, **_):
    raise {family}("it is not to be", holder="ada")
catalogue._declared["agent.list"] = catalogue.find("agent.list").replace(call=refuse)
sys.argv = ["bb", "agent", "list", *sys.argv[1:]]
from bb.__main__ import main
main()
"""


def test_what_belongs_to_somebody_else_is_5_and_what_is_held_is_6(repo: Scratch):
    """Root is let in everywhere and a lock is soon let go, so these two are raised in the place of an op."""
    for family, status in (("Forbidden", 5), ("Busy", 6)):
        asked, told = (_python(repo, REFUSING.format(family=family), *tail) for tail in (["--json"], []))

        assert asked.envelope["error"] == {
            "code": family.upper(),
            "message": "it is not to be",
            "hint": None,
            "details": {"holder": "ada"},
        }
        assert (asked.status, told.status, told.err) == (
            status,
            status,
            f"Error: [{family.upper()}] it is not to be\n",
        )


def _python(repo: Scratch, code: str, *words: str) -> Ran:
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=repo.path, env=environment(), capture_output=True, text=True
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def test_every_code_is_a_word_in_capitals_and_no_family_but_a_bug_has_status_1():
    assert all(re.fullmatch(r"[A-Z][A-Z0-9_]+", code) for code in FAMILIES)
    assert {code for code, status in FAMILIES.items() if status == 1} == {"INTERNAL_ERROR"}
    assert set(FAMILIES.values()) == {1, 2, 3, 4, 5, 6, 7}


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["agnt", "list"], "agent"),
        (["ledgr"], "ledger"),
        (["doctr"], "doctor"),
        (["dmeo"], "demo"),
        (["agent", "regster"], "register"),
        (["agent", "heartbeet"], "heartbeat"),
        (["agent", "lsit"], "list"),
        (["ledger", "verfy"], "verify"),
        (["--json", "agent", "lsit"], "list"),
    ],
)
def test_a_misspelt_word_is_answered_with_the_one_that_was_meant(repo: Scratch, words: list[str], meant: str):
    plain = [word for word in words if word != "--json"]
    asked, told = run_all(repo, [Call(["--json", *plain]), Call(plain)])

    assert asked.code == "UNKNOWN_COMMAND"
    assert f"'{meant}'" in asked.envelope["error"]["message"]
    assert f"'{meant}'" in told.err
    assert_refused_in_both_forms(asked, told, Call(plain))


def test_a_word_like_none_is_not_guessed_at(repo: Scratch):
    asked = repo.json("zzzzzz")

    assert asked.envelope["error"]["message"] == "No such command 'zzzzzz'"


@pytest.mark.parametrize("typed", ["--agnet", "--agen", "--forse-update"])
def test_a_misspelt_option_is_answered_with_the_one_that_was_meant(repo: Scratch, typed: str):
    verb = ["agent", "register"] if "update" in typed else ["agent", "show"]
    meant = "--force-update" if "update" in typed else "--agent"

    (asked,) = run_all(repo, [Call([*verb, typed, "--json"])])

    assert asked.code == "UNKNOWN_OPTION"
    assert meant in asked.envelope["error"]["message"]


def test_every_pair_of_commands_words_is_answered_by_one_envelope(repo: Scratch):
    """Whatever two words stand at the start, a program gets one document."""
    heads = ["agent", "ledger", "init", "doctor", "call", "help", "list", "", "-", "--", "--version", "nonsense", "-h"]
    calls = [Call(["--json", *pair]) for pair in itertools.product(heads, repeat=2) if "init" not in pair]

    for call, answer in zip(calls, run_all(repo, calls), strict=True):
        envelope = answer.envelope
        assert envelope["ok"] or envelope["error"]["code"] != "INTERNAL_ERROR", call
        assert answer.err == "", call


@pytest.mark.parametrize("option", ["--show-completion", "--version"])
def test_the_programs_own_options_answer_in_json_too(repo: Scratch, option: str):
    (answer,) = run_all(repo, [Call([option, "--json"])])

    # There is no completion for every shell that may run this.
    assert answer.envelope["ok"] or answer.envelope["error"]["code"] == "UNKNOWN_SHELL"
    assert answer.envelope["ok"] or option == "--show-completion"
