"""The catalogue of ops: the name, the parameters and the help text of each op, read from one declaration.

    @op("agent.register", examples=("bb agent register --name amber-otter --role builder",))
    def register(desk: Desk, *, name: NewAgentId, role: Role, force_update: bool = False) -> dict[str, Any]:
        \"\"\"Take an identity for this session.

        Parameters:
            force_update: Change the role of an agent that is already registered.
        \"\"\"

Name, signature and docstring are the whole declaration. A parameter left of `*` is a CLI argument, a parameter right
of it is an option. A parameter without a default is required (`ops/signatures.py`). The kind of a parameter is a class
that reads its value (`ops/params.py`). Its help text is in the docstring of the op (`ops/docstrings.py`), else in that
of its kind. An op may have a short verb, in which some of its options are arguments.

Op modules are imported lazily: only asking for a group imports its modules. Hot verbs load this module, so what only
help and other groups need is in modules that are imported when needed.
"""

from __future__ import annotations

from bb.kernel import json_text
from bb.kernel.errors import BbError, NotFound, Usage
from bb.kernel.record import Record
from bb.ops import signatures
from bb.ops.params import Scope, invalid
from bb.ops.signatures import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypeVar

    from bb.ops.desk.desk import Desk

    F = TypeVar("F", bound=Callable[..., Any])

# Hot verbs: ops that agents and hooks call often, with the module of each. They are dispatched without Typer, whose
# import takes twice as long as a bare start, and without importing the rest of their group.
HOT = {
    name: module
    for module, names in (
        ("bb.ops.agents.heartbeat", ("agent.heartbeat",)),
        ("bb.ops.agents.agent", ("agent.register", "agent.list", "agent.show")),
        ("bb.ops.holdings.reservations", ("agent.reserve", "agent.renew", "agent.release", "agent.status")),
        ("bb.ops.mail.inbox", ("agent.inbox",)),
        ("bb.ops.mail.mail", ("agent.send", "agent.read", "agent.ack")),
        ("bb.ops.chat.replying", ("agent.reply",)),
        ("bb.ops.attention.pending", ("chat.list", "chat.inject")),
        (
            "bb.ops.attention.attention",
            ("chat.show", "chat.read", "chat.claim", "chat.defer", "chat.resolve", "chat.progress"),
        ),
        ("bb.ops.mail.protocol", ("protocol.handoff", "protocol.blocked", "protocol.list", "protocol.show")),
        ("bb.ops.holdings.incursions", ("protocol.incursions", "protocol.resolve")),
        ("bb.ops.overview.overview", ("status", "problems", "timeline", "resume")),
        ("bb.ops.overview.turn", ("turn",)),
        ("bb.ops.overview.sessions", ("sessions.list", "sessions.show")),
        ("bb.ops.ledger.ledger", ("ledger.status", "ledger.log", "ledger.show", "ledger.verify")),
        ("bb.ops.setup.repository", ("doctor",)),
        ("bb.ops.guards.check", ("check",)),
        ("bb.ops.lines.edit", ("edit.begin", "edit.end", "mine")),
        ("bb.ops.lines.commit", ("commit",)),
        ("bb.ops.lines.diff", ("diff",)),
        ("bb.ops.lines.blame", ("blame",)),
        ("bb.ops.ledger.sync", ("sync",)),
        ("bb.ops.guards.ci", ("ci.check",)),
        ("bb.ops.guards.git_hook", ("hook.pre-commit", "hook.prepare-commit-msg")),
        ("bb.ops.guards.made_commit", ("hook.post-commit",)),
        ("bb.ops.guards.editor_hook", ("hook.pre-tool",)),
        ("bb.ops.guards.after_tool", ("hook.post-tool",)),
        ("bb.ops.guards.turn_hooks", ("hook.prompt", "hook.stop")),
        ("bb.ops.guards.session_hook", ("hook.session-start",)),
        ("bb.ops.guards.session_end", ("hook.session-end",)),
    )
    for name in names
}

# Short verbs: top-level words for ops that agents call often (`bb reserve src` for `bb agent reserve --scope src`). The
# op declares the word and the options that are positional there; this table finds the op without importing the others.
SHORT = {
    "reserve": "agent.reserve",
    "release": "agent.release",
    "renew": "agent.renew",
    "send": "agent.send",
    "reply": "agent.reply",
    "inbox": "agent.inbox",
    "read": "agent.read",
    "ack": "agent.ack",
    "wait": "agent.wait",
    "handoff": "protocol.handoff",
    "blocked": "protocol.blocked",
}

# How the command line prints what an op answers. Text, unless the op says otherwise.
EDITOR = "editor"  # in the form of the editor whose hook it is; an error in it must not block the editor
REPORT = "report"  # text, or a file in a format that other programs read
ATTACHMENT = "attachment"  # the bytes of an attachment
OCTETS = "octets"  # bytes, if they are asked for with --raw
DOCUMENTS = "documents"  # one JSON document for each item
FEED = "feed"  # one JSON document for each item, if the answer is followed

# Arguments that do not change what a request records. They are left out of the request digest.
OVERRIDE = "allow_secret"
NOT_IN_DIGEST = frozenset(["key", "wait", OVERRIDE])
HINT_WITHOUT_OPTION = "remove the secret and try again: this command has no option that allows one"


class TruncatedRows(list):  # type: ignore[type-arg]
    """The rows of a truncated answer. Every face shows the number of omitted rows and the hint how to get them."""

    def __init__(self, rows: Iterable[Any], hint: str, omitted: int | None = None) -> None:
        super().__init__(rows)
        self.hint = hint
        self.omitted = omitted

    @property
    def more(self) -> dict[str, Any]:
        """The omission as the answer shows it. The number is null if the rows were not counted."""
        return {"omitted": self.omitted, "hint": self.hint}


NEWER = "newer ones are left out; --since-event-id {} continues there"
OLDER = "older ones are left out; --limit {} shows more"


def older_events(limit: int, omitted: int | None = None) -> str:
    """The hint of a list of events that OMITTED older ones; --limit LIMIT shows more."""
    return f"older {'event' if omitted == 1 else 'events'} omitted; --limit {limit} shows more"


def first_rows(found: Iterable[Any], limit: int, most: int) -> list[Any]:
    """The first LIMIT rows of FOUND. One more row is read, to learn whether the answer is complete."""
    from itertools import islice  # noqa: PLC0415  (most ops answer no rows)

    rows = list(islice(found, limit + 1))
    return rows if len(rows) <= limit else TruncatedRows(rows[:limit], OLDER.format(min(most, limit * 4)))


class UnknownOp(NotFound):
    """There is no op with that name."""

    code = "UNKNOWN_OP"
    hint = "`bb call --list` lists all ops"


MissingOption = Usage.declare("MISSING_OPTION", "A required option is missing")
UnknownField = Usage.declare("UNKNOWN_FIELD", "The request has a field that the op does not take")


class Op(Record):
    """One thing that users can ask of bb."""

    name: str
    call: Callable[..., Any]
    docstring: str
    parameters: tuple[Parameter, ...]
    examples: tuple[str, ...]
    streams: bool
    module: str
    words: str  # the name as typed on the command line: `agent register`
    is_live: bool = False  # needs a running daemon
    # Only the daemon that runs actors knows which run: it answers if there is one, otherwise the op answers here.
    asks_daemon: bool = False
    # The op changes nothing in a repository, so it is allowed in one that belongs to another user
    # (`ledger/git/ownership.py`), where every other op is refused. Hooks count as reading, because they must stay
    # silent in a repository without a ledger; a write by a hook is refused at the write itself.
    reads: bool = False
    output: str = ""
    screen: str = ""  # the module of `cli/screens` that prints the answer
    verdicts: tuple[str, ...] = ()  # codes of refusals that are an answer, such as "there are problems", and no error
    by_name: Mapping[str, Parameter] = {}
    forms: tuple[Callable[..., Any], ...] = ()
    short: str = ""  # the short verb
    positional: tuple[str, ...] = ()  # the parameters that are arguments of the short verb, in order
    typed: str = ""  # the words of the form that was typed, if they are not `words`

    @property
    def short_form(self) -> Op:
        """The op as its short verb takes it. It answers like the op, also by the same words in the envelope."""
        first = [self.by_name[name].replace(is_argument=True, is_option_too=True) for name in self.positional]
        rest = [parameter for parameter in self.parameters if parameter.name not in self.positional]
        return self.replace(parameters=(*first, *rest), typed=self.short)

    @property
    def own_examples(self) -> tuple[str, ...]:
        """The examples of this form: an op with a short verb has examples of both."""
        begin = f"bb {self.short} "
        return tuple(
            example for example in self.examples if not self.short or (begin in f"{example} ") is bool(self.typed)
        )

    @property
    def group(self) -> str:
        """The command group of this op; empty if it has none."""
        return self.words.partition(" ")[0] if " " in self.words else ""

    @property
    def is_flat(self) -> bool:
        """Whether the op is from CCCC's catalogue and follows CCCC's conventions."""
        return "." not in self.name and " " in self.words

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return self.docstring.strip().partition("\n")[0]

    @property
    def description(self) -> str:
        """The docstring without the summary and the help texts of the parameters."""
        from bb.ops import docstrings  # noqa: PLC0415  (only help needs it)

        return docstrings.description(self.docstring)

    def run(self, desk: Desk, arguments: Mapping[str, Any]) -> Any:
        """Run the op. With an idempotency key, a digest of the request is recorded with the events."""
        desk.begin(only_reads=self.reads, request=self._request(desk, arguments) if "key" in arguments else "")
        try:
            return self.call(desk, **arguments)
        except BbError as refusal:
            is_general = refusal.code == "SECRET_FOUND" and refusal.hint == type(refusal).hint
            if is_general and all(parameter.keyword != OVERRIDE for parameter in self.parameters):
                refusal.hint = HINT_WITHOUT_OPTION  # the general hint names --allow-secret, which this op does not have
            if "--queue" in (refusal.hint or ""):
                from bb.ops.desk import fleet_hints  # noqa: PLC0415  (needed only for such a refusal)

                refusal.hint = fleet_hints.as_possible(desk, refusal.hint or "")
            if refusal.code == "DISK_FULL" and desk.has_recorded:  # it would say that nothing was recorded
                from bb.ops.desk import after_recording  # noqa: PLC0415  (rarely needed)

                raise after_recording.PartlyRecorded(f"a part was recorded before: {refusal.message}") from refusal
            raise

    def _request(self, desk: Desk, arguments: Mapping[str, Any]) -> str:
        from bb.kernel.digest import digest  # noqa: PLC0415  (most requests have no key)

        digested = {name: value for name, value in sorted(arguments.items()) if name not in NOT_IN_DIGEST}
        cwd = desk.cwd if any(issubclass(parameter.kind, Scope) for parameter in self.parameters) else ""
        return digest(json_text.dumps([self.name, cwd, digested]).encode())


_declared: dict[str, Op] = {}


def op(
    name: str,
    *,
    words: str | None = None,
    examples: tuple[str, ...] = (),
    streams: bool = False,
    live: bool = False,
    asks_daemon: bool = False,
    reads: bool = False,
    output: str = "",
    screen: str = "",
    verdicts: tuple[str, ...] = (),
    more: tuple[Parameter, ...] = (),
    forms: tuple[Callable[..., Any], ...] = (),
    short: str = "",
    positional: tuple[str, ...] = (),
) -> Callable[[F], F]:
    """Declare a function as the op called NAME.

    WORDS are the command words, if they do not follow from the name. A LIVE op needs a running daemon. MORE are
    parameters that the function takes as `**fields`; they stand after its last required parameter. FORMS are the
    functions that the op chooses from, if one name stands for several: it has the parameters of all of them. SHORT is
    the short verb, which is also in the table SHORT; POSITIONAL are the parameters that are arguments there. The other
    members are those of `Op`.
    """

    def declare(function: F) -> F:
        by_name: dict[str, Parameter] = {}
        for form in forms or (function,):
            for parameter in signatures.with_more(signatures.parameters(form), more):
                by_name.setdefault(parameter.name, parameter)
        _declared[name] = Op(
            name,
            function,
            function.__doc__ or "",
            tuple(by_name.values()),
            examples,
            streams,
            function.__module__,
            words or (name.replace(".", " ").replace("_", "-") if "." in name or "_" not in name else f"call {name}"),
            live,
            asks_daemon,
            reads,
            output,
            screen,
            verdicts,
            by_name,
            forms,
            short,
            positional,
        )
        return function

    return declare


def find(name: str) -> Op:
    """The op called NAME."""
    if name in HOT:
        __import__(HOT[name])  # importing `importlib` would make a heartbeat 3 % slower
    elif name not in _declared:
        _import_groups_of(name)
    if name not in _declared:
        raise UnknownOp(f"there is no op {name[:60]!r}")
    return _declared[name]


def typed(words: str) -> Op:
    """The op for a hot verb as it is typed: `agent.reserve`, or the short verb `reserve`."""
    return find(SHORT[words]).short_form if words in SHORT else find(words)


def hot_name(words: str) -> str:
    """The hot op for a verb as it is typed; empty if the verb is not hot."""
    name = SHORT.get(words, words)
    return name if name in HOT else ""


def _import_groups_of(name: str) -> None:
    """Import the modules of the groups that may have an op called NAME."""
    from bb.ops.command_groups import FLAT, GROUPS  # noqa: PLC0415  (hot verbs do not need it)

    group, dot, _ = name.partition(".")
    for candidate in (group,) if dot else ("", *FLAT):
        if candidate in GROUPS and name not in _declared:
            ops_in_group(candidate)


def ops_in_group(group: str) -> list[Op]:
    """The ops of a group, in order of declaration."""
    from bb.ops.command_groups import GROUPS, HIDDEN  # noqa: PLC0415  (hot verbs do not need it)

    modules = GROUPS[group][0]
    for module in modules:
        __import__(module)
    ops = [op for op in _declared.values() if op.module in modules]
    its = [op for op in ops if (op.group == group if group not in HIDDEN else op.group not in GROUPS)]
    return sorted(its, key=lambda op: modules.index(op.module))


def all_ops() -> list[Op]:
    """All ops, group by group."""
    from bb.ops.command_groups import GROUPS  # noqa: PLC0415  (hot verbs do not need it)

    return [op for group in GROUPS for op in ops_in_group(group)]


def bind(op: Op, given: Mapping[str, Any], *, is_typed: bool = False, ignores_unknown: bool = False) -> dict[str, Any]:
    """The keyword arguments for OP, from the parameters GIVEN by name. Invalid parameters are refused.

    Parameters from a command line are text. IS_TYPED means that the request came as JSON, where a number must be a
    JSON number. IGNORES_UNKNOWN is for CCCC clients, which also send fields of other daemon versions.
    """
    parameters = op.by_name
    if not ignores_unknown:
        refuse_unknown(op, given)
    missing = [p for p in op.parameters if p.is_required and given.get(p.name) is None]
    if missing:
        raise _missing(op, missing, is_typed=is_typed)
    return {
        parameters[name].keyword: _read(parameters[name], value, is_typed)
        for name, value in given.items()
        if name in parameters and value is not None
    }


def _missing(op: Op, missing: list[Parameter], *, is_typed: bool) -> BbError:
    """The refusal of a request without some required parameters: all of them, as the caller gives them."""
    words = op.typed or op.words
    examples = op.own_examples or op.examples
    hint = f"for example `{examples[0]}`" if examples else f"`bb {words} --help` shows how"
    names = [parameter.name if is_typed else parameter.label for parameter in missing]
    shown = [f"`{name}`" if is_typed else name for name in names]
    needed = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    return MissingOption(f"{words} needs {needed}", hint=hint, option=names[0], options=names)


def refuse_unknown(op: Op, given: Mapping[str, Any]) -> None:
    """Refuse a field in GIVEN that is not a parameter of OP."""
    if unknown := given.keys() - op.by_name.keys():
        raise UnknownField(f"{op.name} has no parameter {min(unknown)!r}", path=f"$.{min(unknown)}")


def _read(parameter: Parameter, value: Any, is_typed: bool) -> Any:
    read = parameter.kind.from_json if is_typed else parameter.kind.from_text
    if not parameter.is_repeated:
        return read(value, parameter.name)
    if not isinstance(value, list | tuple):
        raise invalid(f"{parameter.name} must be a list", parameter.name)
    return [read(item, f"{parameter.name}[{place}]") for place, item in enumerate(value)]
