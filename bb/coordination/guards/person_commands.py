"""Finds bb commands reserved for the person, in a shell command that an agent is about to run.

The CLI trusts `--agent user`. An editor's hook knows that an agent runs the command, so it refuses the person's orders
and all changes in the person's name. Reading is allowed. A command line can be disguised; this check is meant for
agents that use the person's commands by mistake.
"""

from __future__ import annotations

from bb.coordination.guards import shell
from bb.kernel import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ORDERS = (("freeze",), ("thaw",), ("agent", "pause"), ("agent", "unpause"))
PIN = "--stale-minutes"  # of `bb init`
WHO = ("--agent", "--from", "--by")
HELP = frozenset(["--help", "-h"])


def find_person_command(command: str, reads: Callable[[Sequence[str]], bool]) -> str | None:
    """The first order, or change in the person's name, in the shell's COMMAND; None if there is none.

    READS tells whether a bb command with these words changes nothing.
    """
    for run in shell.runs(command) if "bb" in command else ():
        words = _of_bb(run.words)
        if words and HELP.isdisjoint(words) and (_is_order(words) or (_is_in_persons_name(words) and not reads(words))):
            return " ".join(["bb", *words[:2]])
    return None


def _of_bb(words: Sequence[str]) -> list[str]:
    """The words after `bb` or `python -m bb`; empty if another program would run."""
    program = words[0].rpartition("/")[2]
    if program == "bb":
        return list(words[1:])
    is_module = program.startswith("python") and "-m" in words and words[words.index("-m") + 1 :][:1] == ("bb",)
    return list(words[words.index("-m") + 2 :]) if is_module else []


def _is_order(words: Sequence[str]) -> bool:
    is_pin = words[0] == "init" and any(word.partition("=")[0] == PIN for word in words)
    return is_pin or any(tuple(words[: len(order)]) == order for order in ORDERS)


def _is_in_persons_name(words: Sequence[str]) -> bool:
    pairs = zip(words, [*words[1:], ""], strict=True)
    return any(
        (name in WHO and value == ids.PERSON) or name in [f"{who}={ids.PERSON}" for who in WHO] for name, value in pairs
    )
