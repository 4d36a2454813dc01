"""The open grants, indexed so that those which meet a scope are found without looking at each of them."""

from __future__ import annotations

from bisect import bisect_left, insort

from bb.coordination.holdings import scopes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bb.coordination.holdings.admission import Grant
    from bb.coordination.holdings.scopes import Scope

SLASH = "/"
UNREADABLE = ""  # the lead of a scope that this version cannot read; such a grant meets everything


class OpenGrants:
    """The open grants by holder and by the lead of their scopes: if two scopes meet, one lead begins with the other.

    A holder has one place at which it was last seen, however many grants it has. It is put into a grant when the grant
    is asked for.
    """

    def __init__(self, grants: Mapping[str, Grant]) -> None:
        self._grants: dict[str, tuple[Grant, Scope | None, str]] = {}
        self._of: dict[str, dict[str, None]] = {}
        self._at: dict[str, dict[str, None]] = {}
        self._seen: dict[str, int] = {}  # of the holders
        self._leads: list[str] = []  # sorted
        self._cut_leads = 0  # leads that end within a name, as that of `src/te*` does
        for name, grant in grants.items():
            if grant.ended is None:
                self.add(name, grant, grant.parsed_scope())

    def __getitem__(self, name: str) -> Grant:
        grant = self._grants[name][0]
        return grant.seen_at(self._seen.get(grant.agent, 0))

    def __iter__(self) -> Iterator[str]:
        return iter(self._grants)

    def get(self, name: str) -> Grant | None:
        """The open grant with this name."""
        return self[name] if name in self._grants else None

    def saw(self, place: int, agents: Iterable[str]) -> dict[str, int]:
        """Note that AGENTS recorded something at PLACE. Returns those of them that hold something, with the place."""
        seen = {agent: place for agent in agents if agent in self._of}
        self._seen.update(seen)
        return seen

    def add(self, name: str, grant: Grant, scope: Scope | None) -> None:
        """Add an open grant, whose parsed SCOPE is given."""
        lead = UNREADABLE if scope is None else scopes.lead(scope)
        self._grants[name] = grant, scope, lead
        self._of.setdefault(grant.agent, {})[name] = None
        self._seen[grant.agent] = max(grant.seen, self._seen.get(grant.agent, 0))
        if lead not in self._at:
            self._at[lead] = {}
            insort(self._leads, lead)
            self._cut_leads += not lead.endswith(SLASH)
        self._at[lead][name] = None

    def end(self, name: str) -> None:
        """Remove a grant, because it has ended."""
        grant, _, lead = self._grants.pop(name)
        if _remove(self._of, grant.agent, name):
            del self._seen[grant.agent]
        if _remove(self._at, lead, name):
            del self._leads[bisect_left(self._leads, lead)]
            self._cut_leads -= not lead.endswith(SLASH)

    def in_way(self, wanted: Grant, scope: Scope) -> list[str]:
        """The grants of other agents that share a path with WANTED, whose SCOPE is given, in the order of their
        admission. Case is ignored, because some clone may have a case-insensitive file system."""
        found: list[str] = []
        compare = None
        for name in self._near(scopes.lead(scope)):
            grant, held, _ = self._grants[name]
            if grant.agent == wanted.agent or (grant.shared and wanted.shared):
                continue
            compare = compare or scopes.comparison(scope, ignore_case=True)
            if held is None or compare(held) != scopes.DISJOINT:
                found.append(name)
        return sorted(found, key=lambda name: (self._grants[name][0].token, name)) if len(found) > 1 else found

    def _near(self, lead: str) -> Iterator[str]:
        """The grants whose lead begins with LEAD, or the other way round."""
        at, leads = self._at, self._leads
        if self._cut_leads:
            for end in range(len(lead)):  # the first one is UNREADABLE
                if names := at.get(lead[:end]):
                    yield from names
        else:
            end = lead.find(SLASH) + 1
            while 0 < end < len(lead):
                if names := at.get(lead[:end]):
                    yield from names
                end = lead.find(SLASH, end) + 1
        for place in range(bisect_left(leads, lead), len(leads)):
            if not leads[place].startswith(lead):
                break
            yield from at[leads[place]]


def _remove(names_by: dict[str, dict[str, None]], key: str, name: str) -> bool:
    """Remove NAME under KEY. Returns whether it was the last one."""
    names = names_by[key]
    del names[name]
    if not names:
        del names_by[key]
    return not names
