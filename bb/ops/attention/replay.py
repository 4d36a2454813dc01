"""Testing a policy: a script of messages and actions, played against the rules with a ledger in memory (C2A)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bb.kernel import json_text
from bb.kernel.errors import BbError, NotFound, Usage
from bb.kernel.escaping import harmless
from bb.ops.agent_params import Name
from bb.ops.catalogue import op
from bb.ops.desk import input_text
from bb.ops.desk.desk import Desk
from bb.ops.json_params import Json

LARGEST = 16 << 20

NoScript = NotFound.declare(
    "SCRIPT_NOT_READ", "The script cannot be read", hint="pass a file with one JSON object per line, or - for stdin"
)


@op(
    "chat.replay",
    reads=True,
    screen="attention_host",
    streams=True,
    examples=("bb chat replay policy.jsonl", "bb chat replay - --json < policy.jsonl"),
)
def replay(desk: Desk, script: Name | None = None, *, steps: Json | None = None) -> Iterator[dict[str, Any]]:
    """Play a script of messages, answers and passing time against the rules, and show what each agent would see.

    Nothing is recorded, and the clock is that of the script. If a step has an `expect`, its result must equal it: the
    first difference fails the command. So a script can serve as a test of a policy.

    Parameters:
        script (FILE): The script: one JSON object per line, each a step. Lines that start with # are comments. - reads
            stdin.
        steps: The steps as a list of objects, instead of a file.
    """
    from bb.attention.rehearsal.replay import START, Replay  # noqa: PLC0415  (it loads all rules)

    playing = Replay(desk.now() if desk.env.get("BB_NOW") else START)
    for number, step in _steps(desk, script, steps):
        try:
            yield {"step": number, **playing.step(step)}
        except BbError as refusal:
            refusal.message = f"step {number}: {refusal.message}"
            refusal.details["step"] = number
            raise


def _steps(desk: Desk, script: str | None, given: Any) -> Iterator[tuple[int, Any]]:
    if given is not None and script is not None:
        raise Usage("both a script and steps are given", hint="remove one of the two", path="$.script")
    if given is not None:
        yield from enumerate(given if isinstance(given, list) else [given], 1)
        return
    if script is None or (script == "-" and desk.stdin is None):
        raise Usage("no script is given", hint="run `bb chat replay FILE`; - reads stdin", path="$.script")
    text = _text(desk, script)
    if text.lstrip().startswith("["):
        yield from enumerate(_parsed(text, 1), 1)
        return
    number = 0
    for at, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            number += 1
            yield number, _parsed(line, at)


def _text(desk: Desk, script: str) -> str:
    try:
        if script == "-" and desk.stdin:
            return desk.stdin.read(LARGEST).decode()
        with input_text.opened(desk, script) as stream:
            return stream.read(LARGEST).decode()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not valid UTF-8"
        raise NoScript(f"{harmless(script[:200])} cannot be read: {reason}") from error


def _parsed(text: str, at: int) -> Any:
    try:
        return json_text.loads(text)
    except json_text.NotJson:
        from bb.attention.rehearsal.steps import InvalidStep  # noqa: PLC0415

        raise InvalidStep(f"line {at} of the script is not valid JSON", line=at) from None
