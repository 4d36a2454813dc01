"""A process that appends rows to an engine's log, and says what became of each. Started by the contract suite.

It says `ready`, and begins when it gets a line. When an answer is lost, it sends the same lines again until it knows
their place. Its rows have one to three lines.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module

from bb.ledger.carrier.door import AppendUnknown, EngineUnreachable

CARRIERS = {
    "postgres": ("bb.ledger.carrier.postgres", "PostgresCarrier"),
    "nats": ("bb.ledger.carrier.nats", "NatsCarrier"),
}


def say(**what: object) -> None:
    print(json.dumps(what), flush=True)


def main() -> None:
    asked = json.loads(sys.argv[1])
    module, name = CARRIERS[asked["kind"]]
    carrier = getattr(import_module(module), name)(asked["address"], asked["repo"], asked["incarnation"])
    writer, number = asked["writer"], 1
    carrier.head()
    say(ready=writer)
    sys.stdin.readline()
    for count in range(asked["rows"]):
        lines = [json.dumps({"w": writer, "n": number + each}).encode() for each in range(count % 3 + 1)]
        tries = 0
        while True:
            tries += 1
            try:
                place = carrier.append(writer, number, lines)
                break
            except (AppendUnknown.error, EngineUnreachable.error):
                time.sleep(0.02)
        say(place=place, first=number, lines=len(lines), tries=tries)
        number += len(lines)
    carrier.close()


main()
