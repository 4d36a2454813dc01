"""The host's decision about one message for one agent: directedness, response policy and injection mode, and why."""

from __future__ import annotations

from bb.attention.words import AMBIENT, DIRECTEDNESS, MAILBOX, MODES, MUST_NOT, NORMAL, POLICIES, PRIORITIES
from bb.kernel.digest import digest
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any


class Decision(Record):
    """Whether the message is aimed at the agent, whether the agent is to answer, and how the message is shown."""

    directedness: str = AMBIENT
    policy: str = MUST_NOT
    mode: str = MAILBOX
    reason: str = "unaddressed"
    priority: str = NORMAL
    deadline: int | None = None  # milliseconds after the message was written
    is_default: bool = False  # whether this agent is asked first of several recipients

    def details(self) -> dict[str, Any]:
        """The decision as harnesses and people see it."""
        return {
            "directedness": self.directedness,
            "policy": self.policy,
            "injection": self.mode,
            "reason": self.reason,
            "priority": self.priority,
            "deadlineMs": self.deadline,
            **({"defaultResponder": True} if self.is_default else {}),
        }

    def to_json(self) -> list[Any]:
        """The decision as it is recorded in the ledger."""
        return list(self.as_dict().values())


def decision_of_json(value: Any) -> Decision | None:
    """The decision that a line holds as VALUE; None if VALUE is not a valid decision."""
    if not isinstance(value, list) or len(value) < 4:
        return None
    directedness, policy, mode, reason, *rest = value
    priority, deadline, is_default = [*rest, *([None] * 3)][:3]
    is_right = directedness in DIRECTEDNESS and policy in POLICIES and mode in MODES and isinstance(reason, str)
    if not is_right:
        return None
    return Decision(
        directedness,
        policy,
        mode,
        reason[:60],
        priority if priority in PRIORITIES else NORMAL,
        deadline if type(deadline) is int and 0 <= deadline < 1 << 40 else None,
        is_default is True,
    )


def choose_agent(agents: Iterable[str], seed: str, is_live: Callable[[str], bool] | None = None) -> str:
    """One of AGENTS: every clone chooses the same one, and the choice does not change when another agent leaves.

    With IS_LIVE, a live one if there is any. It is asked of few agents, because it reads a file for each.
    """
    ranked = sorted(agents, key=lambda agent: digest(f"{seed}\n{agent}".encode()), reverse=True)
    return next(filter(is_live, ranked), ranked[0]) if is_live else ranked[0]
