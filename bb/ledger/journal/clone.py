"""`clone.json`: the format versions of this store, the id of its repository, and its first writer."""

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
MOST_FORMER = 8  # former repository ids that are kept

LedgerTooNew = Refused.declare(
    "LEDGER_TOO_NEW", "This ledger has a format that only a newer version of bb supports", hint="upgrade bb"
)

StoreUnreadable = Refused.declare(
    "STORE_UNREADABLE",
    "The store's clone.json is damaged",
    hint="run `bb doctor --fix` to restore it from the journals",
)


class Clone(Record):
    """The identity of one store. Reading needs a bb of at least format MIN_READER, writing one of MIN_WRITER."""

    repo: str
    writer: str
    format: int = FORMAT
    min_reader: int = FORMAT
    min_writer: int = FORMAT
    former: tuple[str, ...] = ()  # its repository ids before it joined a published ledger

    @property
    def group_id(self) -> str:
        """The id of this repository's CCCS group."""
        return f"g_{self.repo}"

    def may_read(self) -> None:
        if self.min_reader > FORMAT:
            raise LedgerTooNew(f"this ledger has format {self.format}; this version of bb reads up to format {FORMAT}")

    def may_write(self) -> None:
        self.may_read()
        if self.min_writer > FORMAT:
            raise LedgerTooNew(
                f"this ledger has format {self.format}; this version of bb writes up to format {FORMAT}, "
                "but it can read this ledger"
            )


def read(store: str) -> Clone | None:
    """The identity of STORE; None if the store does not exist."""
    written = disk.read_small(os.path.join(store, NAME))
    if written is None:
        return None
    try:
        data: Any = json_text.read(written)
        former = [repo for repo in data.get("former", ()) if is_repo_id(repo)]
        names = (name for name in Clone.__match_args__ if name != "former")
        clone = Clone(**{name: data[name] for name in names}, former=tuple(former[-MOST_FORMER:]))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreUnreadable(path=os.path.join(store, NAME)) from error
    numbers = (clone.format, clone.min_reader, clone.min_writer)
    if not (is_repo_id(clone.repo) and all(type(number) is int for number in numbers)):
        raise StoreUnreadable(path=os.path.join(store, NAME))
    if not (type(clone.writer) is str and ids.is_writer_id(clone.writer)):
        raise StoreUnreadable(path=os.path.join(store, NAME))
    return clone


def from_journals(store: str) -> Clone | None:
    """The identity of a store without a clone.json, read from the first lines of its journals; None if no line
    contains it."""
    from bb.kernel.event import GENESIS  # noqa: PLC0415  (needed only if clone.json is missing)
    from bb.ledger.journal import line as lines  # noqa: PLC0415
    from bb.ledger.journal import writers  # noqa: PLC0415
    from bb.ledger.journal.journal import Journal  # noqa: PLC0415

    for writer in writers.all_in(os.path.join(store, "j")):
        try:
            first = lines.event(Journal(store, writer).line(1) or b"")
        except lines.Unreadable:
            continue
        repo = first.group_id.removeprefix("g_")
        if first.kind == GENESIS and is_repo_id(repo):
            return Clone(repo, writer)
    return None


def write(store: str, clone: Clone) -> None:
    data = clone.as_dict() | {"former": list(clone.former)}
    if not clone.former:
        del data["former"]
    disk.replace(os.path.join(store, NAME), (json_text.dumps(data) + "\n").encode(), durable=True)


def is_repo_id(repo: object) -> bool:
    """Whether REPO is a valid id of a repository."""
    return isinstance(repo, str) and 0 < len(repo) <= 64 and repo.isalnum() and repo.isascii()
