"""An op is declared once: its name, signature and docstring say all that the faces need."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from typing import Any

import pytest

from bb.ops import catalogue, command_groups, docstrings
from bb.ops.agent_params import Name, Role
from bb.ops.catalogue import MissingOption, Op, UnknownField, UnknownOp, bind
from bb.ops.json_params import Json, JsonText
from bb.ops.params import AgentId, Flag, InvalidValue, Number, Seconds, Text, UncheckedText
from bb.ops.signatures import Parameter, UnknownAnnotation
from tests.support import environment


class Weight(Number):
    """How heavy it is."""

    least = 0
    most = 9


@catalogue.op("example.carry_on", examples=("bb example carry-on box",), streams=True)
def carry_on(
    desk: Any,
    what: Role,
    onto: Role = Role("table"),  # noqa: B008  (a value as immutable as a number)
    *,
    agent: AgentId,
    from_: AgentId | None = None,
    top_weight: Weight = 3,
    is_fragile: bool = False,
    must_ring: bool,
    tag: list[Role] | None = None,
    helper: list[AgentId],
) -> dict[str, Any]:
    """Carry WHAT over.

    First line of the description.
        Indented line.

    Last line.

    Parameters:
        from_ (WHO): The helper that carries
            it now.
        is_fragile: It breaks.
    """
    local = what
    return {"what": local}


@catalogue.op("example.rest")
def rest(desk: Any) -> None:
    """Do nothing."""


CARRY_ON, REST = catalogue.find("example.carry_on"), catalogue.find("example.rest")
NEEDED = {"what": "box", "agent": "ada-l", "must_ring": True, "helper": ["bo1"]}


def parameter(name: str) -> Parameter:
    return next(found for found in CARRY_ON.parameters if found.name == name)


# -- reading a signature


def test_the_parameters_are_those_behind_the_desk_in_their_order():
    assert [found.name for found in CARRY_ON.parameters] == [
        *("what", "onto", "agent", "from", "top_weight", "is_fragile", "must_ring", "tag", "helper"),
    ]
    assert REST.parameters == ()


def test_left_of_the_star_is_an_argument_and_right_of_it_an_option():
    assert [found.name for found in CARRY_ON.parameters if found.is_argument] == ["what", "onto"]


def test_no_default_means_required():
    assert [found.name for found in CARRY_ON.parameters if found.is_required] == [
        "what",
        "agent",
        "must_ring",
        "helper",
    ]


def test_a_default_is_known_to_the_faces():
    defaults = {found.name: found.default for found in CARRY_ON.parameters if not found.is_required}
    assert defaults == {"onto": "table", "from": None, "top_weight": 3, "is_fragile": False, "tag": None}


def test_an_annotation_names_the_kind_and_a_list_may_be_given_several_times():
    kinds = {found.name: (found.kind, found.is_repeated) for found in CARRY_ON.parameters}
    assert kinds == {
        "what": (Role, False),
        "onto": (Role, False),
        "agent": (AgentId, False),
        "from": (AgentId, False),
        "top_weight": (Weight, False),
        "is_fragile": (Flag, False),
        "must_ring": (Flag, False),
        "tag": (Role, True),
        "helper": (AgentId, True),
    }


def test_an_option_is_spelled_with_hyphens_and_without_what_python_needs():
    assert parameter("top_weight").option == "--top-weight"
    assert parameter("from").option == "--from"
    assert parameter("agent").option == "--agent"


def test_the_help_of_a_parameter_is_that_of_its_kind_unless_the_docstring_of_the_op_has_one():
    assert parameter("top_weight").about == "How heavy it is."
    assert parameter("is_fragile").about == "It breaks."
    assert parameter("from").about == "The helper that carries it now."


def test_the_metavar_of_a_parameter_is_that_of_its_kind_unless_the_docstring_of_the_op_has_one():
    assert [parameter(name).metavar for name in ("agent", "from", "top_weight", "is_fragile")] == ["ID", "WHO", "N", ""]


def test_binding_a_request_reads_no_help_texts():
    program = """
import sys
from bb.ops import catalogue
catalogue.bind(catalogue.find("agent.heartbeat"), {"agent": "amber-otter"})
assert not {"bb.ops.docstrings", "bb.ops.command_groups"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], env=environment(), check=True)


@pytest.mark.parametrize(
    "annotation",
    [
        *("Colour", "int", "Desk", "Op", "sys", "", "None | Role", "Role | None | None", "Role | AgentId"),
        *("list[bool", "list[list[Role]]", "list[Role | None]", "dict[str, Role]"),
    ],
)
def test_an_annotation_outside_the_grammar_is_named_with_its_op(annotation: str):
    def lift(desk: Any, *, weight: Any) -> None:
        """Lift it."""

    lift.__annotations__["weight"] = annotation

    with pytest.raises(UnknownAnnotation) as refusal:
        catalogue.op("example.lift")(lift)

    assert f"lift: weight is annotated as {annotation!r}" in str(refusal.value)


def test_the_docstring_is_summary_and_description():
    assert CARRY_ON.summary == "Carry WHAT over."
    assert CARRY_ON.description == "First line of the description.\n    Indented line.\n\nLast line."
    assert (REST.summary, REST.description) == ("Do nothing.", "")


def test_an_op_is_typed_as_words():
    assert (CARRY_ON.words, REST.words) == ("example carry-on", "example rest")
    assert (CARRY_ON.streams, REST.streams) == (True, False)
    assert (CARRY_ON.examples, REST.examples) == (("bb example carry-on box",), ())


def test_the_declared_function_stays_what_it_was():
    assert CARRY_ON.call is carry_on
    assert carry_on(None, Role("box"), agent=AgentId("ada-l"), must_ring=True, helper=[]) == {"what": "box"}


# -- binding a request


def test_what_a_request_gives_is_bound_by_name_and_what_it_leaves_out_is_left_to_the_op():
    assert bind(CARRY_ON, NEEDED) == NEEDED
    assert bind(CARRY_ON, NEEDED | {"top_weight": "7"}) == NEEDED | {"top_weight": 7}
    assert bind(REST, {}) == {}


@pytest.mark.parametrize("is_typed", [False, True])
def test_null_is_as_good_as_left_out(is_typed: bool):
    given = NEEDED | {"top_weight": None, "is_fragile": None, "tag": None}
    assert bind(CARRY_ON, given, is_typed=is_typed) == NEEDED


@pytest.mark.parametrize("is_typed", [False, True])
@pytest.mark.parametrize("value", ["x", None, 1])
def test_an_unknown_field_is_refused_with_its_path(is_typed: bool, value: object):
    with pytest.raises(UnknownField.error) as refusal:
        bind(CARRY_ON, NEEDED | {"wieght": value}, is_typed=is_typed)

    error = refusal.value
    assert (error.code, error.exit_status) == ("UNKNOWN_FIELD", 2)
    assert error.details == {"path": "$.wieght"}
    assert "example.carry_on" in error.message
    assert "'wieght'" in error.message


def test_of_several_unknown_fields_always_the_same_is_named():
    with pytest.raises(UnknownField.error) as refusal:
        bind(REST, {"zoo": 1, "ape": 2, "desk": 3})
    assert refusal.value.details == {"path": "$.ape"}


@pytest.mark.parametrize("name", ["desk", "local", "from_", "--agent", "top-weight", "Agent", "", "\x1b[2J"])
def test_only_the_declared_names_are_fields(name: str):
    with pytest.raises(UnknownField.error) as refusal:
        bind(CARRY_ON, NEEDED | {name: "x"})
    assert refusal.value.message.isprintable()


@pytest.mark.parametrize(("name", "word"), [("what", "ROLE"), ("agent", "--agent"), ("must_ring", "--must-ring")])
@pytest.mark.parametrize("is_typed", [False, True])
def test_a_missing_value_is_named_as_the_caller_gives_it(name: str, word: str, is_typed: bool):
    """On the command line by the option or the word in help, in JSON by the member."""
    for given in ({key: value for key, value in NEEDED.items() if key != name}, NEEDED | {name: None}):
        with pytest.raises(MissingOption.error) as refusal:
            bind(CARRY_ON, given, is_typed=is_typed)
        error = refusal.value
        expected = name if is_typed else word
        assert (error.code, error.exit_status) == ("MISSING_OPTION", 2)
        assert error.message == f"example carry-on needs {f'`{name}`' if is_typed else word}"
        assert error.details == {"option": expected, "options": [expected]}
        assert error.hint == "for example `bb example carry-on box`"


def test_all_missing_values_are_named_at_once():
    with pytest.raises(MissingOption.error) as refusal:
        bind(CARRY_ON, {})
    error = refusal.value
    assert error.message == "example carry-on needs ROLE, --agent, --must-ring and --helper"
    assert error.details == {"option": "ROLE", "options": ["ROLE", "--agent", "--must-ring", "--helper"]}


def test_a_false_flag_is_given_and_not_missing():
    assert bind(CARRY_ON, NEEDED | {"must_ring": False}, is_typed=True)["must_ring"] is False


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("what", 5),
        ("agent", ["ada-l"]),
        ("top_weight", "7"),
        ("top_weight", 7.0),
        ("top_weight", True),
        ("is_fragile", "true"),
        ("is_fragile", 1),
        ("tag", "heavy"),
        ("tag", {"0": "heavy"}),
        ("tag", ["heavy", 5]),
        ("tag", ["heavy", None]),
        ("tag", [["heavy"]]),
    ],
)
def test_a_typed_request_is_taken_literally(name: str, value: object):
    with pytest.raises(InvalidValue.error) as refusal:
        bind(CARRY_ON, NEEDED | {name: value}, is_typed=True)
    assert refusal.value.details["path"].startswith(f"$.{name}")


def test_on_a_command_line_a_number_is_a_text_and_in_json_it_is_a_number():
    assert bind(CARRY_ON, NEEDED | {"top_weight": "0"})["top_weight"] == 0
    assert bind(CARRY_ON, NEEDED | {"top_weight": 0}, is_typed=True)["top_weight"] == 0


@pytest.mark.parametrize("is_typed", [False, True])
def test_each_item_of_a_list_is_read_as_its_kind(is_typed: bool):
    given = NEEDED | {"tag": ["  heavy ", "round"], "helper": ("bo1", "cy2")}
    bound = bind(CARRY_ON, given, is_typed=is_typed)
    assert (bound["tag"], bound["helper"]) == (["heavy", "round"], ["bo1", "cy2"])
    with pytest.raises(Exception, match="agent id"):
        bind(CARRY_ON, NEEDED | {"helper": ["bo1", "../x"]}, is_typed=is_typed)


def test_a_single_text_is_no_list():
    with pytest.raises(InvalidValue.error, match="list"):
        bind(CARRY_ON, NEEDED | {"tag": "heavy"})


def test_to_bind_leaves_the_request_as_it_was():
    given = NEEDED | {"tag": ["  heavy "]}
    bind(CARRY_ON, given)
    assert given == NEEDED | {"tag": ["  heavy "]}


# -- finding ops

FLAT_MODULES = {module for group in command_groups.FLAT for module in command_groups.GROUPS[group][0]}


@pytest.mark.parametrize("name", ["agent.register", "agent.list", "ledger.export", "init", "doctor"])
def test_an_op_is_found_by_its_name(name: str):
    assert catalogue.find(name).name == name


@pytest.mark.parametrize(
    "name", ["", ".", "agent", "agent.", "agent.fly", ".init", "agent.register.", "os.path", "x" * 999]
)
def test_what_is_no_op_is_not_found(name: str):
    with pytest.raises(UnknownOp) as refusal:
        catalogue.find(name)
    assert (refusal.value.code, refusal.value.exit_status) == ("UNKNOWN_OP", 3)
    assert len(refusal.value.message) < 200


def test_a_group_lists_its_own_ops_and_all_groups_together_list_all():
    for group in command_groups.GROUPS:
        if group not in command_groups.FLAT:
            assert {op.name.rpartition(".")[0].partition(".")[0] for op in catalogue.ops_in_group(group)} == {group}
    listed = [op.name for group in command_groups.GROUPS for op in catalogue.ops_in_group(group)]
    assert [op.name for op in catalogue.all_ops()] == listed
    assert len(listed) == len(set(listed)) >= 10


def test_the_ops_of_cccc_keep_their_flat_names_and_stand_in_groups_of_ours():
    for group in command_groups.FLAT:
        flat = [op for op in catalogue.ops_in_group(group) if op.is_flat]
        assert flat
        assert not any("." in op.name for op in flat)
        shown = "call" if group in command_groups.HIDDEN else group
        assert {op.words.partition(" ")[0] for op in catalogue.ops_in_group(group)} == {shown}
    assert not any(op.is_flat for op in catalogue.all_ops() if op.module not in FLAT_MODULES)


def test_an_op_of_cccc_is_found_by_its_flat_name():
    assert [catalogue.find(name).words for name in ("group_create", "send", "ping")] == [
        "group create",
        "chat send",
        "call ping",
    ]


def test_the_ops_that_must_be_fast_are_ops():
    assert [catalogue.find(name).module for name in catalogue.HOT] == list(catalogue.HOT.values())


@pytest.mark.parametrize(
    ("name", "needs", "leaves"),
    [
        ("agent.heartbeat", "agents.heartbeat", "agents.agent ledger.ledger setup.repository"),
        ("ledger.log", "ledger.ledger", "agents.agent"),
        ("init", "setup.repository", "ledger.ledger"),
        (
            "agent.reserve",
            "holdings.reservations",
            "agents.agent mail.mail mail.inbox agents.service setup.repository ledger.ledger",
        ),
        ("check", "guards.check", "overview.overview setup.repository"),
        ("agent.inbox", "mail.inbox", "agents.agent mail.mail holdings.reservations"),
    ],
)
def test_naming_an_op_imports_its_group_and_no_other(name: str, needs: str, leaves: str):
    program = f"""
import sys
from bb.ops import catalogue, command_groups
groups = {{module for modules, _ in command_groups.GROUPS.values() for module in modules}}
assert not groups & set(sys.modules), "before any op was named"
assert catalogue.find({name!r}).name == {name!r}
assert "bb.ops.{needs}" in sys.modules
for left in {leaves.split()}:
    assert "bb.ops." + left not in sys.modules, left
"""
    done = subprocess.run([sys.executable, "-c", program], env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# -- what every op owes its users

EVERY_OP = pytest.mark.parametrize("op", catalogue.all_ops(), ids=lambda op: op.name)


@EVERY_OP
def test_every_op_says_in_one_line_what_it_does(op: Op):
    assert re.fullmatch(r"\S.{9,118}[.:]", op.summary), op.summary


SAYS_NOTHING = {Flag, Json, JsonText, Name, Number, Seconds, Text, UncheckedText}  # of what a value means


@EVERY_OP
def test_every_parameter_of_every_op_says_what_it_is(op: Op):
    for found in op.parameters:  # of one form of the op, if it has several
        described = docstrings.parameters(found.docstring)
        assert found.keyword in described or found.kind not in SAYS_NOTHING, f"{found.name} is not explained"
        assert found.keyword in described or (vars(found.kind).get("__doc__") or "").strip(), found.name
        assert re.fullmatch(r"\S.+\.", found.about.strip()), found.name


@EVERY_OP
def test_the_docstring_of_an_op_describes_parameters_it_has_in_their_order(op: Op):
    for docstring in {op.docstring, *(found.docstring for found in op.parameters)}:
        described = docstrings.parameters(docstring)
        assert list(described) == [found.keyword for found in op.parameters if found.keyword in described]


UPGRADES = {"events_stream": "events", "term_attach": "attach"}  # which have commands of their own


def called_with(words: list[str]) -> set[str]:
    """The names of what `bb call OP --args JSON` passes on."""
    assert words[2:3] in ([], ["--args"])
    return set(json.loads(words[3])) if words[2:] else set()


@EVERY_OP
def test_every_op_has_examples_of_itself_that_use_options_it_has(op: Op):
    assert op.examples
    for example in op.examples:
        command = re.fullmatch(r"(?:[A-Z_]+=\S+ )*bb (.+)", example)
        assert command, example
        typed = command.group(1).split(" > ")[0]
        if op.name in UPGRADES:
            assert typed.split()[0] == UPGRADES[op.name], example
            continue
        assert (typed + " ").startswith((op.words + " ", (op.short or op.words) + " ")), example
        if op.group == "call":
            assert called_with(shlex.split(typed)) <= {found.name for found in op.parameters}, example
            continue
        options = {word.partition("=")[0] for word in shlex.split(typed) if word.startswith("--")}
        assert options <= {"--json", *(found.option for found in op.parameters if not found.is_argument)}, example


@EVERY_OP
def test_every_default_is_one_that_the_kind_would_take(op: Op):
    for found in op.parameters:
        if found.default is not None and found.kind is not Flag:
            assert bind(op.replace(parameters=(found,)), {found.name: str(found.default)}) == {
                found.keyword: found.default
            }
