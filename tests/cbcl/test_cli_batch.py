"""`bb cbcl batch`: every line is answered, in order, and none of them stops it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bb.cbcl.read import canonical, grammar
from bb.cli.programs import cbcl_batch
from bb.ops.cbcl.batch import BatchClient
from tests.cbcl.trees import CORPUS
from tests.near import Near, near
from tests.support import environment

WORK = """(define work :author @lab :resources (:max-depth 8 :max-expansion-size 200 :max-verify-time 100)
  (extend assign (who what) (ask who what)))"""
SEED = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"  # RFC 8032, section 7.1, test 1
PUBLIC = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Near:
    return near(tmp_path_factory.mktemp("batch") / "repo")


def answers(repo: Near, *requests: Any) -> list[dict[str, Any]]:
    """What is answered to each of the REQUESTS; a text is a line as it is."""
    lines = [each if isinstance(each, str) else json.dumps(each) for each in requests]
    ran = repo.bb("cbcl", "batch", stdin="".join(f"{line}\n" for line in lines))
    assert (ran.status, ran.err) == (0, "")
    return [json.loads(line) for line in ran.out.splitlines()]


def answer(repo: Near, **request: Any) -> Any:
    (found,) = answers(repo, request)
    assert found["command"] == "cbcl batch"
    assert found["ok"], found
    return found["data"]


def error(repo: Near, **request: Any) -> dict[str, Any]:
    (found,) = answers(repo, request)
    assert (found["ok"], found["data"]) == (False, None)
    told: dict[str, Any] = found["error"]
    return told


def test_a_message_is_parsed(repo: Near):
    found = answer(repo, do="parse", text=' (tell @bob "hi" :n 1.50) ')
    assert found["text"] == '(tell @bob "hi" :n 1.5)'
    assert found["ast"]["params"] == [["n", ["num", "1.5"]]]
    node = grammar.message(b'(tell @bob "hi" :n 1.5)').node
    assert bytes.fromhex(found["canonical_hex"]) == canonical.octets(node)
    assert found["hash"] == canonical.digest(node)


@pytest.mark.parametrize("do", ["canonical", "hash"])
def test_a_definition_has_a_canonical_form_too(repo: Near, do: str):
    found = answer(repo, do=do, text=WORK)
    assert bytes.fromhex(found["canonical_hex"]).startswith(b"(6:define4:work")
    assert found["octets"] * 2 == len(found["canonical_hex"])


def test_octets_may_be_given_that_are_no_text(repo: Near):
    assert answer(repo, do="parse", bytes_hex=b"(ok @a)".hex())["text"] == "(ok @a)"
    assert error(repo, do="parse", bytes_hex="28ff29")["details"]["reason"] == "encoding"
    assert error(repo, do="parse", text='(tell @b "\ud800")')["details"]["reason"] == "encoding"


@pytest.mark.parametrize(
    ("text", "details"),
    [
        ("(nope)", {"reason": "head", "offset": 1, "line": 1, "column": 2}),
        ("(ok @a\n", {"reason": "paren", "offset": 7, "line": 2, "column": 1}),
        ("(" * 1_000_000, {"reason": "depth", "offset": 32, "line": 1, "column": 33}),
        (" " * (1 << 20) + " ", {"reason": "limit", "offset": 1 << 20, "line": 1, "column": (1 << 20) + 1}),
    ],
)
def test_what_is_no_message_is_refused_with_its_place(repo: Near, text: str, details: dict[str, Any]):
    found = error(repo, do="parse", text=text)
    assert (found["code"], found["details"]) == ("SYNTAX_ERROR", details)


def test_limits_are_what_one_asks_for(repo: Near):
    assert answer(repo, do="parse", text="(tell @a (b))", max_depth=2)
    assert error(repo, do="parse", text="(tell @a (b))", max_depth=1)["details"]["reason"] == "depth"
    assert error(repo, do="parse", text="(ok @a)", max_size=6)["details"]["reason"] == "limit"
    call = {
        "do": "expand",
        "text": "(lang work (assign @bob x))",
        "dialects": [WORK.replace("ask who what", "ask who (what)")],
    }
    assert answer(repo, **call, max_expansion_size=14)["messages"] == ["(ask @bob (x))"]
    assert error(repo, **call, max_expansion_size=13)["code"] == "RESOURCE_LIMIT"


def test_a_dialect_is_verified_and_what_is_unsound_is_an_answer(repo: Near):
    assert answer(repo, do="verify", text=WORK)["sound"]
    found = answer(repo, do="verify", text="(define d :extends work\n (extend Tell () (ok @a)))", dialects=[WORK])
    assert not found["sound"]
    assert found["violations"][-1] == {
        "rule": "R3",
        "performative": "Tell",
        "message": "`Tell` is a core performative",
        "offset": 25,
        "line": 2,
        "column": 2,
    }
    assert "parent" not in {each["rule"] for each in found["violations"]}


def test_a_call_is_expanded(repo: Near):
    call = {"do": "expand", "text": '(lang work (assign @bob "x"))'}
    assert answer(repo, **call, dialects=[WORK]) == {
        "messages": ['(ask @bob "x")'],
        "size": 14,
        "depth": 1,
        "dialect": "work",
        "performative": "assign",
    }
    assert error(repo, **call)["code"] == "UNKNOWN_DIALECT"
    assert error(repo, **call, dialects=["(define work)"])["code"] == "DIALECT_REJECTED"


def test_what_is_signed_is_checked(repo: Near):
    made = answer(repo, do="sign", text=WORK, seed=SEED)
    assert made["text"].startswith(f'(signed "{made["signature"]}" (define work')
    for check in (
        {"text": made["text"], "public_key": PUBLIC},
        {"text": WORK, "signature": made["signature"], "public_key": made["public_key"]},
        {
            "text": f"(envelope :from @a {answer(repo, do='sign', text='(ok @b)', seed=SEED)['text']})",
            "public_key": PUBLIC,
        },
    ):
        assert answer(repo, do="check", **check)["valid"] is True
    changed = made["text"].replace("assign", "assigm")
    assert error(repo, do="check", text=changed, public_key=PUBLIC)["code"] == "INVALID_SIGNATURE"
    assert error(repo, do="check", text=WORK, public_key=PUBLIC)["code"] == "NOT_SIGNED"


def test_dialects_may_come_before_what_they_build_on(repo: Near):
    parent, child = WORK, "(define child :extends work :author @lab :resources {} (extend x () (ok @bob)))"
    child = child.format("(:max-depth 9 :max-expansion-size 99 :max-verify-time 9)")
    call = {"do": "expand", "text": '(lang child (assign @bob "x"))'}
    for dialects in ([parent, child], [child, parent]):
        assert answer(repo, **call, dialects=dialects)["dialect"] == "work"
    assert error(repo, **call, dialects=[child])["code"] == "DIALECT_REJECTED"


def test_a_lesson_is_signed_as_its_definition_is(repo: Near):
    made = answer(repo, do="sign", text=WORK, seed=SEED, teach="@bob")
    assert made["text"].startswith(f'(meta (teach @bob (signed "{made["signature"]}" (define work')
    assert made["signature"] == answer(repo, do="sign", text=WORK, seed=SEED)["signature"]
    assert answer(repo, do="check", text=made["text"], public_key=PUBLIC)["valid"]
    assert error(repo, do="sign", text="(ok @a)", seed=SEED, teach="bob")["code"] == "USAGE"


def test_a_seed_is_never_repeated(repo: Near):
    slip = SEED[:-1] + "g"
    for request in ({"seed": SEED, "text": "(nope)"}, {"seed": slip, "text": WORK}, {"seed": SEED, "text": WORK}):
        (found,) = answers(repo, {"do": "sign", **request})
        assert request["seed"] not in json.dumps(found)


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("x", "$"),
        ("[]", "$"),
        ("[" * 100_000, "$"),
        ('"parse"', "$"),
        ("{}", "$.do"),
        ('{"do": ["parse"]}', "$.do"),
        ('{"do": "fly"}', "$.do"),
        ('{"do": "parse"}', "$.text"),
        ('{"do": "parse", "text": 3}', "$.text"),
        ('{"do": "parse", "text": "(ok @a)", "bytes_hex": ""}', "$.text"),
        ('{"do": "parse", "bytes_hex": "2"}', "$.bytes_hex"),
        ('{"do": "parse", "bytes_hex": 2}', "$.bytes_hex"),
        ('{"do": "parse", "text": "(ok @a)", "max_depth": 65}', "$.max_depth"),
        ('{"do": "parse", "text": "(ok @a)", "max_depth": true}', "$.max_depth"),
        ('{"do": "parse", "text": "(ok @a)", "max_size": 0}', "$.max_size"),
        ('{"do": "verify", "text": "(define d)", "dialects": "x"}', "$.dialects"),
        ('{"do": "verify", "text": "(define d)", "dialects": [3]}', "$.dialects"),
        ('{"do": "sign", "text": "(ok @a)"}', "$.seed"),
        ('{"do": "check", "text": "(ok @a)", "public_key": 3}', "$.public_key"),
        ('{"do": "parse", "text": "(ok @a)", "id": []}', "$.id"),
        ('{"do": "parse", "text": "(ok @a)", "a\\u001b": 1}', "$.a\\x1b"),
    ],
)
def test_what_is_no_request_is_answered_and_stops_nothing(repo: Near, line: str, path: str):
    refused, after = answers(repo, line, {"do": "parse", "text": "(ok @a)", "id": 7})
    assert not refused["ok"]
    assert refused["error"]["code"] == "INVALID_REQUEST"
    assert refused["error"]["details"]["path"] == path
    assert (after["ok"], after["id"]) == (True, 7)


@pytest.mark.parametrize("line", [b"\xff\n", b'{"do": "parse", "text": "\xff"}\n', b"\x00\n", b'{"do": "parse"\n'])
def test_octets_that_are_no_json_are_no_request(line: bytes):
    found = cbcl_batch.answer(BatchClient(), line)
    assert (found["ok"], found["error"]["code"]) == (False, "INVALID_REQUEST")


def test_a_line_that_is_too_long_is_answered_and_passed_over(repo: Near, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cbcl_batch, "LONGEST", 100)
    found = answers(repo, "x" * 99, "x" * 100, "x" * 1000, {"do": "parse", "text": "(ok @a)"})
    assert [each["ok"] for each in found] == [False, False, False, True]
    assert "longer than" not in found[0]["error"]["message"]
    assert "longer than" in found[2]["error"]["message"]


def test_answers_come_in_order_under_the_ids_of_the_requests(repo: Near):
    ids = ["a", 1, 1.5, True, None, "\u202e", ""]
    found = answers(repo, *({"do": "parse", "text": "(ok @a)", "id": each} for each in ids), "", "  ")
    assert [each.get("id") for each in found[:-2]] == ids
    assert [each["error"]["code"] for each in found[-2:]] == ["INVALID_REQUEST"] * 2  # a line is a line
    assert "id" not in answers(repo, {"do": "parse", "text": "(ok @a)"})[0]


def test_nothing_asked_is_nothing_answered(repo: Near):
    assert answers(repo) == []


def test_what_is_printed_is_ascii_whatever_was_asked(repo: Near):
    ran = repo.bb("cbcl", "batch", stdin=json.dumps({"do": "parse", "text": '(tell @a "\u202e\x9b2J")', "id": "\x1b"}))
    assert ran.out.isascii()
    assert ran.out.rstrip("\n").isprintable()


def test_an_answer_is_out_before_the_next_question_is_read(tmp_path: Path):
    """Who asks, waits, and asks again must not wait for ever."""
    program = [sys.executable, "-m", "bb", "cbcl", "batch"]
    with subprocess.Popen(
        program, cwd=tmp_path, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for number in range(3):
            child.stdin.write(json.dumps({"do": "parse", "text": "(ok @a)", "id": number}) + "\n")
            child.stdin.flush()
            assert json.loads(child.stdout.readline())["id"] == number
        child.stdin.close()
        assert child.wait() == 0


@pytest.mark.parametrize("words", [["stray"], ["--unknown"]])
def test_batch_takes_nothing(repo: Near, words: list[str]):
    assert repo.json("cbcl", "batch", *words).status == 2


# -- the corpus, by this door


def requests_of(folder: str, do: str) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Each case of a folder of the corpus, with the request that asks about it."""
    found = {}
    for path in sorted((CORPUS / folder).glob("*.json")):
        case = json.loads(path.read_bytes())
        text = path.with_suffix(".cbcl")
        about = {"bytes_hex": text.read_bytes().hex()} if text.exists() else {"text": case["text"]}
        dialects = {"dialects": case["dialects"]} if "dialects" in case else {}
        found[path.stem] = (case, {"do": do, **about, **dialects, **case.get("limits", {})})
    return found


def test_the_corpus_is_answered_by_this_door_as_by_every_other(repo: Near):
    asked = [
        (folder, case, request)
        for folder, do in (("valid", "parse"), ("invalid", "parse"), ("expansions", "expand"), ("dialects", "verify"))
        for case, request in requests_of(folder, do).values()
        if not case.get("installed")
    ]
    found = answers(repo, *(request for _, _, request in asked))
    assert len(found) == len(asked) > 500
    for (folder, case, request), answer in zip(asked, found, strict=True):
        data, refusal = answer["data"], answer["error"]
        match folder:
            case "valid":
                assert {name: data[name] for name in ("ast", "text", "canonical_hex")}.items() <= case.items(), case
            case "invalid":
                assert refusal["details"]["reason"] == case["reason"], case
                assert refusal["details"]["offset"] == case.get("offset", refusal["details"]["offset"]), case
            case "dialects":
                rules = [{"rule": each["rule"], "performative": each["performative"]} for each in data["violations"]]
                assert (rules, len(data["warnings"])) == (case["violations"], case["warnings"]), case
            case _ if "error" in case:
                assert refusal["code"] == case["error"], (case, refusal)
            case _:
                assert data["messages"] == case["messages"], (case, request)
