"""The plugin by which OpenCode calls bb's hooks. OpenCode runs no commands at its hooks, but loads `.opencode/plugins`.

The plugin passes on what happens, in the vocabulary of Claude Code, and obeys the answers: a refused tool throws, which
prevents it. If bb cannot be run, tools run. A session that OpenCode starts for a sub-agent counts as its parent.
"""

from __future__ import annotations

from bb.coordination.wiring import marked_section
from bb.kernel import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COMMANDS = "const commands = "

# `{commands}` is an object: our moment -> the words of the command.
PLUGIN = """\
// Calls bb before and after each tool, so that no agent changes what another one holds.
// Written by `bb hooks install --editor opencode`; `bb hooks uninstall --editor opencode` removes it.
import {{ spawn, spawnSync }} from "node:child_process"

{commands_is}{commands}
const milliseconds = 10000
const events = {{
  "pre-tool": "PreToolUse",
  "post-tool": "PostToolUse",
  "session-start": "SessionStart",
  prompt: "UserPromptSubmit",
  "session-end": "SessionEnd",
}}
const reading = new Set(["read", "glob", "grep", "list", "skill", "task", "todowrite", "webfetch", "websearch"])

export const BbPlugin = async ({{ directory }}) => {{
  const parents = new Map() // the session of a sub-agent -> the session that started it
  const welcomes = new Map() // session -> a promise of what its agent is told at the start
  const warnings = new Map() // call of a tool -> what the agent is told after it
  const begun = new Set() // calls of tools that bb let run and that have not ended

  const top = (session) => (parents.has(session) ? top(parents.get(session)) : session)

  const input = (moment, session, more) =>
    JSON.stringify({{ hook_event_name: events[moment], session_id: top(session), cwd: directory, ...more }})

  // The answer of bb; an empty one if it says nothing or cannot be run, because a guard must not stop the editor.
  const ask = (moment, session, more = {{}}) =>
    new Promise((answer) => {{
      const [program, ...words] = commands[moment]
      const child = spawn(program, words, {{ cwd: directory, stdio: ["pipe", "pipe", "ignore"] }})
      const clock = setTimeout(() => child.kill(), milliseconds)
      let said = ""
      child.stdout.on("data", (octets) => (said += octets))
      child.on("error", () => (clearTimeout(clock), answer({{}})))
      child.on("close", () => {{
        clearTimeout(clock)
        try {{
          answer(JSON.parse(said))
        }} catch {{
          answer({{}})
        }}
      }})
      child.stdin.on("error", () => {{}})
      child.stdin.end(input(moment, session, more))
    }})

  const context = (answer) => answer.hookSpecificOutput?.additionalContext ?? ""

  const welcome = (session) => {{
    const own = top(session)
    if (!welcomes.has(own)) welcomes.set(own, ask("session-start", own, {{ source: "startup" }}).then(context))
    return welcomes.get(own)
  }}

  const end = (session) => {{
    if (!welcomes.delete(session)) return
    const [program, ...words] = commands["session-end"]
    const given = input("session-end", session, {{ reason: "other" }})
    const stdio = ["pipe", "ignore", "ignore"]
    spawnSync(program, words, {{ cwd: directory, input: given, stdio, timeout: milliseconds }})
  }}

  const endAll = () => [...welcomes.keys()].forEach(end)
  process.once("exit", endAll)

  return {{
    dispose: async () => endAll(),

    event: async ({{ event }}) => {{
      const about = event.properties?.info
      if (event.type === "session.created" && about?.parentID) parents.set(about.id, about.parentID)
      if (event.type === "session.deleted" && about) end(about.id)
      const part = event.properties?.part // OpenCode calls no hook after a tool that has failed
      if (part?.state?.status !== "error" || !begun.delete(part.callID)) return
      await ask("post-tool", part.sessionID, {{ tool_name: part.tool, tool_input: part.state.input }})
    }},

    "shell.env": async ({{ sessionID }}, output) => {{
      if (sessionID) output.env.BB_SESSION = top(sessionID)
    }},

    "experimental.chat.system.transform": async ({{ sessionID }}, output) => {{
      const told = sessionID ? await welcome(sessionID) : ""
      if (told) output.system.push(told)
    }},

    "chat.message": async ({{ sessionID }}, {{ message, parts }}) => {{
      await welcome(sessionID)
      const text = parts.length ? context(await ask("prompt", sessionID)) : ""
      const id = `${{parts.at(-1)?.id}}b` // after the user's own words
      if (text) parts.push({{ id, sessionID, messageID: message.id, type: "text", synthetic: true, text }})
    }},

    "tool.execute.before": async ({{ tool, sessionID, callID }}, {{ args }}) => {{
      if (reading.has(tool)) return
      await welcome(sessionID)
      const answer = await ask("pre-tool", sessionID, {{ tool_name: tool, tool_input: args }})
      const verdict = answer.hookSpecificOutput
      if (verdict?.permissionDecision === "deny") throw new Error(verdict.permissionDecisionReason)
      begun.add(callID)
      if (context(answer)) warnings.set(callID, context(answer))
    }},

    "tool.execute.after": async ({{ tool, sessionID, callID, args }}, output) => {{
      begun.delete(callID)
      const answer = await ask("post-tool", sessionID, {{ tool_name: tool, tool_input: args }})
      const told = [warnings.get(callID), context(answer)]
      warnings.delete(callID)
      for (const text of told) if (text) output.output = `${{output.output}}\\n\\n${{text}}`
    }},
  }}
}}
"""


def plugin(commands: Mapping[str, Sequence[str]]) -> str:
    """The text of the plugin with these COMMANDS, each a list of words by its moment."""
    text = PLUGIN.format(commands_is=COMMANDS, commands=json_text.dumps(dict(commands)))
    return marked_section.sealed(f"{text}// ")


def moments(text: str) -> list[str]:
    """The moments at which a plugin with this TEXT calls bb; none if it is not a plugin of bb."""
    line = next((line for line in text.splitlines() if line.startswith(COMMANDS)), "")
    return list(json_text.loads(line.removeprefix(COMMANDS))) if line and is_ours(text) else []


def is_ours(text: str) -> bool:
    """Whether TEXT is a plugin that bb wrote and nobody has changed."""
    return marked_section.is_whole(text)
