"""Short verbs: they do and answer what the long forms do, by the lean way and by Typer alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.cli import fast_parser
from bb.ops import catalogue
from bb.ops.guards import shell_hazards
from tests.forks import TYPER, WHOLE, Call
from tests.near import Near, near, run_all
from tests.support import NOON

AMBER, COBALT = "amber-otter", "cobalt-harbor"
SHORT = {word: catalogue.typed(word) for word in catalogue.SHORT}


@pytest.fixture
def repo(tmp_path: Path) -> Near:
    made = near(tmp_path / "repo", BB_NOW=NOON, BB_AGENT=AMBER)
    for name in (AMBER, COBALT):
        assert made.bb("agent", "register", "--name", name, "--role", "builder", BB_AGENT=name).status == 0
    return made


@pytest.mark.parametrize("word", SHORT)
def test_the_table_of_short_verbs_says_what_the_ops_declare(word: str):
    op = catalogue.find(catalogue.SHORT[word])

    assert op.short == word
    assert op.own_examples
    assert SHORT[word].own_examples
    assert set(op.own_examples) | set(SHORT[word].own_examples) == set(op.examples)


def test_every_op_that_declares_a_short_verb_is_in_the_table():
    assert {op.short: op.name for op in catalogue.all_ops() if op.short} == catalogue.SHORT


@pytest.mark.parametrize(("word", "op"), SHORT.items(), ids=SHORT)
def test_a_short_verb_explains_itself(repo: Near, word: str, op: catalogue.Op):
    printed = repo.bb(word, "--help").out

    assert printed == repo.bb("help", word).out
    assert f"Short for `bb {op.words}`." in printed
    assert all(parameter.option in printed for parameter in op.parameters)
    assert all(example in printed for example in op.own_examples)
    assert repo.json(word, "--help").envelope["command"] == op.words


def test_short_verbs_are_completed(repo: Near):
    typed = repo.bb(_BB_COMPLETE="complete_bash", COMP_WORDS="bb re", COMP_CWORD="1").out.split()
    agents = repo.bb(_BB_COMPLETE="complete_bash", COMP_WORDS="bb send co", COMP_CWORD="2").out.split()

    assert {"reserve", "release", "renew", "reply", "read"} <= set(typed)
    assert agents == [COBALT]


ALIKE: list[tuple[list[str], list[str]]] = [
    (["reserve", "src", "docs", "--bead", "b"], ["--scope", "src", "--scope", "docs", "--bead", "b"]),
    (["reserve", "--scope", "docs", "src", "--bead", "b"], ["--scope", "src", "--scope", "docs", "--bead", "b"]),
    (["send", COBALT, "Done."], ["--to", COBALT, "--body", "Done."]),
    (["send", "Done.", "--to", COBALT], ["--to", COBALT, "--body", "Done."]),
    (
        ["send", "--body=Done.", COBALT, "--category", "decision"],
        ["--to", COBALT, "--body", "Done.", "--category", "DECISION"],
    ),
    (["release", "src"], ["--scope", "src"]),
    (["release", "--all"], ["--all"]),
    (["inbox"], []),
    (["read", "nothing.1"], ["--message", "nothing.1"]),
    (
        ["handoff", COBALT, "Done.", "--next-action", "x", "--bead", "b"],
        ["--to", COBALT, "--summary", "Done.", "--next-action", "x", "--bead", "b"],
    ),
]


@pytest.mark.parametrize(("short", "tail"), ALIKE, ids=" ".join)
def test_a_short_verb_answers_like_the_long_one(repo: Near, tmp_path: Path, short: list[str], tail: list[str]):
    words = [*SHORT[short[0]].words.split(), *tail]
    answers = []
    for call in (short, words):
        other = near(tmp_path / call[0], **repo.settings)
        for name in (AMBER, COBALT):
            other.bb("agent", "register", "--name", name, "--role", "builder", BB_AGENT=name)
        writer = other.journal().parent.name
        answers += [
            (ran.status, ran.out.replace(writer, "W").replace(str(other.path), "HERE"), ran.err)
            for ran in (other.bb(*call), other.json(*call))
        ]

    assert answers[:2] == answers[2:]


PARTS: list[list[str]] = [
    [],
    ["src"],
    ["src", "docs"],
    ["src", "--scope", "docs"],
    ["--scope", "docs", "--json", "src"],
    [COBALT],
    [COBALT, "Done."],
    [COBALT, "Done.", "again"],
    ["Done.", "--to", COBALT],
    ["--to", COBALT, "--body", "Done."],
    ["--to", COBALT, COBALT, "Done."],
    ["--to", COBALT, "--to", COBALT],
    [COBALT, "--body"],
    ["nothing.1", "--message", "nothing.2"],
    ["nothing.1"],
    ["", "x"],
    [COBALT, ""],
    [COBALT, "-"],
    ["--all"],
    ["--", "-x"],
    ["--scope"],
    ["--bead", "bb-1", "src"],
    ["--help"],
    ["--path", "src"],
]


@pytest.mark.parametrize("word", [word for word in SHORT if catalogue.hot_name(word)])
def test_both_ways_answer_a_short_verb_alike(repo: Near, word: str):
    calls = [Call([word, *tail, *more]) for tail in PARTS for more in ([], ["--json"], ["--bead", "b"])]
    said = []
    for call in calls:
        asked = []
        for way in (WHOLE, TYPER):
            journal = repo.journal().read_bytes()
            asked += run_all(repo, [call], way, keep=repo.store / "presence")
            repo.journal().write_bytes(journal)
            for name in repo.store.glob("index*"):
                name.unlink()
        said.append(asked)

    assert [(str(call), whole) for call, (whole, _) in zip(calls, said, strict=True)] == [
        (str(call), typer) for call, (_, typer) in zip(calls, said, strict=True)
    ]


@pytest.mark.parametrize("word", [word for word in SHORT if word != "wait"])
def test_plain_short_verbs_go_the_lean_way(word: str):
    assert fast_parser.verb([word, "a", "b"]) == word


def test_a_message_needs_only_a_name_and_a_text(repo: Near):
    sent = repo.json("send", COBALT, "parse is read now.\nSee src/read.py.").data

    assert (sent["category"], sent["subject"], sent["bead_id"]) == ("INFO", "parse is read now.", "")
    assert sent["body"] == "parse is read now.\nSee src/read.py."
    assert repo.json("inbox", BB_AGENT=COBALT).data[0]["message_id"] == sent["message_id"]


def test_a_reply_goes_to_the_author_in_the_same_thread_and_the_message_is_read(repo: Near):
    asked = repo.json("send", COBALT, "Which format?", "--bead", "bb-1", "--category", "DECISION").data

    answered = repo.json("reply", asked["message_id"], "The second.", BB_AGENT=COBALT).data

    assert (answered["to_agent"], answered["subject"]) == (AMBER, "The second.")
    assert (answered["thread_id"], answered["bead_id"]) == (asked["thread_id"], "bb-1")
    assert repo.json("inbox", BB_AGENT=COBALT).data[0]["state"] == "read"
    again = repo.json("reply", answered["message_id"], "Thanks.").data
    assert (again["to_agent"], again["subject"]) == (COBALT, "Thanks.")


def test_a_reply_to_a_message_that_must_be_acknowledged_does_not_acknowledge_it(repo: Near):
    asked = repo.json("blocked", COBALT, "Two.", "--requested-action", "One.", "--urgency", "low", "--bead", "b").data

    repo.json("reply", asked["id"], "Soon.", BB_AGENT=COBALT)

    assert repo.json("inbox", BB_AGENT=COBALT).data[0]["state"] == "read"
    assert repo.json("ack", asked["id"], BB_AGENT=COBALT).data["state"] == "acked"


def test_a_reply_to_ones_own_message_goes_to_its_recipient(repo: Near):
    first = repo.json("send", COBALT, "One.").data["message_id"]

    assert repo.json("reply", first, "Two.").data["to_agent"] == COBALT


def test_a_message_of_a_chat_is_answered_in_the_chat(repo: Near):
    said = repo.json("chat", "send", "Ready?", "--to", AMBER, "--by", COBALT, BB_AGENT=COBALT).data["event"]["id"]

    answered = repo.json("reply", said, "Yes.").data["event"]

    assert (answered["data"]["reply_to"], answered["data"]["to"]) == (said, [COBALT])
    assert repo.bb("reply", said, "Yes.").status == 0


def test_a_message_of_c2a_is_answered_in_its_thread_once(repo: Near):
    how = ["--visibility", "dm", "--directedness", "to_me", "--intent", "question", "--idempotency-key", "k"]
    sent = repo.json("chat", "send", "Is it out?", "--recipient", AMBER, *how, BB_AGENT=COBALT).data["messageId"]

    answered = [repo.json("reply", sent, "It is.").data for _ in "12"]

    assert [each["deduplicated"] for each in answered] == [False, True]
    assert repo.json("chat", "show", answered[0]["messageId"], "--agent", COBALT, BB_AGENT=COBALT).data


@pytest.mark.parametrize("message", ["", " ", "nothing", "nothing.1", "../../x", "aaaabbbbcccc.9"])
def test_a_reply_to_no_message_is_refused(repo: Near, message: str):
    refused = repo.json("reply", message, "Yes.")

    assert (refused.status, refused.code) == (3, "MESSAGE_NOT_FOUND")


@pytest.mark.parametrize(
    ("words", "needs", "example"),
    [
        (["reserve"], "reserve needs SCOPE", "bb reserve src/parser docs/parser.md"),
        (["send"], "send needs NAME and TEXT", "bb send cobalt-harbor 'parse is renamed to read.'"),
        (["agent", "send"], "agent send needs --to and --body", "bb agent send --to cobalt-harbor"),
        (["handoff", COBALT], "handoff needs TEXT, --bead and --next-action", "bb handoff cobalt-harbor"),
        (["ack"], "ack needs ID", "bb ack k7q2mzp4x3ab.17"),
    ],
)
def test_all_that_is_missing_is_named_at_once_with_an_example(repo: Near, words: list[str], needs: str, example: str):
    refused = repo.bb(*words)

    assert needs in refused.err
    assert example in refused.err


def test_a_short_verb_loads_what_the_long_one_loads(repo: Near):
    from tests.faces.test_what_verbs_load import loaded

    short, long = (loaded(repo.path, [*words, "--agent", AMBER, "--json"]) for words in (["inbox"], ["agent", "inbox"]))

    assert short == long
    assert "typer" not in short[1]


@pytest.mark.parametrize(("words", "is_reading"), [(["inbox"], True), (["ack", "x.1"], False), (["send", "bo"], False)])
def test_an_editors_hook_knows_which_short_verbs_only_read(words: list[str], is_reading: bool):
    """Reading in the person's name is allowed to an agent, acting is not."""
    assert shell_hazards._reads(words) is is_reading
