"""The commands that run until interrupted: `bb watch`, `bb problems --watch`, `bb notify`."""

from __future__ import annotations

from bb.cli.calls.own_command import Asked, command
from bb.cli.watch.model import LONGEST_FILTER, View
from bb.ops.agent_params import Since
from bb.ops.params import AgentOrPerson, Number, Text, UncheckedText


class AboutAgent(AgentOrPerson):
    """Only items about this agent."""


class AboutBead(Text):
    """Only items about this bead (work item)."""

    metavar = "BEAD"


class Words(Text):
    """Only items that contain all of these words: agent, bead, path."""

    longest = LONGEST_FILTER


class AlsoSince(Since):
    """Also events since this time: 2026-11-21T03:40:35Z, or 15m, 2h, 7d."""


@command(
    "watch",
    *("bb watch", "bb watch --filter src/parser --view timeline", "bb watch --since 1h --json | jq .text"),
    in_json="Print one JSON document for each event.",
)
def watch(
    asked: Asked,
    *,
    agent: AboutAgent | None = None,
    bead: AboutBead | None = None,
    filter_: Words | None = None,
    view: View | None = None,
    since: AlsoSince | None = None,
) -> int:
    """Watch the agents at work: one live screen, until you press q.

    It shows problems, agents with their liveness and reservations, messages to be accepted, incursions, and recent
    events. Keys: q quits, space pauses, / filters, f shows the next view, j and k scroll, r refreshes, ? lists all
    keys. In a pipe, with --json, and on a terminal that cannot show a screen, it prints events from now on (or from
    --since), one line or one JSON document each, until interrupted.
    """
    from bb.cli.watch import watch as live  # noqa: PLC0415

    return live.watch(agent, bead, (filter_ or "").strip(), view, since, as_json=asked.as_json)


class CommandLine(UncheckedText):
    """The command to run: a program and its arguments."""

    metavar = "CMD"


class Timeout(Number):
    """Stop a run that takes longer."""

    metavar = "SECONDS"
    most = 3600


@command(
    "notify",
    "bb notify --command 'notify-send bb' --test",
    """bb notify --shell --command 'notify-send bb "$BB_PROBLEM_TEXT"'""",
    "bb notify --once --command ./tell-the-team",
    in_json="Print one JSON document for each problem; with --once or --test, one in total.",
)
def notify(
    asked: Asked,
    *,
    command: CommandLine,
    shell: bool = False,
    timeout: Timeout = Timeout(30),  # noqa: B008
    existing: bool = False,
    once: bool = False,
    test: bool = False,
) -> int:
    """Run your own command for each new problem: to ring, to send a message, to open a ticket.

    The command receives the problem in its environment (BB_PROBLEM_ID, BB_PROBLEM_KIND, BB_PROBLEM_TEXT,
    BB_PROBLEM_NEXT_STEP, BB_PROBLEM_SINCE, BB_REPOSITORY; one escaped line each) and as a JSON document on stdin.
    The text of a problem never becomes part of the command line. The command line is split into words as a shell
    would split it, but no shell runs unless you pass --shell. The output of the command goes to stderr.

    It runs until interrupted, and reports problems that arise after its start. With --once it reports the problems
    that are new since the last run with --once, and ends; a command that failed is run again the next time.

    Parameters:
        shell: Run CMD with `sh -c`, so that it can use variables: "$BB_PROBLEM_TEXT".
        existing: Also report problems that exist already; with --once, those reported before.
        once: Report the problems that are new since the last run with --once, and end: for cron.
        test: Run CMD once, for an example problem.
    """
    from bb.cli.watch import notify as notifying  # noqa: PLC0415

    options = notifying.wanted(command, timeout, is_shell=shell, is_existing=existing, is_once=once, is_test=test)
    return notifying.notify(options, as_json=asked.as_json)


@command(
    "problems",
    op="problems",
    in_json="Answer with one JSON document; with --watch, one for each problem.",
)
def problems(asked: Asked, *, watch: bool = False, quiet: bool = False) -> int:
    """List the problems, or watch them.

    Parameters:
        watch: Keep running: print each new and each settled problem; ring the bell of a terminal.
        quiet: With --watch: do not ring.
    """
    from bb.cli.watch import alarm  # noqa: PLC0415

    if not watch:
        raise alarm.NeedsWatch()
    return alarm.watch(as_json=asked.as_json, is_quiet=quiet)


COMMANDS = (watch, notify, problems)
