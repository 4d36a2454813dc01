"""`clone.json`: which formats this store is in, which repository it belongs to, and the writer it started with."""

from __future__ import annotations

import os

from bb.kernel import ids, json_text
from bb.kernel.errors import Refused
from bb.kernel.record import Record
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "clone.json"
FORMAT = 1
MOST_FORMER = 8  # ids that are remembered


class LedgerTooNew(Refused):
    """This ledger is in a format that only a newer bb understands."""

    code = "LEDGER_TOO_NEW"
    hint = "upgrade bb"


class StoreUnreadable(Refused):
    """The store's clone.json is damaged."""

    code = "STORE_UNREADABLE"
    hint = "`bb doctor --fix` writes it anew from the journals"


class Clone(Record):
    """The identity of one store. Older programs read up to MIN_READER and write up to MIN_WRITER."""

    repo: str
    writer: str
    format: int = FORMAT
    min_reader: int = FORMAT
    min_writer: int = FORMAT
    former: tuple[str, ...] = ()  # the repositories it belonged to before it joined a ledger that was published

    @property
    def group_id(self) -> str:
        """The CCCS group that is this repository."""
        return f"g_{self.repo}"

    def may_read(self) -> None:
        if self.min_reader > FORMAT:
            raise LedgerTooNew(f"this ledger is in format {self.format}, this bb reads up to {FORMAT}")

    def may_write(self) -> None:
        self.may_read()
        if self.min_writer > FORMAT:
            raise LedgerTooNew(
                f"this ledger is in format {self.format}, this bb writes up to {FORMAT}; reading still works"
            )


def read(store: str) -> Clone | None:
    """The identity of STORE; None when there is no store."""
    written = disk.read_small(os.path.join(store, NAME))
    if written is None:
        return None
    try:
        found: Any = json_text.read(written)
        former = [each for each in found.get("former", ()) if is_repo_id(each)]
        names = (name for name in Clone.__match_args__ if name != "former")
        clone = Clone(**{name: found[name] for name in names}, former=tuple(former[-MOST_FORMER:]))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreUnreadable(path=os.path.join(store, NAME)) from error
    numbers = (clone.format, clone.min_reader, clone.min_writer)
    if not (is_repo_id(clone.repo) and all(type(number) is int for number in numbers)):
        raise StoreUnreadable(path=os.path.join(store, NAME))
    if not (type(clone.writer) is str and ids.is_writer_id(clone.writer)):
        raise StoreUnreadable(path=os.path.join(store, NAME))
    return clone


def write(store: str, clone: Clone) -> None:
    said = clone.as_dict() | {"former": list(clone.former)}
    if not clone.former:
        del said["former"]
    disk.replace(os.path.join(store, NAME), (json_text.dumps(said) + "\n").encode(), durable=True)


def is_repo_id(repo: object) -> bool:
    """Whether REPO may be the id of a repository."""
    return isinstance(repo, str) and 0 < len(repo) <= 64 and repo.isalnum() and repo.isascii()
