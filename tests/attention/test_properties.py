"""What holds of attention whatever happens: no words in a knock, clones that agree, ends that stay."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.attention.decision import Decision
from bb.attention.facts import (
    Arranged,
    AttentionFact,
    Bound,
    Claiming,
    Confirming,
    Deleted,
    Digested,
    Edited,
    Moved,
    Posted,
    Posting,
    Progressed,
    Refusal,
    Tuned,
    Typing,
)
from bb.attention.judging.current_decision import standing
from bb.attention.messages import messages
from bb.attention.rehearsal.rehearsal import Rehearsal
from bb.attention.state import activity, claims, confirmations, conversations, deliveries, threads, transitions
from bb.attention.state.claims import Claim
from bb.attention.state.conversations import CONVERSATION
from bb.attention.state.deliveries import Delivery
from bb.attention.state.memory import Memory
from bb.attention.state.tuning import Tuning
from bb.attention.turns.queries import event_row
from bb.attention.words import (
    ACKNOWLEDGED,
    FAILED,
    FILLER,
    FINAL,
    IGNORED,
    INTENTS,
    MODES,
    MUST_NOT,
    POLICIES,
    RESPONDED,
    SIGNALS,
    STATUS,
    SUPERSEDED,
)
from bb.kernel import clock
from bb.ledger.journal import kinds
from tests.attention.hosts import AMBER, BLUE, InMemory, message
from tests.examples import examples

# -- no words in a knock

WORDS = st.lists(
    st.text(alphabet="qxzkvjwy", min_size=4, max_size=9).map(lambda word: f"{word}ü"), min_size=4, max_size=12
)
KNOCKING = tuple(intent for intent in INTENTS if intent != STATUS)  # a status report is only for the digest
WAYS = (
    {"mentions": ["@backend"]},
    {"mentions": ["@backend"], "thread": "T"},
    {"mentions": ["@backend"], "stream": "acme/kettle"},
    {"recipient": "U1", "conversation": "C-notify"},
    {"mentions": ["U1"], "conversation": "C-notify"},
)


@given(words=WORDS, way=st.sampled_from(WAYS), intent=st.sampled_from(KNOCKING), more=st.text(max_size=200))
def test_no_word_of_a_body_reaches_a_knock(words: list[str], way: dict[str, Any], intent: str, more: str):
    memory = InMemory()
    memory.people((AMBER, "@backend"))
    rule = {"match": {"conversation": "C-notify"}, "set": {"injection": "notify"}}
    memory.do(policy={"rules": [rule]})
    canary = " ".join(words)
    text = f"{canary}\n{more}" if not any("\ud800" <= each <= "\udfff" for each in more) else canary
    parts = [{"type": "text", "text": text}, {"type": "link", "url": f"https://x.example/{words[0]}", "title": canary}]
    line = message("1", "", **way, name=canary, intent=intent)
    memory.do(ingest=line | {"content": parts, "title": canary, "subject": canary})
    told = [memory.do(knocks=AMBER), memory.do(list={"agent": AMBER}), memory.do(pending=AMBER)]
    told += [memory.do(show={"agent": AMBER, "event": "1"}), memory.do(digest=AMBER), memory.do(audit={})]
    (listed,) = told[1]["events"]
    injected = memory.inject()

    is_knocked = not (intent in FILLER and "@backend" in way.get("mentions", ()))  # thanks to a role are let be
    topic = listed["knock"]["topic"] if is_knocked else ""
    assert (len(topic) <= 80, topic.isascii()) == (True, True)
    assert [block["mode"] for block in injected["blocks"]] == ["notify"] * is_knocked
    everything = json.dumps([*told, injected], ensure_ascii=False)
    for word in words:
        assert word not in everything
    said_words = text.split()
    runs = [" ".join(said_words[at : at + 4]) for at in range(len(said_words) - 3)]
    assert not [run for run in runs if run in topic]


# -- clones agree

EVENTS = ("e1", "e2")
AGENTS = (AMBER, BLUE)
NUMBERS = st.integers(0, 3)
NAMES = st.sampled_from(EVENTS)
AGENT = st.sampled_from(AGENTS)
DECISIONS = st.builds(
    lambda policy, mode: Decision("to_me", policy, mode).to_json(), st.sampled_from(POLICIES), st.sampled_from(MODES)
)
FOR = st.dictionaries(AGENT, DECISIONS, max_size=2)
C2A = st.fixed_dictionaries(
    {"event": NAMES, "conversation": st.sampled_from(["C1", "C2"]), "for": FOR, "else": DECISIONS},
    optional={
        "thread": st.sampled_from(["T1", "T2"]),
        "author": st.sampled_from(["W1", AMBER]),
        "author_kind": st.sampled_from(["human", "agent"]),
        "agent": AGENT,
        "in_reply_to": NAMES,
        "sequence": NUMBERS,
        "state": st.sampled_from(["pending", "sent"]),
        "at": st.integers(0, 10**12),
    },
)
STEPS = st.sampled_from(sorted({step for step, *_ in transitions.TRANSITIONS}))
ABOUT = st.fixed_dictionaries(
    {},
    optional={
        "signal": st.sampled_from(sorted(SIGNALS)),
        "remove": st.booleans(),
        "outcome": st.sampled_from(sorted(transitions.OUTCOMES)),
        "until": st.integers(0, 10**12),
        "reason": st.sampled_from(["a", "b"]),
        "attempt": NUMBERS,
        "as": st.sampled_from(["content", "knock"]),
        "by": NAMES,
        "outbound": st.booleans(),
        "version": NUMBERS,
        "decision": DECISIONS,
    },
)
TEXTS = st.sampled_from(["", "one", "two"])
SAID = st.builds(Posted, st.just("svc:x"), C2A, TEXTS)
USERS = st.sampled_from(["member slack:U1", "member slack:U2"])
FACTS: st.SearchStrategy[AttentionFact] = st.one_of(
    SAID,
    SAID,
    SAID,
    st.builds(Edited, st.just("svc:x"), NAMES, NUMBERS, C2A, TEXTS),
    st.builds(Deleted, st.just("svc:x"), NAMES),
    st.builds(Moved, AGENT, NAMES, AGENT, STEPS, ABOUT),
    st.builds(
        Claiming,
        AGENT,
        st.sampled_from(["event e1", "event e2", "thread C1 T1"]),
        st.sampled_from(claims.ACTIONS),
        st.fixed_dictionaries({}, optional={"to": AGENT, "ttl_ms": st.integers(1, 10**7)}),
    ),
    st.builds(
        Confirming,
        AGENT | st.just("user") | st.just("svc:slack"),
        st.sampled_from(["confirm-1", "confirm-2"]),
        st.sampled_from(["ask", "allow", "refuse"]),
        st.just({"message": "x"}),
    ),
    st.builds(Arranged, st.just("svc:slack"), st.just("C1"), st.dictionaries(USERS, st.booleans(), max_size=2)),
    st.builds(Arranged, st.just("svc:slack"), st.just("C1"), st.just({"listed": ["slack:U1"], "is_private": True})),
    st.builds(Bound, st.just("user"), AGENT, st.fixed_dictionaries({"handles": st.lists(TEXTS, max_size=2)})),
    st.builds(Arranged, st.just("user"), st.sampled_from(["C1", "C2"]), st.dictionaries(TEXTS, TEXTS, max_size=2)),
    st.builds(Tuned, st.just("user"), st.dictionaries(TEXTS, NUMBERS, max_size=2)),
    st.builds(Typing, st.just("svc:x"), st.sampled_from(["C1 ", "C1 T1"]), TEXTS, st.booleans()),
    st.builds(Posting, st.just("user"), NAMES, st.sampled_from(["pending", "sent", "failed", "unknown"]), st.none()),
    st.builds(Posting, st.just("user"), NAMES, st.just("sent"), st.fixed_dictionaries({"platform_id": st.just("p1")})),
    st.builds(Progressed, AGENT, TEXTS, st.fixed_dictionaries({"progress": NUMBERS})),
    st.builds(Digested, AGENT, TEXTS),
    st.builds(Refusal, AGENT, st.just("POLICY_FORBIDS"), st.just({"event_id": "e1"})),
)
WRITERS = ("aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc")


def clones() -> list[Rehearsal]:
    return [Rehearsal(writer=writer) for writer in WRITERS]


def agree(some: list[Rehearsal]) -> None:
    """All that is folded, and all that is found, is the same in each."""
    first, *others = (each.memory for each in some)
    for other in others:
        assert other.everything() == first.everything()
        for fold in (messages, deliveries, claims, confirmations, activity):
            terms = {term for key, state in first.states(fold.NAME) for term, _ in fold.terms(key, state)}
            for term in sorted(terms):
                assert other.entries_by_term(fold.NAME, term) == first.entries_by_term(fold.NAME, term)
                assert list(other.newest_first(fold.NAME, term)) == list(first.newest_first(fold.NAME, term))
                assert other.count(fold.NAME, term) == first.count(fold.NAME, term)


@given(
    dealt=st.lists(st.tuples(st.integers(0, 2), FACTS, st.integers(0, 10**9)), min_size=6, max_size=24),
    merges=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 30)), max_size=8),
    order=st.permutations([(into, out) for into in range(3) for out in range(3) if into != out]),
)
@examples(200)
def test_clones_agree_in_whatever_order_they_learn_of_each_other(
    dealt: list[tuple[int, AttentionFact, int]],
    merges: list[tuple[int, int, int]],
    order: list[tuple[int, int]],
):
    some = clones()
    for number, (to, fact, now) in enumerate(dealt):
        some[to].record([fact], clock.parse("2026-06-02T19:00:00Z") + now)
        for into, out, when in merges:
            if when == number and into != out:
                some[into].merge(some[out])
    for into, out in [*order, *order]:
        some[into].merge(some[out])

    assert all(each.merge(other) == 0 for each in some for other in some if each is not other)
    agree(some)


@given(st.data())
@examples(200)
def test_the_order_in_which_facts_arrive_changes_nothing(data: st.DataObject):
    facts = data.draw(st.lists(st.tuples(FACTS, st.integers(1, 9), st.sampled_from(WRITERS)), min_size=6, max_size=16))
    placed = [
        (fact, [lamport, writer, n], clock.text(1_780_000_000_000 + 1000 * n))
        for n, (fact, lamport, writer) in enumerate(facts, 1)
    ]
    twice = data.draw(st.permutations([*placed, *data.draw(st.lists(st.sampled_from(placed), max_size=4))]))
    one, other = Rehearsal(), Rehearsal()
    for fact, at, ts in placed:
        one.take(fact, at, ts)
    for fact, at, ts in twice:
        other.take(fact, at, ts)

    agree([one, other])


# -- ends stay

# from -> to: by which step alone, or by any
GOES_ON = {
    (ACKNOWLEDGED, RESPONDED): None,
    (IGNORED, SUPERSEDED): transitions.DELETED,  # what is gone was not let be
    (RESPONDED, FAILED): transitions.UNSENT,  # what could not be posted was no answer
    (SUPERSEDED, None): transitions.RESTORED,  # what it was merged into was taken away
}


@given(
    policy=st.sampled_from(POLICIES),
    intent=st.sampled_from(INTENTS),
    steps=st.lists(st.tuples(STEPS, ABOUT), min_size=6, max_size=25),
)
@examples(300)
def test_what_has_ended_has_ended(policy: str, intent: str, steps: list[tuple[str, dict[str, Any]]]):
    memory = Memory()
    decided = Decision("to_me", policy, "buffered").to_json()
    c2a = {"event": "e", "conversation": "C1", "author": "W1", "for": {AMBER: decided}, "intent": intent}
    memory.take(Posted("svc:x", c2a, "hello"), [1, WRITERS[0], 1], "2026-06-02T19:00:00.000Z")
    before = disposition(memory)
    policies = [policy]
    for n, (to, about) in enumerate(steps, 2):
        memory.take(Moved(AMBER, "e", AMBER, to, about), [n, WRITERS[0], n], "2026-06-02T19:00:01.000Z")
        after = disposition(memory)
        policies.append(delivery(memory).decision.policy)
        is_judged_anew = before == IGNORED and MUST_NOT in policies[-2:]
        if before in FINAL and before != FAILED and after != before and not is_judged_anew:
            assert GOES_ON.get((before, after), "no step") in (None, to), (before, to, after)
        before = after


def delivery(memory: Memory) -> deliveries.Delivery:
    return deliveries.delivery_of_state(f"e {AMBER}", memory.state(deliveries.NAME, f"e {AMBER}"))


def disposition(memory: Memory) -> str | None:
    return delivery(memory).disposition


@pytest.mark.parametrize("final", [RESPONDED, ACKNOWLEDGED, IGNORED, SUPERSEDED, FAILED])
def test_each_end_can_be_reached_so_the_above_is_about_something(final: str):
    ways = {
        RESPONDED: (transitions.ANSWERED, {}),
        ACKNOWLEDGED: (transitions.REACTED, {"signal": "agree"}),
        IGNORED: (transitions.REACTED, {"signal": "declined"}),
        SUPERSEDED: (transitions.MERGED, {"by": "x"}),
        FAILED: (transitions.REJECTED, {"reason": "x"}),
    }
    memory = Memory()
    decided = Decision("to_me", "must_respond", "buffered").to_json()
    memory.take(Posted("svc:x", {"event": "e", "for": {AMBER: decided}}, ""), [1, WRITERS[0], 1], "")
    memory.take(Moved(AMBER, "e", AMBER, *ways[final]), [2, WRITERS[0], 2], "")

    assert disposition(memory) == final


# -- a line of history may hold anything

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def told(*members: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(members), JSON, max_size=5)


ANY_C2A = st.builds(
    lambda sound, odd, gone: {name: value for name, value in (sound | odd).items() if name not in gone},
    C2A,
    told(*messages.KEPT, "for", "event", "parts", "mentions", "body", "signal"),
    st.sets(st.sampled_from([*messages.KEPT, "for", "event"]), max_size=3),
)
ANY_ABOUT = st.builds(
    lambda sound, odd: sound | odd,
    ABOUT,
    told("signal", "as", "attempt", "until", "merged_from", "outcome", "version", "decision", "counts_as", "eta", "by"),
)
ODD: st.SearchStrategy[AttentionFact] = st.one_of(
    st.builds(Posted, st.just("svc:x"), ANY_C2A, TEXTS),
    st.builds(Edited, st.just("svc:x"), NAMES, st.integers(1, 4), ANY_C2A, TEXTS),
    st.builds(Moved, AGENT, NAMES, AGENT, STEPS, ANY_ABOUT),
    st.builds(Claiming, AGENT, st.just("event e1"), st.sampled_from(claims.ACTIONS), told("to", "ttl_ms")),
    st.builds(Confirming, AGENT, TEXTS, TEXTS, told("event", "to", "by")),
    st.builds(Arranged, st.just("svc:x"), st.just("C1"), told("member slack:U1", "listed", "is_private")),
    st.builds(Bound, st.just("user"), AGENT, told("handles", "roles", "streams", "threads")),
    st.builds(Arranged, st.just("user"), st.just("C1"), told(*conversations.POINTS)),
    st.builds(Tuned, st.just("user"), told(*Tuning.__match_args__)),
    st.builds(Posting, st.just("user"), NAMES, TEXTS | st.just("sent"), told("platform_id", "type", "reason")),
    st.builds(Progressed, AGENT, TEXTS, told("progress", "message", "total")),
    st.builds(Refusal, AGENT, TEXTS, told("event_id", "owner")),
)


@given(st.lists(ODD, max_size=10))
@examples(300)
def test_no_line_of_history_breaks_anything(facts: list[AttentionFact]):
    rehearsal = Rehearsal(agents={})
    for number, fact in enumerate(facts, 1):
        read = kinds.fact_of(*kinds.kind_and_data(fact), fact.by)  # what does not fit is no fact
        if read is not None:
            rehearsal.take(read, [number, WRITERS[0], number], "2026-06-02T19:00:00.000Z")
    memory, book = rehearsal.memory, rehearsal.book

    for key, state in memory.states(messages.NAME):
        known = messages.message_of_state(key, state)
        if known:
            delivery = book.delivery(key, AMBER) or Delivery(key, AMBER)
            event_row(book, AMBER, known, standing(delivery, Claim(key), 0, book.tuning), 0)
    for key, _ in memory.states(deliveries.NAME):
        event, _, agent = key.rpartition(" ")
        book.delivery(event, agent)
    for key, state in memory.states(claims.NAME):
        claims.claim_of_state(key, state)
    for key, state in memory.states(threads.NAME):
        threads.thread_before(state, [5, WRITERS[0], 5])
        book.thread(key)
    for key, _ in memory.states(conversations.NAME):
        book.conversation(key.removeprefix(CONVERSATION))
    assert book.tuning
    assert book.directory
