"""`bb call OP --args JSON`: any op by its name, with the strictness of a socket request."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bb.cli.calls import output
from bb.ops import catalogue
from bb.ops.json_params import Json
from bb.ops.params import Flag, Number
from tests.faces.faces_support import everything_in
from tests.forks import Call
from tests.grids import some
from tests.near import near, run_all
from tests.support import NOON, Ran, Scratch

OPS = {op.name: op for op in catalogue.all_ops()}


def mistaken(op: str) -> int:
    """How a mistake in calling OP ends: an editor takes 2 for an order to stop."""
    return output.NO_VERDICT if catalogue.find(op).output == catalogue.EDITOR else 2


EVERY = [(op, parameter) for op in OPS.values() for parameter in op.parameters]
FIELDS = [(op, field) for op, field in EVERY if not issubclass(field.kind, Json)]
JUDGED = [(op, field) for op, field in EVERY if issubclass(field.kind, Json)]  # by the rules of the op, whatever it is


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    made = near(tmp_path_factory.mktemp("call") / "repo")
    made.settings["BB_NOW"] = NOON
    for name in ("amber-otter", "cobalt-harbor"):
        assert made.bb("agent", "register", "--name", name, "--role", "builder").status == 0
    return made


def called(repo: Scratch, *asked: tuple[str, Any]) -> list[Ran]:
    """What each op answers to its arguments."""
    return run_all(repo, [Call(["call", op, "--args", json.dumps(given), "--json"]) for op, given in asked])


def test_an_op_called_by_name_answers_as_its_command_does(repo: Scratch):
    pairs: list[tuple[str, dict[str, Any], list[str]]] = [
        ("agent.list", {}, ["agent", "list"]),
        ("agent.list", {"liveness": "stale"}, ["agent", "list", "--liveness", "stale"]),
        ("agent.show", {"agent": "amber-otter"}, ["agent", "show", "--agent", "amber-otter"]),
        ("ledger.log", {"kind": ["actor.add"], "limit": 1}, ["ledger", "log", "--kind", "actor.add", "--limit", "1"]),
        ("ledger.status", {}, ["ledger", "status"]),
        ("ledger.export", {"agent": "cobalt-harbor"}, ["ledger", "export", "--agent", "cobalt-harbor"]),
        ("init", {"dry_run": True}, ["init", "--dry-run"]),
        (
            "agent.register",
            {"name": "amber-otter", "role": "x"},
            ["agent", "register", "--name", "amber-otter", "--role", "x"],
        ),
        ("agent.show", {"agent": "nobody-here"}, ["agent", "show", "--agent", "nobody-here"]),
        ("ledger.show", {"event": "x"}, ["ledger", "show", "x"]),
    ]

    by_name = called(repo, *((op, given) for op, given, _ in pairs))
    typed = run_all(repo, [Call([*words, "--json"]) for *_, words in pairs])

    assert by_name == typed
    assert run_all(repo, [Call(["call", op, "--args", json.dumps(given)]) for op, given, _ in pairs]) == run_all(
        repo, [Call(words) for *_, words in pairs]
    )


@pytest.mark.parametrize("op", OPS)
def test_an_unknown_field_is_refused_with_the_path_to_it(repo: Scratch, op: str):
    (answer,) = called(repo, (op, {"nonsense": 1}))

    assert (answer.status, answer.code) == (mistaken(op), "UNKNOWN_FIELD")
    assert answer.envelope["error"]["details"] == {"path": "$.nonsense"}
    assert answer.envelope["command"] == OPS[op].words


@pytest.mark.parametrize(("op", "parameter"), FIELDS, ids=[f"{op.name} {field.name}" for op, field in FIELDS])
def test_a_value_of_the_wrong_type_is_refused_with_the_path_to_it(repo: Scratch, op: Any, parameter: Any):
    """A word that looks like a number is none, and a number that could be a switch is none either."""
    wrong: list[Any] = [{}, 1.5, float("1e300"), [[]], ["x", 5], {"a": 1}]
    wrong += [] if parameter.is_repeated else [["amber-otter"]]
    wrong += [] if parameter.kind is Flag else [True, False]
    wrong += [0, 1, "true", ""] if parameter.kind is Flag else []
    wrong += ["5", "", -1, parameter.kind.least - 1, 10**30] if issubclass(parameter.kind, Number) else []
    takes_numbers = parameter.kind is Flag or issubclass(parameter.kind, Number) or parameter.kind.takes_numbers
    wrong += [] if takes_numbers else [5, 0]
    needed = {
        "name": "shy-lynx",
        "role": "x",
        "event": "a.1",
        "scope": ["x"],
        "category": "INFO",
        "urgency": "low",
        "as": "accepted",
        "editor": "claude",
        "host": "claude",
    }
    required = [field for field in op.parameters if field.is_required]
    base = {field.name: needed.get(field.name, ["x"] if field.is_repeated else "x") for field in required}

    wrong = some(wrong, 5)
    answers = called(repo, *((op.name, base | {parameter.name: value}) for value in wrong))

    for value, answer in zip(wrong, answers, strict=True):
        assert (answer.status, answer.code) == (mistaken(op.name), "INVALID_VALUE"), value
        assert answer.envelope["error"]["details"]["path"].startswith(f"$.{parameter.name}"), value


ANYTHING: list[Any] = [10**30, 1.5, "", "\ud7ff", "../x", [[]], {"a": 1}]
ANYTHING_ELSE: list[Any] = [True, 0, -1, " ", "\x00", "x" * 9000, [], {}]


@pytest.mark.parametrize("anything", [ANYTHING, pytest.param(ANYTHING_ELSE, marks=pytest.mark.long)], ids=["", "else"])
@pytest.mark.parametrize(("op", "parameter"), JUDGED, ids=[f"{op.name} {field.name}" for op, field in JUDGED])
def test_a_value_that_the_rules_judge_may_be_anything_and_is_never_a_bug(
    repo: Scratch, op: Any, parameter: Any, anything: list[Any]
):
    anything = some(anything, 3)
    values = [[value] for value in anything] if parameter.is_repeated else anything
    known = {"actor_id": "amber-otter", "text": "Hello", "event_id": "a.1"}
    base = {field.name: known[field.name] for field in op.parameters if field.name in known}

    answers = called(repo, *((op.name, base | {parameter.name: value}) for value in values))

    for value, answer in zip(values, answers, strict=True):
        assert answer.envelope["ok"] or answer.code != "INTERNAL_ERROR", f"{value!r:.100}: {answer.out}"
        assert answer.status in (0, 2, 3, 4, 5, 6, 7), value


def test_null_is_as_good_as_leaving_it_out(repo: Scratch):
    with_null, without, needed = called(
        repo,
        ("agent.list", {"role": None, "liveness": None}),
        ("agent.list", {}),
        ("agent.register", {"name": None, "role": "x"}),
    )

    assert with_null.data == without.data
    assert (needed.code, needed.status) == ("MISSING_OPTION", 2)


NO_OBJECT = [
    *("[]", "1", '"x"', "null", "true", "NaN", "Infinity", "1e999", "-1", "{", "}", "{}{}", "{}x", "@file", "[1,2"),
    *('{"agent"', '{"agent":', '{"agent":"x', '{"agent":"x",}', '{"agent":01}', '{"agent":tru}', "{'agent':1}"),
    *('{"agent":"x\\u12', '{"agent":"\\x"}', '{"agent":"\t"}', "\ufeff{}", "[" * 100, '{"agent":' * 500),
]


@pytest.mark.parametrize("text", NO_OBJECT, ids=lambda text: repr(text[:12]))
def test_arguments_that_are_no_object_are_refused(repo: Scratch, text: str):
    """In processes of their own: an interpreter just started reads broken JSON in other ways than one at work."""
    ran = repo.json("call", "agent.show", f"--args={text}")

    assert (ran.code, ran.status) == ("INVALID_JSON", 2)
    assert "--args" in ran.envelope["error"]["hint"]


def test_nesting_without_end_is_refused_and_not_followed(repo: Scratch):
    for text in ("[" * 50_000, '{"agent":' * 10_000):
        assert repo.json("call", "agent.show", "--args", text).code == "INVALID_JSON"
        assert repo.json("call", "agent.show", "--args", "-", stdin=text * 10).code == "INVALID_JSON"


@pytest.mark.parametrize(
    ("stdin", "code"),
    [
        ('{"agent": "amber-otter"}', None),
        ('\n {"agent":\t"amber-otter"} \r\n', None),
        ("", "INVALID_JSON"),
        ("x", "INVALID_JSON"),
    ],
)
def test_a_dash_reads_the_arguments_from_stdin(repo: Scratch, stdin: str, code: str | None):
    ran = repo.json("call", "agent.show", "--args", "-", stdin=stdin)

    assert (ran.code if code else ran.data["agent_id"]) == (code or "amber-otter")


def test_large_arguments_come_in_through_stdin(repo: Scratch):
    ran = repo.json("call", "agent.list", "--args", "-", stdin=json.dumps({"role": "x" * 5_000_000}))

    assert (ran.code, ran.status) == ("INVALID_VALUE", 2)
    assert len(ran.out) < 1000


NAMES = [
    *("nonsense", "agent", "agent.", ".agent", "agent.sing", "agent list", "agent-list", "Agent.List", "agent.list.x"),
    *("..", "os.system", "bb.ops.agents.agent", "__init__", "", " ", "\x1b[2J", "x" * 10_000),
]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: repr(name[:20]))
def test_a_name_that_is_no_ops_is_not_found(repo: Scratch, name: str):
    (answer,) = run_all(repo, [Call(["call", name, "--json"])])

    assert (answer.code, answer.status) == (("UNKNOWN_OP", 3) if name else ("MISSING_OPTION", 2))
    assert "bb call --list" in answer.envelope["error"]["hint"]
    assert len(answer.out) < 500


def test_every_op_that_is_listed_can_be_called(repo: Scratch):
    listed = repo.json("call", "--list").data

    assert [row["op"] for row in listed] == list(OPS)
    assert all(row["summary"] for row in listed)
    for answer in called(repo, *((row["op"], {"nonsense": 1}) for row in listed)):
        assert answer.code == "UNKNOWN_FIELD"
    assert [line.split()[0] for line in repo.bb("call", "--list").out.splitlines()] == list(OPS)


def test_a_call_that_is_refused_changes_nothing(repo: Scratch):
    before = everything_in(repo.store / "j")

    called(
        repo,
        ("agent.register", {"name": "shy-lynx", "role": "x", "nonsense": 1}),
        ("agent.register", {"name": "shy-lynx", "role": 5}),
        ("agent.register", {"name": "shy-lynx"}),
        ("agent.register", {"name": "shy-lynx", "role": "x", "force_update": "true"}),
        ("init", {"undo": "yes", "delete_history": True}),
    )

    assert everything_in(repo.store / "j") == before
    assert repo.json("agent", "show", "--agent", "shy-lynx").code == "AGENT_NOT_FOUND"


@pytest.mark.parametrize("field", ["agent", "role"])
def test_half_a_surrogate_pair_is_no_text(repo: Scratch, field: str):
    op = "agent.show" if field == "agent" else "agent.list"

    asked, unknown = run_all(
        repo,
        [
            Call(["call", op, "--args", f'{{"{field}":"\\ud800"}}', "--json"]),
            Call(["call", op, "--args", '{"\\ud800":1}', "--json"]),
        ],
    )

    assert (asked.code, asked.status) == ("INVALID_TEXT", 2)
    assert unknown.status == 2
    assert unknown.out.isascii()
