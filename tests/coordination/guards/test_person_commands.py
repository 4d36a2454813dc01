"""What an agent must not say in the person's place, as a shell would run it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bb.coordination.guards import hazards


@pytest.mark.parametrize(
    ("command", "order"),
    [
        ("bb thaw --all", "bb thaw --all"),
        ("cd src && bb freeze . --why x", "bb freeze ."),
        ("bb chat confirm confirm-49720bc899f4", "bb chat confirm"),
        ("bb agent pause cobalt-harbor", "bb agent pause"),
        ("bb init --stale-minutes 1", "bb init --stale-minutes"),
        ("bb init --stale-minutes=default", "bb init --stale-minutes=default"),
        ("bb agent unpause --all", "bb agent unpause"),
        ("env -u BB_AGENT bb thaw src", "bb thaw src"),
        ("BB_AGENT= bb thaw src", "bb thaw src"),
        ("BB_AGENT=user bb thaw src", "bb thaw src"),
        ("/usr/local/bin/bb thaw src", "bb thaw src"),
        ("python3 -m bb thaw src", "bb thaw src"),
        ("bash -c 'bb thaw src'", "bb thaw src"),
        ("bb agent release --agent user --scope src", "bb agent release"),
        ("bb agent transfer --to me --agent=user --scope src", "bb agent transfer"),
        ("bb protocol resolve a.1 --as accepted --agent user", "bb protocol resolve"),
        ("bb agent send --from user --to cobalt-harbor", "bb agent send"),
        ("bb ledger redact a.1 --agent user --reason x", "bb ledger redact"),
    ],
)
def test_an_order_or_an_act_in_the_persons_name_is_found(command: str, order: str):
    assert hazards.find_person_command(command, lambda words: False) == order


@pytest.mark.parametrize(
    "command",
    [
        "bb status",
        "bb freeze --help",
        "bb agent send --from amber-otter --to user --bead b --category INFO --subject x --body 'bb thaw src'",
        "bb agent release --agent amber-otter --all",
        "echo bb thaw src",
        "git commit -m 'bb thaw src'",
        "abb thaw",
        "python -m bbb thaw",
        "python -m",
        "bb",
        "'",
        "",
    ],
)
def test_what_an_agent_may_say_is_left_alone(command: str):
    assert hazards.find_person_command(command, lambda words: False) is None


def test_reading_in_the_persons_name_is_left_alone():
    def reads(words: Sequence[str]) -> bool:
        return list(words[:2]) == ["agent", "inbox"]

    assert hazards.find_person_command("bb agent inbox --agent user", reads) is None
    assert hazards.find_person_command("bb agent ack --agent user", reads) == "bb agent ack"
