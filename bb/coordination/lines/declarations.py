"""What the first words of a statement declare, in languages with braces."""

from __future__ import annotations

from bb.coordination.lines.symbol import CLASS, FUNCTION, VALUE
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MARKS = "(){}[]<>:=,;*&?!|@"
SCRIPTS = frozenset(["javascript", "typescript", "tsx"])
C_LIKE = frozenset(["c", "cpp"])
# Words before a declaration that do not say what it is.
MODIFIERS = frozenset(
    [
        "export",
        "default",
        "async",
        "declare",
        "abstract",
        "public",
        "private",
        "protected",
        "static",
        "readonly",
        "override",
        "final",
        "sealed",
        "partial",
        "internal",
        "open",
        "inline",
        "virtual",
        "extern",
        "unsafe",
        "synchronized",
        "native",
        "strictfp",
        "transient",
        "volatile",
        "suspend",
        "data",
        "inner",
        "companion",
        "lateinit",
        "operator",
        "infix",
        "tailrec",
        "external",
        "actual",
        "expect",
        "lazy",
        "implicit",
        "case",
        "fileprivate",
        "mutating",
        "nonmutating",
        "convenience",
        "required",
        "indirect",
        "weak",
        "constexpr",
        "consteval",
        "explicit",
        "friend",
        "pub",
        "const",
    ]
)
CONTROL = frozenset(
    [
        "if",
        "for",
        "while",
        "switch",
        "catch",
        "return",
        "new",
        "else",
        "throw",
        "do",
        "try",
        "using",
        "lock",
        "foreach",
        "synchronized",
        "assert",
        "yield",
        "await",
        "sizeof",
        "when",
        "match",
        "guard",
        "defer",
        "package",
        "import",
        "goto",
        "case",
    ]
)
OF_SCRIPTS = frozenset(
    [
        "if",
        "for",
        "while",
        "switch",
        "catch",
        "return",
        "new",
        "else",
        "throw",
        "do",
        "try",
        "with",
        "yield",
        "await",
        "super",
        "function",
    ]
)
TYPES = frozenset(
    [
        "class",
        "interface",
        "enum",
        "record",
        "struct",
        "namespace",
        "object",
        "trait",
        "protocol",
        "extension",
        "module",
        "union",
    ]
)
FUNCTIONS = frozenset(["fun", "func", "function", "def", "fn"])
SPECIAL_METHODS = frozenset(["init", "deinit", "constructor", "subscript"])


class Declared(Record):
    """What a statement declares. Without a KIND it is no symbol itself, but may have members that are."""

    name: str
    kind: str
    has_members: bool = False


def is_lead(head: bytes, language: str) -> bool:
    """Whether a statement only leads up to a declaration: a decorator, an annotation, `template <…>`."""
    if head.startswith(b"@") and not head.startswith(b"@interface"):
        rest = _without_annotations(_words(head))
        return not rest
    if language in C_LIKE:  # `template <…>`, or the type of a function on a line of its own
        return head[:1].isalpha() and not any(mark in head for mark in (b"{", b"(", b";", b"=", b"#"))
    if language == "csharp" and head.startswith(b"["):
        return head.endswith(b"]")
    return False


def declared(head: bytes, language: str, parent: str) -> Declared | None:
    """What the statement that begins with HEAD declares. PARENT is the class around it, or empty."""
    words = _words(head)
    rule = RULES.get(language, _others)
    found = rule(words, parent) if words else None
    return found if found and all(map(_is_name, found.name.split("."))) else None


def _words(head: bytes) -> list[str]:
    text = head.decode("utf-8", "replace")
    for mark in MARKS:
        if mark in text:
            text = text.replace(mark, f" {mark} ")
    return text.split()


def _is_name(text: str) -> bool:
    return text.lstrip("#~").replace("$", "_").isidentifier() or not text


def _script(words: Sequence[str], parent: str) -> Declared | None:
    words = _without_annotations(words)
    words = _without(words, MODIFIERS - {"const"} | {"*", "accessor"}, before_call=True)
    word, name = (*words, "", "")[:2]
    if word == "function":
        name = next((each for each in words[1:] if each != "*"), "")
        return Declared(name, FUNCTION) if name not in ("(", "") else None
    if word == "const" and name == "enum":
        word, name = "enum", (*words, "", "", "")[2]
    if word in ("class", "interface", "enum", "namespace", "module") and _is_word(name):
        return Declared(name, CLASS, word in ("class", "namespace", "module"))
    if word == "type" and _is_word(name) and not parent:
        return Declared(name, CLASS)
    if word in ("const", "let", "var"):
        return Declared(name, VALUE) if _is_word(name) else None
    if word in ("get", "set", "async", "static") and _is_word(name) and (*words, "", "", "")[2] == "(":
        word, name = name, "("
    if parent and name in ("(", "<") and word not in OF_SCRIPTS and _is_word(word):
        return Declared(word, FUNCTION)
    return None


def _go(words: Sequence[str], _: str) -> Declared | None:
    word, name = (*words, "", "")[:2]
    if word == "func" and name == "(":
        close = words.index(")") if ")" in words else 0
        owner = [each for each in words[2:close] if _is_word(each)]
        cut = words[2:close].index("[") if "[" in words[2:close] else len(words)
        owner = [each for each in words[2 : min(close, 2 + cut)] if _is_word(each)] or owner
        method = (*words, "")[close + 1]
        return Declared(f"{owner[-1]}.{method}", FUNCTION) if close and owner and _is_word(method) else None
    if word == "func" and _is_word(name):
        return Declared(name, FUNCTION)
    if word in ("type", "const", "var") and _is_word(name):
        return Declared(name, CLASS if word == "type" else VALUE)
    return None


def _rust(words: Sequence[str], parent: str) -> Declared | None:
    words = list(words)
    if words[0] == "pub":
        words = words[1:]
        if words[:1] == ["("]:
            words = words[words.index(")") + 1 :] if ")" in words else []
    while (words and words[0] in ("async", "unsafe", "default", "extern")) or (
        words[:1] == ["const"] and "fn" in words[1:4]
    ):
        words = words[1:]
        if words and words[0].startswith('"'):
            words = words[1:]
    word, name = (*words, "", "")[:2]
    if word == "fn" and _is_word(name):
        return Declared(name, FUNCTION)
    if word in ("struct", "enum", "union", "trait", "mod", "type") and _is_word(name):
        is_inner_type = word == "type" and bool(parent)
        return None if is_inner_type else Declared(name, CLASS, word in ("trait", "mod"))
    if word in ("const", "static"):
        name = next((each for each in words[1:] if each != "mut"), "")
        return Declared(name, VALUE) if _is_word(name) and name != "_" and not parent else None
    if word == "macro_rules" and name == "!":
        return Declared((*words, "", "", "")[2], FUNCTION)
    return _impl(words[1:]) if word == "impl" else None


def _impl(words: Sequence[str]) -> Declared | None:
    """`impl<T> Trait for Type<T>`: a part of Type."""
    words = _without_generics(words)
    words = words[: words.index("{")] if "{" in words else words
    words = words[: words.index("where")] if "where" in words else words
    words = words[words.index("for") + 1 :] if "for" in words else words
    names = [each for each in words if _is_word(each) and each not in ("dyn", "mut")]
    return Declared(names[-1], CLASS, True) if names else None


def _without_generics(words: Sequence[str]) -> list[str]:
    kept, depth = [], 0
    for word in words:
        if word == "<":
            depth += 1
        elif word == ">":
            depth = max(depth - 1, 0)
        elif not depth:
            kept.append(word)
    return kept


def _c(words: Sequence[str], _: str) -> Declared | None:
    if words[0] == "template":
        words = words[_closing(words, 1, "<", ">") + 1 :]
    if "{" not in words or words[0] in CONTROL or words[0] == "typedef":
        return None
    head = words[: words.index("{")]
    if head[:2] == ["extern", '"C"']:
        return Declared("", "", True)
    word = next((each for each in head if each not in MODIFIERS), "")
    if "(" not in head and word in ("struct", "class", "enum", "union", "namespace"):
        rest = [each for each in head[head.index(word) + 1 :] if each not in ("class", "struct")]
        name = _path(rest)
        if not name:
            return Declared("", "", True) if word == "namespace" else None
        return Declared(name, CLASS, word in ("struct", "class", "namespace"))
    if "(" in head and "=" not in head[: head.index("(")]:
        before = head[: head.index("(")]
        name = _path(before, from_end=True)
        return Declared(name, FUNCTION) if name and name not in CONTROL else None
    return None


def _path(words: Sequence[str], *, from_end: bool = False) -> str:
    """The name `a::b` at the start of WORDS, or at their end, dotted."""
    names: list[str] = []
    row = list(reversed(words)) if from_end else list(words)
    at = 0
    while at < len(row) and _is_word(row[at]):
        names.append(row[at])
        if row[at + 1 : at + 3] != [":", ":"]:
            break
        at += 3
    return ".".join(reversed(names) if from_end else names)


def _closing(words: Sequence[str], at: int, opening: str, closing: str) -> int:
    depth = 0
    for place in range(at, len(words)):
        depth += (words[place] == opening) - (words[place] == closing)
        if depth <= 0:
            return place
    return len(words)


def _others(words: Sequence[str], parent: str) -> Declared | None:
    """Java, C#, Kotlin, Swift, Scala, PHP, Dart."""
    words = _without_annotations(words)
    words = _without(words, MODIFIERS, before_call=True)
    if not words or words[0] in CONTROL:
        return None
    limit = next((at for at, word in enumerate(words) if word in ("(", "{", "=", ";")), len(words))
    head = words[:limit]
    if kind := next((at for at, word in enumerate(head[:2]) if word in TYPES or word == "@"), None):
        head = head[kind:]
    if head and head[0] in TYPES and len(head) > 1:
        name = next((each for each in head[1:] if _is_word(each) and each not in TYPES), "")
        if head[0] == "namespace":
            name = ".".join(name.split("\\"))
        return Declared(name, CLASS, True) if name else None
    if head and head[0] in FUNCTIONS:
        names = [each for each in _without_generics(head[1:]) if _is_word(each.replace(".", "_"))]
        return Declared(names[-1].rpartition(".")[2], FUNCTION) if names else None
    if not parent or limit >= len(words) or words[limit] != "(":
        return None
    names = _without_generics(head)
    name = names[-1] if names else ""
    is_method = len(names) > 1 or name == parent or name in SPECIAL_METHODS
    return Declared(name, FUNCTION) if is_method and _is_word(name) and name not in CONTROL else None


def _without(words: Sequence[str], modifiers: frozenset[str], *, before_call: bool) -> Sequence[str]:
    at = 0
    while at < len(words) and words[at] in modifiers and not (before_call and words[at + 1 : at + 2] == ["("]):
        at += 1
    return words[at:]


def _without_annotations(words: Sequence[str]) -> Sequence[str]:
    """WORDS without `@Name(…)` at their start."""
    while words[:1] == ["@"] and words[1:2] != ["interface"]:
        words = words[2:]
        if words[:1] == ["("]:
            words = words[_closing(words, 0, "(", ")") + 1 :]
    return words


def _is_word(text: str) -> bool:
    return text.lstrip("#~").replace("$", "_").isidentifier()


RULES: dict[str, Callable[[Sequence[str], str], Declared | None]] = {
    **dict.fromkeys(SCRIPTS, _script),
    **dict.fromkeys(C_LIKE, _c),
    "go": _go,
    "rust": _rust,
}
