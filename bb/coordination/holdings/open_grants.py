"""The open grants, indexed so that those which meet a scope are found without looking at each of them."""

from __future__ import annotations

from bb.coordination.holdings import scopes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bb.coordination.holdings.admission import Grant
    from bb.coordination.holdings.scopes import Scope

SLASH = "/"
UNREADABLE = ""  # the lead of a scope that this version cannot read; such a grant meets everything


class Lead:
    """A SCOPE, with its lead and the folders in the lead, without the root and the lead itself. The scope is None if
    this version cannot read it."""

    __slots__ = ("folders", "is_cut", "scope", "text")

    def __init__(self, scope: Scope | None) -> None:
        self.scope = scope
        self.text = text = UNREADABLE if scope is None else scopes.lead(scope)
        self.is_cut = not text.endswith(SLASH)  # it ends within a name, as that of `src/te*` does
        folders: list[str] = []
        end = text.find(SLASH, 1) + 1
        while 0 < end < len(text):
            folders.append(text[:end])
            end = text.find(SLASH, end) + 1
        self.folders = folders


class OpenGrants:
    """The open grants by holder and by the lead of their scopes: if two scopes meet, one lead begins with the other.

    A holder has one place at which it was last seen, however many grants it has. It is put into a grant when the grant
    is asked for.
    """

    def __init__(self, grants: Mapping[str, Grant]) -> None:
        self._grants: dict[str, tuple[Grant, Lead]] = {}
        self._of: dict[str, dict[str, None]] = {}
        self._at: dict[str, dict[str, None]] = {}
        self._seen: dict[str, int] = {}  # of the holders
        self._below: dict[str, dict[str, None]] = {}  # those with the folder in their leads
        self._cut_leads = 0
        for name, grant in grants.items():
            if grant.ended is None:
                self.add(name, grant, Lead(grant.parsed_scope()))

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

    def holder(self, name: str) -> str | None:
        """The holder of the open grant with this name."""
        return self._grants[name][0].agent if name in self._grants else None

    def add(self, name: str, grant: Grant, lead: Lead) -> None:
        """Add an open grant, whose scope has this LEAD."""
        self._grants[name] = grant, lead
        self._of.setdefault(grant.agent, {})[name] = None
        self._seen[grant.agent] = max(grant.seen, self._seen.get(grant.agent, 0))
        self._at.setdefault(lead.text, {})[name] = None
        for folder in lead.folders:
            self._below.setdefault(folder, {})[name] = None
        self._cut_leads += lead.is_cut

    def end(self, name: str) -> None:
        """Remove a grant, because it has ended."""
        grant, lead = self._grants.pop(name)
        if _remove(self._of, grant.agent, name):
            del self._seen[grant.agent]
        _remove(self._at, lead.text, name)
        for folder in lead.folders:
            _remove(self._below, folder, name)
        self._cut_leads -= lead.is_cut

    def in_way(self, wanted: Grant, lead: Lead) -> list[str]:
        """The grants of other agents that share a path with WANTED, whose scope has this LEAD, in the order of their
        admission. Case is ignored, because some clone may have a case-insensitive file system."""
        found: list[str] = []
        compare = None
        for name in self._near(lead):
            grant, other = self._grants[name]
            if grant.agent == wanted.agent or (grant.shared and wanted.shared):
                continue
            if other.scope is not None and lead.scope is not None:
                compare = compare or scopes.comparison(lead.scope, ignore_case=True)
                if compare(other.scope) == scopes.DISJOINT:
                    continue
            found.append(name)
        return sorted(found, key=lambda name: (self._grants[name][0].token, name)) if len(found) > 1 else found

    def _near(self, lead: Lead) -> Iterator[str]:
        """The grants whose lead begins with LEAD, or the other way round."""
        at, text = self._at, lead.text
        for start in [text[:end] for end in range(len(text))] if self._cut_leads else (SLASH, *lead.folders):
            if start in at and start != text:  # the first one may be UNREADABLE
                yield from at[start]
        if text in at:
            yield from at[text]
        if text in self._below:
            yield from self._below[text]
        elif text == SLASH:
            yield from (name for name, (_, other) in self._grants.items() if len(other.text) > 1)
        elif lead.is_cut:
            folder = lead.folders[-1] if lead.folders else SLASH
            for name in self._grants if folder == SLASH else self._below.get(folder, ()):
                other = self._grants[name][1].text
                if len(other) > len(text) and other.startswith(text):
                    yield name


def _remove(names_by: dict[str, dict[str, None]], key: str, name: str) -> bool:
    """Remove NAME under KEY. Returns whether it was the last one."""
    names = names_by[key]
    del names[name]
    if not names:
        del names_by[key]
    return not names
