"""Every example of the Internet-Draft of November 2025 is read, and every expansion that it shows comes out exactly."""

from __future__ import annotations

import pytest

from bb.cbcl.judge import verification
from bb.cbcl.read import exchange, grammar
from bb.cbcl.read.tree import text_of
from tests.cbcl.trees import definition, expanded, read, tree

LOGISTICS = """
(define logistics-dialect
  :extends cbcl
  :author @logistics-consortium
  :resources (:max-depth 16
              :max-expansion-size 4096
              :max-verify-time 1000)
  (extend track-shipment
    (package-id &key route priority)
    (tell @tracking-service
      (shipment-request
        :package package-id
        :route route
        :priority (or priority "normal"))
      :domain logistics))
  (extend confirm-delivery
    (package-id recipient timestamp)
    (tell recipient
      (delivery-confirmed
        :package package-id
        :time timestamp)
      :domain logistics)))
"""
PLANNING = """
(define planning-dialect
  :extends cbcl
  :author @ai-research-lab
  :resources (:max-depth 20
              :max-expansion 4096
              :max-verify-time 2000)
  (extend propose-action
    (action preconditions effects)
    (tell @planner
      (action-proposal
        :action action
        :requires preconditions
        :achieves effects)
      :domain planning))
  (extend query-plan
    (goal constraints)
    (ask @planner
      (plan-request
        :goal goal
        :constraints constraints)
      :domain planning)))
"""
TEACHING = """
(meta (teach @bob
  (signed "base64-encoded-signature"
    (define logistics-dialect
      :extends cbcl
      :author @logistics-consortium
      :resources (:max-depth 16
                  :max-expansion 4096
                  :max-verify-time 1000)
      ; ... performative definitions ...
      ))))
"""
EXAMPLES = {
    "2.4 simple tell": '(tell @bob "The meeting is at 3pm")',
    "2.4 ask with parameters": """(ask @alice "What is the status of task-42?"
  :thread conversation-17
  :timeout 30)
""",
    "2.4 reply with threaded context": """(reply @alice "Task-42 is 75% complete"
  :thread conversation-17
  :in-reply-to msg-id-9874)
""",
    "2.5 envelope with metadata": """(envelope :from @alice
  :to @bob
  :timestamp "2025-01-15T14:30:00Z"
  (tell @bob "Hello"))
""",
    "3.1 dialect definition": f"(meta {LOGISTICS})",
    "3.3 first expansion": """(tell @tracking-service (shipment-request :package "PKG-12345" :route "A->B"
  :priority "urgent") :domain logistics)""",
    "3.4 a call in its dialect": """(lang logistics-dialect
  (track-shipment "PKG-12345"
    :route "warehouse-A->depot-B"
    :priority "urgent"))
""",
    "3.4 what it expands to": """(tell @tracking-service
  (shipment-request
    :package "PKG-12345"
    :route "warehouse-A->depot-B"
    :priority "urgent")
  :domain logistics)
""",
    "3.5 capability query": "(meta (query (speak? logistics-dialect)))",
    "3.5 capability response": """(reply @querying-agent "yes"
  :dialects (logistics-dialect planning-dialect))
""",
    "3.6 teaching": TEACHING,
    "4.5 error": """(error @sender "Unknown dialect: advanced-planning"
  :in-reply-to msg-id-4567)
""",
    "A.2 planning dialect": f"(meta {PLANNING})",
    "A.2 using it": """(lang planning-dialect
  (propose-action
    "move-box-A-to-shelf-3"
    (list "box-A-location-known" "robot-arm-free")
    (list "box-A-on-shelf-3")))
""",
    "A.2 expanded": """(tell @planner
  (action-proposal
    :action "move-box-A-to-shelf-3"
    :requires ("box-A-location-known" "robot-arm-free")
    :achieves ("box-A-on-shelf-3"))
  :domain planning)
""",
    "A.3 unknown dialect": """; Agent attempts to use unknown dialect
(lang unknown-dialect
  (custom-action "data"))
""",
    "A.3 its error": """; Recipient responds with error
(error @sender "Dialect not installed: unknown-dialect"
  :code "UNKNOWN_DIALECT"
  :in-reply-to msg-id-7890)
""",
    "A.4 signed and enveloped": """(envelope
  :from @alice
  :to @bob
  :timestamp "2025-01-15T10:30:00Z"
  (signed "base64-signature-data-here"
    (tell @bob "Confidential information"
      :classification "restricted")))
""",
    "A.4 resource-limited": """(with-limits :timeout 100 :max-depth 10 :max-expansion-size 4096
  (ask @reasoner
    "Compute optimal path given constraints"
    :constraints (very-complex-constraint-data)))
""",
}
CONVERSATION = """; Alice greets Bob
(hello @bob)
; Bob responds
(hello @alice)
; Alice asks a question
(ask @bob "What is the temperature?"
  :thread weather-chat-1)
; Bob replies
(reply @alice "23 degrees Celsius"
  :thread weather-chat-1)
; Alice acknowledges
(ok @bob :thread weather-chat-1)
; Conversation ends
(bye @bob)
"""
TRACKED = '(tell @tracking-service (shipment-request :package "PKG-12345" :route {} :priority {}) :domain logistics)'
TRACKING = {
    '(track-shipment "PKG-12345" :route "A->B" :priority "urgent")': TRACKED.format('"A->B"', '"urgent"'),
    '(track-shipment "PKG-12345" :route "A->B")': TRACKED.format('"A->B"', '"normal"'),
    '(track-shipment "PKG-12345" :route "warehouse-A->depot-B" :priority "urgent")': TRACKED.format(
        '"warehouse-A->depot-B"', '"urgent"'
    ),
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_of_the_draft_is_read_and_means_the_same_in_canonical_text(example: str):
    message = read(EXAMPLES[example])

    assert exchange.message_json(read(text_of(message.node))) == exchange.message_json(message)


def test_a_1_the_conversation_of_the_draft_is_six_messages():
    said = [exchange.message_json(each) for each in grammar.messages(CONVERSATION.encode())]

    assert [(each["performative"], each["recipient"]) for each in said] == [
        ("hello", "@bob"),
        ("hello", "@alice"),
        ("ask", "@bob"),
        ("reply", "@alice"),
        ("ok", "@bob"),
        ("bye", "@bob"),
    ]
    assert [each["params"] for each in said[2:5]] == [[["thread", ["sym", "weather-chat-1"]]]] * 3


@pytest.mark.parametrize("call", TRACKING)
def test_3_3_a_call_expands_as_the_draft_shows(call: str):
    assert expanded(f"(lang logistics-dialect {call})", LOGISTICS) == [TRACKING[call]]


def test_3_4_the_call_in_its_dialect_expands_as_the_draft_shows():
    shown = text_of(tree(EXAMPLES["3.4 what it expands to"]))

    assert expanded(EXAMPLES["3.4 a call in its dialect"], LOGISTICS) == [shown]


def test_a_2_the_planning_call_expands_as_the_draft_shows():
    shown = text_of(tree(EXAMPLES["A.2 expanded"]))

    assert expanded(EXAMPLES["A.2 using it"], PLANNING) == [shown]


@pytest.mark.parametrize("text", [LOGISTICS, PLANNING, f"(meta {LOGISTICS})", f"(meta {PLANNING})", TEACHING])
def test_the_dialects_of_the_draft_may_be_installed_without_a_warning(text: str):
    verdict = verification.verify(definition(text))

    assert (verdict.violations, verdict.warnings) == ((), ())


def test_3_6_the_lesson_carries_its_signature_and_the_dialect():
    shown = exchange.message_json(read(TEACHING))

    assert (shown["op"], shown["recipient"], shown["signature"]) == ("teach", "@bob", "base64-encoded-signature")
    assert shown["dialect"]["resources"] == {"max-depth": 16, "max-expansion-size": 4096, "max-verify-time": 1000}
    assert (shown["dialect"]["author"], shown["dialect"]["performatives"]) == ("@logistics-consortium", [])


def test_a_4_the_wrappers_of_the_draft_say_what_they_say():
    envelope = exchange.message_json(read(EXAMPLES["A.4 signed and enveloped"]))
    limited = exchange.message_json(read(EXAMPLES["A.4 resource-limited"]))

    assert (envelope["from"], envelope["to"], envelope["timestamp"]) == ("@alice", "@bob", "2025-01-15T10:30:00Z")
    assert envelope["inner"]["signature"] == "base64-signature-data-here"
    assert envelope["inner"]["inner"]["params"] == [["classification", ["str", "restricted"]]]
    assert (limited["timeout"], limited["max-depth"], limited["max-expansion-size"]) == (100, 10, 4096)
    assert limited["inner"]["performative"] == "ask"
