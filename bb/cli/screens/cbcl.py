"""How `bb cbcl` reads: texts first, so that they can be passed on, then what there is to say about them.

What is made to be written into a file (`format`, `sign`) goes into a file or a pipe as it is, or a signature would no
longer fit it. At a terminal, and in everything else, what a terminal would obey is shown escaped.
"""

from __future__ import annotations

from bb.cbcl.judge import verification
from bb.cbcl.read.definition import LIMITS
from bb.cbcl.read.tree import Node, lexeme
from bb.cli.screens import paint
from bb.cli.screens.paint import column, counted, expression, flowing, hanging, heading, painted, whole
from bb.kernel.outside import Outside, page, sentence, shell_word
from bb.kernel.show import Exact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

LONGEST_COVERED = 72  # characters of what is signed; --json has all of it
NAME = 11  # columns of what stands before a value, and two more


def of(command: str, data: Outside) -> Iterable[str]:
    """The lines that say DATA, the answer of COMMAND, as wide as the terminal allows."""
    lines = FORMS[command](data)
    return lines if command in VERBATIM else paint.laid_out(lines)


def verbatim(text: Outside) -> Iterator[str]:
    """TEXT for a file or a pipe, as it is; for a terminal, harmless."""
    yield from map(Exact, str(text.raw()).split("\n")) if paint.width() is None else page(text)


# -- what a text says


def parsed(found: Outside) -> Iterator[str]:
    """A message, part by part, then how it is written and what it is known by."""
    if "messages" in found:
        for number, each in enumerate(found["messages"]):
            yield from ["", *parsed(each)] if number else parsed(each)
        return
    yield from _parts(found["ast"])
    yield f"{column('text', NAME)}  {hanging(expression(found['text']))}"
    yield f"{column('id', NAME)}  {found['id']}"
    yield f"{column('hash', NAME)}  {found['hash']}"


def _parts(ast: Outside) -> Iterator[str]:
    """Layer by layer, from without."""
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


def _core(ast: Outside) -> Iterator[str]:
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


def _dialect(ast: Outside) -> Iterator[str]:
    yield f"  {column('extends', NAME)}  {ast['extends'] or 'cbcl'}"
    yield f"  {column('author', NAME)}  {ast['author'] or '-'}"
    limits = ", ".join(f"{name} {value}" for name in LIMITS if not (value := ast["resources"].get(name)).is_none)
    yield f"  {column('limits', NAME)}  {limits or '-'}"
    for each in ast["performatives"]:
        params = " ".join(str(name) for _, name in each["params"])
        added = f"{each['name']} ({params})"
        yield f"  {column('adds', NAME)}  {hanging(flowing(added))}"


def written(pair: Outside) -> Outside:
    """A tree of the JSON form as text."""
    return Outside(_written(pair.raw()))


def _written(pair: Any) -> str:
    """The same. No deeper than texts are read, so it may call itself."""
    tag, value = pair
    return f"({' '.join(map(_written, value))})" if tag == "list" else lexeme(Node(tag, value))


def formatted(found: Outside) -> Iterator[str]:
    """The text itself, and nothing else."""
    for number, each in enumerate(found.get("messages", [found])):
        yield from [""] if number else []
        yield from verbatim(each["formatted"])


def expanded(found: Outside) -> list[str]:
    """The messages, each on a line; what is said about them is a comment."""
    by = f"{found['performative']} of {found['dialect']}" if found["performative"] else "it calls nothing"
    about = f"; {by}: {found['size']:,} characters, {found['depth']} deep"
    return [*(line for each in found["messages"] for line in verbatim(each["text"])), painted(about, "dim")]


# -- what there is to say against it


def verified(found: Outside) -> Iterator[str]:
    """That a dialect is sound, and what its author could do better all the same."""
    signed = found["signature"].among(SIGNED, "and nothing is known of its signature")
    yield f"{heading(str(found['dialect']))} {painted('is sound', 'green')}, {signed}"
    yield f"hash {found['hash']}"
    if tried := found["examples"]:
        yield f"{counted(int(tried['count']), 'example')} in {whole(tried['file'])}: all as they are written"
    yield from _placed(found["warnings"], "warning ")


SIGNED = {
    "valid": "and signed by its author",
    "unsigned": "and not signed",
    "unchecked": "and signed by somebody of whom you have no key",
}


def violations(details: Outside) -> Iterator[str]:
    """The rules that a dialect breaks."""
    yield from _placed(details["violations"], "")
    if more := int(details.get("count", 0)) - len(details["violations"]):
        least = "at least " if details["count"] == verification.MOST_COUNTED else ""
        yield f"and {least}{counted(more, 'violation')} more, which are not shown"
    yield from _placed(details.get("warnings"), "warning ")


def _placed(found: Outside, what: str) -> Iterator[str]:
    """FILE:LINE:COLUMN rule message, as compilers say it."""
    for each in found:
        at = f"{each['line']}:{each['column']}" if "line" in each else f"octet {each['offset']}"
        file = each.get("file") or "<text>"
        about = f" in {each['performative']}" if each["performative"] else ""
        yield f"{whole(file)}:{at} {what}{each['rule']}{about}: {flowing(sentence(each['message']))}"


def explained(found: Outside) -> Iterator[str]:
    """A call: what it is filled with, which way it went, what it cost and came to."""
    yield f"{heading(str(found['performative']))} of {found['dialect']}: {expression(found['call'])}"
    yield heading("Parameters")
    for each in found["parameters"]:
        place = f"argument {each['argument']}" if each["from"] == "argument" else each["from"].among(FROM, "-")
        about = painted(f"{each['section'].among(SECTIONS, '-')}; {place}", "dim")
        yield f"  {column(str(each['name']), NAME)}  {hanging(expression(each['value']))}  {about}"
    yield from [heading("Choices"), *_choices(found["choices"])] if found["choices"] else []
    yield heading("Limits")
    for each in found["limits"]:
        used = "" if each["used"].is_none else f"{each['used']:,} of "
        others = ", ".join(f"{who} {value:,}" for who, value in each["said"].items())
        granted = f"{used}{each['granted']:,}, {each['from']}"
        yield f"  {column(str(each['limit']), 20)}{granted}  {painted(f'({others})', 'dim')}"
    if refused := found["refused"]:
        yield painted(f"Refused: [{refused['code']}] {flowing(sentence(refused['message']))}", "red")
        return
    yield heading("Comes to")
    for each in found["messages"]:
        about = painted(f"{each['size']:,} characters, {each['depth']} deep", "dim")
        yield f"  {hanging(expression(each['text']))}  {about}"


FROM = {"keyword": "by its keyword", "nil": "not given, so nil"}
SECTIONS = {"req": "required", "optional": "optional", "rest": "the rest", "key": "by keyword"}


def _choices(choices: Outside) -> Iterator[str]:
    for each in choices:
        yield f"  {hanging(expression(each['form']))}"
        for tried in each["tried"]:
            test = "" if tried["test"].is_none else f"{expression(tried['test'])}: "
            yield f"    {painted('->', 'green') if tried['taken'] else '  '} {test}{sentence(tried['why'])}"
        taken = "nothing: no test holds" if each["taken"].is_none else expression(each["taken"])
        yield f"       {hanging(taken)}"


def compared(found: Outside) -> Iterator[str]:
    """What is in the other dialect otherwise."""
    if found["same"]:
        yield f"The same dialect, {found['a']}  {found['hash']['a']}"
        return
    for each in found["clauses"]:
        yield f"{column(str(each['clause']), 20)}{each['a'] or 'nothing'} -> {each['b'] or 'nothing'}"
    yield from (painted(f"+ {name}", "green") for name in found["added"])
    yield from (painted(f"- {name}", "red") for name in found["removed"])
    for each in found["changed"]:
        yield painted(f"~ {each['performative']}", "yellow")
        if params := each["params"]:
            yield f"    parameters  {expression(params['a'])} -> {expression(params['b'])}"
        if template := each["template"]:
            yield f"    template    {_side(template['a'])} -> {_side(template['b'])}"
    if not (found["clauses"] or found["added"] or found["removed"] or found["changed"]):
        yield "Only in the order or the spelling of its clauses; but the hash counts, and it is another:"
    yield from (f"{side} {found['hash'][side]}" for side in "ab")


def _side(found: Outside) -> str:
    text = "nothing" if found["text"].is_none else expression(found["text"])
    return f"{text} (line {found['line']}, column {found['column']})"


# -- a rehearsal


def replayed(found: Outside) -> Iterator[str]:
    """Every step and what follows from it; then what everybody knows."""
    for number, step in enumerate(found["steps"], 1):
        yield f"{number:>3}  {_step(step)}"
        yield from (f"     {line}" for line in _results(step))
        for each in step.get("delivered"):
            yield f"     {_step(each)}"
            yield from (f"       {line}" for line in _results(each))
    for name, standing in found["agents"].items():
        yield heading(str(name))
        for what, value in standing.items():
            if value and what != "id":
                yield f"  {column(str(what), NAME)}  {hanging(flowing(value))}"


def _step(step: Outside) -> str:
    verb = "says" if "sent" in step else f"hears from {step['from']}"
    text = step["sent"] if "sent" in step else step["received"]
    return f"{step['agent']} {verb} {hanging(expression(text))}"


def _results(step: Outside) -> Iterator[str]:
    if step.get("code"):
        yield painted(f"[{step['code']}] {flowing(sentence(step['message']))}", "red")
    elif step["status"] not in ("ok", "taken"):
        yield str(step["status"])
    yield from (f"-> {each['effect']} {flowing(_rest(each))}" for each in step.get("effects"))
    yield from (f"<- {hanging(expression(text))}" for text in step.get("replies"))
    yield from (f"=> {each['to']}: {expression(each['text'])}" for each in step.get("passed_on"))


def _rest(effect: Outside) -> Outside:
    return effect.without("effect", *(str(name) for name, value in effect.items() if value.is_none or value == ""))


# -- keys and whom one trusts


def made(found: Outside) -> list[str]:
    """A new key: what others are to be given of it."""
    command = f"bb cbcl trust add {shell_word(found['name'])} {shell_word(found['public_key'])}"
    return [
        f"{column('public key', NAME)}  {found['public_key']}",
        f"{column('fingerprint', NAME)}  {found['fingerprint']}",
        f"{column('secret half', NAME)}  {whole(found['path'])}",
        f"Others let in what you sign: {whole(command)}",
    ]


def signed(found: Outside) -> Iterator[str]:
    """The signed text, and nothing else."""
    return verbatim(found["text"])


def checked(found: Outside) -> list[str]:
    by = f"of @{found['author']}" if found["author"] else "that is named"
    return [
        f"The signature is good, by the key {by}  {found['fingerprint']}",
        *_covered(found["covers"]),
        f"hash {found['hash']}",
    ]


def _covered(covers: Outside) -> Iterator[str]:
    """What a signature is about, and what it is not about."""
    context = ", which may be spoken in any ledger"
    if covers["what"] == "message":
        said = f"said by @{covers['author']} in the ledger {covers['ledger']}"
        context = (
            f", {said}" if covers["ledger"] else "; where agents talk it counts as unsigned, for it names no ledger"
        )
    yield f"{column('covered', NAME)}  all of the {covers['what']}{hanging(flowing(context))}"
    yield f"{column('', NAME)}  {hanging(expression(_cut(covers['text'])))}"
    yield f"{column('', NAME)}  {covers['octets']:,} octets in canonical form; layout and comments are no part of it"
    for each in covers["outside"]:
        yield f"{column('not covered', NAME)}  {hanging(expression(each))}"


def author(found: Outside) -> list[str]:
    """An author, with the keys that are trusted."""
    by_default = "" if found["is_default"] else ", as you said"
    demand = f"  {found['signed'].among(DEMANDS, '')}{by_default}"
    if not found["keys"]:
        return [f"{heading(str(found['author']))}  has no key here", *([] if found["is_default"] else [demand])]
    rows = [f"  {each['public_key']}  {painted(str(each['fingerprint']), 'dim')}" for each in found["keys"]]
    return [heading(str(found["author"])), *rows, demand]


def _cut(text: Outside) -> Outside:
    """As much of TEXT as is shown."""
    return text if len(text) <= LONGEST_COVERED else Outside(f"{text[:LONGEST_COVERED].raw()}…")


DEMANDS = {
    "required": "messages must be signed: unsigned ones are not taken",
    "preferred": "messages should be signed: unsigned ones are taken, and marked",
    "off": "messages need no signature",
}


def removed(found: Outside) -> list[str]:
    if found["keys"]:
        return author(found)
    return [f"{heading(str(found['author']))}  is not trusted any more"]


def trusted(found: Outside) -> list[str]:
    nobody = f"Nobody is trusted. {whole('`bb cbcl trust add AUTHOR PUBLIC-KEY`')} lets in what an author signs."
    return [line for each in found["authors"] for line in author(each)] or [nobody]


def hashed(found: Outside) -> Iterator[str]:
    yield str(found["hash"])
    if found["dialect_hash"] and found["dialect_hash"] != found["hash"]:
        yield f"{found['dialect_hash']}  {painted('of the dialect in it', 'dim')}"


def policy(found: Outside) -> Iterator[str]:
    """What is granted, and what each word of it means."""
    for name, value in found["policy"].items():
        said = ("on" if value else "off") if value.is_truth else f"{value:,}" if value.is_number else str(value)
        meaning = MEANINGS.get((str(name), said), name.among(UNITS, ""))
        changed = painted("  changed", "yellow") if name in found["changed"] else ""
        row = f"{column(str(name).replace('_', '-'), 19)} {column(said, 10)} {painted(meaning, 'dim')}{changed}"
        yield row.rstrip()


MEANINGS: dict[tuple[str, str], str] = {
    ("unsigned", "local"): "what you define yourself needs no signature, what others send does",
    ("unsigned", "never"): "every definition has to be signed",
    ("unsigned", "anyone"): "definitions need no signature, unless their author has a key here",
    ("define", "trusted"): "only authors with a key here may define dialects, besides you",
    ("define", "anyone"): "anyone may define dialects",
    ("relay", "on"): "messages for somebody else are passed on",
    ("relay", "off"): "messages for somebody else are refused",
}
UNITS = {
    "max_depth": "lists within lists, in what is read and what a call comes to",
    "max_size": "octets of one message",
    "max_expansion_size": "characters that a call may come to",
    "max_verify_time": "milliseconds that verifying a dialect may take",
}

FORMS: dict[str, Callable[[Outside], Iterable[str]]] = {
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
VERBATIM = ("cbcl format", "cbcl sign", "cbcl expand")
