"""The keys of TOML, INI, YAML and JSON files.

TOML and INI: a table or section is a symbol with its keys. YAML and JSON: the keys of the two outer levels.
"""

from __future__ import annotations

from bb.coordination.lines.symbol import KEY, Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LEVELS = 2
OPENING = (b"{", b"[", b"}", b"]", b"},", b"],")


def symbols(lines: Sequence[bytes], language: str) -> Iterator[Symbol]:
    if language in ("toml", "ini"):
        return _tables(lines, language)
    return _mapping(lines) if language == "yaml" else _members(lines)


def _tables(lines: Sequence[bytes], language: str) -> Iterator[Symbol]:
    table = key = None
    depth, quote = 0, b""
    last = -1
    for at, line in enumerate(lines):
        text = line.strip()
        if quote or depth > 0:  # a value of several lines
            last = at
            depth, quote = _after(text, depth, quote)
        elif text and text[:1] not in b"#;":
            if language == "ini" and line[:1] in b" \t":  # continues the value above
                last = at
                continue
            yield from _ended(key, last)
            key = None
            if text[:1] == b"[":
                yield from _ended(table, last)
                table = Symbol(_dotted(text.strip(b"[").partition(b"]")[0]), KEY, at, at + 1)
            elif (name := _key(text, language)) is not None:
                key = Symbol(f"{table.name}.{name}" if table else name, KEY, at, at + 1)
                depth, quote = _after(text.partition(b"=")[2], 0, b"") if language == "toml" else (0, b"")
            last = at
    yield from _ended(key, last)
    yield from _ended(table, last)


def _ended(one: Symbol | None, last: int) -> Iterator[Symbol]:
    if one and one.name:
        yield one.replace(end=last + 1)


def _key(text: bytes, language: str) -> str | None:
    left, equals, _ = text.partition(b"=")
    if language == "ini" and (not equals or b":" in left):
        left, equals, _ = text.partition(b":")
    return _dotted(left) if equals and left.strip() else None


def _dotted(text: bytes) -> str:
    parts = text.decode("utf-8", "replace").split(".")
    return ".".join(part.strip().strip("\"'") for part in parts)


def _after(text: bytes, depth: int, quote: bytes) -> tuple[int, bytes]:
    """How deep in brackets, and in which quotes of several lines, a value is after TEXT."""
    at = 0
    while at < len(text):
        if quote:
            end = text.find(quote, at)
            if end < 0:
                return depth, (quote if len(quote) == 3 else b"")
            at, quote = end + len(quote), b""
            continue
        byte = text[at : at + 1]
        if byte == b"#":
            break
        if byte in (b'"', b"'"):
            quote = byte * 3 if text[at : at + 3] == byte * 3 else byte
            at += len(quote)
            continue
        depth += (byte in b"[{") - (byte in b"]}")
        at += 1
    return max(depth, 0), (quote if len(quote) == 3 else b"")


def _mapping(lines: Sequence[bytes]) -> Iterator[Symbol]:
    """YAML: `key:` at the start of a line, and one level below it."""
    above: list[tuple[int, str, int]] = []  # indentation, name, first line
    block = -1  # the indentation of the key whose text follows in a block
    last = -1
    for at, line in enumerate(lines):
        text = line.lstrip(b" ")
        body = text.rstrip()
        if not body or body[:1] == b"#":
            continue
        indent = len(line) - len(text)
        if block >= 0 and indent > block:
            last = at
            continue
        block = -1
        is_mark = body in (b"---", b"...") or body[:1] == b"%"
        while above and (
            is_mark or indent < above[-1][0] or (indent == above[-1][0] and body[:2] != b"- " and body != b"-")
        ):
            _, name, first = above.pop()
            yield Symbol(name, KEY, first, last + 1)
        if is_mark:
            continue
        last = at
        found = _yaml_key(body)
        is_inside = not above or indent > above[-1][0]
        if found is not None and is_inside and len(above) < LEVELS and (above or indent == 0):
            above.append((indent, f"{above[-1][1]}.{found}" if above else found, at))
        if body[-1:] in b"|>+-" and body.rstrip(b"+-0123456789")[-1:] in (b"|", b">"):
            block = indent
    while above:
        _, name, first = above.pop()
        yield Symbol(name, KEY, first, last + 1)


def _yaml_key(text: bytes) -> str | None:
    if text[:1] in b"-[{&*!|>%@`?,":
        return None
    if text[:1] in (b'"', b"'"):
        end = text.find(text[:1], 1)
        is_key = end > 0 and text[end + 1 :].lstrip()[:1] == b":"
        return text[1:end].decode("utf-8", "replace") if is_key else None
    place = len(text) - 1 if text.endswith(b":") else -1
    inside = text.find(b": ")
    place = inside if inside >= 0 else place
    return text[:place].strip().decode("utf-8", "replace") if place > 0 and b" #" not in text[:place] else None


def _members(lines: Sequence[bytes]) -> Iterator[Symbol]:
    """JSON: the members of the outermost object, and of the objects in them."""
    depth, kinds = 0, b""  # kinds: the open brackets, outermost first
    names: list[str] = []
    firsts: list[int] = []
    for at, line in enumerate(lines):
        if (
            depth > LEVELS
            and not line.strip().startswith((b"{", b"}", b"[", b"]"))
            and not line.rstrip().endswith(OPENING)
        ):
            continue  # a member that is too deep to be a symbol
        place = 0
        while place < len(line):
            byte = line[place : place + 1]
            if byte == b'"':
                end = _string_end(line, place + 1)
                is_key = line[end + 1 :].lstrip()[:1] == b":" and kinds == b"{" * depth and 0 < depth <= LEVELS
                if is_key:
                    name = line[place + 1 : end].decode("utf-8", "replace")
                    names[depth - 1 :], firsts[depth - 1 :] = [name], [at]
                place = end
            elif byte in b"{[":
                kinds, depth = kinds + byte, depth + 1
            elif byte in b"}],":
                if 0 < depth <= LEVELS and len(names) == depth and kinds == b"{" * depth and names:
                    yield Symbol(".".join(names), KEY, firsts[-1], at + (byte == b"," or firsts[-1] == at))
                    names.pop()
                    firsts.pop()
                if byte != b",":
                    kinds, depth = kinds[:-1], max(depth - 1, 0)
            place += 1


def _string_end(line: bytes, place: int) -> int:
    while place < len(line):
        if line[place] == 92:
            place += 1
        elif line[place] == 34:
            return place
        place += 1
    return len(line)
