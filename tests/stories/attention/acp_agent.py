"""An agent program of our own that speaks ACP and does exactly what a file tells it to: `python acp_agent.py FOLDER`.

`script.json` in FOLDER has `greeting`, what it answers to `initialize`, and `turns`, a list of steps for each prompt;
the last one is repeated. What it was sent is in `heard.jsonl`. It uses the standard library only, so it starts fast.
"""

import json
import os
import subprocess
import sys
import time

FOLDER = sys.argv[1]


def script():
    with open(os.path.join(FOLDER, "script.json")) as file:
        return json.load(file)


def say(**message):
    raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def raw(octets):
    sys.stdout.buffer.write(octets)
    sys.stdout.buffer.flush()


def hear():
    line = sys.stdin.buffer.readline()
    if not line:
        sys.exit(0)
    with open(os.path.join(FOLDER, "heard.jsonl"), "ab") as file:
        file.write(line)
    return json.loads(line)


def update(**of):
    say(method="session/update", params={"sessionId": "s1", "update": of})


def text(words, kind="agent_message_chunk"):
    update(sessionUpdate=kind, content={"type": "text", "text": words})


def ask(permission):
    say(id="ask-1", method="session/request_permission", params={"sessionId": "s1", **permission})
    while True:
        message = hear()
        if message.get("method") == "session/cancel":
            continue
        if message.get("id") == "ask-1":
            return message["result"]["outcome"]


def call_tool(servers, name, arguments):
    """Call a tool of the MCP server of the session."""
    (server,) = servers
    env = {**os.environ, **{each["name"]: each["value"] for each in server["env"]}}
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": name, "arguments": arguments}},
    ]
    given = "".join(json.dumps(line) + "\n" for line in lines)
    words = [server["command"], *server["args"]]
    done = subprocess.run(words, input=given, capture_output=True, text=True, env=env)
    return json.loads(done.stdout.splitlines()[-1])["result"]


def fail(number, error):
    say(id=number, error=error)
    return ""


def request(message):
    say(id="other-1", **message)
    text(json.dumps(hear()))


def wait(_, obeys):
    """Wait for the cancellation, and obey it if OBEYS."""
    while hear().get("method") != "session/cancel" or not obeys:
        pass
    return "cancelled"


def begin_child():
    """Start a process that outlives this one, unless its group is ended."""
    child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    with open(os.path.join(FOLDER, "child"), "w") as file:
        file.write(str(child.pid))


DOES = {
    "text": text,
    "think": lambda words: text(words, "agent_thought_chunk"),
    "call": lambda title: update(
        sessionUpdate="tool_call", toolCallId="c1", title=title, kind="read", status="pending"
    ),
    "ask": lambda permission: text(json.dumps(ask(permission))),
    "request": request,
    "raw": lambda words: raw(words.encode("utf-8", "surrogateescape")),
    "flood": lambda size: raw(b"x" * size + b"\n"),
    "stderr": lambda line: print(line, file=sys.stderr, flush=True),
    "child": lambda _: begin_child(),
    "die": sys.exit,
}
ENDS = {"stop": lambda _, why: why, "error": fail, "wait": wait}


def turn(number, steps, servers):
    """Do the STEPS of a prompt; the reason for its end, empty if it was answered."""
    for what, with_ in steps:
        if what in ENDS:
            return ENDS[what](number, with_)
        if what == "tool":
            call_tool(servers, *with_)
        else:
            DOES[what](with_)
    return "end_turn"


def main():
    count, servers = 0, []
    told = script()
    if told.get("mute"):
        time.sleep(600)
    while True:
        message = hear()
        method, number = message.get("method"), message.get("id")
        if method == "initialize":
            say(id=number, **told.get("greeting", {"result": {"protocolVersion": 1}}))
        elif method in ("session/new", "session/load"):
            servers = message["params"]["mcpServers"]
            if method == "session/load":
                text("an old answer")
            say(id=number, **told.get(method, {"result": {"sessionId": "s1"}}))
        elif method == "session/prompt":
            turns = script()["turns"]
            stop = turn(number, turns[min(count, len(turns) - 1)], servers)
            count += 1
            if stop:
                say(id=number, result={"stopReason": stop})


main()
