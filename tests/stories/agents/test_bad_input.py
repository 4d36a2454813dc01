"""Nothing that is typed or set wrongly is recorded, crashes bb, or reaches a terminal raw: every verb, every value.

Every call is made twice, as a program makes it and as a person does; where one is refused so is the other, with the
same code. What may be said is stored as it was said, and shown so that a terminal only shows it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bb.ops import catalogue
from bb.ops.params import Flag
from tests import refused
from tests.forks import Call
from tests.grids import grid, some
from tests.near import Near, near, run_all
from tests.refused import BIDI, CONTROLS, NOT_UTF8, assert_refused_alike
from tests.stories.agents.agents_support import HARBOR, OTTER, is_harmless, moment, nothing_written
from tests.support import NOON, Ran, Scratch, copied

STRANGER, RETIRED, FRESH = "never-was", "late-heron", "fresh-fern"

# -- the verbs, each with words that are right

LETTER = {"--from": OTTER, "--to": HARBOR, "--bead": "bb-1", "--subject": "Parser"}
CALLS: dict[str, dict[str, str]] = {
    "agent register": {"--name": FRESH, "--role": "builder"},
    "agent heartbeat": {"--agent": OTTER},
    "agent list": {},
    "agent show": {"--agent": OTTER},
    "agent name": {},
    "agent retire": {"--agent": OTTER},
    "agent reserve": {"--agent": OTTER, "--scope": "src/lexer", "--bead": "bb-1"},
    "agent renew": {"--agent": OTTER, "--scope": "src/parser"},
    "agent release": {"--agent": OTTER, "--scope": "src/parser"},
    "agent transfer": {"--agent": OTTER, "--scope": "src/parser", "--to": HARBOR},
    "agent pause": {"NAME": OTTER},
    "agent unpause": {"NAME": OTTER},
    "freeze": {"SCOPE": "docs"},
    "thaw": {"SCOPE": "locked"},
    "agent status": {"--agent": OTTER},
    "agent inbox": {"--agent": HARBOR},
    "agent send": LETTER | {"--category": "INFO", "--body": "Done."},
    "agent read": {"--agent": HARBOR, "--message": "MESSAGE"},
    "agent ack": {"--agent": HARBOR, "--message": "MESSAGE"},
    "agent wait": {"--agent": HARBOR, "--timeout": "0"},
    "agent reply": {"--agent": HARBOR, "--message": "MESSAGE", "--body": "Done."},
    "check": {"PATH": "src/parser", "--agent": OTTER},
    "scope compare": {"A": "src/*", "B": "src/lib"},
    "protocol handoff": LETTER | {"--summary": "All but dates.", "--next-action": "Dates."},
    "protocol blocked": LETTER | {"--blocker": "Two.", "--requested-action": "Choose.", "--urgency": "low"},
    "protocol list": {},
    "protocol show": {"EVENT": "EVENT"},
    "protocol incursions": {},
    "protocol resolve": {"EVENT": "INCURSION", "--agent": HARBOR, "--as": "accepted"},
    "protocol accept": {"COMMIT": "HEAD", "--agent": OTTER},
    "resume": {"--agent": OTTER},
    "turn": {"--agent": OTTER},
    "status": {},
    "problems": {},
    "timeline": {},
    "sessions list": {},
    "sessions show": {"BEAD": "bb-1"},
    "init": {"--register": FRESH},
    "start": {"NAME": FRESH},
    "sync": {"--remote": "origin", "--timeout": "20"},
    "hooks install": {"--editor": "claude"},
    "hooks uninstall": {"--editor": "claude"},
    "hooks status": {},
    "mcp install": {"--host": "claude"},
    "ledger commit": {},
    "ledger digest": {},
    "ledger mirror": {},
    "ledger key": {"--for": "ada"},
    "ledger signing": {"MODE": "warn", "--agent": "user"},
    "ledger signatures": {"--output": "signed"},
    "ledger redact": {"EVENT": "MESSAGE", "--reason": "a slip", "--agent": OTTER},
    "ledger rotate": {"--reason": "a slip", "--agent": OTTER, "--remote": "origin", "--timeout": "20"},
    "ledger restore": {"--agent": "user", "--remote": "origin", "--timeout": "20", "--adopt": None},
    "ci check": {"--base": "HEAD", "--remote": "origin"},
    "edit begin": {"PATH": "src/dates.py", "--agent": OTTER},
    "edit end": {"PATH": "src/editing.py", "--agent": OTTER},
    "mine": {"PATH": "src/dates.py", "--agent": OTTER},
    "diff": {"PATH": "src/dates.py"},
    "blame": {"PATH": "src/dates.py"},
    "commit": {"PATH": "src/edited.py", "--message": "Read dates", "--agent": OTTER},
}
# What hooks call stops nobody by mistake, and has a table of its own at the end; so has what keeps to CCCC's customs.
ELSEWHERE = (
    "hook.",
    "doctor",
    "setup",  # asks before it changes anything: tests/stories/setup
    "chat.replay",  # reads a script, or steps, and nothing of the ledger
    "cbcl.",  # tests/cbcl, tests/stories/cbcl
    "agent.rename",  # needs two clones that have one name, as does the next: tests/stories/travel
    "agent.merge",
    "ledger.arbiter",  # tests/stories/travel/test_arbiter.py
    "fleet.",  # needs an engine: tests/stories/fleet/test_bad_input.py
    *(f"ledger.{verb}" for verb in ("status", "log", "show", "verify", "export", "rebuild")),
)
OF_GROUPS = [op for op in catalogue.all_ops() if op.is_flat or any(found.name == "group_id" for found in op.parameters)]
OF_FILES = ("edit begin", "edit end", "mine", "diff", "blame", "commit")  # they take a path and no pattern
OPS = {op.words: op for op in catalogue.all_ops() if not op.name.startswith(ELSEWHERE) and op not in OF_GROUPS}
TEXTS = [  # what takes a value; `init` has a table of its own below
    (verb, parameter.name.upper() if parameter.is_argument else parameter.option)
    for verb, op in OPS.items()
    for parameter in op.parameters
    if parameter.kind is not Flag and verb != "init"
]

MAY_STAND_ALONE = {"--strict"}  # a value follows only after `=`


def words(verb: str, changes: Mapping[str, str | None] | None = None) -> list[str]:
    """VERB as it is called rightly, but for CHANGES."""
    given = {name: value for name, value in (CALLS[verb] | (changes or {})).items() if value is not None}
    options = [
        word
        for name, value in given.items()
        if name.startswith("-")
        for word in ((f"{name}={value}",) if name in MAY_STAND_ALONE else (name, value))
    ]
    return [*verb.split(), *(value for name, value in given.items() if not name.startswith("-")), *options]


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Near:
    """At noon: two agents at work, one retired, a reservation, a letter, a hand-off, and an incursion that is settled;
    all of it published. No test changes it."""
    made = near(tmp_path_factory.mktemp("bad-input") / "repo", BB_NOW=NOON)
    made.git("init", "--quiet", "--bare", "../hub.git")
    made.git("remote", "add", "origin", str(made.path.parent / "hub.git"))
    for agent in (OTTER, HARBOR, RETIRED):
        _must(made, ["agent", "register", "--name", agent, "--role", "builder"])
    _must(made, words("agent reserve", {"--scope": "src/parser"}))
    _must(made, words("agent send"))
    _must(made, words("protocol handoff"))
    _must(made, ["agent", "retire", "--agent", RETIRED])
    _must(made, words("agent reserve", {"--agent": HARBOR, "--scope": "web"}))
    _must(made, [*words("agent reserve", {"--scope": "web/a"}), "--allow-overlap"])
    _must(made, _named(made, words("protocol resolve")))
    for agent, scope in ((HARBOR, "web"), (OTTER, "web/a")):
        _must(made, words("agent release", {"--agent": agent, "--scope": scope}))
    _must(made, words("freeze", {"SCOPE": "locked"}))
    _must(made, [*words("sync"), "--publish"])
    _edited(made)
    return made


def _edited(made: Near) -> None:
    """OTTER has uncommitted lines in one file, and is editing another."""
    for name, value in {"user.name": "Tester", "user.email": "tester@example.invalid"}.items():
        made.git("config", name, value)
    (made.path / "src" / "parser").mkdir(parents=True)
    (made.path / "src" / "parser" / "lex.py").write_text("x = 1\n")  # of which OTTER holds the folder
    for name in ("dates", "edited", "editing"):
        (made.path / "src" / f"{name}.py").write_text("x = 1\n")
    made.git("add", "src")
    made.git("commit", "--quiet", "-m", "Sources")
    _must(made, words("edit begin", {"PATH": "src/edited.py"}))
    (made.path / "src" / "edited.py").write_text("x = 2\n")
    _must(made, words("edit end", {"PATH": "src/edited.py"}))
    _must(made, words("edit begin", {"PATH": "src/editing.py"}))


@pytest.fixture
def copy(repo: Near, tmp_path: Path) -> Near:
    """The same repository, to be changed."""
    copied(repo.path, tmp_path / "repo")
    return Near(tmp_path / "repo", repo.settings)


def _must(repo: Scratch, said: Sequence[str], **settings: str) -> Any:
    return repo.json(*said, **settings).data


def _named(repo: Scratch, call: Sequence[str]) -> list[str]:
    """CALL with the ids that REPO has for the first letter, the first hand-off and the first incursion."""
    if not {"MESSAGE", "EVENT", "INCURSION"} & set(call):
        return list(call)
    lines = [json.loads(line) for file in repo.store.glob("j/*/*.jsonl") for line in file.read_text().splitlines()]
    said = sorted((line for line in lines if line["kind"] == "chat.message"), key=lambda line: line["l"])
    ids = {"MESSAGE": said[0]["id"], "EVENT": next(line["id"] for line in said if "protocol" in (line["data"] or {}))}
    ids["INCURSION"] = next(line["id"] for line in lines if line["kind"] == "system.notify")
    return [ids.get(word, word) for word in call]


def refusals(repo: Scratch, calls: Sequence[Sequence[str] | Call]) -> list[str]:
    """The code that each of CALLS is refused with. The ids in them are those of REPO."""
    named = [call if isinstance(call, Call) else Call(call) for call in calls]
    if repo.store.exists():
        named = [Call(_named(repo, call.words), call.settings) for call in named]
    return refused.codes(repo, named)


def test_every_verb_that_takes_input_is_tried_here():
    assert set(CALLS) == set(OPS)
    take_none = {"status", "problems", "hooks status", "ledger commit", "ledger digest", "ledger mirror"}
    assert {verb for verb, _ in TEXTS} | take_none | {"init"} == set(CALLS)


@pytest.mark.parametrize("verb", CALLS)
def test_what_is_tried_wrongly_below_is_right_but_for_one_value(copy: Near, verb: str):
    """Else a refusal would prove nothing."""
    told = copy.bb(*_named(copy, words(verb)))

    assert (told.status, told.err) == (0, "")
    assert is_harmless(told.out)


# -- who is asking, and who is asked about

NOT_FOUND, NO_ID, NO_SENDER = "AGENT_NOT_FOUND", "INVALID_AGENT_ID", "UNKNOWN_SENDER"
WHO = {  # the option that names an agent, and the code for a name that nobody can have
    "agent heartbeat": ("--agent", NO_ID),
    "agent show": ("--agent", NO_ID),
    "agent retire": ("--agent", NOT_FOUND),
    "agent reserve": ("--agent", NOT_FOUND),
    "agent renew": ("--agent", NOT_FOUND),
    "agent release": ("--agent", NOT_FOUND),
    "agent transfer": ("--agent", NOT_FOUND),
    "agent status": ("--agent", NOT_FOUND),
    "agent inbox": ("--agent", NOT_FOUND),
    "agent read": ("--agent", NOT_FOUND),
    "agent ack": ("--agent", NOT_FOUND),
    "agent wait": ("--agent", NOT_FOUND),
    "agent reply": ("--agent", NOT_FOUND),
    "check": ("--agent", NOT_FOUND),
    "protocol list": ("--agent", NOT_FOUND),
    "protocol incursions": ("--agent", NOT_FOUND),
    "protocol resolve": ("--agent", NOT_FOUND),
    "protocol accept": ("--agent", NOT_FOUND),
    "ledger redact": ("--agent", NOT_FOUND),
    "ledger rotate": ("--agent", NOT_FOUND),
    "resume": ("--agent", NOT_FOUND),
    "turn": ("--agent", NO_ID),
    "timeline": ("--agent", NOT_FOUND),
    "agent send": ("--from", NO_SENDER),
    "protocol handoff": ("--from", NO_SENDER),
    "protocol blocked": ("--from", NO_SENDER),
    "edit begin": ("--agent", NO_ID),
    "edit end": ("--agent", NO_ID),
    "mine": ("--agent", NO_ID),
    "commit": ("--agent", NO_ID),
}
OF_ACTORS = ["Amber-Otter", "amber_otter", "amber--otter", "amber-", "am", "7"]  # nobody registers under these
MALFORMED = [
    *("amber otter", "-amber", "_amber", "amber-otter ", " amber-otter"),
    *("a" * 49, "a/b", "../amber-otter", ".", "amber-otter\n", "ámber-otter", "аmber-otter", "amber-otter;ls"),
    *("all", "system", "root", "con", "com1", "*", "role:builder", "broadcast", "%00", "$(id)", "-", "--x"),
]


@pytest.mark.parametrize("verb", WHO)
def test_an_agent_that_never_registered_is_not_known(repo: Near, verb: str):
    option, code = WHO[verb]

    assert refusals(repo, [words(verb, {option: STRANGER})]) == [NO_SENDER if code == NO_SENDER else NOT_FOUND]


@pytest.mark.parametrize("verb", WHO)
def test_a_name_that_nobody_can_have_is_nobodys(repo: Near, verb: str):
    option, code = WHO[verb]

    assert set(refusals(repo, [words(verb, {option: name}) for name in some(MALFORMED, 10)])) == {code}
    unknown = NO_SENDER if code == NO_SENDER else NOT_FOUND
    assert set(refusals(repo, [words(verb, {option: name}) for name in some(OF_ACTORS, 3)])) == {unknown}


def test_a_name_that_nobody_can_have_cannot_be_taken(repo: Near):
    ways = [["agent", "register", "--role", "x", "--name"], ["init", "--register"], ["init", "--adopt"]]
    calls = [[*way, name] for way in ways for name in [*MALFORMED, "user"]]
    anew = [[*way, name] for way in ways[:2] for name in OF_ACTORS]

    assert set(refusals(repo, calls + anew)) == {NO_ID}
    assert set(refusals(repo, [[*ways[2], name] for name in OF_ACTORS])) == {NOT_FOUND}


GONE = {
    "agent heartbeat": "AGENT_RETIRED",
    "turn": "AGENT_RETIRED",
    "agent retire": "AGENT_RETIRED",
    "agent reserve": "AGENT_RETIRED",
    "agent renew": "AGENT_RETIRED",
    "agent release": "AGENT_RETIRED",
    "agent transfer": "AGENT_RETIRED",
    "agent wait": "AGENT_RETIRED",
    "check": "AGENT_RETIRED",
    "protocol resolve": "AGENT_RETIRED",
    "protocol accept": "AGENT_RETIRED",
    "ledger redact": "AGENT_RETIRED",
    "ledger rotate": "AGENT_RETIRED",
    "agent read": "READ_FORBIDDEN",
    "agent ack": "ACK_FORBIDDEN",
    "agent reply": NO_SENDER,
    "agent send": NO_SENDER,
    "protocol handoff": NO_SENDER,
    "protocol blocked": NO_SENDER,
    "edit begin": "AGENT_RETIRED",
    "edit end": "AGENT_RETIRED",
    "mine": "AGENT_RETIRED",
    "commit": "AGENT_RETIRED",
}


@pytest.mark.parametrize("verb", WHO)
def test_a_retired_agent_does_nothing_more_but_can_be_asked_about(repo: Near, verb: str):
    call = words(verb, {WHO[verb][0]: RETIRED})

    if verb in GONE:
        assert refusals(repo, [call]) == [GONE[verb]]
    else:
        with nothing_written(repo):
            assert repo.json(*call).status == repo.bb(*call).status == 0


GROUPS = ["role:builder", "broadcast"]
NOBODY = [STRANGER, RETIRED, "", " ", "role:", "BROADCAST", "users", "user "]


@pytest.mark.parametrize("verb", ["agent send", "protocol handoff", "protocol blocked"])
def test_nothing_is_sent_to_nobody(repo: Near, verb: str):
    calls = [words(verb, {"--to": name}) for name in [*NOBODY, *MALFORMED, *OF_ACTORS] if name not in GROUPS]

    assert set(refusals(repo, calls)) == {"UNKNOWN_RECIPIENT"}


HEED_BB_AGENT = [
    verb for verb in WHO if verb not in ("agent status", "timeline", "protocol list", "protocol incursions")
]


@pytest.mark.parametrize("verb", HEED_BB_AGENT)
def test_who_is_asking_is_refused_alike_when_the_environment_says_it(repo: Near, verb: str):
    option, code = WHO[verb]
    call = words(verb, {option: None})
    names = [*MALFORMED, NOT_UTF8, "\x1b[2J", " ", "x" * 100_000]

    told = refusals(repo, [Call(call, {"BB_AGENT": name}) for name in some(names, 10)])

    assert set(told) == {NO_SENDER if code == NO_SENDER else NO_ID}
    unknown = refusals(repo, [Call(call, {"BB_AGENT": name}) for name in (STRANGER, *OF_ACTORS)])
    assert set(unknown) == {NO_SENDER if code == NO_SENDER else NOT_FOUND}
    if verb not in ("check", "ledger redact", "ledger rotate"):  # a person is asking
        assert refusals(repo, [Call(call, {"BB_AGENT": ""}), call]) == ["NO_AGENT"] * 2


ORDERS = ["freeze", "thaw", "agent pause", "agent unpause"]  # which are the person's to give


@pytest.mark.parametrize("verb", ORDERS)
def test_whoever_says_to_be_anybody_else_than_the_person_gives_no_orders(repo: Near, verb: str):
    names = [OTTER, STRANGER, *MALFORMED, NOT_UTF8, "\x1b[2J", " ", "x" * 100_000]

    told = refusals(repo, [Call(words(verb), {"BB_AGENT": name}) for name in names])

    assert set(told) == {"PERSON_ONLY"}
    assert refusals(repo, [words(verb, {"--agent": STRANGER})]) == ["PERSON_ONLY"]


DO_NOT = [verb for verb in CALLS if verb not in (*HEED_BB_AGENT, *ORDERS, "start")]


@pytest.mark.parametrize(("verb", "name"), grid(DO_NOT, [NOT_UTF8, "\x1b[2J\u202e", "Amber-Otter", ""], 2))
def test_who_need_not_say_its_name_is_not_asked_for_it(copy: Near, verb: str, name: str):
    told = copy.bb(*_named(copy, words(verb)), BB_AGENT=name)

    assert (told.status, told.err) == (0, "")
    assert is_harmless(told.out)


@pytest.mark.parametrize("name", ["amber otter", NOT_UTF8, "\x1b[2J\u202e", " ", "x" * 100_000])
def test_nobody_starts_under_a_name_that_is_none(repo: Near, name: str):
    assert (
        refusals(repo, [Call(["start"], {"BB_AGENT": name}), Call(words("start"), {"BB_AGENT": name})]) == [NO_ID] * 2
    )


# -- values that are none

CODES = {  # what a value is refused with that is not what the option takes
    "--agent": NOT_FOUND,
    "--name": NO_ID,
    "--from": NO_SENDER,
    "--to": "UNKNOWN_RECIPIENT",
    "--role": "INVALID_ROLE",
    "--display": "INVALID_DISPLAY_NAME",
    "--scope": "INVALID_SCOPE",
    "PATH": "INVALID_SCOPE",
    "SCOPE": "INVALID_SCOPE",
    "NAME": NOT_FOUND,
    "A": "INVALID_SCOPE",
    "B": "INVALID_SCOPE",
    "--root": "INVALID_SCOPE",
    "--bead": "MISSING_BEAD_ID",
    "--ttl": "INVALID_ARGS",
    "--deadline": "INVALID_ARGS",
    "--category": "INVALID_CATEGORY",
    "--subject": "INVALID_MESSAGE",
    "--thread": "INVALID_MESSAGE",
    "--body": "INVALID_MESSAGE",
    "--summary": "INVALID_PROTOCOL_EVENT",
    "--next-action": "INVALID_PROTOCOL_EVENT",
    "--blocker": "INVALID_PROTOCOL_EVENT",
    "--requested-action": "INVALID_PROTOCOL_EVENT",
    "--message": "INVALID_MESSAGE_ID",
    "--since": "INVALID_TIME",
    "EVENT": "PROTOCOL_EVENT_NOT_FOUND",
    "BEAD": "SESSION_NOT_FOUND",
    "--note": "INVALID_NOTE",
    "--remote": "REMOTE_NOT_FOUND",
    "--base": "INVALID_REVISION",
    "COMMIT": "INVALID_REVISION",
    "--email": "INVALID_EMAIL",
    "--strict": "INVALID_VALUE",
    "--head": "INVALID_REVISION",
    "--include-unattributed": "INVALID_SCOPE",
    "--with": NOT_FOUND,
} | dict.fromkeys(
    [
        *("--key", "--allow-secret", "--wait", "--timeout", "--count", "--limit", "--state", "--status", "--liveness"),
        *("--type", "--urgency", "--platform", "--as", "--override", "--fallback", "--token"),
        *("--editor", "--host", "--program", "--reason", "--unreachable", "--format", "--output"),
        *("--why", "--minutes", "--for", "--writer", "MODE"),
    ],
    "INVALID_VALUE",
)
CODES_OF_VERBS = {
    ("ledger restore", "--adopt"): "INVALID_VALUE",
    ("edit end", "--agent"): NO_ID,
    ("agent heartbeat", "--agent"): NO_ID,
    ("turn", "--agent"): NO_ID,
    ("agent reply", "--message"): "MESSAGE_NOT_FOUND",
    ("start", "NAME"): NO_ID,
    ("agent show", "--agent"): NO_ID,
    ("agent reserve", "--bead"): "INVALID_ARGS",
    ("agent transfer", "--to"): NOT_FOUND,
    ("agent transfer", "--from"): NOT_FOUND,
    ("agent inbox", "--state"): "INVALID_STATE",
    ("agent inbox", "--limit"): "INVALID_LIMIT",
    ("protocol resolve", "EVENT"): "INCURSION_NOT_FOUND",
    ("ledger redact", "EVENT"): "INVALID_EVENT_ID",
    ("hooks install", "--agent"): NO_ID,
    ("mcp install", "--agent"): NO_ID,
    ("hooks install", "--bead"): "INVALID_ARGS",
    ("agent reserve", "--deadline"): "INVALID_VALUE",
    ("mine", "--from"): NO_ID,
    ("diff", "--agent"): NO_ID,
    ("commit", "--message"): "INVALID_VALUE",
    ("sync", "--place"): "INVALID_VALUE",
}
WHEN_BLANK = {
    ("commit", "--message"): "NO_MESSAGE",
    ("agent read", "--message"): "MESSAGE_NOT_FOUND",
    ("agent ack", "--message"): "MESSAGE_NOT_FOUND",
    ("agent reserve", "--scope"): "INVALID_ARGS",
    ("agent renew", "--scope"): "INVALID_ARGS",
    ("agent release", "--scope"): "INVALID_ARGS",
    ("agent transfer", "--scope"): "INVALID_ARGS",
    ("freeze", "SCOPE"): "INVALID_ARGS",
    ("thaw", "SCOPE"): "INVALID_ARGS",
    ("sync", "--remote"): "INVALID_VALUE",
    ("ci check", "--remote"): "INVALID_VALUE",
    ("ledger rotate", "--remote"): "INVALID_VALUE",
    ("ledger restore", "--remote"): "INVALID_VALUE",
    ("ledger restore", "--adopt"): "INVALID_VALUE",
}
# What filters by something that need not be known takes any text, and finds nothing. A seed may be any text.
ANYTHING = [
    *((verb, "--bead") for verb in ("agent status", "agent inbox", "protocol list", "timeline")),
    ("sessions list", "--owner"),
    ("agent name", "--seed"),
]
FREE = ["--body", "--summary", "--next-action", "--blocker", "--requested-action", "--allow-secret", "--reason"]
STRICT = [each for each in TEXTS if each not in ANYTHING]


def code_of(verb: str, option: str) -> str:
    return CODES_OF_VERBS.get((verb, option)) or CODES[option]


def _ids(pairs: Sequence[tuple[str, str]]) -> list[str]:
    return [" ".join(pair) for pair in pairs]


NEVER_BLANK = [each for each in STRICT if each[1] != "--thread"]


@pytest.mark.parametrize(("verb", "option"), NEVER_BLANK, ids=_ids(NEVER_BLANK))
def test_a_blank_is_no_value(repo: Near, verb: str, option: str):
    blanks = [" ", "\t", " \n\v\f ", "\u00a0\u2003"]
    code = WHEN_BLANK.get((verb, option)) or code_of(verb, option)

    assert set(refusals(repo, [words(verb, {option: blank}) for blank in some(blanks, 2)])) == {code}
    assert refusals(repo, [words(verb, {option: ""})]) == ["NO_AGENT" if code == NO_SENDER else code]


@pytest.mark.parametrize("verb", ["agent send", "protocol handoff", "protocol blocked"])
def test_a_thread_without_a_name_is_that_of_the_bead(copy: Near, verb: str):
    sent = [_must(copy, words(verb, {"--thread": blank})) for blank in ("", " ", "\t")]

    threads = {letter["message_id"]: letter["thread_id"] for letter in _must(copy, words("agent inbox"))}
    assert {threads[each.get("message_id") or each["id"]] for each in sent} == {"bead:bb-1"}


@pytest.mark.parametrize(("verb", "option"), ANYTHING, ids=_ids(ANYTHING))
@pytest.mark.parametrize("text", [" ", "\t", "\x1b[2J", "\u202e", "%", "*", "'", '"', "\\", "' OR 1=1 --", "nobody"])
def test_a_filter_that_nothing_can_pass_finds_nothing(repo: Near, verb: str, option: str, text: str):
    call = words(verb, {option: text})

    with nothing_written(repo):
        found, told = repo.json(*call).data, repo.bb(*call)

    assert (told.status, told.err) == (0, "")
    assert is_harmless(told.out)
    if verb == "agent status":
        assert found["reservations"] == found["unacked_required_messages"] == []
    elif verb == "sessions list":
        assert found["feed"] == []
    elif verb != "agent name":
        assert found == []


MAY_BE_A_NAME = ["--scope", "PATH", "SCOPE", "A", "B"]  # a file may be called so; it is shown harmless
REFUSED_RAW = [each for each in STRICT if each[1] not in (*FREE, "--output")]


@pytest.mark.parametrize(("verb", "option"), REFUSED_RAW, ids=_ids(REFUSED_RAW))
def test_what_a_terminal_would_obey_is_refused_where_a_name_or_one_line_is_wanted(repo: Near, verb: str, option: str):
    texts = [*CONTROLS.values(), *(() if option in MAY_BE_A_NAME else BIDI.values())]
    calls = [words(verb, {option: text}) for text in some(texts, 5)]

    assert set(refusals(repo, calls)) == {code_of(verb, option)}


@pytest.mark.parametrize(("verb", "option"), TEXTS, ids=_ids(TEXTS))
def test_octets_that_are_no_text_are_refused_wherever_they_stand(repo: Near, verb: str, option: str):
    values = some([NOT_UTF8, "ok\udc80", "\udced\udca0\udc80", "\udcf5"], 2)

    assert refusals(repo, [words(verb, {option: value}) for value in values]) == ["INVALID_TEXT"] * len(values)


@pytest.mark.parametrize(
    "call",
    [
        [b"\xff\xfe"],
        [b"agent", b"\xff"],
        [b"agent", b"heartbeat", b"--\xff"],
        [b"agent", b"show", b"--agent", b"\xc3\x28"],
    ],
)
def test_octets_that_are_no_text_are_refused_by_a_whole_process_too(repo: Near, call: list[bytes]):
    with nothing_written(repo):
        asked, told = (Scratch(repo.path, repo.settings).bb(*call, *more) for more in (["--json"], []))

    assert_refused_alike(asked, told, str(call))
    assert asked.code == "INVALID_TEXT"


SAYING = [each for each in STRICT if each[1] in FREE and each[1] not in ("--allow-secret", "--reason")]
NAMING = [
    each
    for each in TEXTS
    if each not in SAYING
    and each not in (("agent inbox", "--bead"), ("agent status", "--bead"), ("commit", "--message"))
]


@pytest.mark.parametrize(("verb", "option"), SAYING, ids=_ids(SAYING))
def test_a_hundred_kilobytes_can_be_said(copy: Near, verb: str, option: str):
    text = "line\n" * 20_000
    told = copy.bb(*words(verb, {option: text}))

    assert (told.status, told.err) == (0, "")
    letter = _must(copy, words("agent inbox"))[0]
    assert text in [letter["body"], *(letter["payload"] or {}).values()]


@pytest.mark.parametrize(("verb", "option"), NAMING, ids=_ids(NAMING))
def test_a_hundred_kilobytes_are_no_name(repo: Near, verb: str, option: str):
    own = "INVALID_VALUE" if (verb, option) in ANYTHING else code_of(verb, option)

    (code,) = refusals(repo, [words(verb, {option: "x" * 100_000})])

    assert code in (own, WHEN_BLANK.get((verb, option)), "INVALID_VALUE")


LONGEST = {  # of what may be said: how long at most, the code beyond it
    ("agent register", "--role"): (64, "INVALID_ROLE"),
    ("agent register", "--display"): (80, "INVALID_DISPLAY_NAME"),
    ("agent register", "--name"): (48, NO_ID),
    ("agent register", "--key"): (128, "INVALID_VALUE"),
    ("agent reserve", "--bead"): (128, "INVALID_ARGS"),
    ("agent reserve", "--scope"): (4096, "INVALID_SCOPE"),
    ("agent reserve", "--key"): (128, "INVALID_VALUE"),
    ("agent reserve", "--allow-secret"): (500, "INVALID_VALUE"),
    ("agent transfer", "--why"): (500, "INVALID_VALUE"),
    ("agent pause", "--why"): (500, "INVALID_VALUE"),
    ("freeze", "--why"): (500, "INVALID_VALUE"),
    ("freeze", "SCOPE"): (4096, "INVALID_SCOPE"),
    ("agent send", "--bead"): (128, "MISSING_BEAD_ID"),
    ("agent send", "--subject"): (500, "INVALID_MESSAGE"),
    ("agent send", "--thread"): (200, "INVALID_MESSAGE"),
    ("agent send", "--body"): (262_144, "INVALID_MESSAGE"),
    ("protocol handoff", "--subject"): (500, "INVALID_MESSAGE"),
    ("protocol handoff", "--bead"): (128, "MISSING_BEAD_ID"),
    ("protocol blocked", "--subject"): (500, "INVALID_MESSAGE"),
    ("protocol resolve", "--note"): (500, "INVALID_NOTE"),
    ("protocol accept", "--note"): (500, "INVALID_NOTE"),
    ("ledger redact", "--reason"): (500, "INVALID_VALUE"),
    ("hooks install", "--program"): (500, "INVALID_VALUE"),
    ("mcp install", "--program"): (500, "INVALID_VALUE"),
    ("hooks install", "--bead"): (128, "INVALID_ARGS"),
    ("protocol blocked", "--thread"): (200, "INVALID_MESSAGE"),
    ("check", "PATH"): (4096, "INVALID_SCOPE"),
    ("scope compare", "A"): (4096, "INVALID_SCOPE"),
    ("agent name", "--seed"): (200, "INVALID_VALUE"),
}


@pytest.mark.parametrize(("verb", "option"), LONGEST, ids=_ids(list(LONGEST)))
def test_a_text_may_be_as_long_as_is_documented_and_no_longer(repo: Near, copy: Near, verb: str, option: str):
    most, code = LONGEST[verb, option]

    assert refusals(repo, [words(verb, {option: "x" * (most + 1)})]) == [code]
    told = copy.bb(*_named(copy, words(verb, {option: "x" * most})))
    assert (told.status, told.err) == (0, "")


@pytest.mark.parametrize(("verb", "option"), [each for each in SAYING if each[1] != "--body"])
def test_what_a_protocol_event_says_has_room_in_a_message(repo: Near, verb: str, option: str):
    assert refusals(repo, [words(verb, {option: "x" * 262_145})]) == ["INVALID_MESSAGE"]


@pytest.mark.parametrize("character", ["\U0001f9a6", "\x01", "\u202e"], ids=["otters", "controls", "overrides"])
def test_what_fits_by_its_length_but_not_into_a_line_is_refused_whole(repo: Near, character: str):
    calls = [words("agent send", {"--body": character * 262_144, "--category": kind}) for kind in ("INFO", "HANDOFF")]

    told = refusals(repo, calls if character != "\u202e" else calls[1:])

    assert set(told) == {"EVENT_TOO_LARGE"}


# -- numbers and times

MINUTES = ["4", "1441", "10.5", "abc", "-5", "1e2", "0", "+60", " 60", "60 ", "1_0", "0x10", "060 min", "\u0666\u0660"]
MINUTES += ["9" * 20, "9" * 5000, "nan", "inf", "-inf", "-", "60,0", "six", "\x1b[2J", "²"]


@pytest.mark.parametrize("verb", ["agent reserve", "agent renew"])
def test_a_time_to_live_is_a_whole_number_of_minutes_from_5_to_1440(copy: Near, verb: str):
    assert set(refusals(copy, [words(verb, {"--ttl": text}) for text in MINUTES])) == {"INVALID_ARGS"}
    for minutes in (5, 1440):
        assert _must(copy, words(verb, {"--ttl": str(minutes)}))["ttl_minutes"] == minutes


@pytest.mark.parametrize("value", [4, 1441, 10.5, -5, True, "4", "abc", [60], {"minutes": 60}, 1e300, 10**20])
@pytest.mark.parametrize("op", ["agent.reserve", "agent.renew"])
def test_a_time_to_live_in_json_is_no_looser(repo: Near, op: str, value: object):
    given = {"agent": OTTER, "scope": ["src/parser"], "ttl": value} | ({"bead": "bb-1"} if "reserve" in op else {})

    (code,) = refusals(repo, [["call", op, "--args", json.dumps(given)]])

    assert code == ("INVALID_ARGS" if type(value) in (int, str) else "INVALID_VALUE")


SECONDS = [
    "-1",
    "-0",
    "nan",
    "inf",
    "-inf",
    "abc",
    "86401",
    "1e3",
    "1.5",
    "1,5",
    " 1",
    "9" * 20,
    "9" * 5000,
    "١",
    "0x1",
]


@pytest.mark.parametrize(("verb", "option"), [("agent reserve", "--wait"), ("agent wait", "--timeout")])
def test_seconds_to_wait_are_a_whole_number_up_to_a_day(repo: Near, verb: str, option: str):
    assert set(refusals(repo, [words(verb, {option: text}) for text in SECONDS])) == {"INVALID_VALUE"}


@pytest.mark.parametrize(
    ("verb", "option", "most"),
    [
        ("agent inbox", "--limit", 500),
        ("protocol list", "--limit", 500),
        ("protocol incursions", "--limit", 500),
        ("timeline", "--limit", 1000),
        ("agent name", "--count", 10_000),
    ],
)
def test_a_limit_is_a_whole_number_from_one(repo: Near, verb: str, option: str, most: int):
    bad = ["0", "-1", "1.5", "1e1", "nan", "inf", "abc", "+1", str(most + 1), "9" * 20, "9" * 5000, "١"]

    assert set(refusals(repo, [words(verb, {option: text}) for text in bad])) == {code_of(verb, option)}
    assert repo.bb(*words(verb, {option: str(most)})).status == 0


@pytest.mark.parametrize(
    "text",
    [
        *("now", "tomorrow", "nan", "-1h", "+1h", "1.5h", "1e1h", "2h ", " 2h", "h", "2w", "9999999h", "9" * 50 + "d"),
        *("2026-01-05", "2026-01-05T12:00:00", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "12:00", "1767614400"),
        *("0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "2026-01-05T12:00:00+24:00", "999999d", "٢h"),
    ],
)
def test_a_moment_is_a_time_or_an_age(repo: Near, text: str):
    assert refusals(repo, [words("timeline", {"--since": text})]) == ["INVALID_TIME"]


TIMELESS = ["agent inbox", "agent name", "scope compare"]  # nothing they say depends on the time
TIMELESS += ["hooks install", "hooks uninstall", "hooks status", "mcp install", "ledger digest", "ledger mirror"]


@pytest.mark.parametrize("verb", [verb for verb in CALLS if verb not in TIMELESS])
def test_a_clock_that_is_set_to_no_time_stops_everything_that_needs_one(repo: Near, verb: str):
    times = ["noon", "nan", "-1", "2026-01-05", "2026-01-05T25:00:00Z", "\x1b[2J", NOT_UTF8, " "]

    told = refusals(repo, [Call(words(verb), {"BB_NOW": text}) for text in times])

    assert set(told) == {"INVALID_TIME"}


@pytest.mark.parametrize("text", ["0", "-5", "10081", "10.5", "1e2", "abc", "nan", " ", "9" * 5000, "١٥", NOT_UTF8])
def test_a_threshold_that_is_none_is_refused_where_it_would_judge(repo: Near, text: str):
    judging = ["agent heartbeat", "agent list", "agent show", "agent status", "agent reserve", "agent renew", "check"]
    judging += [
        "status",
        "problems",
        "resume",
        "turn",
        "sessions list",
        "sessions show",
        "protocol list",
        "protocol show",
    ]
    judging += ["protocol incursions", "protocol resolve", "ci check"]

    told = refusals(repo, [Call(words(verb), {"BB_AGENT_STALE_MINUTES": text}) for verb in judging])

    assert set(told) == {"INVALID_STALE_MINUTES"}


# -- things that are not there, or not one's own

NOT_THERE = [
    ("agent read", {"--message": "abcdefghijkl.1"}, "MESSAGE_NOT_FOUND"),
    ("agent ack", {"--message": "abcdefghijkl.1"}, "MESSAGE_NOT_FOUND"),
    ("agent read", {"--message": "nonsense"}, "MESSAGE_NOT_FOUND"),
    ("agent ack", {"--message": "../../etc/passwd"}, "INVALID_MESSAGE_ID"),
    ("agent read", {"--agent": OTTER}, "READ_FORBIDDEN"),
    ("agent ack", {"--agent": OTTER}, "ACK_FORBIDDEN"),
    ("agent release", {"--scope": "docs"}, "RESERVATION_NOT_FOUND"),
    ("agent renew", {"--scope": "docs"}, "RESERVATION_NOT_FOUND"),
    ("agent release", {"--agent": HARBOR}, "RELEASE_FORBIDDEN"),
    ("agent renew", {"--agent": HARBOR}, "RENEW_FORBIDDEN"),
    ("agent transfer", {"--scope": "docs"}, "RESERVATION_NOT_FOUND"),
    ("agent transfer", {"--agent": HARBOR}, "TRANSFER_FORBIDDEN"),
    ("agent transfer", {"--to": RETIRED}, "AGENT_RETIRED"),
    ("agent transfer", {"--to": STRANGER}, NOT_FOUND),
    ("agent transfer", {"--to": "user"}, NOT_FOUND),
    ("agent transfer", {"--from": HARBOR}, "RESERVATION_NOT_FOUND"),
    ("agent transfer", {"--scope": "locked", "--agent": "user"}, "RESERVATION_NOT_FOUND"),
    ("agent pause", {"NAME": RETIRED}, "AGENT_RETIRED"),
    ("agent pause", {"NAME": None}, "INVALID_VALUE"),
    ("agent unpause", {"NAME": "user"}, NOT_FOUND),
    ("agent unpause", {"NAME": None}, "INVALID_VALUE"),
    ("freeze", {"SCOPE": ".."}, "SCOPE_OUTSIDE"),
    ("freeze", {"SCOPE": None}, "MISSING_OPTION"),
    ("freeze", {"--minutes": "0"}, "INVALID_VALUE"),
    ("freeze", {"--minutes": "527041"}, "INVALID_VALUE"),
    ("thaw", {"SCOPE": "docs"}, "NOT_FROZEN"),
    ("thaw", {"SCOPE": None}, "INVALID_ARGS"),
    ("agent release", {"--scope": "locked", "--agent": "user"}, "RESERVATION_NOT_FOUND"),
    ("protocol show", {"EVENT": "abcdefghijkl.1"}, "PROTOCOL_EVENT_NOT_FOUND"),
    ("protocol show", {"EVENT": "MESSAGE"}, "PROTOCOL_EVENT_NOT_FOUND"),
    ("protocol show", {"EVENT": "'; DROP TABLE events; --"}, "PROTOCOL_EVENT_NOT_FOUND"),
    ("protocol resolve", {"EVENT": "abcdefghijkl.1"}, "INCURSION_NOT_FOUND"),
    ("protocol resolve", {"EVENT": "EVENT"}, "INCURSION_NOT_FOUND"),
    ("protocol resolve", {"--agent": OTTER}, "RESOLVE_FORBIDDEN"),
    ("protocol resolve", {"--as": "reverted"}, "INCURSION_RESOLVED"),
    ("protocol resolve", {"--as": "accept"}, "INVALID_VALUE"),
    ("protocol incursions", {"--state": "unread"}, "INVALID_VALUE"),
    ("sessions show", {"BEAD": "bb-999"}, "SESSION_NOT_FOUND"),
    ("sessions show", {"BEAD": "%"}, "SESSION_NOT_FOUND"),
    ("agent send", {"--category": "news"}, "INVALID_CATEGORY"),
    ("agent send", {"--category": "RESUME"}, "INVALID_CATEGORY"),
    ("agent inbox", {"--state": "reed"}, "INVALID_STATE"),
    ("agent list", {"--liveness": "dead"}, "INVALID_VALUE"),
    ("agent list", {"--status": "busy"}, "INVALID_VALUE"),
    ("protocol list", {"--type": "hand-off"}, "INVALID_VALUE"),
    ("protocol list", {"--state": "done"}, "INVALID_VALUE"),
    ("protocol blocked", {"--urgency": "highest"}, "INVALID_VALUE"),
    ("protocol blocked", {"--urgency": "urgent"}, "INVALID_VALUE"),
    ("scope compare", {"--platform": "mac"}, "INVALID_VALUE"),
    ("sessions list", {"--state": "open"}, "INVALID_VALUE"),
    ("sync", {"--remote": "--upload-pack=id"}, "REMOTE_NOT_FOUND"),
    ("sync", {"--remote": "ext::sh -c id"}, "REMOTE_NOT_FOUND"),
    ("sync", {"--remote": "../hub.git"}, "REMOTE_NOT_FOUND"),
    ("sync", {"--timeout": "0"}, "INVALID_VALUE"),
    ("sync", {"--timeout": "3601"}, "INVALID_VALUE"),
    ("hooks install", {"--editor": "vim"}, "INVALID_VALUE"),
    ("hooks install", {"--editor": None, "--program": "bb"}, "EDITOR_NEEDED"),
    ("hooks install", {"--editor": None, "--bead": "bb-1"}, "EDITOR_NEEDED"),
    ("hooks uninstall", {"--editor": "Claude Code"}, "INVALID_VALUE"),
    ("ledger redact", {"EVENT": "abcdefghijkl.1"}, "EVENT_NOT_FOUND"),
    ("ledger redact", {"EVENT": "abcdefghijkl.0"}, "INVALID_EVENT_ID"),
    ("ledger redact", {"--agent": HARBOR}, "REDACT_FORBIDDEN"),
    ("ledger redact", {"--reason": None}, "MISSING_OPTION"),
    ("ledger rotate", {"--reason": None}, "MISSING_OPTION"),
    ("ledger rotate", {"--remote": "../hub.git"}, "REMOTE_NOT_FOUND"),
    ("ledger rotate", {"--timeout": "0"}, "INVALID_VALUE"),
    ("ledger restore", {"--agent": OTTER}, "PERSON_ONLY"),
    ("ledger restore", {"--remote": "../hub.git"}, "REMOTE_NOT_FOUND"),
    ("ledger restore", {"--adopt": "0fba2ae713d9"}, "OTHER_LEDGER"),
    ("ledger restore", {"--timeout": "0"}, "INVALID_VALUE"),
    ("ci check", {"--base": None}, "MISSING_OPTION"),
    ("ci check", {"--base": "no-such-branch"}, "REVISION_NOT_FOUND"),
    ("ci check", {"--head": "0" * 40}, "REVISION_NOT_FOUND"),
    ("ci check", {"--base": "HEAD:README"}, "REVISION_NOT_FOUND"),
    ("ci check", {"--base": "--output=x"}, "MISSING_VALUE"),
    ("ci check", {"--scope": ".."}, "SCOPE_OUTSIDE"),
    ("ci check", {"--remote": "--upload-pack=id"}, "REMOTE_NOT_FOUND"),
    ("ci check", {"--remote": "ext::sh -c id"}, "LEDGER_UNREACHABLE"),
    ("ci check", {"--format": "txt"}, "INVALID_VALUE"),
    ("ci check", {"--unreachable": "maybe"}, "INVALID_VALUE"),
    ("ci check", {"--output": "no/such/folder/report"}, "OUTPUT_NOT_WRITTEN"),
    ("agent reserve", {"--fallback": "local"}, "INVALID_ARGS"),
    ("agent register", {"--name": OTTER}, "DUPLICATE_AGENT_ID"),
    ("agent register", {"--name": RETIRED}, "DUPLICATE_AGENT_ID"),
]


@pytest.mark.parametrize(("verb", "changes", "code"), NOT_THERE)
def test_what_is_not_there_or_is_another_s_is_refused_by_its_own_code(
    repo: Near, verb: str, changes: dict[str, str], code: str
):
    assert refusals(repo, [words(verb, changes)]) == [code]


# -- scopes

SCOPED = [(verb, option) for verb, option in TEXTS if option in MAY_BE_A_NAME]
OUTSIDE = ["..", "../x", "src/../../x", "./..", "/", "/etc/passwd", "//etc", "../repository", "a/b/../../../c", "../*"]
UNSOUND = ["\x01", "a\nb", "a\tb", "a\x7fb", "a\x9bb", "a\x85b", "\x1b[2J", "\U0010ffff", "a" * 4097, "a/" * 3000]
NO_PATTERNS = ["src/{a,b}", "{1..9}", "!src", "src/[z-a]", "src/*/../x", "**/..", "*a" * 65, "/".join(["*a"] * 65)]


@pytest.mark.parametrize(("verb", "option"), SCOPED, ids=_ids(SCOPED))
def test_what_lies_outside_the_repository_is_nobodys_here(repo: Near, verb: str, option: str):
    calls = [words(verb, {option: text}) for text in [*OUTSIDE, str(repo.path.parent), f"{repo.path}-2/src"]]

    assert set(refusals(repo, calls)) == {"SCOPE_OUTSIDE"}


@pytest.mark.parametrize(("verb", "option"), SCOPED, ids=_ids(SCOPED))
def test_what_can_be_no_path_is_no_scope(repo: Near, verb: str, option: str):
    assert set(refusals(repo, [words(verb, {option: text}) for text in UNSOUND])) == {"INVALID_SCOPE"}


@pytest.mark.parametrize(("verb", "option"), SCOPED, ids=_ids(SCOPED))
def test_what_a_shell_would_expand_or_nobody_can_judge_is_no_scope_but_may_be_a_name(
    repo: Near, verb: str, option: str
):
    calls = [words(verb, {option: text}) for text in NO_PATTERNS]

    if verb == "check":
        statuses = {call[1]: ran.status for call, ran in zip(calls, run_all(repo, map(Call, calls)), strict=True)}
        assert statuses.pop("**/..") == 7, "the whole repository, of which something is frozen"
        assert set(statuses.values()) == {0}
    elif verb in OF_FILES:
        top = words(verb, {option: "**/.."})
        missing = [call for call in calls if call != top]  # that one is the top folder
        assert set(refusals(repo, missing)) <= {"FILE_NOT_FOUND", "NO_LINES", "EDIT_NOT_BEGUN", "NOT_A_FILE"}
    else:
        assert set(refusals(repo, calls)) == {"INVALID_SCOPE"}


def test_a_link_out_of_the_repository_is_a_path_of_its_own_and_does_not_lead_out(copy: Near, tmp_path: Path):
    (tmp_path / "secrets").mkdir()
    (copy.path / "out").symlink_to(tmp_path / "secrets")
    (copy.path / "self").symlink_to("self")

    for text in ("out", "out/key", "self", "self/x"):
        assert _must(copy, words("agent reserve", {"--scope": text}))["scope"] == text
        assert _must(copy, words("check", {"PATH": text}))["paths"][0]["path"] == text
    beyond = [str(tmp_path / "secrets"), str(tmp_path / "secrets" / "key"), "out/../../secrets"]
    assert refusals(copy, [words("agent reserve", {"--scope": text}) for text in beyond]) == ["SCOPE_OUTSIDE"] * 3


@pytest.mark.parametrize("root", ["", " ", "repo", "./x", "..", "~", "\x1b[2J", "x" * 100_000])
def test_a_root_is_an_absolute_path(repo: Near, root: str):
    assert refusals(repo, [words("scope compare", {"--root": root})]) == ["INVALID_SCOPE"]


def test_several_scopes_are_refused_together_when_one_is_bad(repo: Near):
    calls = [[*words(verb), "--scope", text] for verb in ("agent reserve", "agent release") for text in ("..", "a\nb")]

    assert refusals(repo, calls) == ["SCOPE_OUTSIDE", "INVALID_SCOPE"] * 2


# -- starting a session

INIT = [
    (["--register", FRESH, "--adopt", OTTER], "ADOPT_OR_REGISTER"),
    (["--non-interactive"], "AMBIGUOUS_SESSION"),
    (["--register", OTTER], "DUPLICATE_AGENT_ID"),
    (["--register", RETIRED], "DUPLICATE_AGENT_ID"),
    (["--register", ""], NO_ID),
    (["--register", " "], NO_ID),
    (["--register", "x" * 100_000], NO_ID),
    (["--register", FRESH, "--role", " "], "INVALID_ROLE"),
    (["--register", FRESH, "--role", "x" * 65], "INVALID_ROLE"),
    (["--register", FRESH, "--role", "a\x1b[2Jb"], "INVALID_ROLE"),
    (["--register", FRESH, "--scope", "src"], "NO_SESSION"),
    (["--register", FRESH, "--bead", "bb-1"], "NO_SESSION"),
    (["--adopt", ""], NO_ID),
    (["--adopt", STRANGER], NOT_FOUND),
    (["--adopt", STRANGER, "--non-interactive"], NOT_FOUND),
    (["--adopt", OTTER], "ADOPTION_REJECTED"),
    (["--adopt", RETIRED, "--non-interactive"], "ADOPTION_REJECTED"),
    (["--adopt", OTTER, "--role", "builder"], "NO_SESSION"),
    (["--adopt", OTTER, "--scope", ".."], "SCOPE_OUTSIDE"),
    (["--adopt", OTTER, "--scope", " "], "INVALID_SCOPE"),
    (["--adopt", OTTER, "--scope", "a\x07"], "INVALID_SCOPE"),
    (["--adopt", OTTER, "--scope", "src/{a,b}"], "INVALID_SCOPE"),
    (["--role", "builder"], "NO_SESSION"),
    (["--scope", "src"], "NO_SESSION"),
    (["--bead", "bb-1"], "NO_SESSION"),
    (["--delete-history"], "NOTHING_TO_UNDO"),
    (["--undo"], "HISTORY_PRESENT"),
    (["--undo", "--register", FRESH], "NO_SESSION"),
    (["--undo", "--adopt", OTTER], "NO_SESSION"),
    (["--register", NOT_UTF8], "INVALID_TEXT"),
    (["--adopt", NOT_UTF8], "INVALID_TEXT"),
    (["--register", FRESH, "--role", NOT_UTF8], "INVALID_TEXT"),
    (["--adopt", OTTER, "--scope", NOT_UTF8], "INVALID_TEXT"),
    (["--adopt", OTTER, "--bead", NOT_UTF8], "INVALID_TEXT"),
    (["--adopt", OTTER, "--bead", "a\x1b[2Jb"], "INVALID_ARGS"),
]


@pytest.mark.parametrize(("options", "code"), INIT)
def test_a_session_is_not_started_by_mistake(repo: Near, options: list[str], code: str):
    assert refusals(repo, [["init", *options]]) == [code]


NEED_NO_LEDGER = ["agent register", "init", "start", "agent name", "agent list", "check", "scope compare"]
NEED_NO_LEDGER += ["hooks install", "hooks uninstall", "hooks status", "mcp install"]


@pytest.mark.parametrize("verb", [verb for verb in CALLS if verb not in NEED_NO_LEDGER])
def test_where_there_is_no_ledger_a_mistake_makes_none(tmp_path: Path, verb: str):
    bare = near(tmp_path / "repo", BB_NOW=NOON)
    option, _ = WHO.get(verb, ("", ""))

    (code,) = refusals(bare, [words(verb, {option: STRANGER} if option else {})])

    assert code in (NOT_FOUND, NO_SENDER, "NOT_INITIALIZED", "REMOTE_NOT_FOUND")
    assert not bare.store.exists()


@pytest.mark.parametrize(
    ("options", "code"), [(["--name", "X", "--role", "x"], NO_ID), (["--name", FRESH, "--role", " "], "INVALID_ROLE")]
)
def test_a_first_registration_that_is_refused_makes_no_ledger(tmp_path: Path, options: list[str], code: str):
    bare = near(tmp_path / "repo", BB_NOW=NOON)

    assert refusals(bare, [["agent", "register", *options], ["init", "--register", "X"]]) == [code, NO_ID]
    assert not bare.store.exists()


# -- what may be said, and is shown

SAID = {
    **CONTROLS,
    **BIDI,
    "many": "one\r\nError: [FORGED] not ours\u2028three\x85\x0b\x0c\x1b[1;31mfour\x1b[0m\ufeff\u00ad",
}
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def assert_shown_harmless(told: Ran, call: object) -> None:
    said = told.out + told.err
    assert not RAW.search(said), f"{call}: {said!r}"
    assert is_harmless(said), f"{call}: {said!r}"
    assert "Traceback" not in said, call
    assert not [line for line in said.splitlines() if line.startswith("Error: [FORGED]")], call


@pytest.fixture(scope="module")
def haunted(tmp_path_factory: pytest.TempPathFactory) -> Near:
    """Whatever may be said holds what a terminal would obey: letters, protocol events, paths, files, beads."""
    made = near(tmp_path_factory.mktemp("haunted") / "repo", BB_NOW=NOON)
    for agent in (OTTER, HARBOR, RETIRED):
        _must(made, ["agent", "register", "--name", agent, "--role", "builder"])
    _must(made, ["agent", "retire", "--agent", RETIRED])
    for number, text in enumerate(SAID.values()):
        for to in (HARBOR, "user"):
            for call in (
                words("agent send", {"--to": to, "--body": text, "--allow-secret": text}),
                words("agent send", {"--to": to, "--body": text, "--category": "BLOCKED"}),
                words("protocol handoff", {"--to": to, "--summary": text, "--next-action": text}),
                words("protocol blocked", {"--to": to, "--blocker": text, "--requested-action": text}),
            ):
                told = made.bb(*call)
                assert told.status == 0, told.err
                assert_shown_harmless(told, call)
        (made.path / "src").mkdir(exist_ok=True)
        (made.path / "src" / f"{number}{text.replace('/', '-')}").write_text("x")
    for text in BIDI.values():
        told = made.bb(*words("agent reserve", {"--scope": f"names/{text}", "--allow-secret": text}))
        assert told.status == 0, told.err
        assert_shown_harmless(told, text)
    _must(made, words("agent reserve", {"--scope": "src"}))
    (made.path / ".beads").mkdir()
    beads = [
        {"id": "bb-1", "title": SAID["many"], "status": "in_progress", "assignee": OTTER, "owner": CONTROLS["link"]}
    ]
    beads += [{"id": f"bb-{text}", "title": text, "status": "open", "assignee": text} for text in SAID.values()]
    (made.path / ".beads" / "issues.jsonl").write_text("".join(json.dumps(bead) + "\n" for bead in beads))
    return made


@pytest.fixture
def again(haunted: Near, tmp_path: Path) -> Near:
    """The same, to be changed."""
    copied(haunted.path, tmp_path / "repo")
    return Near(tmp_path / "repo", haunted.settings)


SHOWING: dict[str, list[str]] = {
    "status": ["status"],
    "problems": ["problems"],
    "timeline": ["timeline", "--limit", "1000"],
    "resume": ["resume", "--agent", OTTER],
    "resume, who has mail": ["resume", "--agent", HARBOR],
    "turn": ["turn", "--agent", HARBOR, "--all"],
    "agent status": ["agent", "status"],
    "agent list": ["agent", "list"],
    "agent show": ["agent", "show", "--agent", OTTER],
    "agent inbox": ["agent", "inbox", "--agent", HARBOR, "--limit", "500"],
    "agent inbox, the person's": ["agent", "inbox", "--agent", "user", "--limit", "500"],
    "agent wait": ["agent", "wait", "--agent", HARBOR, "--timeout", "0"],
    "protocol list": ["protocol", "list", "--limit", "500"],
    "sessions list": ["sessions", "list"],
    "sessions show": ["sessions", "show", "bb-1"],
    "check": ["check", "src", *(f"names/{text}" for text in BIDI.values())],
    "check, who may not": ["check", "--agent", HARBOR, *(f"names/{text}" for text in BIDI.values())],
    "scope compare": ["scope", "compare", *list(BIDI.values())[:2]],
    "reserve, who may not": words("agent reserve", {"--agent": HARBOR, "--scope": f"names/{BIDI['override']}"}),
    "release, who may not": words("agent release", {"--agent": HARBOR, "--scope": f"names/{BIDI['override']}"}),
    "ledger log": ["ledger", "log", "--limit", "500"],
}
STATUSES = {"problems": 4, "check, who may not": 7, "reserve, who may not": 7, "release, who may not": 5}


@pytest.mark.parametrize("view", SHOWING)
def test_what_others_said_is_shown_harmless(haunted: Near, view: str):
    told, asked = run_all(haunted, [Call(SHOWING[view]), Call([*SHOWING[view], "--json"])])

    assert (told.status, asked.status) == (STATUSES.get(view, 0),) * 2, told.err
    assert_shown_harmless(told, view)
    assert_shown_harmless(asked, view)
    assert asked.out.isascii()


@pytest.mark.parametrize("view", ["sessions show", "resume", "sessions list", "check", "agent wait"])
def test_what_others_said_is_shown_at_all(haunted: Near, view: str):
    told = haunted.bb(*SHOWING[view]).out

    assert re.search(r"\\x1b|\\u202e|\\x9b", told), told


def test_evidence_of_unfinished_work_is_shown_harmless(again: Near):
    """It names files that have uncommitted changes, however they are called, and the beads in progress."""
    told = again.bb("init", "--adopt", OTTER, "--non-interactive")

    assert told.status == 0, told.err
    assert_shown_harmless(told, "init --adopt")
    (event,) = _must(again, ["protocol", "list", "--type", "RESUME"])
    views = [["protocol", "show", event["id"]], ["protocol", "list"], ["timeline"], ["sessions", "show", "bb-1"]]
    for view in [*views, ["status"]]:
        assert_shown_harmless(again.bb(*view), view)


@pytest.mark.parametrize("verb", ["read", "ack"])
def test_each_letter_is_shown_harmless_by_itself(again: Near, verb: str):
    ids = [letter["message_id"] for letter in _must(again, SHOWING["agent inbox"])]
    calls = [["agent", verb, "--agent", HARBOR, "--message", one] for one in ids]

    for call, told in zip(calls, run_all(again, [Call(call) for call in calls]), strict=True):
        assert told.status == 0, told.err
        assert_shown_harmless(told, call)


def test_each_protocol_event_is_shown_harmless_by_itself_and_kept_as_it_was_said(haunted: Near):
    events = _must(haunted, SHOWING["protocol list"])
    calls = [["protocol", "show", event["id"]] for event in events]

    for call, told in zip(calls, run_all(haunted, [Call(call) for call in calls]), strict=True):
        assert told.status == 0, told.err
        assert_shown_harmless(told, call)
    kept = {event["payload"][name] for event in events for name in ("summary", "blocker") if name in event["payload"]}
    assert kept == set(SAID.values())


@pytest.mark.parametrize("text", SAID.values(), ids=SAID)
def test_why_something_was_taken_back_is_shown_harmless(copy: Near, text: str):
    for view in (_named(copy, words("ledger redact", {"--reason": text})), ["timeline"], ["ledger", "log"]):
        told = copy.bb(*view)
        assert told.status == 0, told.err
        assert_shown_harmless(told, view)


# -- what git and editors call: a mistake in it stops nobody by looking like a verdict

EDIT = json.dumps({"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"file_path": "docs/a.md"}})
HOOKS: dict[str, dict[str, str]] = {
    "hook pre-commit": {},
    "hook post-commit": {},
    "hook prepare-commit-msg": {"FILE": "message", "SOURCE": "message"},
    "hook pre-tool": {"--agent": OTTER, "--payload": EDIT},
    "hook post-tool": {"--agent": OTTER, "--payload": EDIT.replace("Pre", "Post")},
    "hook session-start": {"--agent": OTTER, "--payload": '{"hook_event_name": "SessionStart"}'},
    "hook prompt": {"--agent": OTTER, "--payload": '{"hook_event_name": "UserPromptSubmit"}'},
    "hook stop": {"--agent": OTTER, "--payload": '{"hook_event_name": "Stop"}'},
    "hook session-end": {"--agent": OTTER, "--payload": '{"hook_event_name": "SessionEnd"}'},
}
PAYLOADS = [
    *("", "{", "[]", "null", "7", "[" * 9000, '{"hook_event_name": 7}', '{"tool_name": "Write"}', '{"a": "\\ud800"}'),
    *('{"session_id": "../../x"}', '{"session_id": "\\u0000"}', '{"cwd": "/no/such/folder"}', '{"cwd": "a\\u0000b"}'),
    *(
        '{"tool_input": 3}',
        '{"tool_name": "Bash", "tool_input": {"command": 3}}',
        '{"tool_name": "Bash"}',
        "x" * 100_000,
    ),
    *(EDIT.replace("docs", each) for each in ("..", "\\u0000", "\\ud800", "\\u001b[2J", "x" * 9000)),
    *(
        EDIT.replace("Write", "Bash").replace("file_path", "command").replace("docs/a.md", each)
        for each in ("> \\u0000", "rm \\u001b[2J", "rm ..", "> '", "cd \\u0000; rm x", "$(" * 5000, "rm " + "x " * 5000)
    ),
]
HOOKED = [
    (op.words, parameter.name.upper() if parameter.is_argument else parameter.option)
    for op in catalogue.all_ops()
    if op.name.startswith("hook.")
    for parameter in op.parameters
    if parameter.kind is not Flag
]


def hook_words(verb: str, changes: Mapping[str, str]) -> list[str]:
    given = HOOKS[verb] | changes
    options = [word for name, value in given.items() if name.startswith("-") for word in (name, value)]
    return [*verb.split(), *(value for name, value in given.items() if not name.startswith("-")), *options]


def journals(repo: Scratch) -> list[str]:
    """What was recorded; without that a prompt was given what there was for it, which is no mistake."""
    lines = [line for path in sorted(repo.store.glob("j/*/*.jsonl")) for line in path.read_text().splitlines()]
    return [line for line in lines if not ('"kind":"x.bb.c2a.delivery"' in line or '"kind":"x.bb.merged"' in line)]


def assert_stops_nobody(repo: Near, call: Sequence[str], **settings: str) -> None:
    before = journals(repo)
    told, asked = repo.bb(*call, **settings), repo.bb(*call, "--json", **settings)
    named = str(call)[:300]
    if call[1] != "prepare-commit-msg":  # whose status git never sees, and whose words a person reads
        assert told.status in (0, 1), f"{named}: {told}"
        assert not told.out or isinstance(json.loads(told.out), dict), named
    assert told.status == asked.status, named
    assert is_harmless(told.out + told.err), named
    assert "INTERNAL_ERROR" not in told.err + asked.out, named
    assert len(told.err) < 2000, named
    assert asked.envelope["ok"] is (told.status == 0), named
    assert journals(repo) == before, named


def test_every_hook_is_tried_here():
    assert {op.words for op in catalogue.all_ops() if op.name.startswith("hook.")} == set(HOOKS)


@pytest.mark.parametrize(("verb", "option"), HOOKED, ids=_ids(HOOKED))
def test_a_hook_that_is_called_wrongly_stops_nobody(copy: Near, verb: str, option: str):
    values = [*CONTROLS.values(), *BIDI.values(), *MALFORMED, NOT_UTF8, " ", "", "x" * 100_000]
    for value in some([*values, *(PAYLOADS if option == "--payload" else [])], 20):
        assert_stops_nobody(copy, hook_words(verb, {option: value}))


@pytest.mark.parametrize("verb", [verb for verb in HOOKS if verb != "hook pre-commit"])
@pytest.mark.parametrize("name", [*MALFORMED[:6], NOT_UTF8, "\x1b[2J", " ", STRANGER, RETIRED], ids=ascii)
def test_a_hook_that_nobody_known_calls_stops_nobody_by_mistake(copy: Near, verb: str, name: str):
    call = [word for word in hook_words(verb, {}) if word not in ("--agent", OTTER)]

    assert_stops_nobody(copy, call, BB_AGENT=name)


# -- clocks that disagree

VIEWS = ["status", "problems", "timeline", "agent list", "agent show", "agent status", "agent inbox", "resume"]
VIEWS += ["check", "protocol list", "sessions list", "sessions show", "agent name", "scope compare"]
A_DAY = 24 * 60
SKEWS = [-10 * A_DAY, -A_DAY, -1, 1, A_DAY, 10 * A_DAY]


@pytest.fixture
def held(tmp_path: Path) -> Near:
    """At noon amber-otter holds src/parser, and cobalt-harbor is about."""
    made = near(tmp_path / "repo", BB_NOW=NOON)
    for agent in (OTTER, HARBOR):
        _must(made, ["agent", "register", "--name", agent, "--role", "builder"])
    _must(made, words("agent reserve", {"--scope": "src/parser"}))
    return made


def _numbers(value: Any) -> list[float]:
    """Every number in an answer."""
    if isinstance(value, dict | list):
        return [number for each in (value.values() if isinstance(value, dict) else value) for number in _numbers(each)]
    return [value] if type(value) in (int, float) else []


@pytest.mark.parametrize("minutes", SKEWS)
def test_nothing_lasts_less_than_no_time_though_a_clock_is_off(held: Near, minutes: int):
    """cobalt-harbor's clock is off by so much, and it does everything there is to do."""
    off = {"BB_NOW": moment(minutes)}
    _must(held, ["agent", "heartbeat", "--agent", HARBOR], **off)
    _must(held, words("agent reserve", {"--agent": HARBOR, "--scope": "docs"}), **off)
    for verb in ("agent send", "protocol handoff", "protocol blocked"):
        _must(held, words(verb, {"--from": HARBOR, "--to": OTTER}), **off)
        _must(held, words(verb, {"--to": HARBOR}))
    _must(held, words("agent renew", {"--agent": HARBOR, "--scope": "docs"}), **off)

    for verb in VIEWS:
        for now in (NOON, off["BB_NOW"], moment(minutes / 2)):
            told, asked = held.bb(*words(verb), BB_NOW=now), held.json(*words(verb), BB_NOW=now)
            assert told.status == asked.status, verb
            assert asked.status in ((0, 4) if verb == "problems" else (0,)), f"{verb} at {now}: {asked.out}"
            assert not re.search(r"(?<![\w-])[-−]\s?\d", told.out + told.err), f"{verb} at {now}: {told.out}{told.err}"
            assert min(_numbers(asked.envelope), default=0) >= 0, f"{verb} at {now}: {asked.out}"


@pytest.mark.parametrize("flags", [[], ["--allow-overlap"], ["--shared"]], ids=str)
@pytest.mark.parametrize("minutes", SKEWS)
def test_who_is_ahead_or_behind_takes_nothing_over_without_saying_so(held: Near, minutes: int, flags: list[str]):
    off = {"BB_NOW": moment(minutes)}
    _must(held, ["agent", "heartbeat", "--agent", HARBOR], **off)
    theirs = [*words("agent reserve", {"--agent": HARBOR, "--scope": "src/parser"}), *flags]

    refused, told = held.json(*theirs, **off), held.bb(*theirs, **off)

    is_ahead = minutes >= A_DAY
    expected = "RESERVATION_STALE_FOUND" if is_ahead else "RESERVATION_CONFLICT"
    assert (refused.code, refused.status) == (expected, 7)
    assert_refused_alike(refused, told, str(theirs))
    for now in (NOON, off["BB_NOW"]):
        live = _must(held, ["agent", "status"], BB_NOW=now)["reservations"]
        assert {(each["scope"], each["agent_id"]) for each in live} == {("src/parser", OTTER)}
    assert _must(held, words("agent renew"))["state"] == "active"


@pytest.mark.parametrize("minutes", [-10 * A_DAY, -A_DAY, -1, 1])
def test_who_is_behind_takes_nothing_over_at_all_from_one_at_work(held: Near, minutes: int):
    theirs = [*words("agent reserve", {"--agent": HARBOR, "--scope": "src/parser"}), "--takeover-stale"]

    assert held.json(*theirs, BB_NOW=moment(minutes)).code == "RESERVATION_CONFLICT"


@pytest.mark.parametrize("minutes", SKEWS)
def test_what_was_reserved_by_a_clock_that_is_off_is_not_had_by_asking(held: Near, minutes: int):
    _must(held, words("agent reserve", {"--agent": HARBOR, "--scope": "docs"}), BB_NOW=moment(minutes))

    refused = held.json(*words("agent reserve", {"--scope": "docs"}))

    has_ended = minutes <= -A_DAY  # a reservation ends a day after it was made, whoever's day that was
    assert refused.code == ("RESERVATION_STALE_FOUND" if has_ended else "RESERVATION_CONFLICT")
    assert refused.status == 7
    assert HARBOR in refused.envelope["error"]["message"]


@pytest.mark.parametrize("now", ["0001-01-01T00:00:00.000Z", "1969-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"])
def test_the_ends_of_time_are_times(copy: Near, now: str):
    for verb in sorted(CALLS, key=lambda verb: verb == "agent retire"):
        told, asked = (copy.bb(*_named(copy, [*words(verb), *more]), BB_NOW=now) for more in ([], ["--json"]))
        for ran in (told, asked):
            assert ran.status in (0, 3, 4, 6, 7), f"{verb}: {ran}"
            assert is_harmless(ran.out + ran.err), f"{verb}: {ran}"
        shown = "" if verb in OF_FILES else told.out + asked.out  # they count lines: +1 -1
        assert not re.search(r"(?<![\w-])[-−]\s?\d", shown), f"{verb}: {told}{asked}"
    assert copy.json("status").status == 0  # back at noon, all goes on
    assert copy.json("ledger", "verify").status == 0


# -- what is about groups, which is asked for on a socket as often as it is typed

HOSTILE = [
    "",
    " ",
    "\x1b[2J",
    "a\nb",
    "\u202eabc",
    NOT_UTF8,
    "../../x",
    "{",
    "[]",
    "null",
    "1e999",
    "-1",
    "x" * 100_000,
    "--x",
]


@pytest.fixture
def away(copy: Near) -> Near:
    """The same, where no daemon has ever been."""
    copy.settings["CCCC_HOME"] = str(copy.path.parent / "no-home")
    return copy


@pytest.mark.parametrize("op", OF_GROUPS, ids=lambda op: op.name)
def test_whatever_is_said_of_a_group_is_answered_or_refused_and_shown_harmless(away: Near, op: catalogue.Op):
    by_position = [found for found in op.parameters if found.is_argument]
    for at, parameter in enumerate(op.parameters):
        if parameter.kind is Flag:
            continue
        for value in some(HOSTILE, 4, f"{op.name} {parameter.name}"):
            before = ["x"] * by_position.index(parameter) if parameter.is_argument else []
            given = [*before, "--", value] if parameter.is_argument else [f"{parameter.option}={value}"]
            call = [*op.words.split(), *given] if op.group != "call" else _called(op.name, parameter.name, value)
            told, asked = away.bb(*call), away.json(*call) if "--" not in call else away.bb(*call)
            for ran in (told, asked):
                assert ran.status in (0, 2, 3, 4, 5, 6, 7), (at, call[:4], ran.status, ran.err[-500:])
                assert is_harmless(ran.out + ran.err), call[:4]
            assert "INTERNAL_ERROR" not in told.err + asked.out, call[:4]


def _called(name: str, parameter: str, value: str) -> list[str]:
    return ["call", name, "--args", json.dumps({parameter: value})]
