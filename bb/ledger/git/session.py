"""The git processes that one sync of a clone shares: one reads objects, the other one the configuration.

Starting git takes longer than most answers. So both are started early, run while bb does something else, and are asked
as often as needed.
"""

from __future__ import annotations

from bb.ledger.git import git
from bb.ledger.git.configuration import Configuration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from bb.ledger.git.place import Place


class GitSession:
    """`with` a session, the processes for one place are stopped at the end. Each is started by `start`, or when it is
    needed."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._objects: git.Conversation | None = None
        self._configuration: Configuration | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start both processes now."""
        _ = self.objects, self.configuration

    @property
    def objects(self) -> git.Conversation:
        """`git cat-file --batch`."""
        if self._objects and self._objects.has_died:
            self._objects.close()
            self._objects = None
        if self._objects is None:
            git_dir = self._place.git_dir or self._place.common
            self._objects = git.Conversation(["cat-file", "--batch"], git_dir=git_dir)
        return self._objects

    def asked(self) -> Asking:
        """`with session.asked() as objects:` reads objects. After a failure in between, an answer may be unread, so the
        next caller gets another process."""
        return Asking(self.objects)

    @property
    def configuration(self) -> Configuration:
        """git's settings."""
        if self._configuration is None:
            self._configuration = Configuration(self._place.common)
        return self._configuration

    def close(self) -> None:
        """Stop the processes. A session that is used again starts new ones."""
        for process in (self._objects, self._configuration):
            if process:
                process.close()
        self._objects = self._configuration = None


class Asking:
    """A use of the process that reads OBJECTS."""

    def __init__(self, objects: git.Conversation) -> None:
        self._objects = objects

    def __enter__(self) -> git.Conversation:
        return self._objects

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._objects.has_died |= kind is not None
