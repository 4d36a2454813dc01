"""Text screens for `bb cbcl`: the CBCL text first, then comments on it.

`format`, `sign` and `expand` write their text unchanged into a file or a pipe; an escaped text would not match its
signature. On a terminal, and in all other answers, control characters are escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from bb.cbcl.judge import verification
from bb.cbcl.read.definition import LIMITS
from bb.cbcl.read.tree import Node, lexeme
from bb.cli.screens import styling
from bb.cli.screens.styling import coloured, column, counted, expression, flowing, hanging, heading, whole
from bb.kernel.escaping import Exact
from bb.kernel.foreign import Foreign, page, sentence, shell_word

LONGEST_COVERED = 72  # characters of the signed text that are shown; --json has all of it
NAME = 11  # columns for a label


def verbatim(text: Foreign) -> Iterator[str]:
    """TEXT unchanged for a file or a pipe; escaped for a terminal."""
    yield from map(Exact, str(text.raw()).split("\n")) if styling.width() is None else page(text)


# -- parsing


def parsed(found: Foreign) -> Iterator[str]:
    """A message part by part, then its text, id and hash."""
    if "messages" in found:
        for number, message in enumerate(found["messages"]):
            yield from ["", *parsed(message)] if number else parsed(message)
        return
    yield from _parts(found["ast"])
    yield f"{column('text', NAME)}  {hanging(expression(found['text']))}"
    yield f"{column('id', NAME)}  {found['id']}"
    yield f"{column('hash', NAME)}  {found['hash']}"


def _parts(ast: Foreign) -> Iterator[str]:
    """The layers of a message, the outermost first."""
    inner = ast
    while not inner.is_none:
        ast, inner = inner, inner.get("inner")
        kind = ast["type"]
        if kind == "lang":
            yield heading(f"in the dialect {ast['dialect']}")
        elif kind == "signed":
            yield f"{heading('signed')}  {hanging(flowing(ast['signature']))}"
        elif kind in ("envelope", "with-limits"):
            fields = ", ".join(f"{name} {value}" for name, value in ast.items() if name not in OF_LAYER and value)
            yield f"{heading(str(kind))}  {fields}".rstrip()
        else:
            yield from _core(ast)


OF_LAYER = ("type", "inner")


def _core(ast: Foreign) -> Iterator[str]:
    if ast["type"] == "simple":
        yield heading(f"{ast['performative']} to {ast['recipient']}")
        if not ast["content"].is_none:
            yield f"  {column('content', NAME)}  {hanging(expression(written(ast['content'])))}"
        for name, value in ast["params"]:
            yield f"  {column(f':{name}', NAME)}  {hanging(expression(written(value)))}"
    elif ast["type"] == "call":
        yield heading(f"a call of {ast['name']}")
        for value in ast["args"]:
            yield f"  {column('argument', NAME)}  {hanging(expression(written(value)))}"
        for name, value in ast["kwargs"]:
            yield f"  {column(f':{name}', NAME)}  {hanging(expression(written(value)))}"
    elif ast["op"] == "query":
        yield heading(f"asks whether the dialect {ast['dialect']} is spoken")
    else:
        to = f" to {ast['recipient']}" if ast["op"] == "teach" else ""
        signed = ", signed" if ast.get("signature") else ""
        yield heading(f"{ast['op']}{to}: the dialect {ast['dialect']['name']}{signed}")
        yield from _dialect(ast["dialect"])


def _dialect(ast: Foreign) -> Iterator[str]:
    yield f"  {column('extends', NAME)}  {ast['extends'] or 'cbcl'}"
    yield f"  {column('author', NAME)}  {ast['author'] or '-'}"
    limits = ", ".join(f"{name} {value}" for name in LIMITS if not (value := ast["resources"].get(name)).is_none)
    yield f"  {column('limits', NAME)}  {limits or '-'}"
    for performative in ast["performatives"]:
        params = " ".join(str(name) for _, name in performative["params"])
        added = f"{performative['name']} ({params})"
        yield f"  {column('adds', NAME)}  {hanging(flowing(added))}"


def written(pair: Foreign) -> Foreign:
    """A tree in JSON form as CBCL text."""
    return Foreign(_written(pair.raw()))


def _written(pair: Any) -> str:
    """The same, recursively. The reader limits the depth of trees."""
    tag, value = pair
    return f"({' '.join(map(_written, value))})" if tag == "list" else lexeme(Node(tag, value))


def formatted(found: Foreign) -> Iterator[str]:
    """The text only."""
    for number, message in enumerate(found.get("messages", [found])):
        yield from [""] if number else []
        yield from verbatim(message["formatted"])


def expanded(found: Foreign) -> list[str]:
    """The messages, one on each line, then a comment."""
    by = f"{found['performative']} of {found['dialect']}" if found["performative"] else "no call in it"
    about = f"; {by}: {found['size']:,} characters, {found['depth']} deep"
    return [*(line for message in found["messages"] for line in verbatim(message["text"])), coloured(about, "dim")]


# -- verification


def verified(found: Foreign) -> Iterator[str]:
    """The result of a successful verification, with warnings."""
    signed = found["signature"].among(SIGNED, "and the state of its signature is unknown")
    yield f"{heading(str(found['dialect']))} {coloured('is valid', 'green')}, {signed}"
    yield f"hash {found['hash']}"
    if tried := found["examples"]:
        yield f"{counted(int(tried['count']), 'example')} in {whole(tried['file'])}: all give the expected result"
    yield from _placed(found["warnings"], "warning ")


SIGNED = {
    "valid": "and signed by its author",
    "unsigned": "and not signed",
    "unchecked": "and signed by an author of whom you have no key",
}


def violations(details: Foreign) -> Iterator[str]:
    """The rules that a dialect breaks."""
    yield from _placed(details["violations"], "")
    if more := int(details.get("count", 0)) - len(details["violations"]):
        least = "at least " if details["count"] == verification.MOST_COUNTED else ""
        yield f"and {least}{counted(more, 'violation')} more, not shown"
    yield from _placed(details.get("warnings"), "warning ")


def _placed(found: Foreign, what: str) -> Iterator[str]:
    """FILE:LINE:COLUMN RULE: MESSAGE, as compilers write it."""
    for problem in found:
        at = f"{problem['line']}:{problem['column']}" if "line" in problem else f"octet {problem['offset']}"
        file = problem.get("file") or "<text>"
        about = f" in {problem['performative']}" if problem["performative"] else ""
        yield f"{whole(file)}:{at} {what}{problem['rule']}{about}: {flowing(sentence(problem['message']))}"


def explained(found: Foreign) -> Iterator[str]:
    """The expansion of a call: parameters, choices, limits and the resulting messages."""
    yield f"{heading(str(found['performative']))} of {found['dialect']}: {expression(found['call'])}"
    yield heading("Parameters")
    for row in found["parameters"]:
        place = f"argument {row['argument']}" if row["from"] == "argument" else row["from"].among(FROM, "-")
        about = coloured(f"{row['section'].among(SECTIONS, '-')}; {place}", "dim")
        yield f"  {column(str(row['name']), NAME)}  {hanging(expression(row['value']))}  {about}"
    yield from [heading("Choices"), *_choices(found["choices"])] if found["choices"] else []
    yield heading("Limits")
    for row in found["limits"]:
        used = "" if row["used"].is_none else f"{row['used']:,} of "
        others = ", ".join(f"{who} {value:,}" for who, value in row["said"].items())
        granted = f"{used}{row['granted']:,}, {row['from']}"
        yield f"  {column(str(row['limit']), 20)}{granted}  {coloured(f'({others})', 'dim')}"
    if refused := found["refused"]:
        yield coloured(f"Refused: [{refused['code']}] {flowing(sentence(refused['message']))}", "red")
        return
    yield heading("Expands to")
    for row in found["messages"]:
        about = coloured(f"{row['size']:,} characters, {row['depth']} deep", "dim")
        yield f"  {hanging(expression(row['text']))}  {about}"


FROM = {"keyword": "by its keyword", "nil": "not given, so nil"}
SECTIONS = {"req": "required", "optional": "optional", "rest": "rest", "key": "by keyword"}


def _choices(choices: Foreign) -> Iterator[str]:
    for choice in choices:
        yield f"  {hanging(expression(choice['form']))}"
        for tried in choice["tried"]:
            test = "" if tried["test"].is_none else f"{expression(tried['test'])}: "
            yield f"    {coloured('->', 'green') if tried['taken'] else '  '} {test}{sentence(tried['why'])}"
        taken = "nothing: no test holds" if choice["taken"].is_none else expression(choice["taken"])
        yield f"       {hanging(taken)}"


def compared(found: Foreign) -> Iterator[str]:
    """The differences between two dialects."""
    if found["same"]:
        yield f"The same dialect, {found['a']}  {found['hash']['a']}"
        return
    for change in found["clauses"]:
        yield f"{column(str(change['clause']), 20)}{change['a'] or 'nothing'} -> {change['b'] or 'nothing'}"
    yield from (coloured(f"+ {name}", "green") for name in found["added"])
    yield from (coloured(f"- {name}", "red") for name in found["removed"])
    for change in found["changed"]:
        yield coloured(f"~ {change['performative']}", "yellow")
        if params := change["params"]:
            yield f"    parameters  {expression(params['a'])} -> {expression(params['b'])}"
        if template := change["template"]:
            yield f"    template    {_side(template['a'])} -> {_side(template['b'])}"
    if not (found["clauses"] or found["added"] or found["removed"] or found["changed"]):
        yield "Only the order or the spelling of clauses differs. The hashes differ too:"
    yield from (f"{side} {found['hash'][side]}" for side in "ab")


def _side(found: Foreign) -> str:
    text = "nothing" if found["text"].is_none else expression(found["text"])
    return f"{text} (line {found['line']}, column {found['column']})"


# -- replay


def replayed(found: Foreign) -> Iterator[str]:
    """Every step and its results; then the final state of each agent."""
    for number, step in enumerate(found["steps"], 1):
        yield f"{number:>3}  {_step(step)}"
        yield from (f"     {line}" for line in _results(step))
        for delivery in step.get("delivered"):
            yield f"     {_step(delivery)}"
            yield from (f"       {line}" for line in _results(delivery))
    for name, standing in found["agents"].items():
        yield heading(str(name))
        for what, value in standing.items():
            if value and what != "id":
                yield f"  {column(str(what), NAME)}  {hanging(flowing(value))}"


def _step(step: Foreign) -> str:
    verb = "says" if "sent" in step else f"hears from {step['from']}"
    text = step["sent"] if "sent" in step else step["received"]
    return f"{step['agent']} {verb} {hanging(expression(text))}"


def _results(step: Foreign) -> Iterator[str]:
    if step.get("code"):
        yield coloured(f"[{step['code']}] {flowing(sentence(step['message']))}", "red")
    elif step["status"] not in ("ok", "taken"):
        yield str(step["status"])
    yield from (f"-> {effect['effect']} {flowing(_rest(effect))}" for effect in step.get("effects"))
    yield from (f"<- {hanging(expression(text))}" for text in step.get("replies"))
    yield from (f"=> {message['to']}: {expression(message['text'])}" for message in step.get("passed_on"))


def _rest(effect: Foreign) -> Foreign:
    return effect.without("effect", *(str(name) for name, value in effect.items() if value.is_none or value == ""))


# -- keys and trust


def made(found: Foreign) -> list[str]:
    """A new key, and the command with which others trust it."""
    command = f"bb cbcl trust add {shell_word(found['name'])} {shell_word(found['public_key'])}"
    return [
        f"{column('public key', NAME)}  {found['public_key']}",
        f"{column('fingerprint', NAME)}  {found['fingerprint']}",
        f"{column('secret half', NAME)}  {whole(found['path'])}",
        f"Others trust your signatures after: {whole(command)}",
    ]


def signed(found: Foreign) -> Iterator[str]:
    """The signed text only."""
    return verbatim(found["text"])


def checked(found: Foreign) -> list[str]:
    by = f"of @{found['author']}" if found["author"] else "given"
    return [
        f"The signature is valid, by the key {by}  {found['fingerprint']}",
        *_covered(found["covers"]),
        f"hash {found['hash']}",
    ]


def _covered(covers: Foreign) -> Iterator[str]:
    """The parts that a signature covers, and the parts that it does not cover."""
    context = ", which is valid in any ledger"
    if covers["what"] == "message":
        origin = f"sent by @{covers['author']} in the ledger {covers['ledger']}"
        context = f", {origin}" if covers["ledger"] else "; agents treat it as unsigned, because it names no ledger"
    yield f"{column('covered', NAME)}  all of the {covers['what']}{hanging(flowing(context))}"
    yield f"{column('', NAME)}  {hanging(expression(_cut(covers['text'])))}"
    yield f"{column('', NAME)}  {covers['octets']:,} octets in canonical form, without layout and comments"
    for part in covers["outside"]:
        yield f"{column('not covered', NAME)}  {hanging(expression(part))}"


def author(found: Foreign) -> list[str]:
    """An author and its trusted keys."""
    by_default = "" if found["is_default"] else ", as you said"
    demand = f"  {found['signed'].among(DEMANDS, '')}{by_default}"
    if not found["keys"]:
        return [f"{heading(str(found['author']))}  has no key here", *([] if found["is_default"] else [demand])]
    rows = [f"  {key['public_key']}  {coloured(str(key['fingerprint']), 'dim')}" for key in found["keys"]]
    return [heading(str(found["author"])), *rows, demand]


def _cut(text: Foreign) -> Foreign:
    """The first characters of TEXT."""
    return text if len(text) <= LONGEST_COVERED else Foreign(f"{text[:LONGEST_COVERED].raw()}…")


DEMANDS = {
    "required": "messages must be signed: unsigned ones are refused",
    "preferred": "messages should be signed: unsigned ones are accepted and marked",
    "off": "messages need no signature",
}


def removed(found: Foreign) -> list[str]:
    if found["keys"]:
        return author(found)
    return [f"{heading(str(found['author']))}  is no longer trusted"]


def trusted(found: Foreign) -> list[str]:
    empty = f"No authors are trusted. {whole('`bb cbcl trust add AUTHOR PUBLIC-KEY`')} trusts an author's signatures."
    return [line for entry in found["authors"] for line in author(entry)] or [empty]


def hashed(found: Foreign) -> Iterator[str]:
    yield str(found["hash"])
    if found["dialect_hash"] and found["dialect_hash"] != found["hash"]:
        yield f"{found['dialect_hash']}  {coloured('of the dialect in it', 'dim')}"


def policy(found: Foreign) -> Iterator[str]:
    """The settings of the policy, each with its meaning."""
    for name, value in found["policy"].items():
        text = ("on" if value else "off") if value.is_truth else f"{value:,}" if value.is_number else str(value)
        meaning = MEANINGS.get((str(name), text), name.among(UNITS, ""))
        changed = coloured("  changed", "yellow") if name in found["changed"] else ""
        row = f"{column(str(name).replace('_', '-'), 19)} {column(text, 10)} {coloured(meaning, 'dim')}{changed}"
        yield row.rstrip()


MEANINGS: dict[tuple[str, str], str] = {
    ("unsigned", "local"): "your own definitions need no signature, those of others do",
    ("unsigned", "never"): "every definition must be signed",
    ("unsigned", "anyone"): "definitions need no signature, unless their author has a key here",
    ("define", "trusted"): "only you and authors with a key here may define dialects",
    ("define", "anyone"): "anyone may define dialects",
    ("relay", "on"): "messages for other recipients are forwarded",
    ("relay", "off"): "messages for other recipients are refused",
}
UNITS = {
    "max_depth": "levels of nested lists, in a text and in an expansion",
    "max_size": "octets of one message",
    "max_expansion_size": "characters of an expansion",
    "max_verify_time": "milliseconds that verifying a dialect may take",
}

FORMS: dict[str, Callable[[Foreign], Iterable[str]]] = {
    "cbcl parse": parsed,
    "cbcl format": formatted,
    "cbcl canonical": lambda found: page(found["canonical_hex"]),
    "cbcl hash": hashed,
    "cbcl verify": verified,
    "violations": violations,
    "cbcl expand": expanded,
    "cbcl explain": explained,
    "cbcl diff": compared,
    "cbcl replay": replayed,
    "cbcl keygen": made,
    "cbcl sign": signed,
    "cbcl check-signature": checked,
    "cbcl trust add": author,
    "cbcl trust list": trusted,
    "cbcl trust remove": removed,
    "cbcl trust signed": author,
    "cbcl policy": policy,
}
UNWRAPPED = ("cbcl format", "cbcl sign", "cbcl expand")
