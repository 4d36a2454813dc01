"""The roles of a group's actors, as a mapping that looks up one actor at a time.

Most requests ask for the role of the caller only, and a group may have ten thousand actors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

from bb.coordination.agents import roster
from bb.groups.permissions import FOREMAN, PEER
from bb.ledger.index.index import Index

PAGE = 20
IN_ORDER = "select key from term where fold = ? and term = ? order by place limit ? offset ?"


class Roles(Mapping[str, str]):
    """The role of each actor in service, by its id."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._foreman: str | None = None
        self._is_known = False

    def __getitem__(self, actor: str) -> str:
        if not roster.in_service([(actor, self._index.state(roster.NAME, actor))]):
            raise KeyError(actor)
        return FOREMAN if actor == self._the_foreman() else PEER

    def __iter__(self) -> Iterator[str]:
        for start in count(step=PAGE):
            names = self._index.ask(IN_ORDER, roster.NAME, roster.JOINED, PAGE, start)
            yield from (name for (name,) in names)
            if len(names) < PAGE:
                return

    def __len__(self) -> int:
        return self._index.count(roster.NAME, roster.JOINED)

    def _the_foreman(self) -> str | None:
        """The first enabled actor in the order of joining."""
        if not self._is_known:
            agents = (roster.agent(name, self._index.state(roster.NAME, name)) for name in self)
            enabled = (agent.agent_id for agent in agents if agent and agent.profile.get("enabled", True))
            self._foreman, self._is_known = next(enabled, None), True
        return self._foreman
