"""What holds of any tree, any text and any call, looked for among many."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.cbcl.judge import verification
from bb.cbcl.judge.expansion import MAXIMUM_ROOM, Limits, ResourceLimit, expand
from bb.cbcl.read import canonical, exchange, grammar, tree
from bb.cbcl.read.reader import Malformed, Text
from bb.cbcl.read.templates import ExpansionFailed
from bb.cbcl.read.tree import LIST, STRING, Node, as_json, equal, extent, list_of, text_of
from tests.cbcl.trees import ATOMS, LISTS, ROOM, STEADY, TREES, definition, dialect, expansion, octets, read

# -- reading what is written


def again(text: str) -> Node:
    (found,) = Text(text.encode()).trees()
    return found


@STEADY
@given(LISTS)
def test_0_what_is_written_is_read_as_it_was(root: Node):
    found = again(text_of(root))

    assert equal(found, root)
    assert text_of(found) == text_of(root)


@STEADY
@given(LISTS)
def test_0_the_extent_of_a_tree_is_that_of_its_text(root: Node):
    depths = [0]
    inside = False
    for character in text_of(root).replace("\\\\", "").replace('\\"', ""):
        inside ^= character == '"'
        depths.append(depths[-1] + (not inside and character == "(") - (not inside and character == ")"))

    assert extent(root) == (len(text_of(root)), max(depths))
    assert tree.depth(root) == max(depths)


@STEADY
@given(LISTS)
def test_0_the_pairs_that_a_tree_is_exchanged_as_make_it_again(root: Node):
    def made(pair: list[Any]) -> Node:
        tag, value = pair
        return Node(tag, [made(each) for each in value] if tag == LIST else value)

    assert equal(made(as_json(root)), root)


LAYOUT = st.lists(
    st.sampled_from([" ", "\t", "\n", "\r\n", "\r", ";\n", '; ("x\r\n', ";é)\n", ";;\t\n"]), min_size=1, max_size=3
).map("".join)


def pieces(root: Node) -> list[str]:
    """The tokens of a tree's text."""
    steps = [(step.node, ")" if step.is_end else "(") for step in tree.walk(root)]
    return [parenthesis if node.tag == LIST else tree.lexeme(node) for node, parenthesis in steps]


@STEADY
@given(LISTS, st.data())
def test_1_layout_and_comments_never_change_a_tree(root: Node, data: st.DataObject):
    written = data.draw(st.sampled_from(["", " ", ";\n"]))
    before = "("
    for piece in pieces(root):
        is_apart = piece in "()" or before in "()"
        written += data.draw(LAYOUT) if not is_apart or data.draw(st.booleans()) else ""
        written += piece
        before = piece
    written += data.draw(st.sampled_from(["", "\n", ";", "; the end"]))

    assert equal(again(written), root)
    assert canonical.octets(again(written)) == canonical.octets(root)


@STEADY
@given(LISTS)
def test_every_node_begins_where_it_is_said_to(root: Node):
    text = text_of(root)
    for step in tree.walk(again(text)):
        if not step.is_end:
            begins = text.encode()[step.node.at :].decode()
            assert begins.startswith("(" if step.node.tag == LIST else tree.lexeme(step.node))


@STEADY
@given(st.text(max_size=40) | st.text("()\"\\;'@:#.-1ab\n ", max_size=40))
def test_a_text_is_read_or_refused_in_its_own_terms(text: str):
    try:
        found = read(text)
    except Malformed.error as refused:
        told = refused.details
    else:
        assert equal(read(text_of(found.node)).node, found.node)
        return
    before = text.encode()[: told["offset"]].decode(errors="replace")
    assert 0 <= told["offset"] <= len(text.encode())
    assert (told["line"], told["column"]) == (before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1)


# -- canonical octets


def decoded(octets: bytes) -> Any:
    """What any reader of RFC 9804 makes of the octets: lists, and octet strings with their hints."""
    made: list[list[Any]] = [[]]
    at = 0

    def verbatim() -> bytes:
        nonlocal at
        colon = octets.index(b":", at)
        digits = octets[at:colon]
        assert digits.isdigit()
        assert digits == b"0" or not digits.startswith(b"0")
        at = colon + 1 + int(digits)
        assert at <= len(octets)
        return octets[colon + 1 : at]

    while at < len(octets):
        if octets[at : at + 1] == b"(":
            made.append([])
            at += 1
        elif octets[at : at + 1] == b")":
            elements = made.pop()
            made[-1].append(elements)
            at += 1
        elif octets[at : at + 1] == b"[":
            at += 1
            hint = verbatim()
            assert octets[at : at + 1] == b"]"
            at += 1
            made[-1].append((hint, verbatim()))
        else:
            made[-1].append((None, verbatim()))
    ((found,),) = made
    return found


def as_9804(root: Node) -> Any:
    if root.tag == LIST:
        return [as_9804(each) for each in root.value]
    if root.tag == STRING:
        return (b"text/plain;charset=utf-8", root.value.encode())
    return (None, tree.lexeme(root).encode())


@STEADY
@given(LISTS)
def test_8_any_reader_of_rfc_9804_gets_back_every_atom(root: Node):
    assert decoded(canonical.octets(root)) == as_9804(root)


@STEADY
@given(TREES, TREES)
def test_8_two_trees_have_the_same_octets_only_if_they_say_the_same(one: Node, other: Node):
    assert (canonical.octets(one) == canonical.octets(other)) is equal(one, other)
    assert (text_of(one) == text_of(other)) is equal(one, other)


@STEADY
@given(st.lists(ATOMS, min_size=1, max_size=4), st.integers(0, 3), ATOMS)
def test_8_one_atom_in_the_place_of_another_is_seen(atoms: list[Node], place: int, other: Node):
    changed = [*atoms]
    changed[place % len(atoms)] = other

    one, two = list_of(*atoms), list_of(*changed)
    assert (canonical.octets(one) == canonical.octets(two)) is equal(one, two)


@STEADY
@given(LISTS)
def test_8_a_message_is_canonically_its_own_tree(root: Node):
    message = read(text_of(list_of(tree.symbol("tell"), tree.agent("b"), root)))

    assert canonical.octets(message.node) == b"(4:tell2:@b" + canonical.octets(root) + b")"


# -- expansion

WIDE = ":max-depth 64 :max-expansion-size 65536 :max-verify-time 9"
SAID = """
  (extend p (a &optional b &key or-not) (tell @b (x a (y (or b (z a))) (cond ((= a or-not) b) (else (or or-not a))))))
  (extend q (a &rest b) ((tell @b (a b)) (cond ((type? a list) (tell @c a)) (else (ok @d)))
    (envelope (tell @e (b a b)))))
"""
HYGIENIC = dialect(SAID, limits=WIDE)
VALUES = TREES.filter(lambda root: root.tag != tree.KEYWORD and tree.head(root) != "list")


def parts(root: Node) -> Iterator[Node]:
    return (step.node for step in tree.walk(root) if not step.is_end)


@STEADY
@given(VALUES, VALUES)
def test_7_an_argument_stands_in_the_result_as_it_is(one: Node, other: Node):
    call = f"(lang d (q {text_of(one)} {text_of(other)} {text_of(one)}))"
    made = expansion(call, HYGIENIC, room=MAXIMUM_ROOM)

    first, *_, last = made.messages
    rest = list_of(other, one)
    assert equal(first.node.value[2], list_of(one, rest))
    assert equal(last.inner.node.value[2], list_of(rest, one, rest))  # type: ignore[union-attr]


@STEADY
@given(VALUES, VALUES, VALUES)
def test_7_what_an_argument_spells_is_never_looked_at(a: Node, b: Node, key: Node):
    call = f"(lang d (p {text_of(a)} {text_of(b)} :or-not {text_of(key)}))"
    (made,) = expansion(call, HYGIENIC).messages

    x, first, second, third = made.node.value[2].value
    assert tree.lexeme(x) == "x"
    assert equal(first, a)
    assert equal(second, list_of(tree.symbol("y"), list_of(tree.symbol("z"), a) if tree.is_nil(b) else b))
    assert equal(third, a if tree.is_nil(key) else key)


@STEADY
@given(VALUES, st.lists(VALUES, max_size=3), st.integers(1, 300), st.integers(1, 10))
def test_5_what_comes_out_keeps_every_limit_or_nothing_does(a: Node, b: list[Node], size: int, depth: int):
    message = read(text_of(list_of(tree.symbol("lang"), tree.symbol("d"), list_of(tree.symbol("q"), a, *b))))
    known = {"d": definition(HYGIENIC)}
    widest = expand(message, known)
    assert widest is not None

    try:
        found = expand(message, known, Limits(depth, size))
    except ResourceLimit:
        assert widest.size > size or widest.depth > depth
    else:
        assert found is not None
        assert sum(len(text_of(each.node)) for each in found.messages) == found.size == widest.size <= size
        assert max(extent(each.node).depth for each in found.messages) == found.depth == widest.depth <= depth


@STEADY
@given(VALUES)
def test_7_what_a_template_makes_is_a_message_or_nothing(a: Node):
    known = {
        "d": definition(
            dialect("(extend p (a) (cond ((type? a agent) (tell a)) ((type? a list) a) (else (tell @b a))))")
        )
    }
    try:
        found = expand(read(f"(lang d (p {text_of(a)}))"), known)
    except ExpansionFailed.error:
        assert a.tag not in (STRING, "agent")
    else:
        assert found is not None
        (message,) = found.messages
        assert exchange.message_json(read(text_of(message.node))) == exchange.message_json(message)


# -- nothing calls itself

MODULES = {path.stem: ast.parse(path.read_text()) for path in sorted(ROOM.rglob("*.py"))}
Named = dict[str, set[str]]
HELD = {"_text": "reader.Text"}  # what an attribute always is


def calls() -> Named:
    """Which function of the room calls which, by name: `module.function` and `module.Class.method`."""
    known = {name: node for module in MODULES for name, node in _functions(module)}
    methods: Named = {}
    for name in known:
        if name.count(".") == 2:
            methods.setdefault(name.rpartition(".")[2], set()).add(name)
    return {name: set(_called(name, node, known, methods)) - {""} for name, node in known.items()}


def _functions(module: str) -> Iterator[tuple[str, ast.AST]]:
    for node in MODULES[module].body:
        if isinstance(node, ast.FunctionDef):
            yield f"{module}.{node.name}", node
        elif isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, ast.FunctionDef):
                    yield f"{module}.{node.name}.{each.name}", each


def _called(name: str, function: ast.AST, known: dict[str, ast.AST], methods: Named) -> Iterator[str]:
    """What a function mentions that could be called: a plain name here or where it is imported from, `self.x` of its
    own class, `module.x`, and for whatever else has a method's name every method that is called so."""
    module = name.partition(".")[0]
    imported = _imported(module)
    is_of = name.rpartition(".")[0]
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            found = imported.get(node.id, f"{module}.{node.id}")
            yield found if found in known else f"{found}.__init__" if f"{found}.__init__" in known else ""
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            yield f"{is_of}.{node.attr}" if f"{is_of}.{node.attr}" in known else ""
        elif isinstance(node, ast.Attribute):
            whose = imported.get(node.value.id, "") if isinstance(node.value, ast.Name) else ""
            if isinstance(node.value, ast.Attribute) and node.value.attr in HELD:
                whose = HELD[node.value.attr]
            if whose in MODULES or whose in HELD.values():
                yield f"{whose}.{node.attr}" if f"{whose}.{node.attr}" in known else ""
            elif not (isinstance(node.value, ast.Name) and node.value.id in imported):
                yield from methods.get(node.attr, ())


def _imported(module: str) -> dict[str, str]:
    """What a name stands for in a module: another module of the room, or something in it."""
    found = {}
    for node in ast.walk(MODULES[module]):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("bb.cbcl"):
            of = node.module.rpartition(".")[2]
            of = of if of in MODULES else ""  # a wing is no module
            for each in node.names:
                found[each.asname or each.name] = f"{of}.{each.name}" if of else each.name
    return found


def rings(edges: Named) -> list[str]:
    """Functions from which a way leads back to them."""
    reached = {name: set(others) for name, others in edges.items()}
    for between in reached:
        for others in reached.values():
            if between in others:
                others |= reached[between]
    return sorted(name for name, others in reached.items() if name in others)


def test_no_function_of_the_room_calls_itself_by_whatever_way():
    assert rings(calls()) == []


def test_a_ring_of_calls_would_be_found():
    edges = calls()
    assert "tree.walk" in edges["tree.extent"]
    assert "definition._Definition._performative" in edges["definition._Definition.read"]
    assert "reader.Text.refuse" in edges["grammar.Grammar.refuse"]

    edges["tree.nodes"].add("grammar.message")

    assert {"grammar.message", "tree.nodes", "grammar.Grammar.settle"} <= set(rings(edges))


def running_twice(act: Callable[[], Any]) -> set[str]:
    """Functions of the room that are run while they are running."""
    twice: set[str] = set()
    running: list[CodeType] = []
    before = sys.getprofile()

    def watch(frame: FrameType, event: str, arg: Any) -> None:
        if frame.f_code.co_filename.startswith(str(ROOM)):
            if event == "call":
                twice.update([frame.f_code.co_qualname] * (frame.f_code in running))
                running.append(frame.f_code)
            elif event == "return":
                running.pop()

    sys.setprofile(watch)
    try:
        act()
    finally:
        sys.setprofile(before)
    return twice


def deep(levels: int) -> str:
    """A call with nested arguments in nested wrappers."""
    lists = "(" * levels + "x" + ")" * levels
    built = "(list " * levels + "x" + ")" * levels
    return f"(envelope (with-limits :max-depth 60 (lang d (signed abc (lang d (p {lists} {built} :or-not {lists}))))))"


@pytest.mark.parametrize("levels", [2, 50])
def test_no_function_of_the_room_is_run_while_it_is_running_however_deep_a_text_is(levels: int):
    nested = "(cond ((= a 1) (or a " * (levels // 4) + "(x)" + ")) (else 2))" * (levels // 4)
    said = octets(dialect(f"(extend p (a b &key or-not) (tell @b (x {nested} a)))", more=":extends e", limits=WIDE))
    text = deep(levels)

    def everything() -> None:
        bounds = Text(b"").bounds.replace(depth=64)
        known = {"d": grammar.definition_in(said, bounds)[1]}
        assert verification.verify(known["d"], {"e"}).is_sound
        message = grammar.message(octets(text), bounds)
        found = expand(message, known)
        assert found is not None
        for each in (message, *found.messages):
            exchange.message_json(each)
            canonical.digest(each.node)
            assert equal(each.node, each.node)

    assert running_twice(everything) == set()
