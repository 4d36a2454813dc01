"""The prompts of a group: what its actors are told before their first message, for help, at a stand-up.

They are plain files beside what else this machine knows of the group, so that whoever steers it can change them by
hand, and no work tree is touched by them. One that is not there, or blank, is the built-in one.
"""

from __future__ import annotations

import os

from bb.kernel.errors import BbError
from bb.ledger.files import disk
from bb.ledger.local import machine_registry as knowns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

FOLDER, SUFFIX, STAGED = "prompts", ".md", ".next"
MOST = 1 << 18  # bytes of one prompt; what comes after is not read


def path_of(home: str, group_id: str, name: str) -> str:
    return os.path.join(knowns.folder(home, group_id), FOLDER, name + SUFFIX)


def read(home: str, group_id: str, names: tuple[str, ...]) -> dict[str, str]:
    """Those of the prompts that there are."""
    found = {name: disk.read_small(path_of(home, group_id, name), MOST) or b"" for name in names}
    texts = {name: octets.decode("utf-8", "replace") for name, octets in found.items()}
    return {name: text for name, text in texts.items() if text.strip()}


class Change:
    """Other prompts for a group: written at once, so that a full disk shows, and valid when everything else is done.

    `with Change(…) as change:` leaves nothing where `change.make()` is not reached.
    """

    def __init__(self, home: str, group_id: str, prompts: Mapping[str, str | None]) -> None:
        self._paths = {name: path_of(home, group_id, name) for name in prompts}
        self._prompts = prompts

    def __enter__(self) -> Self:
        try:
            for name, text in self._prompts.items():
                if text is not None:
                    disk.make_folder(os.path.dirname(self._paths[name]))
                    disk.replace(self._paths[name] + STAGED, text.encode(), durable=True)
        except BbError:
            self.__exit__()
            raise
        return self

    def make(self) -> dict[str, str | None]:
        """Let them be the prompts from now on; where each is now, None for the built-in one."""
        for name, path in self._paths.items():
            if self._prompts[name] is None:
                disk.remove_if_there(path)
            else:
                os.replace(path + STAGED, path)
        return {name: path if self._prompts[name] is not None else None for name, path in self._paths.items()}

    def __exit__(self, *_: object) -> None:
        for path in self._paths.values():
            disk.remove_if_there(path + STAGED)
