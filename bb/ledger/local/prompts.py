"""The prompts of a group: texts for its actors before their first message, for help, and for stand-ups.

Prompts are plain files in the group's folder on this machine, so a user can edit them, and no work tree is changed. If
a file is missing or blank, the built-in prompt applies.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Self

from bb.kernel.errors import BbError
from bb.ledger.files import disk
from bb.ledger.local import machine_registry as knowns

FOLDER, SUFFIX, STAGED = "prompts", ".md", ".next"
MOST = 1 << 18  # bytes of one prompt; the rest is not read


def path_of(home: str, group_id: str, name: str) -> str:
    return os.path.join(knowns.folder(home, group_id), FOLDER, name + SUFFIX)


def read(home: str, group_id: str, names: tuple[str, ...]) -> dict[str, str]:
    """The prompts that have a file, by name."""
    files = {name: disk.read_small(path_of(home, group_id, name), MOST) or b"" for name in names}
    texts = {name: octets.decode("utf-8", "replace") for name, octets in files.items()}
    return {name: text for name, text in texts.items() if text.strip()}


class Change:
    """A change of a group's prompts. New texts are written at once, so a full disk is noticed early. They take effect
    with `make`, after everything else is done.

    If `change.make()` is not reached, `with Change(…) as change:` leaves the prompts unchanged.
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
        """Put the new prompts into effect. Returns the path of each, None for a built-in prompt."""
        for name, path in self._paths.items():
            if self._prompts[name] is None:
                disk.remove_if_there(path)
            else:
                os.replace(path + STAGED, path)
        return {name: path if self._prompts[name] is not None else None for name, path in self._paths.items()}

    def __exit__(self, *_: object) -> None:
        for path in self._paths.values():
            disk.remove_if_there(path + STAGED)
