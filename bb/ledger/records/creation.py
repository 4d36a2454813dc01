"""Makes the ledger of a place: its folders, its identity in clone.json, its first writer and its first line."""

from __future__ import annotations

import os

from bb.kernel import secret_patterns
from bb.kernel.digest import digest
from bb.kernel.event import GENESIS
from bb.ledger.files import disk
from bb.ledger.git import git, ownership
from bb.ledger.journal import clone, writers
from bb.ledger.journal.clone import Clone
from bb.ledger.records.drafts import Draft
from bb.ledger.records.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.git.place import Place


def make(store: Store, title: str, by: str, now: int, *, repo: str | None = None, topic: str = "") -> bool:
    """Make the ledger of STORE if it does not exist; return whether it was made."""
    if store.exists and store.caught_up().heads():
        return False
    # git runs before the lock is taken.
    fresh = store.clone if store.exists else Clone(repo or _repo_id(store.place), writers.new_id())
    _make_folders(store)
    with writers.store_lock(store.path):
        _establish(store, fresh)
        if store.caught_up().heads():
            return False  # another process has made it
        # Secrets in a title are masked, not refused: most titles are directory names, which the user cannot omit.
        texts = {"title": title, "topic": topic} if topic else {"title": title}
        about = {name: secret_patterns.masked(text) for name, text in texts.items()}
        genesis = Draft(by, GENESIS, {**about, "repo": store.clone.repo, "format": clone.FORMAT})
        store.append(lambda _: [genesis], now)
        return True


def join(store: Store, repo: str) -> None:
    """Make STORE the ledger of REPO: create it empty if it does not exist, else keep its lines."""
    _make_folders(store)
    with writers.store_lock(store.path):
        established = _establish(store, Clone(repo, writers.new_id()))
        if established.repo != repo:
            former = tuple(name for name in (*established.former, established.repo) if name != repo)
            clone.write(store.path, established.replace(repo=repo, former=former[-clone.MOST_FORMER :]))
            store.reopen()


def make_folder(place: Place) -> None:
    """Make the folder of the ledger, if it does not exist."""
    ownership.refuse_foreign(place)
    if not os.path.isdir(place.store):
        from bb.ledger.git import sharing  # noqa: PLC0415  (a sync joins, and the folder is there)

        sharing.make_store(place)


def _make_folders(store: Store) -> None:
    make_folder(store.place)
    for name in (writers.JOURNALS, "presence"):
        disk.make_folder(os.path.join(store.path, name))


def _establish(store: Store, fresh: Clone) -> Clone:
    """Make sure that there are a clone.json (else FRESH) and a writer of our own. The store's lock must be held."""
    established, journals = clone.read(store.path), os.path.join(store.path, writers.JOURNALS)
    if established is None:
        established = clone.from_journals(store.path) or fresh
        clone.write(store.path, established)
    if writers.own_writer(journals, established.writer) is None:
        is_taken = os.path.isdir(writers.folder_of(journals, established.writer))
        writers.mint(journals, writers.new_id() if is_taken else established.writer)
    store.reopen()
    return established


def _repo_id(place: Place) -> str:
    """An id that is the same in every clone of a history; random if there is no history yet."""
    root = git.root_commit(place.common)
    return root[:12] if root else digest(os.urandom(16))[:12]
