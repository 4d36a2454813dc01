"""The user's keys and trust: nobody else's to read, in no repository, and never half written."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import pytest

from bb.cbcl.judge import signatures
from bb.cbcl.judge.trust import AuthorNotFound, InvalidIdentifier, InvalidPolicy, Policy, Trust
from bb.kernel.errors import BbError
from bb.ledger.files import lock as locks
from bb.ledger.local import bare_repositories
from bb.ledger.signing import keyring
from bb.ledger.signing.keyring import (
    FolderUnusable,
    KeyExists,
    KeyInRepository,
    KeyNotFound,
    Keyring,
    KeyUnreadable,
    TrustBusy,
    TrustFull,
    TrustUnreadable,
    UnsafeFolder,
    UnsafeKey,
)
from tests.ledger.ledger_support import repository
from tests.support import ROOT

SEED = bytes(range(32))
KEY = signatures.public_key(SEED)
OTHER_KEY = signatures.public_key(bytes(32))

on_posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")


@pytest.fixture
def where(tmp_path: Path) -> Path:
    return tmp_path / "config" / "bb"


@pytest.fixture
def ring(where: Path) -> Keyring:
    return Keyring({"XDG_CONFIG_HOME": str(where.parent)})


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def together(*works: Any) -> list[BbError]:
    """Do all the WORKS at the same time; what was refused."""
    refused: list[BbError] = []
    gate = threading.Barrier(len(works))

    def work(do: Any) -> None:
        gate.wait()
        try:
            do()
        except BbError as refusal:
            refused.append(refusal)

    threads = [threading.Thread(target=work, args=(do,)) for do in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return refused


# -- where it is


def test_the_configuration_is_where_the_user_s_is():
    assert keyring.folder({"XDG_CONFIG_HOME": os.path.abspath("/c")}) == os.path.join(os.path.abspath("/c"), "bb")


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="platformdirs decides there")
@pytest.mark.parametrize("named", [{}, {"XDG_CONFIG_HOME": ""}, {"XDG_CONFIG_HOME": "here"}])
def test_a_place_that_is_not_absolute_is_as_good_as_none(named: dict[str, str]):
    assert keyring.folder(named | {"HOME": "/home/ada"}) == "/home/ada/.config/bb"
    assert keyring.folder(named) == os.path.expanduser("~/.config/bb")


def test_looking_makes_nothing(ring: Keyring, where: Path):
    assert ring.names() == []
    assert ring.trust() == Trust()
    with pytest.raises(KeyNotFound.error):
        ring.seed("ada")
    assert not where.exists()


# -- keys


def test_a_key_that_was_made_is_there(ring: Keyring):
    assert ring.make("ada", SEED) == KEY
    assert ring.seed("ada") == SEED
    assert ring.public("ada") == KEY
    assert ring.names() == ["ada"]


def test_keys_of_chance_differ(ring: Keyring):
    assert ring.make("ada") != ring.make("bo")
    assert ring.names() == ["ada", "bo"]
    assert ring.public("ada") == signatures.public_key(ring.seed("ada"))


@on_posix
def test_nobody_else_may_look_at_a_key(ring: Keyring, where: Path):
    before = os.umask(0)
    try:
        ring.make("ada")
        ring.add_author("ada", KEY)
    finally:
        os.umask(before)

    assert mode(where) == mode(where / "keys") == 0o700
    assert mode(where / "keys" / "ada.key") == mode(where / "trust.json") == 0o600


def test_a_key_is_never_replaced(ring: Keyring, where: Path):
    ring.make("ada", SEED)
    with pytest.raises(KeyExists.error):
        ring.make("ada")
    with pytest.raises(KeyExists.error):
        ring.make("ada", SEED)

    assert ring.seed("ada") == SEED
    assert os.listdir(where / "keys") == ["ada.key"]


def test_of_many_makers_one_has_made_it(ring: Keyring, where: Path):
    made: list[bytes] = []
    refused = together(*[lambda: made.append(ring.make("ada"))] * 8)

    assert [ring.public("ada")] == made
    assert [type(refusal) for refusal in refused] == [KeyExists.error] * 7
    assert os.listdir(where / "keys") == ["ada.key"]


def test_a_file_system_without_hard_links_keeps_keys_as_well(ring: Keyring, monkeypatch: pytest.MonkeyPatch):
    def no_links(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    made: list[bytes] = []
    refused = together(*[lambda: made.append(ring.make("ada"))] * 4)

    assert [ring.public("ada")] == made
    assert [type(refusal) for refusal in refused] == [KeyExists.error] * 3


def test_what_killed_makers_left_is_removed_once_nobody_can_be_at_it(ring: Keyring, where: Path):
    ring.make("ada")
    old, new = where / "keys" / ".bo.key.0.tmp", where / "keys" / ".cy.key.1.tmp"
    for left in (old, new):
        left.write_text("seed\n")
    os.utime(old, (time.time() - 3600,) * 2)
    ring.make("bo")

    assert ring.names() == ["ada", "bo"]
    assert not old.exists()
    assert new.exists()


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "../ada", "a\\b", "a.b", "a b", "é", "ada\0", "ada\n", "a" * 65]
)
def test_a_key_has_an_agent_s_name(ring: Keyring, where: Path, name: str):
    for ask in (ring.make, ring.seed, ring.public):
        with pytest.raises(InvalidIdentifier.error):
            ask(name)
    assert not where.exists()


def test_the_longest_name_has_a_key(ring: Keyring):
    ring.make("a" * 64)
    assert ring.names() == ["a" * 64]


def test_a_key_is_asked_for_by_its_very_name(ring: Keyring, where: Path, monkeypatch: pytest.MonkeyPatch):
    """Also where a file system finds `ada.key` for who asks for `Ada.key`, and lists it as it was first written."""
    ring.make("ada")
    os.link(where / "keys" / "ada.key", where / "keys" / "Ada.key")
    monkeypatch.setattr(keyring.disk, "names", lambda folder: ["ada.key"])

    ring.seed("ada")
    with pytest.raises(KeyNotFound.error):
        ring.seed("Ada")


@pytest.mark.parametrize("octets", [0, 31, 33])
def test_what_is_no_seed_makes_no_key(ring: Keyring, where: Path, octets: int):
    with pytest.raises(signatures.InvalidKey.error):
        ring.make("ada", bytes(octets))
    assert not where.exists()


# -- keys that are not only ours


@on_posix
@pytest.mark.parametrize("bits", [0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o777])
def test_a_key_that_others_may_read_is_not_used(ring: Keyring, where: Path, bits: int):
    ring.make("ada", SEED)
    file = where / "keys" / "ada.key"
    file.chmod(bits)

    with pytest.raises(UnsafeKey.error) as refusal:
        ring.seed("ada")
    assert refusal.value.hint == f"run `chmod 600 {file}`, as its owner"
    file.chmod(0o600)
    assert ring.seed("ada") == SEED


@on_posix
def test_a_key_that_may_only_be_read_is_as_good(ring: Keyring, where: Path):
    ring.make("ada", SEED)
    (where / "keys" / "ada.key").chmod(0o400)

    assert ring.seed("ada") == SEED


def test_a_link_is_no_key(ring: Keyring, where: Path, tmp_path: Path):
    ring.make("ada", SEED)
    (where / "keys" / "bo.key").symlink_to("ada.key")
    (where / "keys" / "cy.key").symlink_to(tmp_path / "nowhere")

    for name in ("bo", "cy"):
        with pytest.raises(UnsafeKey.error, match="is a link"):
            ring.seed(name)
        with pytest.raises(KeyExists.error):
            ring.make(name)
    assert not (tmp_path / "nowhere").exists()


@on_posix
def test_a_link_that_takes_the_file_s_place_at_the_last_moment_is_not_followed(
    ring: Keyring, where: Path, monkeypatch: pytest.MonkeyPatch
):
    ring.make("ada", SEED)
    (where / "keys" / "bo.key").symlink_to("ada.key")
    monkeypatch.setattr(os.path, "islink", lambda path: False)

    with pytest.raises(UnsafeKey.error):
        ring.seed("bo")


@on_posix
def test_somebody_else_s_key_is_not_used(ring: Keyring, monkeypatch: pytest.MonkeyPatch):
    ring.make("ada", SEED)
    us = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: us + 1)

    with pytest.raises(UnsafeKey.error, match="belongs to another user"):
        ring.seed("ada")
    with pytest.raises(UnsafeFolder.error, match="belongs to another user"):
        ring.make("bo")


@on_posix
def test_a_pipe_or_a_folder_is_no_key_and_nobody_waits_for_it(ring: Keyring, where: Path):
    ring.make("ada")
    os.mkfifo(where / "keys" / "bo.key", 0o600)
    (where / "keys" / "cy.key").mkdir(0o700)

    for name in ("bo", "cy"):
        with pytest.raises(UnsafeKey.error, match="not a regular file"):
            ring.seed(name)


@on_posix
def test_no_key_is_made_where_others_could_put_another_in_its_place(ring: Keyring, where: Path):
    ring.make("ada")
    (where / "keys").chmod(0o770)
    with pytest.raises(UnsafeFolder.error) as refusal:
        ring.make("bo")

    assert refusal.value.hint == f"run `chmod 700 {where / 'keys'}`, as its owner"
    assert ring.names() == ["ada"]


def test_a_file_where_the_folder_should_be_is_named(ring: Keyring, where: Path):
    where.parent.mkdir()
    where.write_text("")

    with pytest.raises(FolderUnusable.error, match="cannot be made"):
        ring.make("ada")
    with pytest.raises(FolderUnusable.error, match="cannot be made"):
        ring.add_author("ada", KEY)


def test_a_folder_that_may_not_be_written_is_named(ring: Keyring, where: Path, monkeypatch: pytest.MonkeyPatch):
    where.mkdir(parents=True, mode=0o700)
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != where)  # as for whoever is not root
    with pytest.raises(FolderUnusable.error, match="is not writable"):
        ring.add_author("ada", KEY)
    assert list(where.iterdir()) == []


# -- keys that cannot be read


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", SEED.hex()[:-1].encode(), SEED.hex().upper().encode(), SEED, b"\xff" * 64, b"0" * 5000],
    ids=range(7),
)
def test_a_key_that_cannot_be_read_is_named_and_not_shown(ring: Keyring, where: Path, content: bytes):
    ring.make("ada", SEED)
    file = where / "keys" / "ada.key"
    file.write_bytes(content)

    with pytest.raises(KeyUnreadable.error) as refusal:
        ring.seed("ada")
    assert refusal.value.details == {"path": str(file)}
    said = "".join(traceback.format_exception(refusal.value)) + str(refusal.value.details)
    assert SEED.hex()[:8] not in said.lower()


@on_posix
def test_no_refusal_shows_a_seed(ring: Keyring, where: Path):
    ring.make("ada", SEED)
    (where / "keys" / "ada.key").chmod(0o644)
    said = ""
    for ask in (lambda: ring.make("ada", SEED), lambda: ring.seed("ada"), lambda: ring.make("a b", SEED)):
        with pytest.raises(BbError) as refusal:
            ask()
        said += "".join(traceback.format_exception(refusal.value)) + f"{refusal.value.details} {refusal.value.hint}"

    assert SEED.hex() not in said
    assert repr(SEED)[2:-1] not in said


# -- repositories


def refused_in(repository: Path, config: Path) -> None:
    with pytest.raises(KeyInRepository.error) as refusal:
        Keyring({"XDG_CONFIG_HOME": str(config)}).make("ada")
    assert refusal.value.code == "KEY_IN_REPOSITORY"
    assert refusal.value.details["repository"] == str(repository)


def test_no_key_is_made_in_a_repository(tmp_path: Path):
    site = repository(tmp_path / "site")

    refused_in(site, site)
    refused_in(site, site / "a" / "b")
    assert os.listdir(site) == [".git"]


def test_no_key_is_made_in_a_repository_s_own_folder(tmp_path: Path):
    site = repository(tmp_path / "site")
    refused_in(site, site / ".git" / "x")


def test_no_key_is_made_in_a_bare_repository(tmp_path: Path):
    path = tmp_path / "ledger.git"
    bare_repositories.make(str(path))

    refused_in(path, path)
    refused_in(path, path / "refs" / "x")


def test_a_worktree_s_file_is_as_good_as_a_folder_also_when_it_leads_nowhere(tmp_path: Path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".git").write_text("gitdir: /nowhere/at/all\n")

    refused_in(tmp_path / "tree", tmp_path / "tree" / "config")


def test_a_configuration_that_is_a_link_into_a_repository_is_in_it(tmp_path: Path):
    dotfiles = repository(tmp_path / "dotfiles")
    (dotfiles / "config").mkdir()
    (tmp_path / "config").symlink_to(dotfiles / "config")

    refused_in(dotfiles, tmp_path / "config")


def test_a_key_that_is_only_near_a_repository_is_made(tmp_path: Path):
    repository(tmp_path / "site")
    Keyring({"XDG_CONFIG_HOME": str(tmp_path / "site-config")}).make("ada")


# -- trust


def test_who_was_added_is_trusted(ring: Keyring, where: Path):
    ring.add_author("ada", KEY)
    ring.add_author("ada", OTHER_KEY)
    said = ring.add_author("bo", KEY)

    assert ring.trust() == said == Trust({"ada": (KEY, OTHER_KEY), "bo": (KEY,)})
    assert json.loads((where / "trust.json").read_text()) == {
        "v": 1,
        "authors": {
            "ada": [signatures.key_text(KEY), signatures.key_text(OTHER_KEY)],
            "bo": [signatures.key_text(KEY)],
        },
        "policy": Policy().as_dict(),
    }


def test_who_was_removed_is_not_trusted(ring: Keyring):
    for name in ("ada", "bo"):
        ring.add_author(name, KEY)
    ring.add_author("ada", OTHER_KEY)

    assert ring.remove_author("ada", KEY).authors == {"ada": (OTHER_KEY,), "bo": (KEY,)}
    assert ring.remove_author("bo").authors == {"ada": (OTHER_KEY,)}
    with pytest.raises(AuthorNotFound.error):
        ring.remove_author("bo")
    assert ring.trust().authors == {"ada": (OTHER_KEY,)}


def test_a_policy_changes_where_it_is_told_to(ring: Keyring):
    ring.add_author("ada", KEY)
    ring.set_policy({"unsigned": "never"})
    said = ring.set_policy({"max_depth": 16})

    assert ring.trust() == said == Trust({"ada": (KEY,)}, Policy(unsigned="never", max_depth=16))


def test_a_change_that_is_refused_changes_nothing(ring: Keyring):
    ring.set_policy({"unsigned": "never"})
    for change in ({"max_depth": 65}, {"unsigned": "local", "no": 1}):
        with pytest.raises(InvalidPolicy.error):
            ring.set_policy(change)
    with pytest.raises(signatures.InvalidKey.error):
        ring.add_author("ada", bytes(32))
    with pytest.raises(InvalidIdentifier.error):
        ring.add_author("@ada", KEY)

    assert ring.trust() == Trust(policy=Policy(unsigned="never"))


WHOLE = Trust({"ada": (KEY,)}).as_json()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b'{"v":1}',
        b"\0" * 200,
        b"\xff\xfe",
        b"\xef\xbb\xbf" + json.dumps(WHOLE).encode(),
        b"[" * 50_000,
        b" " * ((1 << 18) + 1),
        json.dumps(WHOLE).encode()[:-4],
        json.dumps(WHOLE | {"v": 2}).encode(),
        json.dumps(WHOLE | {"v": 10**400}).encode(),
        json.dumps(WHOLE | {"authors": {"ada": ["x"]}}).encode(),
        json.dumps(WHOLE | {"authors": {"ada": ["\ud800"]}}).encode(),
        json.dumps(WHOLE | {"policy": {"relay": "yes"}}).encode(),
        json.dumps(WHOLE | {"policy": {"\x1b[2J": 1}}).encode(),
        json.dumps(WHOLE | {"authors": {"\u202e": []}}).encode(),
    ],
    ids=range(19),
)
def test_a_trust_file_that_cannot_be_read_is_refused_by_name_and_left_as_it_is(
    ring: Keyring, where: Path, content: bytes
):
    where.mkdir(parents=True, mode=0o700)
    file = where / "trust.json"
    file.touch(0o600)
    file.write_bytes(content)

    for ask in (ring.trust, lambda: ring.add_author("bo", KEY), lambda: ring.set_policy({"relay": True})):
        with pytest.raises(TrustUnreadable.error) as refusal:
            ask()
        assert refusal.value.code == "TRUST_UNREADABLE"
        assert refusal.value.details == {"path": str(file)}
        assert str(file) in refusal.value.message
        assert refusal.value.hint
        assert refusal.value.message.isprintable()
    assert file.read_bytes() == content


def test_what_is_wrong_in_a_trust_file_is_said_with_its_place(ring: Keyring, where: Path):
    ring.add_author("ada", KEY)
    (where / "trust.json").write_text(json.dumps(WHOLE | {"policy": {"max_depth": 65}}))

    with pytest.raises(
        TrustUnreadable.error, match=r"\$\.policy\.max_depth: max_depth must be a whole number from 1 to 64"
    ):
        ring.trust()


@on_posix
def test_a_trust_file_that_others_may_write_is_not_believed(ring: Keyring, where: Path):
    ring.add_author("ada", KEY)
    file = where / "trust.json"
    file.chmod(0o620)
    with pytest.raises(TrustUnreadable.error) as refusal:
        ring.trust()

    assert refusal.value.hint == f"run `chmod 600 {file}`, as its owner"
    file.chmod(0o644)  # keys are public
    assert ring.trust().authors == {"ada": (KEY,)}


def test_a_trust_file_that_is_a_link_or_a_folder_is_not_believed(ring: Keyring, where: Path):
    ring.add_author("ada", KEY)
    file = where / "trust.json"
    file.rename(where / "other.json")
    file.symlink_to("other.json")
    with pytest.raises(TrustUnreadable.error, match="is a link"):
        ring.trust()

    file.unlink()
    file.mkdir(0o700)
    with pytest.raises(TrustUnreadable.error):
        ring.trust()


def test_nobody_can_be_added_whom_one_could_not_read_again(ring: Keyring, where: Path, monkeypatch: pytest.MonkeyPatch):
    ring.add_author("ada", KEY)
    monkeypatch.setattr(keyring, "MOST", (where / "trust.json").stat().st_size + 10)
    with pytest.raises(TrustFull.error):
        ring.add_author("bo", KEY)

    assert ring.trust().authors == {"ada": (KEY,)}


def test_threads_that_add_authors_lose_none(ring: Keyring):
    def adder(name: str) -> Any:
        return lambda: [ring.add_author(f"{name}-{n}", KEY) for n in range(5)]

    assert together(*map(adder, "abcd")) == []
    assert sorted(ring.trust().authors) == [f"{name}-{n}" for name in "abcd" for n in range(5)]


ADDING = """
import os, sys
from bb.cbcl.judge import signatures as signing
from bb.ledger.signing.keyring import Keyring
ring = Keyring(os.environ)
print(flush=True)
sys.stdin.readline()
for n in range(10):
    ring.add_author(f"{sys.argv[1]}-{n}", bytes.fromhex(sys.argv[2]))
"""


def test_processes_that_add_authors_lose_none(ring: Keyring, where: Path):
    env = os.environ | {"XDG_CONFIG_HOME": str(where.parent), "PYTHONPATH": str(ROOT)}
    adders = [
        subprocess.Popen(
            [sys.executable, "-c", ADDING, name, KEY.hex()], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for name in "abcd"
    ]
    for adder in adders:
        assert adder.stdout is not None
        adder.stdout.readline()  # all are there before any begins
    for adder in adders:
        assert adder.stdin is not None
        adder.stdin.write(b"\n")
        adder.stdin.flush()
    for adder in adders:
        adder.communicate()

    assert [adder.returncode for adder in adders] == [0] * 4
    assert sorted(ring.trust().authors) == [f"{name}-{n}" for name in "abcd" for n in range(10)]


def test_whoever_waits_in_vain_is_told_so(ring: Keyring, where: Path, monkeypatch: pytest.MonkeyPatch):
    ring.add_author("ada", KEY)
    monkeypatch.setattr(locks.Lock.__init__, "__defaults__", (0.05,))
    with locks.Lock(str(where / "trust.lock")), pytest.raises(TrustBusy.error) as refusal:
        ring.add_author("bo", KEY)

    assert refusal.value.details == {"holder": f"process {os.getpid()}"}
    assert ring.trust().authors == {"ada": (KEY,)}
