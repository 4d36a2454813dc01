"""`bb cbcl` about texts: where they come from, what is said of them, and how mistakes are told."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bb.cbcl.read import reader
from bb.cbcl.read.reader import Text
from bb.cbcl.read.tree import equal
from tests.near import Near, near

CONTROLS = ["\x1b[2J", "\x07", "\x9b2J", "\u202e", "\u2066"]
HELLO = '(tell @bob "hi" :thread t-1)'
WORK = """; who does what
(define work :author @lab :resources (:max-depth 8 :max-expansion-size 200 :max-verify-time 100)
  (extend assign (who what) (ask who what)))
"""
UNSOUND = """(define work :author @lab
  :resources (:max-depth 8 :max-expansion-size 9000)
  (extend Tell (who) (tell who))
  (extend assign (who) (assign who)))
"""
ASKS = ["parse", "format", "canonical", "hash", "verify", "expand", "explain"]


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Near:
    folder = tmp_path_factory.mktemp("texts")
    made = near(folder / "repo", XDG_CONFIG_HOME=str(folder / "config"))
    (made.path / "work.cbcl").write_text(WORK)
    (made.path / "unsound.cbcl").write_text(UNSOUND)
    (made.path / "hello.cbcl").write_text(HELLO)
    (made.path / "folder").mkdir()
    return made


# -- where a text comes from


@pytest.mark.parametrize("verb", ["parse", "format", "canonical", "hash"])
def test_a_file_stdin_and_the_text_itself_are_answered_alike(repo: Near, verb: str):
    answers = [
        repo.json("cbcl", verb, "hello.cbcl"),
        repo.json("cbcl", verb, "--text", HELLO),
        repo.json("cbcl", verb, "-", stdin=HELLO),
        repo.json("cbcl", verb, str(repo.path / "hello.cbcl")),
    ]
    assert len({json.dumps(answer.data) for answer in answers}) == 1


@pytest.mark.parametrize("verb", ASKS)
@pytest.mark.parametrize("words", [[], ["hello.cbcl", "--text", HELLO], ["-", "--text", HELLO]])
def test_a_text_comes_from_one_place(repo: Near, verb: str, words: list[str]):
    refused = repo.json("cbcl", verb, *words)
    assert (refused.status, refused.code) == (2, "FILE_OR_TEXT")
    assert "--text" in refused.envelope["error"]["hint"]


@pytest.mark.parametrize("verb", ASKS)
@pytest.mark.parametrize("name", ["nowhere.cbcl", "folder", "hello.cbcl/x", "(tell @bob)", "x" * 5000, "~nobody/x"])
def test_what_is_no_file_is_never_taken_for_the_text(repo: Near, verb: str, name: str):
    refused = repo.json("cbcl", verb, name)
    assert (refused.status, refused.code) == (3, "FILE_NOT_READ")
    assert len(refused.out) < 1000


@pytest.mark.parametrize("name", [f"a{control}b" for control in CONTROLS])
def test_a_file_name_commands_no_terminal(repo: Near, name: str):
    (repo.path / name).write_text("(define work)")
    for words in (["parse", name + ".none"], ["parse", name], ["verify", name], ["diff", name, "work.cbcl"]):
        told = repo.bb("cbcl", *words)
        assert not any(control in told.out + told.err for control in CONTROLS), told


def test_a_name_with_a_nul_is_no_name(repo: Near):
    refused = repo.bb("call", "cbcl.parse", "--args", '{"file": "a\\u0000b"}', "--json")
    assert (refused.status, refused.code) == (3, "FILE_NOT_READ")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_refused(repo: Near):
    path = repo.path / "secret.cbcl"
    path.write_text(HELLO)
    path.chmod(0)
    assert repo.json("cbcl", "parse", "secret.cbcl").code == "FILE_NOT_READ"


@pytest.mark.parametrize("size", [29, 28])
def test_a_text_that_is_too_long_is_refused_wherever_it_comes_from(repo: Near, size: int):
    assert len(HELLO) == 28
    text = HELLO + " " * (size - 28)
    (repo.path / "long.cbcl").write_text(text)
    for words, stdin in ((["long.cbcl"], None), (["-"], text), (["--text", text], None)):
        answer = repo.json("cbcl", "parse", *words, "--max-size", "28", stdin=stdin)
        assert answer.status == (2 if size > 28 else 0)
        if size > 28:
            assert answer.code == "SYNTAX_ERROR"
            assert answer.envelope["error"]["details"] == {"reason": "limit", "offset": 28}


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such device")
def test_what_never_ends_is_not_read_to_its_end(repo: Near):
    assert repo.json("cbcl", "hash", "/dev/zero").envelope["error"]["details"]["reason"] == "limit"


@pytest.mark.parametrize("octets", [b"\xff", b'(tell @b "\xc3")', b"\xef\xbb\xbf(ok @b)", b'(tell @b "\xed\xa0\x80")'])
def test_what_is_no_text_is_refused_with_its_place(repo: Near, octets: bytes):
    (repo.path / "octets.cbcl").write_bytes(octets)
    refused = repo.json("cbcl", "parse", "octets.cbcl")
    assert (refused.status, refused.code) == (2, "SYNTAX_ERROR")
    assert refused.envelope["error"]["details"]["reason"] == "encoding"


@pytest.mark.parametrize(("depth", "status"), [("3", 0), ("2", 2)])
def test_depth_is_what_one_asks_for(repo: Near, depth: str, status: int):
    assert repo.bb("cbcl", "parse", "--text", "(tell @b (a (b)))", "--max-depth", depth).status == status


@pytest.mark.parametrize(
    "words", [["--max-depth", "65"], ["--max-depth", "0"], ["--max-size", "0"], ["--max-size", "x"]]
)
def test_no_limit_is_beyond_what_is_ever_read(repo: Near, words: list[str]):
    assert repo.json("cbcl", "parse", "--text", HELLO, *words).code == "INVALID_VALUE"


# -- what is said of it


def test_a_message_is_told_part_by_part(repo: Near):
    found = repo.json("cbcl", "parse", "--text", '(tell @bob "hi" :n 1.50)').data
    assert found["ast"]["params"] == [["n", ["num", "1.5"]]]
    assert found["text"] == '(tell @bob "hi" :n 1.5)'
    assert found["id"] == f"m-{found['hash'][:16]}"
    told = repo.bb("cbcl", "parse", "--text", '(envelope :from @a (lang work (assign @bob "x" :k (1 #t))))').out
    assert told.splitlines()[:6] == [
        "envelope  from @a",
        "in the dialect work",
        "a call of assign",
        "  argument     @bob",
        '  argument     "x"',
        "  :k           (1 #t)",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "(meta (query (speak? work)))",
        "(meta (teach @bob (define d (extend p (a) (tell a)))))",
        '(signed "c2ln" (with-limits :max-depth 3 (ok @bob)))',
        "(meta (define d))",
    ],
)
def test_every_form_of_message_can_be_told(repo: Near, text: str):
    assert repo.bb("cbcl", "parse", "--text", text).status == 0


def test_a_file_may_hold_many_messages(repo: Near):
    found = repo.json("cbcl", "parse", "--many", "--text", "(ok @a) ; one\n(ok @b)").data
    assert (found["count"], [each["text"] for each in found["messages"]]) == (2, ["(ok @a)", "(ok @b)"])
    assert repo.bb("cbcl", "format", "--many", "--text", "(ok @a)(ok @b)").out == "(ok @a)\n\n(ok @b)\n"
    assert repo.json("cbcl", "parse", "--many", "--text", "(ok @a) (nope)").envelope["error"]["details"]["offset"] == 9
    assert repo.json("cbcl", "parse", "--text", "(ok @a) (ok @b)").code == "SYNTAX_ERROR"


@pytest.mark.parametrize("control", CONTROLS)
def test_a_text_commands_no_terminal(repo: Near, control: str):
    (repo.path / "hostile.cbcl").write_text(f'(tell @bob "{control}")', encoding="utf-8")
    for verb in ("parse", "verify", "expand", "hash", "explain"):
        told = repo.bb("cbcl", verb, "hostile.cbcl")
        told_out = told.out if verb != "expand" else ""
        assert control not in told_out + told.err, verb


def test_what_is_formatted_goes_into_a_pipe_as_it_is(repo: Near):
    text = '(tell @bob "\u202ea\x9bb")'
    formatted = repo.bb("cbcl", "format", "--text", text).out
    assert formatted == text + "\n"
    assert repo.json("cbcl", "hash", "-", stdin=formatted).data == repo.json("cbcl", "hash", "--text", text).data


def test_a_dialect_formatted_is_the_same_dialect(repo: Near):
    formatted = repo.bb("cbcl", "format", "work.cbcl").out
    assert max(map(len, formatted.splitlines())) <= 80
    assert "remark" not in formatted
    assert equal(*(reader.single_tree(Text(text.encode())) for text in (WORK, formatted)))


def test_canonical_octets_come_as_hex_or_as_they_are(repo: Near):
    found = repo.json("cbcl", "canonical", "hello.cbcl").data
    assert repo.bb("cbcl", "canonical", "hello.cbcl").out == found["canonical_hex"] + "\n"
    raw = repo.bb("cbcl", "canonical", "hello.cbcl", "--raw").out.encode()
    assert raw == bytes.fromhex(found["canonical_hex"])
    assert len(raw) == found["octets"]
    assert repo.json("cbcl", "canonical", "hello.cbcl", "--raw").data == found


def test_the_hash_of_a_dialect_is_that_which_verification_tells(repo: Near):
    hashed = repo.bb("cbcl", "hash", "work.cbcl").out.strip()
    assert repo.json("cbcl", "verify", "work.cbcl").data["hash"] == hashed


# -- verification


def test_a_sound_dialect_is_said_to_be_so(repo: Near):
    found = repo.json("cbcl", "verify", "work.cbcl").data
    assert found.items() >= {"dialect": "work", "sound": True, "violations": [], "signature": "unsigned"}.items()
    assert repo.bb("cbcl", "verify", "work.cbcl").out.startswith("work is valid, and not signed\n")


def test_every_violation_is_told_with_its_place(repo: Near):
    refused = repo.json("cbcl", "verify", "unsound.cbcl")
    assert (refused.status, refused.code) == (4, "DIALECT_REJECTED")
    details = refused.envelope["error"]["details"]
    assert [(each["rule"], each["performative"], each["line"], each["column"]) for each in details["violations"]] == [
        ("R2", None, 2, 3),
        ("R3", "Tell", 3, 3),
        ("R1", "assign", 4, 3),
        ("R1", "assign", 4, 24),
    ]
    assert [each["rule"] for each in details["warnings"]] == ["R2"]
    told = repo.bb("cbcl", "verify", "unsound.cbcl")
    assert told.out.splitlines()[1] == "unsound.cbcl:3:3 R3 in Tell: `Tell` is a core performative"
    assert told.err.startswith("Hint: ")


@pytest.mark.parametrize(
    "form",
    ["{}", "(meta {})", "(meta (teach @bob {}))", '(signed "c2ln" {})', '(meta (teach @bob (signed "c2ln" {})))'],
)
def test_a_dialect_is_verified_in_whatever_form_it_comes(repo: Near, form: str):
    bare = WORK.partition("\n")[2].strip()
    found = repo.json("cbcl", "verify", "--text", form.format(bare)).data
    assert found["dialect"] == "work"
    assert found["signature"] == ("unchecked" if "signed" in form else "unsigned")


def test_a_message_is_no_dialect(repo: Near):
    refused = repo.json("cbcl", "verify", "hello.cbcl")
    assert (refused.code, refused.envelope["error"]["details"]["reason"]) == ("SYNTAX_ERROR", "dialect")


def test_a_parent_may_be_named_for_the_occasion(repo: Near):
    child = WORK.replace("(define work", "(define child :extends work")
    assert repo.json("cbcl", "verify", "--text", child).envelope["error"]["details"]["rules"] == ["parent"]
    assert repo.json("cbcl", "verify", "--text", child, "--dialect", "work.cbcl").status == 0


def test_a_dialect_that_is_named_must_be_sound_too(repo: Near):
    refused = repo.json("cbcl", "verify", "work.cbcl", "--dialect", "unsound.cbcl")
    assert (refused.status, refused.code) == (4, "DIALECT_REJECTED")
    assert refused.envelope["error"]["message"].startswith("unsound.cbcl: ")
    assert refused.envelope["error"]["details"]["file"] == "unsound.cbcl"


def test_examples_beside_a_dialect_are_checked(repo: Near):
    (repo.path / "tried.cbcl").write_text(WORK)
    beside = repo.path / "tried.examples.cbcl"
    beside.write_text('(example (assign @bob "x") (ask @bob "x"))\n(example (assign) refused INVALID_ARGUMENTS)')
    assert repo.json("cbcl", "verify", "tried.cbcl").data["examples"] == {
        "file": "tried.examples.cbcl",
        "count": 2,
        "failed": 0,
    }
    beside.write_text('; a remark\n  (example (assign @bob "x") (ask @bob "y"))')
    refused = repo.json("cbcl", "verify", "tried.cbcl")
    (violation,) = refused.envelope["error"]["details"]["violations"]
    assert (violation["rule"], violation["line"], violation["column"]) == ("example", 2, 3)
    assert violation["file"] == "tried.examples.cbcl"
    assert repo.bb("cbcl", "verify", "tried.cbcl").out.startswith("tried.examples.cbcl:2:3 example in assign: ")
    beside.write_text("(nope)")
    assert repo.json("cbcl", "verify", "tried.cbcl").envelope["error"]["message"].startswith("tried.examples.cbcl: ")


def test_examples_may_lie_elsewhere(repo: Near):
    (repo.path / "elsewhere.cbcl").write_text("(example (assign @bob 3) refused EXPANSION_FAILED)")
    found = repo.json("cbcl", "verify", "work.cbcl", "--examples", "elsewhere.cbcl").data["examples"]
    assert found == {"file": "elsewhere.cbcl", "count": 1, "failed": 0}
    assert repo.json("cbcl", "verify", "work.cbcl", "--examples", "nowhere").code == "FILE_NOT_READ"


# -- expansion


def test_a_call_is_expanded_with_the_dialects_that_are_named(repo: Near):
    call = '(lang work (assign @bob "tests"))'
    found = repo.json("cbcl", "expand", "--text", call, "--dialect", "work.cbcl").data
    assert [each["text"] for each in found["messages"]] == ['(ask @bob "tests")']
    assert found["messages"][0]["ast"]["performative"] == "ask"
    assert (found["dialect"], found["performative"], found["size"], found["depth"]) == ("work", "assign", 18, 1)
    out = repo.bb("cbcl", "expand", "--text", call, "--dialect", "work.cbcl").out
    assert out == '(ask @bob "tests")\n; assign of work: 18 characters, 1 deep\n'
    assert repo.bb("cbcl", "parse", "-", stdin=out).status == 0


@pytest.mark.parametrize(
    ("text", "code", "status"),
    [
        ("(lang nowhere (x))", "UNKNOWN_DIALECT", 3),
        ("(lang work (x))", "UNKNOWN_PERFORMATIVE", 3),
        ("(lang work (assign))", "INVALID_ARGUMENTS", 2),
        ("(lang work (assign bob x))", "EXPANSION_FAILED", 4),
        (f'(lang work (assign @bob "{"x" * 200}"))', "RESOURCE_LIMIT", 4),
        ("(lang work)", "SYNTAX_ERROR", 2),
    ],
)
def test_a_call_that_comes_to_nothing_is_refused(repo: Near, text: str, code: str, status: int):
    refused = repo.json("cbcl", "expand", "--text", text, "--dialect", "work.cbcl")
    assert (refused.code, refused.status) == (code, status)


@pytest.mark.parametrize(
    "text", ['(tell @b "x")', '(lang cbcl (tell @b "x"))', '(lang work (lang cbcl (tell @b "x")))']
)
def test_what_calls_nothing_stands_for_itself(repo: Near, text: str):
    found = repo.json("cbcl", "expand", "--text", text, "--dialect", "work.cbcl").data
    assert [each["text"] for each in found["messages"]] == ['(tell @b "x")']


def test_less_may_be_granted_than_a_dialect_declares(repo: Near):
    words = ["expand", "--text", '(lang work (assign @bob "tests"))', "--dialect", "work.cbcl"]
    assert repo.bb("cbcl", *words, "--max-expansion-size", "18").status == 0
    assert repo.json("cbcl", *words, "--max-expansion-size", "17").code == "RESOURCE_LIMIT"


def test_an_expansion_is_explained(repo: Near):
    words = ["explain", "--text", '(lang work (assign @bob "tests"))', "--dialect", "work.cbcl"]
    found = repo.json("cbcl", *words).data
    assert [(each["name"], each["value"], each["from"]) for each in found["parameters"]] == [
        ("who", "@bob", "argument"),
        ("what", '"tests"', "argument"),
    ]
    assert [(each["limit"], each["granted"], each["from"], each["used"]) for each in found["limits"]] == [
        ("max-depth", 8, "declared", 1),
        ("max-expansion-size", 200, "declared", 18),
    ]
    assert found["refused"] is None
    assert "  who          @bob  required; argument 1\n" in repo.bb("cbcl", *words).out


def test_what_is_refused_is_explained_as_far_as_it_went(repo: Near):
    words = ["explain", "--text", "(lang work (assign bob x))", "--dialect", "work.cbcl"]
    found = repo.json("cbcl", *words).data
    assert (found["messages"], found["refused"]["code"]) == ([], "EXPANSION_FAILED")
    assert "Refused: [EXPANSION_FAILED]" in repo.bb("cbcl", *words).out


def test_there_is_nothing_to_explain_where_nothing_is_called(repo: Near):
    assert repo.json("cbcl", "explain", "hello.cbcl").code == "CALLS_NOTHING"


# -- two dialects, and scripts


def test_two_dialects_are_compared(repo: Near):
    (repo.path / "other.cbcl").write_text(WORK.replace("ask who what", "ask who (do what)").replace("200", "300"))
    found = repo.json("cbcl", "diff", "work.cbcl", "other.cbcl").data
    assert not found["same"]
    assert found["clauses"] == [{"clause": "max-expansion-size", "a": "200", "b": "300"}]
    assert [each["performative"] for each in found["changed"]] == ["assign"]
    assert repo.bb("cbcl", "diff", "work.cbcl", "other.cbcl").out.splitlines()[1:3] == [
        "~ assign",
        "    template    what (line 3, column 38) -> (do what) (line 3, column 38)",
    ]
    assert repo.json("cbcl", "diff", "work.cbcl", "-", stdin=WORK).data["same"]


@pytest.mark.parametrize("words", [["-", "-"], ["work.cbcl"], ["work.cbcl", "hello.cbcl"], ["work.cbcl", "nowhere"]])
def test_what_cannot_be_compared_is_refused(repo: Near, words: list[str]):
    refused = repo.json("cbcl", "diff", *words)
    assert refused.status in (2, 3)
    if "hello.cbcl" in words:
        assert refused.envelope["error"]["message"].startswith("hello.cbcl: ")


def test_a_script_is_played(repo: Near, tmp_path: Path):
    script = {"agents": ["ada", "bo"], "deliver": True, "steps": [{"agent": "ada", "sent": "(hello @bo)"}]}
    path = tmp_path / "script.json"
    path.write_text(json.dumps(script))
    found = repo.json("cbcl", "replay", str(path)).data
    assert found == repo.json("cbcl", "replay", "-", stdin=json.dumps(script)).data
    assert found == repo.json("cbcl", "replay", "--script", json.dumps(script)).data
    assert found["steps"][0]["status"] == "ok"
    assert repo.bb("cbcl", "replay", str(path)).out.startswith("  1  ada says (hello @bo)\n")


@pytest.mark.parametrize(
    ("text", "line"), [("{", 1), ('{"agents":\n ]}', 2), ("[1] x", 1), ("NaN", None), ("[" * 9999, None), ("[]", None)]
)
def test_what_is_no_script_is_refused_with_its_place(repo: Near, tmp_path: Path, text: str, line: int | None):
    path = tmp_path / "script.json"
    path.write_text(text)
    refused = repo.json("cbcl", "replay", str(path))
    assert (refused.status, refused.code) == (2, "INVALID_SCRIPT")
    assert refused.envelope["error"]["details"].get("line") == line


def test_a_script_is_named_once(repo: Near):
    assert repo.json("cbcl", "replay").code == "INVALID_SCRIPT"
    assert repo.json("cbcl", "replay", "-", "--script", "{}").code == "INVALID_SCRIPT"
