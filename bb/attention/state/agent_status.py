"""What the rules of attention need to know about an agent."""

from __future__ import annotations


class AgentStatus:
    """What the rules of attention need to know about an agent."""

    def __init__(self, role: str = "", *, is_live: bool = True, is_evicted: bool = False) -> None:
        self.role = role
        self.is_live = is_live
        self.is_evicted = is_evicted
