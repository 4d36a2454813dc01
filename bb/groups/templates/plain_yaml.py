"""The subset of YAML with the values of JSON: texts, numbers, booleans, null, lists and mappings.

A foreign text can be an attack: a few nested aliases can expand to billions of values, and tags can name types to be
constructed. So aliases, tags and deep nesting are refused. Plain words are texts: `off`, `no` and `2026-01-01`, as in
YAML 1.2. Written texts are quoted where readers of YAML 1.1 would otherwise read another value.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import yaml

DEPTH, NODES = 16, 10_000
ENDLESS = 1 << 30  # a line is never folded

# tag, pattern and possible first characters; YAML 1.1 reads each of them in the same way
MEANINGS = (
    ("null", r"^(?:~|null|Null|NULL|)$", [*"~nN", ""]),
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", [*"tTfF"]),
    ("int", r"^[-+]?(?:0|[1-9][0-9]{0,17})$", [*"-+0123456789"]),
    ("float", r"^[-+]?[0-9]{1,17}\.[0-9]{0,17}(?:[eE][-+][0-9]{1,3})?$", [*"-+0123456789"]),
)


class NotPlain(ValueError):
    """The text is not YAML, or it is outside of the subset."""


def read(text: str) -> Any:
    """Parse TEXT."""
    import yaml  # noqa: PLC0415  (only needed for templates)

    try:
        return yaml.load(text, Loader=_loader())  # noqa: S506  (the loader constructs only plain values)
    except yaml.MarkedYAMLError as error:
        raise NotPlain(
            _reason(error.problem or error.context or "the text is not valid YAML", error.problem_mark)
        ) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # for example an escape beyond Unicode
        raise NotPlain(_reason(str(error).partition("\n")[0])) from None


def dump(value: Any) -> str:
    """VALUE as YAML."""
    import yaml  # noqa: PLC0415

    return str(
        yaml.dump(value, Dumper=_dumper(), sort_keys=False, allow_unicode=True, default_flow_style=False, width=ENDLESS)
    )


def _loader() -> type[yaml.SafeLoader]:
    import re  # noqa: PLC0415

    import yaml  # noqa: PLC0415

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012
        depth = nodes = 0

        def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
            event = self.peek_event()  # type: ignore[no-untyped-call]
            _refuse_what_is_not_plain(event, self.depth, self.nodes)
            self.nodes += 1
            self.depth += 1
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            _refuse_odd_keys(node)
            return super().construct_mapping(node, deep)

    for tag, pattern, first in MEANINGS:
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), first)
    return Loader


def _refuse_what_is_not_plain(event: Any, depth: int, nodes: int) -> None:
    if event.anchor:  # set for an alias, too
        raise NotPlain(_reason("anchors and aliases are not supported", event.start_mark))
    if event.tag:
        raise NotPlain(_reason("tags are not supported", event.start_mark))
    if depth >= DEPTH or nodes >= NODES:
        raise NotPlain(_reason(f"nested deeper than {DEPTH} levels, or more than {NODES:,} values", event.start_mark))


def _refuse_odd_keys(node: yaml.MappingNode) -> None:
    seen = set()
    for key, _ in node.value:
        if key.id != "scalar" or key.value in seen:
            raise NotPlain(_reason("a key must be a single word, and must not be repeated", key.start_mark))
        seen.add(key.value)


def _reason(what: str, mark: yaml.Mark | None = None) -> str:
    return what[:200] + (f", in line {mark.line + 1}" if mark else "")


def _dumper() -> type[yaml.SafeDumper]:
    import yaml  # noqa: PLC0415

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=_style(value))

    Dumper.add_representer(str, text)
    return Dumper


def _style(text: str) -> str | None:
    """The YAML style of a text: a block for several lines if that keeps the text exactly; quotes if unprintable."""
    if not all(character.isprintable() or character == "\n" for character in text):
        return '"'
    return None if "\n" not in text else '"' if text[0] in " \n" else "|"
