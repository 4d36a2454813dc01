"""What the host decides about one message and one agent: three answers, and why."""

from __future__ import annotations

from bb.attention.words import AMBIENT, DIRECTEDNESS, MAILBOX, MODES, MUST_NOT, NORMAL, POLICIES, PRIORITIES
from bb.kernel.digest import digest
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class Decision(Record):
    """Is it aimed at the agent, is it to answer, and what does it see?"""

    directedness: str = AMBIENT
    policy: str = MUST_NOT
    mode: str = MAILBOX
    reason: str = "unaddressed"
    priority: str = NORMAL
    deadline: int | None = None  # milliseconds from when the message was said
    is_default: bool = False  # of several who are meant, the one who is asked first

    def shown(self) -> dict[str, Any]:
        """As harnesses and people are shown it."""
        return {
            "directedness": self.directedness,
            "policy": self.policy,
            "injection": self.mode,
            "reason": self.reason,
            "priority": self.priority,
            "deadlineMs": self.deadline,
            **({"defaultResponder": True} if self.is_default else {}),
        }

    def written(self) -> list[Any]:
        """As it stands in the ledger."""
        return list(self.as_dict().values())


def read(value: Any) -> Decision | None:
    """The decision on a line of history; None where that is none."""
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


def first_of(agents: Sequence[str], seed: str) -> str:
    """One of AGENTS, the same wherever it is asked; when another leaves, the choice stays."""
    return max(agents, key=lambda agent: digest(f"{seed}\n{agent}".encode()))
