"""The commands that go on and on: `bb watch`, `bb problems --watch`, `bb notify`. What they need is loaded when they
are run: naming them costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer.core import TyperArgument, TyperOption

from bb.cli.calls import offers, run
from bb.cli.watch.model import View
from bb.ops.params import AgentId, Seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    Chosen = Callable[[bool], int]


def _watch(
    agent: str | None = None,
    bead: str | None = None,
    filter_: str | None = None,
    view: str | None = None,
    since: str | None = None,
    **_: Any,
) -> Chosen:
    """Watch the agents at work: one live screen, until you press q.

    It shows what needs you, who is here and alive and holds what, what waits to be accepted, who is in whose way, and
    what has happened lately. Keys: q quits, space pauses, / filters, f goes to the next view, j and k scroll, r looks
    again, ? tells them all. In a pipe, with --json, and where no screen can be drawn, it says what happens from now on
    (or as of --since), one line or one JSON document for each thing, until interrupted.
    """

    def call(as_json: bool) -> int:
        from bb.cli.watch import watch  # noqa: PLC0415

        return watch.watch(agent, bead, filter_, view, since, as_json=as_json)

    return lambda as_json: run.guarded("watch", lambda: call(as_json), as_json=as_json)


def instead_of_problems(given: dict[str, Any]) -> Chosen | None:
    """What `bb problems` does with the options that the op knows nothing of, which are taken out of GIVEN."""
    is_watch, is_quiet = bool(given.pop("watch", False)), bool(given.pop("quiet", False))
    if not (is_watch or is_quiet):
        return None

    def call(as_json: bool) -> int:
        from bb.cli.watch import alarm  # noqa: PLC0415

        if not is_watch:
            raise alarm.NeedsWatch
        return alarm.watch(as_json=as_json, is_quiet=is_quiet)

    return lambda as_json: run.guarded("problems", lambda: call(as_json), as_json=as_json)


def _notify(
    command: str | None = None,
    shell: bool = False,
    timeout: str | None = None,
    existing: bool = False,
    once: bool = False,
    test: bool = False,
    **_: Any,
) -> Chosen:
    """Run a command of yours for each new problem: to ring, to send a message, to open a ticket.

    The problem is told in the environment (BB_PROBLEM_ID, BB_PROBLEM_KIND, BB_PROBLEM_TEXT, BB_PROBLEM_NEXT_STEP,
    BB_PROBLEM_SINCE, BB_REPOSITORY), each one harmless line, and as a JSON document on stdin. Nothing of it ever
    becomes part of the command line: that is split into words as a shell would, and no shell sees it unless --shell
    asks for one. What it prints goes to stderr.

    It goes on until interrupted, and begins with problems that come after it has started. With --once it tells what
    is new since the last time this command was run with --once, and ends; a command that failed is tried again then.
    """

    def call(as_json: bool) -> int:
        from bb.cli.watch import notify  # noqa: PLC0415

        wanted = notify.wanted(command, timeout, is_shell=shell, is_existing=existing, is_once=once, is_test=test)
        return notify.notify(wanted, as_json=as_json)

    return lambda as_json: run.guarded("notify", lambda: call(as_json), as_json=as_json)


def _flag(name: str, about: str, keyword: str | None = None) -> TyperOption:
    return TyperOption(param_decls=[name, *([keyword] if keyword else [])], is_flag=True, default=False, help=about)


def _value(name: str, metavar: str, about: str, *more: str, kind: Any = None) -> TyperOption:
    offered = offers.completion(kind) if kind else None
    return TyperOption(param_decls=[name, *more], type=str, metavar=metavar, help=about, autocompletion=offered)


COMMANDS: dict[str, tuple[Callable[..., Chosen], list[TyperArgument | TyperOption], tuple[str, ...]]] = {
    "watch": (
        _watch,
        [
            _value("--agent", "ID", "Only what is about this agent.", kind=AgentId),
            _value("--bead", "BEAD", "Only what is about this bead."),
            _value("--filter", "TEXT", "Only what has all of these words: an agent, a bead, a path.", "filter_"),
            _value("--view", "VIEW", "Begin with this view: all, problems, agents, held or timeline.", kind=View),
            _value("--since", "TIME", "What happened from this moment on, too: 2026-11-21T03:40:35Z, or 15m, 2h, 7d."),
        ],
        ("bb watch", "bb watch --filter src/parser --view timeline", "bb watch --since 1h --json | jq .text"),
    ),
    "notify": (
        _notify,
        [
            _value("--command", "CMD", "What to run: a program and its arguments. [required]"),
            _flag("--shell", 'Let `sh -c` run CMD, so that it may name variables: "$BB_PROBLEM_TEXT".'),
            _value("--timeout", "SECONDS", "End a run that takes longer. [default: 30]", kind=Seconds),
            _flag("--existing", "Tell what was there before, too; with --once, what was told before."),
            _flag("--once", "Tell what is new since the last run with --once, and end: for cron."),
            _flag("--test", "Run CMD once, for a problem that is made up."),
        ],
        (
            "bb notify --command 'notify-send bb' --test",
            """bb notify --shell --command 'notify-send bb "$BB_PROBLEM_TEXT"'""",
            "bb notify --once --command ./tell-the-team",
        ),
    ),
}
# Options that only the command has, and not the op.
WATCHING = [
    _flag("--watch", "Go on: say each new problem as it comes, and when one is settled; ring at a terminal."),
    _flag("--quiet", "With --watch: do not ring."),
]
IN_JSON = {
    "watch": "One JSON document for each thing.",
    "notify": "One JSON document for each thing; with --once or --test, one in all.",
    "problems": "Answer with one JSON document; with --watch, one for each thing.",
}
