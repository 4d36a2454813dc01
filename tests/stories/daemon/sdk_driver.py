"""A published client of CCCC at work in a process of its own, told by lines of JSON what to call; see `sdk_support`.

It is run with the client's folder in PYTHONPATH, and with nothing of ours: driven is what people have installed.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
from typing import Any

from cccc_sdk import CCCCClient

PATIENCE = 30.0


def main() -> None:
    """Do as each line says, and write a line about how it went."""
    client = CCCCClient(timeout_s=PATIENCE)
    streams: dict[str, queue.Queue[dict[str, Any]]] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            said = {"result": do(client, streams, **asked)}
        except Exception as error:  # whatever the client raises is what the test wants to know
            said = {"raised": told(error)}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


def do(client: Any, streams: dict[str, queue.Queue[dict[str, Any]]], *, what: str, name: str, args: Any) -> Any:
    if what == "call":
        return getattr(client, name)(**args)
    if what == "listen":
        streams[name] = items = queue.Queue()
        threading.Thread(target=listen, args=(client, args, items), daemon=True).start()
        return None
    try:
        return streams[name].get(timeout=args)
    except queue.Empty:
        return {"nothing": True}


def listen(client: Any, args: dict[str, Any], items: queue.Queue[dict[str, Any]]) -> None:
    """Pass on what a stream says, and how it ends."""
    try:
        for item in client.events_stream(**args):
            items.put({"item": item})
        items.put({"ended": True})
    except Exception as error:
        items.put({"raised": told(error)})


def told(error: Exception) -> dict[str, Any]:
    found = {"type": type(error).__name__, "text": str(error)}
    return found | {name: getattr(error, name) for name in ("code", "message", "details") if hasattr(error, name)}


if __name__ == "__main__":
    main()
