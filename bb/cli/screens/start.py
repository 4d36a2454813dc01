"""The text of `bb start`: the agent, the line to export, and what a session that goes on needs to know."""

from __future__ import annotations

from bb.cli.screens import overview
from bb.kernel.foreign import Foreign, quotation, sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def start(answer: Foreign) -> list[str]:
    """The agent of this session, and the one line to run in its shell."""
    if "resume" in answer:
        first = [*overview.resume(answer["resume"])]
    else:
        first = [f"You are {answer['agent_id']} ({quotation(answer['role'])}), a new agent."]
    if evidence := answer.get("evidence"):
        first.insert(0, f"Adopted: {sentence(evidence)}")
    if answer["export"]:
        return [*first, "Run this line in your shell, or pass --agent:", sentence(answer["export"])]
    return [*first, "bb knows this session, so no export is needed."]


FORMS: dict[str, Callable[[Foreign], Iterable[str]]] = {"start": start}
UNWRAPPED = ("start",)
