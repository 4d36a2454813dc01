"""The catalogue of ops: what each is called, takes and does, read from one declaration.

    @op("agent.register", examples=("bb agent register --name amber-otter --role builder",))
    def register(desk: Desk, *, name: AgentId, role: Role, force_update: bool = False) -> dict[str, Any]:
        \"\"\"Take an identity for this session.\"\"\"

Name, signature and docstring are the whole declaration. Left of `*` is a CLI argument, right of it an option; no
default means required. The kind of a parameter is a class that says how to read it and what it means (`ops/params.py`).

This is the one lazy place: naming a group imports its module, and nothing else does. It reads signatures without
`inspect`, because hot verbs come through here.
"""

from __future__ import annotations

import sys

from bb.kernel import json_text
from bb.kernel.errors import BbError, NotFound, Usage
from bb.kernel.record import Record
from bb.ops.params import Flag, Scope, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypeVar

    from bb.ops.desk.desk import Desk
    from bb.ops.params import Kind

    F = TypeVar("F", bound=Callable[..., Any])

# group -> (modules, what it is about). The empty group holds the ops that stand alone, such as `bb init`.
GROUPS: dict[str, tuple[tuple[str, ...], str]] = {
    "": (
        (
            "bb.ops.setup.repository",
            "bb.ops.overview.overview",
            "bb.ops.guards.check",
            "bb.ops.holdings.freezing",
            "bb.ops.ledger.sync",
            "bb.ops.chat.events",
        ),
        "",
    ),
    "agent": (
        (
            *(
                "bb.ops.agents.agent",
                "bb.ops.agents.heartbeat",
                "bb.ops.agents.service",
                "bb.ops.agents.pausing",
                "bb.ops.holdings.reservations",
            ),
            *("bb.ops.holdings.transfers", "bb.ops.mail.inbox", "bb.ops.mail.mail"),
        ),
        "Agents: who works here, who is alive, who holds what, who has mail.",
    ),
    "protocol": (
        ("bb.ops.mail.protocol", "bb.ops.holdings.incursions"),
        "Protocol events: hand-offs, blockers, incursions, resumptions.",
    ),
    "scope": (("bb.ops.holdings.scope",), "Scopes: what a path or pattern means, and whether two of them meet."),
    "group": (
        ("bb.ops.groups.group", "bb.ops.groups.templates"),
        "Groups of CCCC: their directories, settings and state.",
    ),
    "actor": (
        ("bb.ops.groups.actors", "bb.ops.groups.terminals"),
        "Actors of a group: who they are, and how they run.",
    ),
    "chat": (
        (
            *("bb.ops.chat.chat", "bb.ops.chat.reactions", "bb.ops.chat.deliveries", "bb.ops.chat.reading"),
            *(
                "bb.ops.attention.pending",
                "bb.ops.attention.attention",
                "bb.ops.attention.surfaces",
                "bb.ops.attention.replay",
            ),
        ),
        "Messages: say, answer, acknowledge, read; what deserves an agent's attention, and why.",
    ),
    "blob": (("bb.ops.chat.blobs",), "Attachments: files that messages of a group refer to."),
    "cccc": (
        (
            "bb.ops.groups.daemon",
            "bb.ops.groups.context",
            "bb.ops.groups.terminals",
            "bb.ops.chat.reading",
            "bb.ops.groups.upkeep",
        ),
        "Ops of the CCCC daemon that have no command of their own; `bb call OP` runs them.",
    ),
    "sessions": (
        ("bb.ops.overview.sessions",),
        "Sessions: the work in hand, bead by bead, and what was said about it.",
    ),
    "ledger": (
        (
            "bb.ops.ledger.ledger",
            "bb.ops.ledger.sync",
            "bb.ops.ledger.signing",
            "bb.ops.ledger.redaction",
            "bb.ops.ledger.rotation",
        ),
        "The ledger itself: look at it, check it, carry it away.",
    ),
    "cbcl": (
        ("bb.ops.cbcl.texts", "bb.ops.cbcl.keys", "bb.ops.cbcl.dialects", "bb.ops.cbcl.talk"),
        "CBCL, the agent language: read and write it, verify, sign and install dialects, talk in it.",
    ),
    "ci": (
        ("bb.ops.guards.ci",),
        "Continuous integration: may this change be merged, as far as others hold what it touches?",
    ),
    "hooks": (
        ("bb.ops.setup.hooks",),
        "Hooks in git and in editors: install them, take them away, see which are there.",
    ),
    "mcp": (("bb.ops.setup.mcp_hosts",), "MCP: tools for agents in hosts that speak it, and the hosts' configuration."),
    "hook": (
        (
            "bb.ops.guards.git_hook",
            "bb.ops.guards.editor_hook",
            "bb.ops.guards.turn_hooks",
            "bb.ops.guards.session_hook",
        ),
        "What the hooks call: git before a commit, editors around every edit, prompt and stop.",
    ),
}

# Groups within groups, by the words that lead there: what each is about.
SUBGROUPS = {
    "cbcl dialect": "Dialects of this repository: which are spoken here, what they add, how they come and go.",
    "cbcl trust": "The authors whose signed dialects you let in, by their public keys.",
}

# Ops that agents and hooks call all day, and the module each is in: they are dispatched without Typer, whose import
# takes twice as long as a bare start, and nothing else of their group is imported.
HOT = {
    name: module
    for module, names in (
        ("bb.ops.agents.heartbeat", ("agent.heartbeat",)),
        ("bb.ops.agents.agent", ("agent.register", "agent.list", "agent.show")),
        ("bb.ops.holdings.reservations", ("agent.reserve", "agent.renew", "agent.release", "agent.status")),
        ("bb.ops.mail.inbox", ("agent.inbox",)),
        ("bb.ops.mail.mail", ("agent.send", "agent.read", "agent.ack")),
        ("bb.ops.attention.pending", ("chat.list", "chat.inject")),
        (
            "bb.ops.attention.attention",
            ("chat.show", "chat.read", "chat.claim", "chat.defer", "chat.resolve", "chat.progress"),
        ),
        ("bb.ops.mail.protocol", ("protocol.handoff", "protocol.blocked", "protocol.list", "protocol.show")),
        ("bb.ops.holdings.incursions", ("protocol.incursions", "protocol.resolve")),
        ("bb.ops.overview.overview", ("status", "problems", "timeline", "resume")),
        ("bb.ops.overview.sessions", ("sessions.list", "sessions.show")),
        ("bb.ops.ledger.ledger", ("ledger.status", "ledger.log", "ledger.show", "ledger.verify")),
        ("bb.ops.setup.repository", ("doctor",)),
        ("bb.ops.guards.check", ("check",)),
        ("bb.ops.ledger.sync", ("sync",)),
        ("bb.ops.guards.ci", ("ci.check",)),
        ("bb.ops.guards.git_hook", ("hook.pre-commit", "hook.prepare-commit-msg")),
        ("bb.ops.guards.editor_hook", ("hook.pre-tool", "hook.post-tool")),
        ("bb.ops.guards.turn_hooks", ("hook.prompt", "hook.stop")),
        ("bb.ops.guards.session_hook", ("hook.session-start",)),
    )
    for name in names
}

# How the command line prints what an op answers. Text, unless the op says otherwise.
EDITOR = "editor"  # in the form of the editor whose hook it is; a mistake is no verdict
REPORT = "report"  # text, or a file in a format that other programs read
ATTACHMENT = "attachment"  # the bytes of an attachment
OCTETS = "octets"  # bytes, if they are asked for with --raw
DOCUMENTS = "documents"  # one JSON document for each item
FEED = "feed"  # one JSON document for each item, if the answer is followed


# How something is asked for, which is no part of what is.
VOUCHED = "allow_secret"
NOT_ASKED_FOR = frozenset(["key", "wait", VOUCHED])
NOT_VOUCHED = "leave it out, or say it in other words: this command records nothing that looks like a secret"


# The groups whose ops have the flat names of CCCC's catalogue: `group_create` for `bb group create`.
FLAT = ("group", "actor", "chat", "cccc")
HIDDEN = frozenset(["cccc"])  # no group of commands


class Rows(list):  # type: ignore[type-arg]
    """Some rows of an answer that has more: what is left out is said on every face, with how to get it."""

    def __init__(self, rows: Iterable[Any], hint: str, omitted: int | None = None) -> None:
        super().__init__(rows)
        self.hint = hint
        self.omitted = omitted

    @property
    def more(self) -> dict[str, Any]:
        """What an answer says of it; how many there are only where that was counted."""
        return {"omitted": self.omitted, "hint": self.hint}


NEWER = "newer ones are left out; --since-event-id {} goes on there"
OLDER = "older ones are left out; --limit {} shows more"


def first_rows(found: Iterable[Any], limit: int, most: int) -> list[Any]:
    """The first rows that were FOUND, LIMIT at most. One further is looked for, so that an end is known for one."""
    from itertools import islice  # noqa: PLC0415  (most ops answer no rows)

    rows = list(islice(found, limit + 1))
    return rows if len(rows) <= limit else Rows(rows[:limit], OLDER.format(min(most, limit * 4)))


class UnknownOp(NotFound):
    """There is no op of that name."""

    code = "UNKNOWN_OP"
    hint = "`bb call --list` names them all"


class MissingOption(Usage):
    """A required option is missing."""

    code = "MISSING_OPTION"


class UnknownField(Usage):
    """The request has a field that the op does not take."""

    code = "UNKNOWN_FIELD"


class Parameter(Record):
    """One parameter of an op. Its NAME is what requests call it; Python may need another KEYWORD for it: `from_`."""

    name: str
    keyword: str
    kind: Kind
    is_argument: bool
    is_required: bool
    is_repeated: bool
    default: Any
    about: str

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")


class Op(Record):
    """One thing that can be asked of bb."""

    name: str
    call: Callable[..., Any]
    summary: str
    description: str
    parameters: tuple[Parameter, ...]
    examples: tuple[str, ...]
    streams: bool
    module: str
    words: str  # the name as it is typed: `agent register`
    is_live: bool = False  # only a running daemon can do it
    # Which actors run is known to the daemon that runs them: it answers if there is one, else the op answers here.
    asks_daemon: bool = False
    # It changes nothing in a repository, so it also answers in that of another user (`ledger/git/ownership.py`), where
    # every other op is refused. Hooks read: what they would write is refused where it is written.
    reads: bool = False
    output: str = ""
    screen: str = ""  # the module of `cli/screens` that prints the answer
    by_name: Mapping[str, Parameter] = {}

    @property
    def group(self) -> str:
        """The group of commands it is in, with whatever groups are in that; empty where it stands alone."""
        return self.words.partition(" ")[0] if " " in self.words else ""

    @property
    def is_flat(self) -> bool:
        """Whether it is one of CCCC's catalogue, and keeps to CCCC's customs."""
        return "." not in self.name and any(self.module in GROUPS[group][0] for group in FLAT)

    def answer(self, desk: Desk, arguments: Mapping[str, Any]) -> Any:
        """What the op answers. Under an idempotency key, what was asked for is noted down with what it records."""
        desk.only_reads = self.reads
        if "key" in arguments:
            desk.request = self._request(desk, arguments)
        try:
            return self.call(desk, **arguments)
        except BbError as refusal:
            is_general = refusal.code == "SECRET_FOUND" and refusal.hint == type(refusal).hint
            if is_general and all(each.keyword != VOUCHED for each in self.parameters):
                refusal.hint = NOT_VOUCHED  # a hint must be one that can be followed here
            raise

    def _request(self, desk: Desk, arguments: Mapping[str, Any]) -> str:
        from bb.kernel.digest import digest  # noqa: PLC0415  (which most requests need not pay for)

        asked = {name: value for name, value in sorted(arguments.items()) if name not in NOT_ASKED_FOR}
        where = desk.cwd if any(issubclass(parameter.kind, Scope) for parameter in self.parameters) else ""
        return digest(json_text.dumps([self.name, where, asked]).encode())


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
    **flags: str,
) -> Callable[[F], F]:
    """Declare a function as the op called NAME; what its FLAGS mean is said here, since a flag's kind cannot.

    WORDS are what is typed, where that does not follow from the name. What is LIVE needs a daemon. The other members
    are those of `Op`.
    """

    def declare(function: F) -> F:
        summary, _, description = (function.__doc__ or "").strip().partition("\n")
        parameters = _parameters(function, flags)
        _declared[name] = Op(
            name,
            function,
            summary,
            _dedented(description),
            parameters,
            examples,
            streams,
            function.__module__,
            words or (name.replace(".", " ").replace("_", "-") if "." in name or "_" not in name else f"call {name}"),
            live,
            asks_daemon,
            reads,
            output,
            screen,
            {parameter.name: parameter for parameter in parameters},
        )
        return function

    return declare


def _dedented(text: str) -> str:
    """A docstring's lines without the indentation they share; from Python 3.13 on there is none."""
    lines = text.strip("\n").split("\n")
    shared = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[shared:] for line in lines).strip()


def find(name: str) -> Op:
    """The op called NAME."""
    first, dot, _ = name.partition(".")
    group = first if dot else ""
    if name in HOT:
        __import__(HOT[name])  # `importlib` would cost a heartbeat three per cent
    elif group in GROUPS:
        in_group(group)
    if name not in _declared and not dot:
        for flat in FLAT:
            in_group(flat)
    if name not in _declared:
        raise UnknownOp(f"there is no op {name[:60]!r}")
    return _declared[name]


def in_group(group: str) -> list[Op]:
    """The ops of a group, in the order they are declared."""
    for module in GROUPS[group][0]:
        __import__(module)
    known = [op for op in _declared.values() if op.module in GROUPS[group][0] and _belongs(op, group)]
    return sorted(known, key=lambda op: GROUPS[group][0].index(op.module))


def _belongs(op: Op, group: str) -> bool:
    return op.group == group if group not in HIDDEN else op.group not in GROUPS


def everything() -> list[Op]:
    """Every op there is, group by group."""
    return [op for group in GROUPS for op in in_group(group)]


def bind(op: Op, given: Mapping[str, Any], *, is_typed: bool = False, ignores_unknown: bool = False) -> dict[str, Any]:
    """The arguments to call OP with, from what a face was GIVEN by name; refused when they do not fit.

    On a command line everything is text. A request `is_typed` when it came as JSON, and then a number must be one.
    Clients of CCCC send what other versions of their daemon know, which is to be ignored.
    """
    known = op.by_name
    if not ignores_unknown:
        refuse_unknown(op, given)
    missing = [p for p in op.parameters if p.is_required and given.get(p.name) is None]
    if missing:
        what = missing[0].name.upper() if missing[0].is_argument else missing[0].option
        raise MissingOption(f"{op.words} needs {what}", hint=f"`bb {op.words} --help` shows how", option=what)
    return {
        known[name].keyword: _read(known[name], value, is_typed)
        for name, value in given.items()
        if name in known and value is not None
    }


def refuse_unknown(op: Op, given: Mapping[str, Any]) -> None:
    """Refuse what OP takes nothing by the name of."""
    if unknown := given.keys() - op.by_name.keys():
        raise UnknownField(f"{op.name} takes no {min(unknown)!r}", path=f"$.{min(unknown)}")


def _read(parameter: Parameter, value: Any, is_typed: bool) -> Any:
    read = parameter.kind.from_json if is_typed else parameter.kind.from_text
    if not parameter.is_repeated:
        return read(value, parameter.name)
    if not isinstance(value, list | tuple):
        raise invalid(f"{parameter.name} must be a list", parameter.name)
    return [read(item, f"{parameter.name}[{place}]") for place, item in enumerate(value)]


def _parameters(function: Callable[..., Any], flags: Mapping[str, str]) -> tuple[Parameter, ...]:
    """The parameters behind the desk, from the function's own code object."""
    code = function.__code__
    first_option = code.co_argcount
    names = code.co_varnames[1 : first_option + code.co_kwonlyargcount]
    argument_defaults = function.__defaults__ or ()
    defaults = dict(
        zip(code.co_varnames[first_option - len(argument_defaults) : first_option], argument_defaults, strict=True)
    )
    defaults |= function.__kwdefaults__ or {}
    known = vars(sys.modules[function.__module__])
    return tuple(
        _parameter(
            name,
            function.__annotations__[name],
            known,
            defaults,
            name in code.co_varnames[:first_option],
            flags.get(name),
        )
        for name in names
    )


def _parameter(
    name: str,
    annotation: str,
    known: Mapping[str, Any],
    defaults: Mapping[str, Any],
    is_argument: bool,
    about: str | None,
) -> Parameter:
    """One parameter from its annotation: `Kind`, `Kind | None`, or `list[Kind]`."""
    kind = annotation.removesuffix(" | None")
    is_repeated = kind.startswith("list[")
    kind = kind.removeprefix("list[").removesuffix("]")
    what = Flag if kind == "bool" else known[kind]
    return Parameter(
        *(name.rstrip("_"), name, what, is_argument, name not in defaults, is_repeated, defaults.get(name)),
        about or what.__doc__ or "",
    )
