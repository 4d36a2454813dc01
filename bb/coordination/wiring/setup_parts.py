"""The parts that `bb setup` installs, and which of them a request means.

To add a part, add one entry to PARTS. Its kind says which function in `ops/setup/parts.py` installs it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from bb.coordination.wiring import editor_hooks, hosts, mcp_hosts
from bb.kernel.record import Record

LEDGER, GIT_HOOKS, SKILL, HOOKS, MCP, CI = "ledger", "git-hooks", "skill", "hooks", "mcp", "ci"
GITHUB, GITLAB = "github", "gitlab"

# What has become of a part, or what would become of it.
PLANNED, INSTALLED = "to install", "installed"
NEWER, RENEWED = "newer available", "renewed"
THERE, SKIPPED, REFUSED = "already there", "skipped", "refused"
TO_UNDO, UNDONE, LEFT, KEPT = "to undo", "undone", "left", "kept"
CHANGES = (PLANNED, NEWER, TO_UNDO, INSTALLED, RENEWED, UNDONE)  # the outcomes that change something


class Part(Record):
    """One part: its name, its kind, what it does, and the host or the CI service that it is for."""

    name: str
    kind: str
    what: str
    host: str = ""


def _of_hosts(kind: str, what: str, names: Sequence[str]) -> list[Part]:
    return [Part(f"{kind}-{name}", kind, what.format(hosts.HOSTS[name].title), name) for name in names]


ASKS = "{} asks bb before each edit and command"
TOOLS = "gives {} the tools of bb"

PARTS = (
    Part(LEDGER, LEDGER, "records agents, reservations and messages"),
    Part(GIT_HOOKS, GIT_HOOKS, "git asks bb before each commit"),
    *_of_hosts(HOOKS, ASKS, [host for host in hosts.HOSTS if host in editor_hooks.FILES]),
    *_of_hosts(MCP, TOOLS, [host for host in hosts.HOSTS if host in mcp_hosts.HOSTS]),
    Part(SKILL, SKILL, "tells agents how to work with bb"),
    Part("ci-github", CI, "checks each pull request against reservations", GITHUB),
    Part("ci-gitlab", CI, "checks each merge request against reservations", GITLAB),
)
BY_NAME = {part.name: part for part in PARTS}

# The words that --only takes: a part, all parts of a kind, or all parts of a host.
CHOICES = tuple(dict.fromkeys([*BY_NAME, *(part.kind for part in PARTS), *(part.host for part in PARTS if part.host)]))


def chosen(only: Sequence[str] | None, used: Collection[str]) -> list[Part]:
    """The parts that a request means. USED are the hosts and CI services in use.

    A part that is named, or whose host is named, is meant even if its host is not in use.
    """
    if not only:
        return [part for part in PARTS if not part.host or part.host in used]
    named = [part for part in PARTS if part.name in only or part.host in only]
    of_kinds = [part for part in PARTS if part.kind in only and (not part.host or part.host in used)]
    return [part for part in PARTS if part in named or part in of_kinds]


def ci_services(files: Collection[str], origin: str) -> list[str]:
    """The CI services that the FILES of a repository or the address of its ORIGIN show."""
    by_files = [name for name, file in ((GITHUB, ".github"), (GITLAB, ".gitlab-ci.yml")) if file in files]
    at = origin.lower()
    return by_files or [name for name in (GITHUB, GITLAB) if f"{name}." in at or f"{name}/" in at]
