"""The commands that run until interrupted: `bb watch`, `bb problems --watch`, `bb notify`.

Their modules are imported when a command runs, so listing the commands stays fast.
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

    It shows problems, agents with their liveness and reservations, messages to be accepted, incursions, and recent
    events. Keys: q quits, space pauses, / filters, f shows the next view, j and k scroll, r refreshes, ? lists all
    keys. In a pipe, with --json, and on a terminal that cannot show a screen, it prints events from now on (or from
    --since), one line or one JSON document each, until interrupted.
    """

    def call(as_json: bool) -> int:
        from bb.cli.watch import watch  # noqa: PLC0415

        return watch.watch(agent, bead, filter_, view, since, as_json=as_json)

    return lambda as_json: run.guarded("watch", lambda: call(as_json), as_json=as_json)


def instead_of_problems(given: dict[str, Any]) -> Chosen | None:
    """The command for `bb problems` with --watch or --quiet, which the op does not know. Removes them from GIVEN."""
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
    """Run your own command for each new problem: to ring, to send a message, to open a ticket.

    The command receives the problem in its environment (BB_PROBLEM_ID, BB_PROBLEM_KIND, BB_PROBLEM_TEXT,
    BB_PROBLEM_NEXT_STEP, BB_PROBLEM_SINCE, BB_REPOSITORY; one escaped line each) and as a JSON document on stdin.
    The text of a problem never becomes part of the command line. The command line is split into words as a shell
    would split it, but no shell runs unless you pass --shell. The output of the command goes to stderr.

    It runs until interrupted, and reports problems that arise after its start. With --once it reports the problems
    that are new since the last run with --once, and ends; a command that failed is run again the next time.
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
            _value("--agent", "ID", "Only items about this agent.", kind=AgentId),
            _value("--bead", "BEAD", "Only items about this bead."),
            _value("--filter", "TEXT", "Only items that contain all of these words: agent, bead, path.", "filter_"),
            _value("--view", "VIEW", "The first view: all, problems, agents, held or timeline.", kind=View),
            _value("--since", "TIME", "Also events since this time: 2026-11-21T03:40:35Z, or 15m, 2h, 7d."),
        ],
        ("bb watch", "bb watch --filter src/parser --view timeline", "bb watch --since 1h --json | jq .text"),
    ),
    "notify": (
        _notify,
        [
            _value("--command", "CMD", "The command to run: a program and its arguments. [required]"),
            _flag("--shell", 'Run CMD with `sh -c`, so that it can use variables: "$BB_PROBLEM_TEXT".'),
            _value("--timeout", "SECONDS", "Stop a run that takes longer. [default: 30]", kind=Seconds),
            _flag("--existing", "Also report problems that exist already; with --once, those reported before."),
            _flag("--once", "Report the problems that are new since the last run with --once, and end: for cron."),
            _flag("--test", "Run CMD once, for an example problem."),
        ],
        (
            "bb notify --command 'notify-send bb' --test",
            """bb notify --shell --command 'notify-send bb "$BB_PROBLEM_TEXT"'""",
            "bb notify --once --command ./tell-the-team",
        ),
    ),
}
# Options of the command that the op does not have.
WATCHING = [
    _flag("--watch", "Keep running: print each new and each settled problem; ring the bell of a terminal."),
    _flag("--quiet", "With --watch: do not ring."),
]
IN_JSON = {
    "watch": "Print one JSON document for each event.",
    "notify": "Print one JSON document for each problem; with --once or --test, one in total.",
    "problems": "Answer with one JSON document; with --watch, one for each problem.",
}
