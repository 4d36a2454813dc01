"""What `bb demo` plays: two agents in one clone, then a second clone that meets the first by way of a hub."""

from __future__ import annotations

from bb.kernel.record import Record

PROJECT, WORKTREE, CLONE, HUB = "project", "worktree", "clone", "hub.git"
AMBER, COBALT, JADE = "amber-otter", "cobalt-harbor", "jade-heron"
NOON, LATER, EVEN_LATER = "2026-01-05T12:00:00Z", "2026-01-05T12:20:00Z", "2026-01-05T12:45:00Z"

MESSAGE = "MESSAGE"  # in a command: the id of the newest message to cobalt-harbor
HANDOFF = "--subject Parser --summary 'Reads everything but dates.' --next-action 'Read dates.'"


class Step(Record):
    """One command, and how it has to end."""

    about: str
    command: str
    status: int = 0
    agent: str | None = None
    at: str = NOON
    where: str = PROJECT
    says_the_same: bool = False  # as the step before


ONE_CLONE = (
    Step("A repository gets a ledger, in git's own directory.", "bb init"),
    Step("An agent starts its session under a name of its own.", "bb init --register amber-otter --role builder"),
    Step(
        "So does another, in a worktree of its own.",
        "bb init --register cobalt-harbor --role reviewer",
        where=WORKTREE,
    ),
    Step("A name that is taken is refused, with the way out.", "bb init --register amber-otter", status=7),
    Step(
        "amber-otter holds what it is going to edit.",
        "bb agent reserve --scope 'src/*' --bead demo-a1.1",
        agent=AMBER,
    ),
    Step(
        "Any overlap is refused, patterns included, and the holder is named.",
        "bb agent reserve --scope '**/parser.py' --bead demo-a1.2",
        status=7,
        agent=COBALT,
        where=WORKTREE,
    ),
    Step(
        "May I touch this? Asked before an edit, from anywhere.",
        "bb check src/parser.py",
        status=7,
        agent=COBALT,
        where=WORKTREE,
    ),
    Step(
        "Twenty minutes later a heartbeat says: cobalt-harbor is alive.",
        "bb agent heartbeat --json",
        agent=COBALT,
        at=LATER,
        where=WORKTREE,
    ),
    Step("amber-otter has fallen silent.", "bb status", at=LATER),
    Step(
        "Now its scope can be taken over, but only by saying so.",
        "bb agent reserve --scope 'src/*' --bead demo-a1.1",
        status=7,
        agent=COBALT,
        at=LATER,
        where=WORKTREE,
    ),
    Step(
        "Said so: the old reservation is archived, and its holder is told.",
        "bb agent reserve --scope 'src/*' --bead demo-a1.1 --takeover-stale",
        agent=COBALT,
        at=LATER,
        where=WORKTREE,
    ),
    Step(
        "amber-otter is back, reads its mail, and hands its work over.",
        "bb agent inbox",
        agent=AMBER,
        at=EVEN_LATER,
    ),
    Step(
        "A hand-off says what was done and what comes next.",
        f"bb protocol handoff --to cobalt-harbor --bead demo-a1.1 {HANDOFF}",
        agent=AMBER,
        at=EVEN_LATER,
    ),
    Step(
        "What an agent needs after a restart, in few words.",
        "bb resume",
        agent=COBALT,
        at=EVEN_LATER,
        where=WORKTREE,
    ),
    Step(
        "cobalt-harbor accepts: the work is its own now.",
        f"bb agent ack --message {MESSAGE}",
        agent=COBALT,
        at=EVEN_LATER,
        where=WORKTREE,
    ),
    Step("Nothing is left that needs a person.", "bb problems", at=EVEN_LATER),
    Step("All of it, told in sentences.", "bb timeline", at=EVEN_LATER),
)

TWO_CLONES = (
    Step(
        "Other clones learn of it through git. Whoever publishes first says so, and is told who can see it.",
        "bb sync --publish",
        at=EVEN_LATER,
    ),
    Step(
        "Somebody works in another clone of the repository.",
        "bb init --register jade-heron --role builder",
        at=EVEN_LATER,
        where=CLONE,
    ),
    Step(
        "What the others have published comes in, and jade-heron is known to them.",
        "bb sync --publish",
        at=EVEN_LATER,
        where=CLONE,
    ),
    Step(
        "A global reservation holds in every clone.",
        "bb agent reserve --global --scope 'docs/*' --bead demo-a1.3",
        agent=COBALT,
        at=EVEN_LATER,
        where=WORKTREE,
    ),
    Step(
        "So it is refused there too, although nobody has synced since.",
        "bb agent reserve --global --scope docs/parser.md --bead demo-a1.4",
        status=7,
        agent=JADE,
        at=EVEN_LATER,
        where=CLONE,
    ),
    Step("The other clone publishes that it was refused,", "bb sync", at=EVEN_LATER, where=CLONE),
    Step("and this one brings it in.", "bb sync", at=EVEN_LATER),
    Step("Now one digest stands for all that is known here,", "bb ledger digest", at=EVEN_LATER),
    Step("and for all that is known there.", "bb ledger digest", at=EVEN_LATER, where=CLONE, says_the_same=True),
)

IN_THE_END = (
    Step("Every fact is one line of an append-only ledger, chained to the one before.", "bb ledger verify"),
    Step("The work tree has not been touched.", "git status --short"),
)

STEPS = ONE_CLONE + TWO_CLONES + IN_THE_END
