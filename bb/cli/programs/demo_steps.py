"""The steps of `bb demo`: two agents in one clone, then a second clone that syncs with the first through a hub."""

from __future__ import annotations

from bb.kernel.record import Record

PROJECT, WORKTREE, CLONE, HUB = "project", "worktree", "clone", "hub.git"
AMBER, COBALT, JADE = "amber-otter", "cobalt-harbor", "jade-heron"
NOON, LATER, EVEN_LATER = "2026-01-05T12:00:00Z", "2026-01-05T12:20:00Z", "2026-01-05T12:45:00Z"

MESSAGE = "MESSAGE"  # in a command: the id of the newest message to cobalt-harbor
HANDOFF = "--subject Parser --summary 'Reads everything but dates.' --next-action 'Read dates.'"


class Step(Record):
    """One command and its expected exit status."""

    about: str
    command: str
    status: int = 0
    agent: str | None = None
    at: str = NOON
    where: str = PROJECT
    says_the_same: bool = False  # whether its output must equal that of the previous step


def _at(moment: str, *steps: Step) -> tuple[Step, ...]:
    return tuple(step.replace(at=moment) for step in steps)


def _by_cobalt(about: str, command: str, status: int = 0) -> Step:
    """A step of the agent in the other worktree."""
    return Step(about, command, status, COBALT, where=WORKTREE)


ONE_CLONE = (
    Step("Create a ledger for the repository, inside the git directory.", "bb init"),
    Step("An agent starts its session and registers a name.", "bb init --register amber-otter --role builder"),
    Step(
        "A second agent registers in another worktree.",
        "bb init --register cobalt-harbor --role reviewer",
        where=WORKTREE,
    ),
    Step("A name already in use is refused; the hint says what to do.", "bb init --register amber-otter", status=7),
    Step(
        "amber-otter reserves the files that it is going to edit.",
        "bb agent reserve --scope 'src/*' --bead demo-a1.1",
        agent=AMBER,
    ),
    _by_cobalt(
        "An overlapping reservation is refused, also between patterns. The answer names the holder.",
        "bb agent reserve --scope '**/parser.py' --bead demo-a1.2",
        7,
    ),
    _by_cobalt("cobalt-harbor checks a file before it edits the file.", "bb check src/parser.py", 7),
    *_at(
        LATER,
        _by_cobalt("Twenty minutes later, cobalt-harbor sends a heartbeat.", "bb agent heartbeat --json"),
        Step("amber-otter has sent no heartbeat and is stale.", "bb status"),
        _by_cobalt(
            "Now cobalt-harbor may take over the scope, but only with --takeover-stale.",
            "bb agent reserve --scope 'src/*' --bead demo-a1.1",
            7,
        ),
        _by_cobalt(
            "With that option, the old reservation is archived and its holder is notified.",
            "bb agent reserve --scope 'src/*' --bead demo-a1.1 --takeover-stale",
        ),
    ),
    *_at(
        EVEN_LATER,
        Step("amber-otter returns and reads its mail.", "bb agent inbox", agent=AMBER),
        Step(
            "It hands its work over, with a summary and the next action.",
            f"bb protocol handoff --to cobalt-harbor --bead demo-a1.1 {HANDOFF}",
            agent=AMBER,
        ),
        _by_cobalt("After a restart, an agent asks for a short summary of its work.", "bb resume"),
        _by_cobalt("cobalt-harbor accepts the work.", f"bb agent ack --message {MESSAGE}"),
        Step("No problem needs a person any more.", "bb problems"),
        Step("The timeline shows all events.", "bb timeline"),
    ),
)

TWO_CLONES = _at(
    EVEN_LATER,
    Step(
        "Other clones receive the ledger through git. The first --publish names everyone who can read it.",
        "bb sync --publish",
    ),
    Step(
        "A third agent registers in another clone of the repository.",
        "bb init --register jade-heron --role builder",
        where=CLONE,
    ),
    Step(
        "Its sync receives the published events and publishes the agent's registration.",
        "bb sync --publish",
        where=CLONE,
    ),
    _by_cobalt(
        "A global reservation is valid in every clone.",
        "bb agent reserve --global --scope 'docs/*' --bead demo-a1.3",
    ),
    Step(
        "An overlap is therefore refused in the other clone too, without a sync in between.",
        "bb agent reserve --global --scope docs/parser.md --bead demo-a1.4",
        status=7,
        agent=JADE,
        where=CLONE,
    ),
    Step("The other clone publishes the refused attempt.", "bb sync", where=CLONE),
    Step("The first clone receives it.", "bb sync"),
    Step("The digest of the first clone's state:", "bb ledger digest"),
    Step("The second clone has the same digest.", "bb ledger digest", where=CLONE, says_the_same=True),
)

IN_THE_END = (
    Step("Every fact is one line of an append-only ledger, chained to the previous line.", "bb ledger verify"),
    Step("The work tree is unchanged.", "git status --short"),
)

STEPS = ONE_CLONE + TWO_CLONES + IN_THE_END
