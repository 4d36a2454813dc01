"""What git is configured for in a repository, read by one process that runs while bb does something else."""

from __future__ import annotations

from bb.ledger.git import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

LIST = ("config", "--list", "-z")


class Configuration:
    """git's settings for the repository at GIT_DIR. The process starts at once, and its answer is read when a setting
    is needed for the first time."""

    def __init__(self, git_dir: str) -> None:
        self._asked: git.Asked | None = git.start(LIST, git_dir=git_dir)
        self._settings: dict[str, list[str]] = {}

    @property
    def settings(self) -> Mapping[str, list[str]]:
        """The values of each setting, the one that counts last. git writes section and key in small letters."""
        if self._asked:
            written = self._asked.done().out.decode("utf-8", "replace")
            self._asked = None
            for row in filter(None, written.split("\0")):
                name, _, value = row.partition("\n")
                self._settings.setdefault(name, []).append(value)
        return self._settings

    def last(self, name: str, otherwise: str = "") -> str:
        """The value of a setting that counts."""
        return self.settings.get(name, [otherwise])[-1]

    @property
    def id_length(self) -> int:
        """The number of digits of an object id."""
        return 64 if self.last("extensions.objectformat") == "sha256" else 40

    def close(self) -> None:
        """Stop the process if its answer was not needed."""
        if self._asked:
            self._asked.stop()
            self._asked = None
