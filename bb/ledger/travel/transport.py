"""How a remote is reached from a temporary repository: with the URLs, credentials and proxies of the clone.

The settings are passed through the environment, because on a command line other users could read them.
"""

from __future__ import annotations

import os

from bb.ledger.git import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from bb.ledger.git.place import Place

    Settings = list[tuple[str, str]]

# Settings about reaching a remote. Other settings are about the repository itself, and are not passed on.
TRANSPORT = ("http.", "https.", "url.", "credential.", "protocol.", "ssh.")
TRANSPORT_KEYS = ("core.sshcommand", "core.gitproxy")
OF_REMOTE = ("url", "proxy", "proxyauthmethod", "uploadpack", "vcs")
THE_TIP, EVERYTHING = "--depth=1", "--depth=2147483647"  # git treats this depth as unlimited, also in a shallow clone


def settings(place: Place) -> Settings:
    """The repository's own settings, with included files. Settings of the user and the system apply anyway."""
    listed = git.run(["config", "--local", "--includes", "--null", "--list"], at=place.work_tree or place.common)
    pairs = (setting.partition("\n") for setting in listed.split("\0") if setting)
    return [(name, value) for name, _, value in pairs]


def remotes(settings: Settings) -> list[str]:
    """The names of the remotes."""
    names = (
        name[len("remote.") : -len(".url")]
        for name, _ in settings
        if name.startswith("remote.") and name.endswith(".url")
    )
    return list(dict.fromkeys(names))


def may_be_url(remote: str) -> bool:
    """Whether REMOTE may be a URL or a path, and cannot be an option."""
    return remote.isprintable() and not remote.startswith("-") and any(mark in remote for mark in "/:\\")


def environment(settings: Settings, remote: str) -> Mapping[str, str]:
    """An environment with the settings for reaching REMOTE."""
    keys = {*TRANSPORT_KEYS, *(f"remote.{remote}.{name}" for name in OF_REMOTE)}
    passed = [(name, value) for name, value in settings if name in keys or name.startswith(TRANSPORT)]
    count = os.environ.get("GIT_CONFIG_COUNT", "")
    start = int(count) if count.isascii() and count.isdigit() else 0
    env = dict(os.environ)
    for number, (name, value) in enumerate(passed, start):
        env |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return env | {"GIT_CONFIG_COUNT": str(start + len(passed))} | git.WHEN_FETCHING


def make_repository(repository: str, settings: Settings) -> None:
    """Create an empty bare repository with the object format of the current one."""
    form = dict(settings).get("extensions.objectformat", "sha1")
    git.run(["init", "--quiet", "--bare", "--template=", f"--object-format={form}", repository])


def without_password(text: str) -> str:
    """TEXT with the credentials before the @ of a URL removed."""
    head, mark, rest = text.partition("://")
    if not mark:
        return text
    authority, slash, path = rest.partition("/")
    return head + mark + authority.rpartition("@")[2] + slash + without_password(path)
