"""Who may write the published ledger: verified, unverified and forged lines, in two clones and with a forger."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bb.coordination.records import signers
from bb.ledger.journal import line as lines
from bb.ledger.signing import ssh_signatures, verdicts
from bb.ledger.travel import remote
from tests.ledger.ledger_support import damage_line, forget_index
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, clone, hub
from tests.support import NOON, Scratch, environment

NEEDS_SSH = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="there is no ssh-keygen")


@pytest.fixture
def two(tmp_path: Path) -> list[Clone]:
    """Two clones that publish, each with an agent."""
    return agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)


def listed(each: Clone, name: str) -> str:
    """The line that lists the key of a clone for NAME."""
    return str(each.ask("ledger.key", **{"for": name})["line"])


def review(clones: list[Clone], *rows: str) -> None:
    """Let every clone have a reviewed file with these ROWS."""
    for each in clones:
        path = each.path / signers.PATH
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(rows) + "\n")
        each.git("add", "--force", signers.PATH)
        each.git("commit", "--quiet", "--allow-empty", "-m", "Signers")


def standing(each: Clone, writer: str) -> dict[str, Any]:
    """What a clone finds of a writer's lines."""
    found = each.ask("ledger.verify")["signatures"]["writers"]
    return next(row for row in found if row["writer"] == writer)


def writer_of(each: Clone) -> str:
    return str(each.ask("ledger.status")["writer"])


def pushed(forger: Clone, path: str, octets: bytes, *, is_root: bool = False) -> None:
    """Push a commit that puts OCTETS into a file on the ledger's branch, as anybody who may push can; in the place of
    the whole branch if it is to be a root."""
    forger.git("fetch", "--quiet", "origin", "+refs/heads/bb-ledger:refs/forged")
    (forger.path / "forged").write_bytes(octets)
    blob = forger.git("hash-object", "-w", "forged").strip()
    index = {"GIT_INDEX_FILE": str(forger.path / ".git" / "forged-index")}

    def git(*words: str) -> str:
        named = ["git", "-c", "user.name=F", "-c", "user.email=f@example.invalid", *words]
        env = environment() | index
        return subprocess.run(
            named, cwd=forger.path, env=env, check=True, capture_output=True, text=True
        ).stdout.strip()

    git("read-tree", "refs/forged")
    git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
    parents = () if is_root else ("-p", "refs/forged")
    commit = git("commit-tree", git("write-tree"), *parents, "-m", "bb: [skip ci]")
    git("push", "--quiet", "origin", f"+{commit}:refs/heads/bb-ledger")


def published(each: Clone, writer: str) -> tuple[str, bytes]:
    """The only published file of a writer, and what it holds."""
    each.git("fetch", "--quiet", "origin", "+refs/heads/bb-ledger:refs/forged")
    path = f"w/{writer[:2]}/{writer}/000000000001.jsonl"
    shown = subprocess.run(["git", "show", f"refs/forged:{path}"], cwd=each.path, check=True, capture_output=True)
    return path, shown.stdout


def made_up(octets: bytes, writer: str, kind: str, by: str, data: dict[str, Any]) -> bytes:
    """A line that rightly follows the last of OCTETS, and says whatever a forger wants."""
    last = lines.link_without_previous(octets.splitlines()[-1], writer)
    group = lines.event(octets.splitlines()[-1]).group_id
    event = lines.Event(f"{writer}.{last.n + 1}", last.lamport + 1, NOON, kind, by, data, group)
    return lines.write(event, last, "aaaaaaaa")[0]


FROZEN = {"scope": "src", "bead_id": "freeze", "ttl_minutes": 60}


def test_without_a_file_of_signers_everything_counts_and_one_short_line_says_that_nothing_is_verified(
    two: list[Clone],
) -> None:
    one, other = two
    one.ask("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER)
    one.sync()
    came = other.sync()

    assert ("amber-otter", "src", "active") in other.holds()
    assert "came" not in came["signatures"]
    assert other.ask("ledger.verify")["signatures"]["lines"]["verified"] == 0
    said = Scratch(other.path).bb("ledger", "verify").out
    assert said.count("signatures") == 1


def test_lines_of_a_listed_key_are_verified_in_every_clone(two: list[Clone]) -> None:
    one, other = two
    review(two, listed(one, "laptop"), listed(other, "desk"), "#bb mode require")
    one.sync()
    one.ask("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER)
    one.sync()
    came = other.sync()

    assert set(came["signatures"]["came"]) == {"verified"}
    assert ("amber-otter", "src", "active") in other.holds()
    assert standing(other, writer_of(one))["by"] == "laptop"
    one.sync()
    assert one.digest == other.digest


def test_under_require_the_lines_of_an_unlisted_key_fold_into_nothing_until_it_is_listed(two: list[Clone]) -> None:
    one, other = two
    one.ask("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER)
    one.sync()
    review([other], listed(other, "desk"), "#bb mode require")
    came = other.sync()

    assert set(came["signatures"]["came"]) == {"unverified"}
    assert "is not listed" in came["signatures"]["doubted"][0]["why"]
    assert other.holds() == set()
    assert any(event["signature"]["verdict"] == "unverified" for event in other.ask("ledger.log"))
    other.ask("agent.reserve", scope=["src"], bead="bb-2", agent=COBALT)
    other.ask("agent.release", scope=["src"], agent=COBALT)

    review([other], listed(one, "laptop"), listed(other, "desk"), "#bb mode require")
    other.sync()
    assert ("amber-otter", "src", "active") in other.holds()
    assert other.ask("ledger.verify")["is_index_right"]


def test_a_clone_whose_key_is_not_listed_is_told_so_at_its_first_act(two: list[Clone]) -> None:
    one, other = two
    review([other], listed(one, "laptop"), "#bb mode require")
    other.sync()

    refusal = other.refused("agent.reserve", scope=["src"], bead="bb-2", agent=COBALT)
    assert refusal.code == "WRITER_NOT_ALLOWED"
    assert "bb ledger key" in (refusal.hint or "")
    assert not other.sync()["signatures"]["is_allowed"]


def test_a_line_that_somebody_else_puts_behind_a_writers_last_is_not_verified(two: list[Clone]) -> None:
    one, other = two
    review(two, listed(one, "laptop"), listed(other, "desk"), "#bb mode require")
    path, octets = published(other, writer_of(one))
    pushed(other, path, octets + made_up(octets, writer_of(one), "x.bb.reserved", AMBER, FROZEN | {"scope": "docs"}))
    other.sync()

    found = standing(other, writer_of(one))
    assert (found["unverified"], found["forged"]) == (1, 0)
    assert found["why"] == "no signature follows them"
    assert other.holds() == set()


def test_a_writer_never_signs_what_came_under_its_id_from_elsewhere(two: list[Clone]) -> None:
    one, other = two
    review(two, listed(one, "user"), listed(other, "desk"), "#bb mode require")
    one.sync()
    before = writer_of(one)
    path, octets = published(other, before)
    pushed(other, path, octets + made_up(octets, before, "x.bb.reserved", "user", FROZEN))
    came = one.sync()

    assert came["signatures"]["left_writer"] == before
    one.ask("agent.reserve", scope=["docs"], bead="bb-1", agent=AMBER)
    one.sync()
    other.sync()
    assert writer_of(one) != before
    assert {scope for _, scope, _ in other.holds()} == {"docs"}, "nobody has frozen anything"


@pytest.mark.parametrize("how", ["copied", "broken", "other key", "no signature"])
def test_a_signature_that_does_not_fit_is_forged(two: list[Clone], how: str) -> None:
    one, other = two
    review(two, listed(one, "laptop"), listed(other, "desk"), "#bb mode require")
    one.sync()
    other.sync()
    writer = writer_of(one)
    path, octets = published(other, writer)
    signed = lines.event([raw for raw in octets.splitlines() if b"x.bb.signed" in raw][-1]).data["signature"]
    if how == "broken":
        signed = ssh_signatures.base64(ssh_signatures.decoded(signed)[:-1] + b"\0")
    elif how == "no signature":
        signed = "nonsense"
    elif how == "other key":
        mine = ssh_signatures.read(ssh_signatures.decoded(signed))
        key = other.path / ".git" / "bb" / "keys" / writer_of(other)
        _, public = ssh_signatures.private_key(key.read_text())
        signed = ssh_signatures.base64(ssh_signatures.blob(public, ssh_signatures.LEDGER, mine.octets))
    pushed(other, path, octets + made_up(octets, writer, "x.bb.signed", "system", {"signature": signed}))
    other.sync()

    found = standing(other, writer)
    assert (found["forged"], found["unverified"]) == (1, 0)
    assert found["verified"] == octets.count(b"\n")


def test_a_signature_from_another_repository_does_not_count(two: list[Clone]) -> None:
    one, _ = two
    n, head, said = one_row(one)
    here = verdicts.statement(str(one.ask("ledger.status")["repo"]), writer_of(one), n - 1, head)
    there = verdicts.statement("anotherrepo1", writer_of(one), n - 1, head)

    assert verdicts.check(here, said) is None
    assert verdicts.check(there, said) == verdicts.NOT_BY_THAT_KEY


def one_row(each: Clone) -> tuple[int, str, str]:
    """The last signature in a clone: its line's number, the head it follows, and what it says."""
    (journal,) = each.store.glob(f"j/{writer_of(each)}/*.jsonl")
    raw = [row for row in journal.read_bytes().splitlines() if b"x.bb.signed" in row][-1]
    found = lines.members(raw)
    return int(found["id"].partition(".")[2]), found["p"], found["data"]["signature"]


def test_the_persons_orders_count_only_from_a_key_that_is_listed_for_user(two: list[Clone]) -> None:
    one, other = two
    other.ask("freeze", scope=["src"])
    other.sync()
    one.sync()
    assert one.refused_or("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER) == "RESERVATION_CONFLICT"

    review(two, listed(one, "user"), listed(other, "desk"))
    one.sync()
    other.sync()
    one.ask("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER)
    assert other.refused_or("freeze", scope=["docs"]) == "ORDER_NOT_ALLOWED"

    one.ask("freeze", scope=["docs"])
    one.sync()
    other.sync()
    assert ("user", "docs", "active") in other.holds()
    assert ("user", "src", "active") not in other.holds()
    one.sync()
    assert one.digest == other.digest


def test_a_revoked_key_counts_up_to_the_line_that_was_named(two: list[Clone]) -> None:
    one, other = two
    one.ask("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER)
    one.sync()
    kept = standing(one, writer_of(one))["lines"]
    one.ask("agent.reserve", scope=["docs"], bead="bb-1", agent=AMBER)
    one.sync()
    key = one.ask("ledger.key")["fingerprint"]
    review(
        [other],
        listed(one, "laptop"),
        listed(other, "desk"),
        f"#bb revoked {key} {writer_of(one)}:{kept}",
        "#bb mode require",
    )
    other.sync()

    assert {scope for _, scope, _ in other.holds()} == {"src"}
    assert "revoked" in standing(other, writer_of(one))["why"]
    review([other], listed(one, "laptop"), listed(other, "desk"), f"#bb revoked {key}", "#bb mode require")
    other.sync()
    assert other.holds() == set()


def test_a_key_that_takes_over_covers_all_that_was_signed_before(two: list[Clone]) -> None:
    one, other = two
    old = listed(one, "laptop")
    one.ask("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER)
    new = str(one.ask("ledger.key", rotate=True, **{"for": "laptop"})["line"])
    assert new != old
    one.sync()
    review([other], new, listed(other, "desk"), "#bb mode require")
    other.sync()

    assert ("amber-otter", "src", "active") in other.holds()
    assert standing(other, writer_of(one))["unverified"] == 0


def test_signatures_survive_a_new_epoch(two: list[Clone]) -> None:
    one, other = two
    review(two, listed(one, "laptop"), listed(other, "desk"), "#bb mode require")
    one.sync()
    one.ask("ledger.rotate", reason="the history is long")
    other.sync()
    third = clone(other.path.parent / "hub.git", "third")
    review([third], listed(one, "laptop"), listed(other, "desk"), "#bb mode require")
    third.sync(pull=True)

    assert other.ask("ledger.verify", published=True)["signatures"]["lines"]["unverified"] == 0
    assert third.ask("ledger.verify")["signatures"]["lines"]["unverified"] == 0


def test_where_signing_is_off_nothing_is_signed(two: list[Clone]) -> None:
    one, _ = two
    review([one], "#bb mode off")
    before = one_row(one)
    one.ask("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER)
    one.sync()

    assert one_row(one) == before
    assert "gpgsig" not in one.git("cat-file", "-p", "refs/bb/ledger")


def test_a_copied_directory_signs_with_a_key_of_its_own(two: list[Clone]) -> None:
    one, _ = two
    first = one.ask("ledger.key")
    copy = Clone(one.path.parent / "copied")
    shutil.copytree(one.path, copy.path)
    copy.ask("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER)
    second = copy.ask("ledger.key")

    assert first["writer"] != second["writer"]
    assert first["fingerprint"] != second["fingerprint"]


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777])
def test_a_key_is_for_its_owner_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    from bb.ledger.signing import keys  # here: the umask is this process's

    before = os.umask(umask)
    try:
        made = keys.make_key(str(tmp_path), "abcdefghijkl") if umask != 0o777 else None
        folder = tmp_path / "keys"
        if made is None:
            os.umask(before)
            folder.mkdir()
            os.umask(umask)
            made = keys.make_key(str(tmp_path), "abcdefghijkl")
    finally:
        os.umask(before)

    assert Path(made.path).stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    found = keys.own_key(str(tmp_path), "abcdefghijkl")
    assert found is not None
    assert found.public == made.public


@NEEDS_SSH
def test_ssh_keygen_and_git_find_the_signatures_good(two: list[Clone], tmp_path: Path) -> None:
    one, other = two
    review(two, listed(one, "laptop"), listed(other, "desk"))
    one.ask("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER)
    one.sync()
    other.sync()
    other.ask("ledger.signatures", writer=writer_of(one), output=str(tmp_path / "out"))
    (statement,) = (tmp_path / "out").glob("*.txt")
    allowed = str(other.path / signers.PATH)

    def verify(given: bytes, name: str = "laptop") -> int:
        words = ["ssh-keygen", "-Y", "verify", "-f", allowed, "-I", name, "-n", "bb-ledger", "-s", f"{statement}.sig"]
        return subprocess.run(words, input=given, capture_output=True).returncode

    assert verify(statement.read_bytes()) == 0
    assert verify(statement.read_bytes() + b" ") != 0
    assert verify(statement.read_bytes(), "desk") != 0
    other.git("-c", f"gpg.ssh.allowedSignersFile={allowed}", "verify-commit", "refs/bb/remote/origin")


@NEEDS_SSH
def test_the_key_that_git_signs_with_signs_the_ledger_and_a_repository_cannot_name_one(
    two: list[Clone], tmp_path: Path
) -> None:
    one, _ = two
    key = tmp_path / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    config = tmp_path / "gitconfig"
    config.write_text(f"[gpg]\n\tformat = ssh\n[user]\n\tsigningKey = {key}.pub\n")
    mine = Scratch(one.path, {"GIT_CONFIG_GLOBAL": str(config), "BB_NOW": NOON})

    shown = mine.json("ledger", "key").data
    assert shown["source"] == "git"
    assert shown["public_key"].split()[1] == key.with_suffix(".pub").read_text().split()[1]
    mine.json("agent", "reserve", "--agent", AMBER, "--scope", "src", "--bead", "bb-1")
    assert "unsigned" not in mine.json("sync").data["signatures"]
    row = one_row(one)
    text = verdicts.statement(str(one.ask("ledger.status")["repo"]), writer_of(one), row[0] - 1, row[1])
    assert verdicts.check(text, row[2]) is None
    assert (
        ssh_signatures.public_line(ssh_signatures.read(ssh_signatures.decoded(row[2])).key).split()[1]
        == shown["public_key"].split()[1]
    )

    mark = tmp_path / "started"
    one.git("config", "gpg.format", "ssh")
    one.git("config", "gpg.ssh.program", f"touch {mark};")
    one.git("config", "user.signingKey", f"{key}.pub")
    assert one.ask("ledger.key")["source"] == "bb"
    assert not mark.exists()


@NEEDS_SSH
def test_a_key_with_a_passphrase_that_nobody_can_give_is_named_and_the_sync_goes_on(
    two: list[Clone], tmp_path: Path
) -> None:
    one, _ = two
    key = tmp_path / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret words", "-f", str(key)], check=True)
    config = tmp_path / "gitconfig"
    config.write_text(f"[gpg]\n\tformat = ssh\n[user]\n\tsigningKey = {key}\n")
    mine = Scratch(one.path, {"GIT_CONFIG_GLOBAL": str(config), "BB_NOW": NOON, "SSH_AUTH_SOCK": ""})
    mine.json("agent", "reserve", "--agent", AMBER, "--scope", "src", "--bead", "bb-1")
    found = mine.json("sync").data

    assert found["went"] > 0
    assert found["signatures"]["unsigned"].startswith("SIGNING_FAILED")
    assert "gpgsig" not in one.git("cat-file", "-p", "refs/bb/ledger")
    assert mine.json("ledger", "key", "--own").data["source"] == "bb"
    assert "unsigned" not in mine.json("sync").data["signatures"]


def test_the_file_counts_as_it_was_reviewed_and_not_as_it_lies_in_the_work_tree(two: list[Clone]) -> None:
    one, other = two
    review([one], listed(one, "laptop"), "#bb mode require")
    one.git("update-ref", "refs/remotes/origin/main", "HEAD")
    one.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    (one.path / signers.PATH).write_text("#bb mode off\n")
    assert one.ask("ledger.signing")["mode"] == "require"
    review([one], listed(other, "attacker"), "#bb mode warn")

    found = one.ask("ledger.signing")
    assert (found["mode"], found["where"]) == ("require", "origin/HEAD")


def test_the_mode_is_written_for_review_and_only_the_person_may_ask_for_it(two: list[Clone]) -> None:
    one, _ = two
    assert one.ask("ledger.signing", mode="require")["mode"] == "warn"
    repo = one.ask("ledger.status")["repo"]
    assert (one.path / signers.PATH).read_text() == f"#bb repo {repo}\n#bb mode require\n"
    one.settings["BB_AGENT"] = AMBER
    assert one.refused_or("ledger.signing", mode="off") == "PERSON_ONLY"


def test_a_removed_signature_is_found_out_by_whoever_had_it(two: list[Clone]) -> None:
    one, other = two
    path, octets = published(other, writer_of(one))
    without = b"".join(raw + b"\n" for raw in octets.splitlines() if b"x.bb.signed" not in raw)
    pushed(other, path, without)

    for each in two:
        (skipped,) = each.sync(pull=True)["quarantined"]
        assert "x.bb.signed" in skipped["why"] or "has changed" in skipped["why"] or "lost lines" in skipped["why"]


def test_a_signature_cannot_be_redacted(two: list[Clone]) -> None:
    one, _ = two
    n = one_row(one)[0]
    assert (
        one.refused_or("ledger.redact", event=f"{writer_of(one)}.{n}", reason="tidy", agent="user") == "NOT_REDACTABLE"
    )


def test_a_forged_global_reservation_admits_nobody_and_stands_in_nobodys_way(two: list[Clone]) -> None:
    one, other = two
    review(two, listed(one, "laptop"), listed(other, "desk"), "#bb mode require")
    one.sync()
    other.sync()
    path, octets = published(other, writer_of(one))
    tip = other.git("rev-parse", "refs/forged").strip()
    data = {"scope": "src", "bead_id": "bb-9", "ttl_minutes": 60, "base": tip}
    pushed(other, path, octets + made_up(octets, writer_of(one), "x.bb.reserved", "quiet-falcon", data))

    other.ask("agent.reserve", scope=["src"], bead="bb-2", agent=COBALT, **{"global": True})
    one.sync()
    assert one.holds() == other.holds() == {(COBALT, "src", "active")}


def test_ci_counts_only_what_the_signers_of_the_base_have_signed(two: list[Clone]) -> None:
    one, other = two
    one.ask("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER)
    one.sync()
    base = other.git("rev-parse", "HEAD").strip()
    (other.path / "src").mkdir()
    (other.path / "src" / "a.py").write_text("")
    other.git("add", "--force", "src")
    other.git("commit", "--quiet", "-m", f"Change\n\nBB-Agent: {COBALT}")
    assert other.refused_or("ci.check", base=base) == "CI_INCURSION"

    other.git("reset", "--quiet", "--hard", base)
    review([other], listed(other, "desk"), "#bb mode require")
    base = other.git("rev-parse", "HEAD").strip()
    other.git("cherry-pick", "ORIG_HEAD")
    review([other], listed(one, "laptop"), "#bb mode require")
    found = other.ask("ci.check", base=base)
    assert [each["rule"] for each in found["findings"]] == ["unverified-lines"]
    assert found["ledger"]["signatures"]["mode"] == "require"
    assert found["errors"] == 0


def test_a_mirrored_file_cannot_put_lines_into_our_own_chain(two: list[Clone]) -> None:
    one, _ = two
    writer = writer_of(one)
    _, octets = published(one, writer)
    n = octets.count(b"\n") + 1
    folder = one.path / ".bb" / "ledger" / writer
    folder.mkdir(parents=True)
    (folder / f"{n:012}-{n:012}.jsonl").write_bytes(made_up(octets, writer, "x.bb.reserved", "user", FROZEN))

    assert one.ask("ledger.mirror")["came"] == 0
    assert one.holds() == set()


def test_a_file_of_signers_that_comes_later_settles_anew_who_was_admitted(two: list[Clone]) -> None:
    one, other = two
    one.ask("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER, **{"global": True})
    other.sync()
    assert (AMBER, "src", "active") in other.holds()

    review([other], listed(other, "desk"), "#bb mode require")
    other.sync()
    assert other.holds() == set()
    other.ask("agent.reserve", scope=["src"], bead="bb-2", agent=COBALT, **{"global": True})
    assert other.holds() == {(COBALT, "src", "active")}


def emptied(forger: Clone, event: str, *, by: str = "", is_root: bool = False) -> None:
    """Push a commit that takes the payload out of the line of EVENT, and redacts it BY somebody behind its writer's
    last line."""
    writer, n = event.split(".")
    path, octets = published(forger, writer)
    rows = octets.splitlines()
    rows[int(n) - 1] = lines.blanked(rows[int(n) - 1]) or b""
    octets = b"".join(raw + b"\n" for raw in rows)
    redaction = {"event_id": event, "reason": "tidy"}
    more = made_up(octets, writer, "x.bb.redacted", by, redaction) if by else b""
    pushed(forger, path, octets + more, is_root=is_root)


def changed(each: Clone) -> str:
    """Commit a change of src/ by the agent of the second clone; the commit that it is meant for."""
    base = each.git("rev-parse", "HEAD").strip()
    (each.path / "src").mkdir()
    (each.path / "src" / "a.py").write_text("")
    each.git("add", "--force", "src")
    each.git("commit", "--quiet", "-m", f"Change\n\nBB-Agent: {COBALT}")
    return base


@pytest.mark.parametrize("has_law", [False, True])
@pytest.mark.parametrize("is_global", [False, True])
def test_ci_does_not_believe_a_line_that_nobody_took_back_to_be_empty(
    two: list[Clone], has_law: bool, is_global: bool
) -> None:
    one, other = two
    if has_law:
        review([other], listed(one, "laptop"), "#bb mode require")
    held = one.ask("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER, **{"global": is_global})
    one.sync()
    base = changed(other)
    assert other.refused_or("ci.check", base=base) == "CI_INCURSION"

    emptied(other, held["reservations"][0]["reservation_id"])
    assert other.refused_or("ci.check", base=base) == "CI_INCURSION", "the line still holds"


def test_ci_does_not_believe_a_signature_to_have_been_taken_back(two: list[Clone]) -> None:
    one, other = two
    review([other], listed(one, "laptop"), "#bb mode require")
    one.ask("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER)
    one.sync()
    base = changed(other)
    emptied(other, f"{writer_of(one)}.{one_row(one)[0]}", by="user")

    assert other.refused_or("ci.check", base=base) == "CI_INCURSION", "the line still holds"


@pytest.mark.parametrize("by", ["", AMBER])
def test_ci_fails_where_the_branch_was_replaced_by_one_that_lacks_what_a_line_said(two: list[Clone], by: str) -> None:
    one, other = two
    review([other], listed(one, "laptop"), "#bb mode require")
    held = one.ask("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER)["reservations"][0]["reservation_id"]
    one.sync()
    emptied(other, held, by=by, is_root=True)

    assert other.refused_or("ci.check", base=changed(other)) == "LEDGER_LACKING"


def test_ci_believes_what_was_rightly_taken_back(two: list[Clone]) -> None:
    one, other = two
    held = one.ask("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER)["reservations"][0]["reservation_id"]
    one.sync()
    one.ask("ledger.redact", event=held, reason="a name", agent=AMBER)
    one.sync()
    base = changed(other)

    assert other.ask("ci.check", base=base)["errors"] == 0
    review([other], listed(one, "laptop"), "#bb mode require")
    assert other.ask("ci.check", base=base)["errors"] == 0


def test_what_an_unsigned_redaction_took_out_of_the_branch_holds_in_new_clones_and_in_ci(two: list[Clone]) -> None:
    one, other = two
    rows = listed(one, "laptop"), listed(other, "desk"), "#bb mode require"
    held = one.ask("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER)["reservations"][0]["reservation_id"]
    one.sync()
    emptied(other, held, by=AMBER)
    fresh = clone(other.path.parent / "hub.git", "fresh")
    review([fresh, other], *rows)
    fresh.sync(pull=True)
    base = changed(other)

    assert (AMBER, "src", "active") in fresh.holds()
    assert other.refused_or("ci.check", base=base) == "CI_INCURSION"


def test_what_an_order_that_does_not_count_took_out_of_the_branch_holds_in_new_clones(two: list[Clone]) -> None:
    one, other = two
    held = one.ask("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER)["reservations"][0]["reservation_id"]
    one.sync()
    emptied(other, held, by="user")
    fresh = clone(other.path.parent / "hub.git", "fresh")
    review([fresh, other], listed(one, "user"))
    fresh.sync(pull=True)

    assert (AMBER, "src", "active") in fresh.holds()
    assert other.refused_or("ci.check", base=changed(other)) == "CI_INCURSION"


@pytest.mark.parametrize("how", ["freeze", "agent.pause"])
def test_nobody_redacts_what_the_person_ordered(two: list[Clone], how: str) -> None:
    one, other = two
    given: dict[str, Any] = {"scope": ["src"]} if how == "freeze" else {"name": AMBER}
    one.ask(how, **given)
    one.sync()
    order = [each["id"] for each in one.ask("ledger.log") if each["by"] == "user" and each["kind"] in ORDERS][-1]
    assert one.refused_or("ledger.redact", event=order, reason="tidy", agent="user") == "NOT_REDACTABLE"

    emptied(other, order, by="user")
    fresh = clone(other.path.parent / "hub.git", "fresh")
    assert len(fresh.sync(pull=True)["quarantined"]) == 1
    assert other.refused_or("ci.check", base=changed(other)) == VERDICTS[how], "the order still counts"


ORDERS = ("x.bb.reserved", "x.bb.paused")
VERDICTS = {"freeze": "CI_INCURSION", "agent.pause": ""}


def test_what_a_new_epoch_lacks_is_an_error_in_ci_and_told_by_a_sync(two: list[Clone]) -> None:
    one, other = two
    held = one.ask("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER)["reservations"][0]["reservation_id"]
    one.sync()
    rows = listed(one, "laptop"), "#bb mode require"
    other.sync()
    other.ask("ledger.redact", event=held, reason="tidy", agent="user")
    other.sync()
    other.ask("ledger.rotate", reason="the history is long")
    fresh = clone(other.path.parent / "hub.git", "fresh")
    review([fresh, other], *rows)

    assert fresh.sync(pull=True)["signatures"]["lost"] == [held]
    assert other.refused_or("ci.check", base=changed(other)) == "LEDGER_LACKING"


def test_the_ledger_of_another_repository_is_refused_by_a_sync_and_in_ci(two: list[Clone]) -> None:
    one, other = two
    ours = "0a3250eccf47"
    fresh = clone(other.path.parent / "hub.git", "fresh")
    review([fresh, other], listed(one, "user"), f"#bb repo {ours}")

    assert fresh.refused_or("sync", pull=True) == "NOT_OUR_LEDGER"
    assert not (fresh.store / "clone.json").exists()
    assert other.refused_or("ci.check", base=changed(other)) == "NOT_OUR_LEDGER"
    other.ask("agent.reserve", scope=["docs"], bead="bb-1", agent=COBALT)
    assert other.refused_or("sync") == "NOT_OUR_LEDGER", "this clone has taken the other one over before"
    assert "ledger" in other.refused("doctor").message


def test_the_line_that_names_our_own_ledger_changes_nothing(two: list[Clone]) -> None:
    one, other = two
    review(two, listed(one, "user"), f"#bb repo {one.ask('ledger.status')['repo']}", "#bb mode require")
    one.ask("freeze", scope=["src"])
    one.sync()
    other.sync()

    assert ("user", "src", "active") in other.holds()
    assert other.refused_or("ci.check", base=changed(other)) == "CI_INCURSION"


def test_where_no_line_names_our_ledger_it_is_said(two: list[Clone]) -> None:
    one, _ = two
    review([one], listed(one, "user"))
    assert any("#bb repo" in each for each in one.ask("ledger.signing")["uncertain"])
    one.ask("ledger.signing", mode="warn")
    review([one], *(one.path / signers.PATH).read_text().splitlines())
    assert not any("#bb repo" in each for each in one.ask("ledger.signing")["uncertain"])


def test_under_require_the_persons_orders_need_a_key_for_the_person_though_none_is_listed(two: list[Clone]) -> None:
    one, other = two
    one.ask("freeze", scope=["src"])
    one.sync()
    review(two, listed(one, "laptop"), listed(other, "desk"), "#bb mode require")
    other.sync()

    assert other.holds() == set()
    base = changed(other)
    assert other.ask("ci.check", base=base)["errors"] == 0
    one.sync()
    refusal = one.refused("freeze", scope=["docs"])
    assert refusal.code == "ORDER_NOT_ALLOWED"
    assert "bb ledger key --for user" in (refusal.hint or "")


def test_the_default_branch_decides_where_git_does_not_know_which_it_is(two: list[Clone]) -> None:
    one, _ = two
    review([one], listed(one, "laptop"), "#bb mode require")
    one.git("update-ref", "refs/remotes/origin/main", "HEAD")
    review([one], "#bb mode off")

    found = one.ask("ledger.signing")
    assert (found["mode"], found["where"]) == ("require", "origin/main")


def test_a_clone_that_goes_by_head_says_so(two: list[Clone]) -> None:
    one, _ = two
    review([one], listed(one, "laptop"))

    assert any("git remote set-head origin -a" in each for each in one.ask("ledger.signing")["uncertain"])
    assert "git remote set-head origin -a" in Scratch(one.path).bb("doctor").out


def test_whoever_has_a_revoked_key_is_told_to_make_another(two: list[Clone]) -> None:
    one, _ = two
    line, name = listed(one, "laptop"), one.ask("ledger.key")["fingerprint"]
    review([one], line, f"#bb revoked {name}", "#bb mode require")
    one.sync()

    refusal = one.refused("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER)
    assert "bb ledger key --rotate" in (refusal.hint or "")
    said = Scratch(one.path).bb("ledger", "key").out
    assert "--rotate" in said
    assert "Add this line" not in said


def test_a_revocation_that_cannot_be_read_is_a_fault_and_ci_warns_of_it(two: list[Clone]) -> None:
    one, other = two
    review([other], listed(one, "laptop"), "#bb revoked the key of the laptop")
    base = changed(other)

    assert "signers-file" in {each["rule"] for each in other.ask("ci.check", base=base)["findings"]}
    assert "failed: signers" in other.refused("doctor").message


def test_a_signature_behind_a_damage_is_not_recorded_again_where_it_fits_no_chain(two: list[Clone]) -> None:
    one, other = two
    review(two, listed(one, "laptop"), listed(other, "desk"), "#bb mode require")
    for scope in ("src", "docs"):
        one.ask("agent.reserve", scope=[scope], bead="bb-1", agent=AMBER)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remote, "push", lambda *_: (_ for _ in ()).throw(remote.Offline()))
        assert one.refused("sync").code == "OFFLINE"
    (path,) = (one.store / "j" / writer_of(one)).glob("*.jsonl")
    damage_line(path, path.read_bytes()[: path.read_bytes().index(b'"scope":"src"')].count(b"\n") + 1)
    forget_index(one.path)
    damaged = writer_of(one)

    one.bb("doctor", "--fix")
    one.sync()
    other.sync()

    assert writer_of(one) != damaged
    assert standing(other, writer_of(one))["forged"] == 0
    signatures = [event for event in one.ask("ledger.log") if event["kind"] == "x.bb.signed"]
    assert not any("salvaged_from" in event["data"] for event in signatures)


@NEEDS_SSH
@pytest.mark.parametrize("verb", ["ledger.commit", "sync"])
def test_a_commit_at_the_local_ref_is_signed_as_a_published_one_is(two: list[Clone], verb: str) -> None:
    one, _ = two
    review(two, listed(one, "laptop"))
    one.ask("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER)

    answer = one.ask(verb, **({"local": True} if verb == "sync" else {}))

    assert "unsigned" not in answer
    allowed = str(one.path / signers.PATH)
    one.git("-c", f"gpg.ssh.allowedSignersFile={allowed}", "verify-commit", "refs/bb/ledger")


def test_a_clone_that_has_never_published_signs_its_commit_too(tmp_path: Path) -> None:
    made = clone(hub(tmp_path / "hub.git"), "alone")
    made.ask("agent.register", name=AMBER, role="builder")

    made.ask("ledger.commit")

    assert "gpgsig -----BEGIN SSH SIGNATURE-----" in made.git("cat-file", "commit", "refs/bb/ledger")


def test_nothing_is_signed_where_signatures_are_off(two: list[Clone]) -> None:
    one, _ = two
    review(two, listed(one, "laptop"), "#bb mode off")
    one.ask("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER)

    assert "unsigned" not in one.ask("ledger.commit")
    assert "gpgsig" not in one.git("cat-file", "commit", "refs/bb/ledger")


@pytest.mark.parametrize("mode", ["warn", "require"])
def test_a_local_commit_that_cannot_be_signed_is_made_and_says_so(two: list[Clone], mode: str) -> None:
    """Nothing leaves the machine, so nobody takes it for more than it is."""
    one, _ = two
    review(two, listed(one, "laptop"), f"#bb mode {mode}")
    one.ask("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER)
    (one.store / "keys" / writer_of(one)).chmod(0o644)

    answer = one.ask("ledger.commit")

    assert "SIGNING_FAILED" in answer["unsigned"]
    assert answer["events"] > 0
    assert "It is not signed" in one.bb("sync", "--local").out
    assert "gpgsig" not in one.git("cat-file", "commit", "refs/bb/ledger")


def test_ci_check_local_looks_at_the_reviewed_file_itself(two: list[Clone]) -> None:
    """Nobody has looked since the file was merged, and every other command goes by the last look."""
    one, other = two
    other.ask("agent.reserve", scope=["src"], bead="bb-1", agent=COBALT)
    other.sync()
    one.sync()
    (one.path / "src").mkdir()
    (one.path / "src" / "a.py").write_text("1\n")
    one.git("add", "--force", "src")
    one.git("commit", "--quiet", "-m", f"Work\n\nBB-Agent: {AMBER}")
    assert one.refused("ci.check", base="HEAD~1", local=True).code == "CI_INCURSION"
    one.git("branch", "work")
    one.git("reset", "--quiet", "--hard", "HEAD~1")
    review([one], listed(one, "laptop"), "#bb mode require")
    (one.store / "signers.json").unlink(missing_ok=True)

    answer = one.ask("ci.check", base="HEAD~1", head="work", local=True)

    assert answer["findings"] == [], "what cobalt-harbor holds counts for nothing, since its key is not listed"
    assert ".bb/allowed_signers" in answer["ledger"]["note"], "the base of the change does not say so"
