"""The symbols of a file by tree-sitter, if the extra `lines` is installed; else by the simple rules.

This is the only door to tree-sitter, which is a native library. Grammars are never fetched at run time: versions of
tree-sitter-language-pack below 1 contain them, and a later version is not used (docs/decisions/0054).
"""

from __future__ import annotations

import os

from bb.coordination.lines import symbol as rules
from bb.coordination.lines import symbols as simple
from bb.coordination.lines.symbol import CLASS, FUNCTION, KEY, VALUE, Symbol
from bb.ledger.lines import grammar_folder
from bb.ledger.lines.grammar_folder import NATIVE, PACK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

CODE: dict[str, dict[str, str]] = {
    "python": {"function_definition": FUNCTION, "class_definition": CLASS},
    "go": {
        "function_declaration": FUNCTION,
        "method_declaration": FUNCTION,
        "type_declaration": CLASS,
        "const_declaration": VALUE,
        "var_declaration": VALUE,
    },
    "rust": {
        "function_item": FUNCTION,
        "function_signature_item": FUNCTION,
        "macro_definition": FUNCTION,
        "struct_item": CLASS,
        "enum_item": CLASS,
        "union_item": CLASS,
        "trait_item": CLASS,
        "mod_item": CLASS,
        "type_item": CLASS,
        "impl_item": CLASS,
        "const_item": VALUE,
        "static_item": VALUE,
    },
    "java": {
        "class_declaration": CLASS,
        "interface_declaration": CLASS,
        "enum_declaration": CLASS,
        "record_declaration": CLASS,
        "annotation_type_declaration": CLASS,
        "method_declaration": FUNCTION,
        "constructor_declaration": FUNCTION,
        "compact_constructor_declaration": FUNCTION,
    },
}
SCRIPT = {
    "function_declaration": FUNCTION,
    "generator_function_declaration": FUNCTION,
    "method_definition": FUNCTION,
    "method_signature": FUNCTION,
    "abstract_method_signature": FUNCTION,
    "function_signature": FUNCTION,
    "class_declaration": CLASS,
    "abstract_class_declaration": CLASS,
    "interface_declaration": CLASS,
    "enum_declaration": CLASS,
    "type_alias_declaration": CLASS,
    "internal_module": CLASS,
    "lexical_declaration": VALUE,
    "variable_declaration": VALUE,
}
CODE |= dict.fromkeys(("javascript", "typescript", "tsx"), SCRIPT)
# Nodes around a declaration whose lines count as its own, and nodes whose children are looked at.
AROUND = frozenset(["decorated_definition", "export_statement", "ambient_declaration", "expression_statement"])
BODIES = frozenset(["declaration_list", "class_body", "statement_block", "interface_body", "enum_body"])
BODIES |= {"enum_body_declarations", "annotation_type_body"}
WITHOUT_MEMBERS = frozenset(["interface_declaration", "type_alias_declaration", "enum_declaration"])
SUPPORTED = frozenset([*CODE, "markdown", "toml", "json", "yaml"])
_parsers: dict[str, Any] = {}


def symbols(path: str, content: bytes) -> list[Symbol]:
    """The symbols of a file, as in `bb.coordination.lines.symbols`."""
    language = rules.language_of(path)
    if language not in SUPPORTED or not rules.is_readable(content):
        return simple.symbols(path, content)
    parser = _parser(language)
    if parser is None:
        return simple.symbols(path, content)
    lines = content.split(b"\n")
    found = _found(parser.parse(content).root_node, lines, language)
    return rules.settled(found, lines, language)


def has_grammar(language: str) -> bool:
    """Whether symbols of that language are found by tree-sitter."""
    return language in SUPPORTED and _parser(language) is not None


def _parser(language: str) -> Any:
    """The parser for a language; None without one."""
    if language not in _parsers:
        folder = grammar_folder.folder()
        _parsers[language] = _made(language, folder) if folder else None
    return _parsers[language]


def _made(language: str, folder: str) -> Any:
    """A parser. The file of its grammar is loaded without the rest of its package, which takes half the time."""
    try:
        from importlib.machinery import ExtensionFileLoader, ModuleSpec  # noqa: PLC0415

        from tree_sitter import Language, Parser  # noqa: PLC0415  (native, and most installations lack it)

        file = os.path.join(folder, NATIVE, f"{language}.abi3.so")
        if os.path.isfile(file):
            name = f"{PACK}.{NATIVE}.{language}"
            loader = ExtensionFileLoader(name, file)
            module = loader.create_module(ModuleSpec(name, loader, origin=file))
            loader.exec_module(module)
            return Parser(Language(module.language()))
        from tree_sitter_language_pack import get_parser  # noqa: PLC0415  (YAML comes from another package)

        return get_parser(language)  # type: ignore[arg-type, unused-ignore]
    except Exception:
        return None  # a package that cannot be loaded, for whatever reason, is as good as none


def _found(root: Any, lines: Sequence[bytes], language: str) -> Iterator[Symbol]:
    if language == "markdown":
        from bb.coordination.lines import headings  # noqa: PLC0415

        return headings.sections(list(_headings(root, lines)), len(lines))
    if language == "toml":
        return _tables(root)
    if language in ("json", "yaml"):
        return _pairs(root, "", 0)
    if language == "python":
        return _python(root, "", root)
    return _declarations(root, "", language, "")


def _end(node: Any) -> int:
    row, column = node.end_point
    return int(row if column == 0 and row > node.start_point[0] else row + 1)


def _text(node: Any) -> str:
    return bytes(node.text).decode("utf-8", "replace") if node is not None else ""


def _python(node: Any, prefix: str, around: Any) -> Iterator[Symbol]:
    for child in node.named_children:
        outer = around if around.type == "decorated_definition" else child
        kind = CODE["python"].get(child.type)
        if kind:
            name = prefix + _text(child.child_by_field_name("name"))
            yield Symbol(name, kind, outer.start_point[0], _end(child))
            yield from _python(child, name + ".", child)
        elif child.type in ("expression_statement", "assignment") and node.type == "module":
            is_wrapped = child.type == "expression_statement" and bool(child.named_children)
            assigned = child.named_children[0] if is_wrapped else child
            left = assigned.child_by_field_name("left") if assigned and assigned.type == "assignment" else None
            if left is not None and left.type == "identifier" and assigned.child_by_field_name("right") is not None:
                yield Symbol(_text(left), VALUE, child.start_point[0], _end(child))
        else:
            yield from _python(child, prefix, child)


def _declarations(node: Any, prefix: str, language: str, parent: str) -> Iterator[Symbol]:
    for child in node.named_children:
        outer = child
        while child.type in AROUND and (inner := _declaration_in(child, language)) is not None:
            child = inner
        kind = CODE[language].get(child.type)
        if not kind:
            continue
        name = _name(child, language)
        if not name or (kind == VALUE and parent):
            continue
        if language == "rust" and child.type in ("type_item", "const_item") and parent:
            continue
        if language in ("javascript", "typescript", "tsx") and child.type == "method_signature" and not parent:
            continue
        first = _first_of_lead(outer)
        yield Symbol(prefix + name, kind, first, _end(outer))
        if kind == CLASS and not (child.type in WITHOUT_MEMBERS and language != "java"):
            for body in child.named_children:
                if body.type in BODIES:
                    yield from _members(body, f"{prefix}{name}.", language, name)


def _members(body: Any, prefix: str, language: str, parent: str) -> Iterator[Symbol]:
    yield from _declarations(body, prefix, language, parent)
    for inner in body.named_children:
        if inner.type in BODIES:
            yield from _declarations(inner, prefix, language, parent)


def _declaration_in(node: Any, language: str) -> Any:
    """The declaration in a node around it."""
    known = CODE[language]
    return next((child for child in node.named_children if child.type in known or child.type in AROUND), None)


def _first_of_lead(node: Any) -> int:
    """The first line of a declaration with the decorators before it, which are nodes of their own in a class."""
    first = node.start_point[0]
    above = node.prev_named_sibling
    while above is not None and above.type == "decorator" and above.end_point[0] >= first - 1:
        first, above = above.start_point[0], above.prev_named_sibling
    return int(first)


def _name(node: Any, language: str) -> str:
    if language == "go":
        return _name_in_go(node)
    if node.type == "impl_item":
        kind = node.child_by_field_name("type")
        while kind is not None and kind.type == "generic_type":
            kind = kind.child_by_field_name("type")
        return _text(kind).rpartition("::")[2].lstrip("&")
    if node.type in ("lexical_declaration", "variable_declaration"):
        first = node.named_children[0] if node.named_children else None
        name = first.child_by_field_name("name") if first is not None else None
        return _text(name) if name is not None and name.type == "identifier" else ""
    name = _text(node.child_by_field_name("name"))
    return name if "[" not in name and '"' not in name and "'" not in name else ""


def _name_in_go(node: Any) -> str:
    if node.type == "method_declaration":
        receiver = _text(node.child_by_field_name("receiver")).strip("()").split("[")[0]
        owner = receiver.replace("*", " ").split()
        return f"{owner[-1]}.{_text(node.child_by_field_name('name'))}" if owner else ""
    if node.type == "function_declaration":
        return _text(node.child_by_field_name("name"))
    specs = [child for child in node.named_children if child.type.endswith(("_spec", "_alias"))]
    is_group = any(child.type == "(" for child in node.children)
    return _text(specs[0].child_by_field_name("name")) if len(specs) == 1 and not is_group else ""


def _headings(node: Any, lines: Sequence[bytes]) -> Iterator[tuple[int, int, str]]:
    from bb.coordination.lines import headings  # noqa: PLC0415

    for child in node.named_children:
        if child.type in ("atx_heading", "setext_heading"):
            mark = next((each.type for each in child.children if each.type.endswith(("_marker", "_underline"))), "")
            level = int("".join(filter(str.isdigit, mark)) or 1)
            first = child.start_point[0]
            text = lines[first].strip()
            name = headings.plain(text[level:] if child.type == "atx_heading" else text)
            if name:
                yield level, int(first), name
        elif child.type in ("section", "document"):
            yield from _headings(child, lines)


def _tables(root: Any) -> Iterator[Symbol]:
    for node in root.named_children:
        if node.type == "pair":
            yield Symbol(_toml_name(node.named_children[0]), KEY, node.start_point[0], _end(node))
        elif node.type in ("table", "table_array_element"):
            name = _toml_name(node.named_children[0])
            pairs = [child for child in node.named_children[1:] if child.type == "pair"]
            last = _end(pairs[-1]) if pairs else node.start_point[0] + 1
            yield Symbol(name, KEY, node.start_point[0], last)
            for pair in pairs:
                yield Symbol(f"{name}.{_toml_name(pair.named_children[0])}", KEY, pair.start_point[0], _end(pair))


def _toml_name(node: Any) -> str:
    return ".".join(part.strip().strip("\"'") for part in _text(node).split("."))


def _pairs(node: Any, prefix: str, depth: int) -> Iterator[Symbol]:
    """The members of JSON objects and YAML mappings, in the two outer levels."""
    for child in node.named_children:
        if child.type in ("pair", "block_mapping_pair"):
            key, value = child.child_by_field_name("key"), child.child_by_field_name("value")
            name = prefix + _text(key).strip("\"'")
            yield Symbol(name, KEY, child.start_point[0], _end(child))
            if value is not None and depth == 0:
                yield from _pairs(value, name + ".", depth + 1)
        elif child.type in ("document", "block_node", "block_mapping", "object") and node.type != "array":
            yield from _pairs(child, prefix, depth)
