"""Nothing that is typed wrongly for dialects or talk is recorded, crashes bb, or reaches a terminal raw."""

from __future__ import annotations

import pytest

from bb.ops import catalogue
from bb.ops.params import Flag
from tests.near import Near
from tests.stories.agents.agents_support import ESCAPES, is_harmless, nothing_written
from tests.stories.cbcl.cbcl_support import AMBER, COBALT, WORK, at_noon, install, say

CALLS: dict[str, dict[str, str]] = {
    "cbcl dialect install": {"FILE": "work.cbcl"},
    "cbcl dialect list": {},
    "cbcl dialect show": {"NAME": "work"},
    "cbcl dialect remove": {"NAME": "work"},
    "cbcl dialect teach": {"NAME": "work", "--to": COBALT, "--agent": AMBER},
    "cbcl dialect query": {"NAME": "work", "--to": COBALT, "--agent": AMBER},
    "cbcl send": {"MESSAGE": f"(hello @{COBALT})", "--agent": AMBER},
    "cbcl hear": {"--agent": COBALT},
    "cbcl pending": {"--agent": COBALT},
    "cbcl beliefs": {"--agent": COBALT},
    "cbcl conversations": {"--agent": COBALT},
}
VALUES = [
    (op.words, parameter.name.upper() if parameter.is_argument else parameter.option)
    for op in catalogue.all_ops()
    if op.words in CALLS
    for parameter in op.parameters
    if parameter.kind is not Flag
]
EVERY = pytest.mark.parametrize(("verb", "option"), VALUES, ids=[" ".join(each) for each in VALUES])
FREE = ("--allow-secret", "--key")  # a reason may say anything, and a key may be any one line
MAY_BE_ANYTHING = [("cbcl conversations", "THREAD")]  # of which nothing was said, then
OF_DIALECTS = ("cbcl dialect query", "NAME")  # which others may speak


def words(verb: str, option: str = "", value: str = "") -> list[str]:
    """VERB as it is called rightly, but for one VALUE."""
    given = CALLS[verb] | ({option: value} if option else {})
    if option == "--text":
        del given["FILE"]
    arguments = [each for name, each in given.items() if not name.startswith("-")]
    named = [word for name, each in given.items() if name.startswith("-") for word in (name, each)]
    return [*verb.split(), *named, *(["--", *arguments] if arguments else [])]


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Near:
    made = at_noon(tmp_path_factory.mktemp("bad") / "repo", AMBER, COBALT)
    (made.path / "work.cbcl").write_text(WORK)
    assert install(made, WORK).status == 0
    say(made, AMBER, f"(tell @{COBALT} (x) :thread t)")
    return made


def test_every_verb_of_dialects_and_talk_is_tried():
    modules = ("bb.ops.cbcl.dialects", "bb.ops.cbcl.talk")
    assert {op.words for op in catalogue.all_ops() if op.call.__module__ in modules} == set(CALLS)


HOSTILE = ["", " ", ESCAPES, "a\nb", "x" * 100_000, "\udcff"]
ODD = ["-", "../x", "'; drop table state; --"]


@EVERY
@pytest.mark.parametrize("value", HOSTILE + ODD, ids=range(9))
def test_a_value_that_is_none_is_refused_alike_to_programs_and_people(repo: Near, verb: str, option: str, value: str):
    if (option in FREE and value not in ("", " ", "x" * 100_000)) or ((verb, option) == OF_DIALECTS and value in ODD):
        return
    call = words(verb, option, value)
    start = len(verb.split())
    with nothing_written(repo):
        asked, told = repo.bb(*call[:start], "--json", *call[start:]), repo.bb(*call)

    assert asked.status == told.status != 1
    assert is_harmless(asked.out)
    assert is_harmless(told.out + told.err)
    assert len(told.err) < 2000
    if (verb, option) not in MAY_BE_ANYTHING:
        assert asked.status, asked.out
        assert told.out == ""
