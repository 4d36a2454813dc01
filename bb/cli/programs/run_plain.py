"""Starts `bb run -- COMMAND` without Typer, whose import takes longer than the tree for the command.

Everything else, including every mistake, goes to Typer (`commands.run`), which explains it.
"""

from __future__ import annotations

from bb.cli.calls import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

CLEAN, KEEP, JSON = "--clean", "--keep", "--json"


def answer(words: Sequence[str]) -> int | None:
    """Run the command behind `--` in WORDS; its exit status. None if Typer must parse these words."""
    if "--" not in words:
        return None
    at = words.index("--")
    options, command = words[:at], words[at + 1 :]
    is_plain = command and len(set(options)) == len(options) and {CLEAN, KEEP, JSON}.issuperset(options)
    if not is_plain or not all(map(str.isascii, command)):  # other words may be invalid UTF-8
        return None
    from bb.cli.programs import run_aside  # noqa: PLC0415

    as_json = JSON in options
    return run.guarded(
        run_aside.WORDS,
        lambda: run_aside.run(command, None, is_clean=CLEAN in options, is_kept=KEEP in options, as_json=as_json),
        as_json=as_json,
    )
