"""One trial for each kind of part: an edit, a commit, the start of a server, in a repository made for trials.

The command line of a hook is taken from the host's settings and run as the host runs it. It is run only if bb would
write the same line, and only if it starts this bb, because settings come with a repository: a check must not run the
commands of strangers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from bb.coordination.holdings.reservations import Wanted, minutes
from bb.coordination.wiring import hook_options, mcp_hosts, setup_parts, trials
from bb.coordination.wiring.editor_hooks import FILES, LOCAL_FILES, Wiring
from bb.coordination.wiring.setup_parts import Part
from bb.kernel import json_text
from bb.kernel.errors import BbError
from bb.kernel.json_text import NotJson
from bb.kernel.record import Record
from bb.ledger.files import launchers
from bb.ledger.records import creation
from bb.ledger.wiring import git_hooks, trial_runs
from bb.ledger.wiring.trial_runs import Result, Run
from bb.ops.agent_params import NewAgentId, Role
from bb.ops.agents import agent as agents
from bb.ops.desk.desk import Desk
from bb.ops.holdings import recording
from bb.ops.setup import parts
from bb.ops.setup.parts import Site

HOLDER, CALLER, HELD = "trial-holder", "trial-caller", "held.txt"
NO_SETTINGS = "{}"
NO_SUCH_PROGRAM = (126, 127)
NOT_ON_PATH = "is not on the PATH"
NOT_FOUND = "the host's shell cannot start it"


class Trial(Record):
    """A started trial, and the function that reads from its result why it failed; an empty text means success."""

    finish: Callable[[], Result]
    judge: Callable[[Result], str]


class Bench(Record):
    """Where trials are made: the repository for them, and the servers that were started there by their commands."""

    folder: str
    servers: dict[tuple[str, ...], Run]


class NotTried(Exception):
    """The trial cannot be made; the text says why."""


def start(part: Part, site: Site, bench: Bench) -> Trial | str:
    """The started trial of PART, or why it cannot be made."""
    try:
        return STARTS[part.kind](part, site, bench)
    except NotTried as reason:
        return str(reason)
    except (BbError, NotJson) as error:
        return f"{error}"


def make_ledger(site: Site, folder: str, to_try: Sequence[Part]) -> None:
    """A ledger in FOLDER in which HOLDER holds the file HELD, with the other agents that the hooks name."""
    env = trial_runs.environment(site.desk.env, folder, None)
    desk = Desk(folder, env)
    try:
        creation.make(desk.store, desk.place.title, HOLDER, desk.now())
        for name in dict.fromkeys([HOLDER, CALLER, *_named(site, to_try)]):
            agents.register(desk, name=NewAgentId(name), role=Role("tester"))
        wanted = Wanted(HOLDER, (desk.scope(HELD, is_path=True),), "bb-trial", minutes(recording.TTL))
        recording.reserved(desk, wanted)
    finally:
        desk.close()


def _named(site: Site, to_try: Sequence[Part]) -> Iterator[str]:
    """The agents that hooks name with --agent."""
    for part in to_try:
        if part.kind == setup_parts.HOOKS:
            _, _, agent = _hook_line(part, site)
            yield from [agent] if agent else []


# -- one trial for each kind of part


def _try_hook(part: Part, site: Site, bench: Bench) -> Trial:
    folder = bench.folder
    line, problem, agent = _hook_line(part, site)
    if problem:
        raise NotTried(problem)
    env = trial_runs.environment(site.desk.env, folder, agent or CALLER)
    command = trial_runs.shell_line(trials.SHELLS.get(part.host, trials.SHELL), line, folder)
    given = json_text.dumps(trials.payload(part.host, folder, HELD)).encode()
    return Trial(Run(command, env, given).result, _judged_hook)


def _hook_line(part: Part, site: Site) -> tuple[str, str, str | None]:
    """The command line of a host's hook before an edit, why it must not be run, and the agent that it names."""
    for name, (line, wiring) in _hook_lines(part, site):
        if wiring is None:
            return line, f"{name} has a command that bb did not write, so it was not run: {line}", None
        return line, _foreign(wiring.program, site), wiring.agent
    return "", f"{FILES[part.host]} has no hook before an edit", None


def _hook_lines(part: Part, site: Site) -> Iterator[tuple[str, tuple[str, Wiring | None]]]:
    """The hooks before an edit in the shared and the personal settings, as far as those are plain JSON."""
    for name in filter(None, (FILES[part.host], LOCAL_FILES.get(part.host))):
        with suppress(NotJson):
            if found := hook_options.command_at(parts.text_of(site, name) or NO_SETTINGS, part.host):
                yield name, found


def _judged_hook(result: Result) -> str:
    """Why this is not the refusal that the host expects; empty if it is."""
    if result.status is None:
        return f"the hook gave no answer within {trial_runs.PATIENCE:.0f} s {result.err}".strip()
    if result.status in NO_SUCH_PROGRAM:
        return f"{NOT_FOUND}: {_last_line(result.err)}"
    if not trials.is_refusal(result.status, result.out):
        said = _last_line(result.err)
        return f"it let an edit of a held file pass{': ' if said else ''}{said}"
    is_about_holder = HOLDER.encode() in result.out or HOLDER in result.err
    return "" if is_about_holder else f"it refused for another reason: {_last_line(result.err) or _text(result.out)}"


def _try_commit(_: Part, site: Site, bench: Bench) -> Trial:
    folder = bench.folder
    hook = next(each for each in git_hooks.folder(site.desk.place).hooks() if each.name == "pre-commit")
    if hook.octets is None or hook.state != git_hooks.OURS:
        raise NotTried(f"{hook.path} is not as bb wrote it")
    if not os.access(hook.path, os.X_OK):
        raise NotTried(f"{hook.path} is not executable, so git skips it")
    octets, env = hook.octets, trial_runs.environment(site.desk.env, folder, CALLER)
    return Trial(lambda: trial_runs.commit_with_hook(folder, octets, HELD, env), _judged_commit)


def _judged_commit(result: Result) -> str:
    if result.status == 0:
        return "git committed a held file"
    said = f"{result.err}{_text(result.out)}"
    return "" if HOLDER in said else f"the commit failed for another reason: {_last_line(said)}"


def _try_server(part: Part, site: Site, bench: Bench) -> Trial:
    folder = bench.folder
    found = parts.entry_of(part.host, site)
    wanted = None if found is None else mcp_hosts.options(found, part.host)
    if wanted is None:
        raise NotTried(
            f"the entry in {mcp_hosts.HOSTS[part.host].file} is not one that bb writes, so it was not started"
        )
    if problem := _foreign(wanted.program, site):
        raise NotTried(problem)
    words = [word.replace(mcp_hosts.FOLDER, folder) for word in mcp_hosts.command_of(wanted)]
    if tuple(words) not in bench.servers:
        env = trial_runs.environment(site.desk.env, folder, None)
        given = b"".join(json_text.dumps(request).encode() + b"\n" for request in trials.MCP_REQUESTS)
        bench.servers[tuple(words)] = Run(trial_runs.command_in(folder, words), env, given)
    return Trial(bench.servers[tuple(words)].result, _judged_server)


def _judged_server(result: Result) -> str:
    if trials.tools(result.out):
        return ""
    if result.status is None:
        return f"the server gave no answer within {trial_runs.PATIENCE:.0f} s {result.err}".strip()
    return f"the server listed no tools: {_last_line(result.err) or 'it printed nothing'}"


STARTS: dict[str, Callable[[Part, Site, Bench], Trial]] = {
    setup_parts.HOOKS: _try_hook,
    setup_parts.GIT_HOOKS: _try_commit,
    setup_parts.MCP: _try_server,
}


def _foreign(program: str, site: Site) -> str:
    """Why PROGRAM must not be started; empty if it is this bb."""
    path = launchers.first_on_path(program, site.desk.env) if program in launchers.NAMES else program
    if path is None:
        return f"{program} {NOT_ON_PATH}"
    own = [launchers.beside_python(), *(launchers.first_on_path(name, site.desk.env) for name in launchers.NAMES)]
    is_own = any(each and os.path.realpath(each) == os.path.realpath(path) for each in own)
    return "" if is_own and launchers.is_bb(path) else f"{path} is not this bb, so it was not run"


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def _text(octets: bytes) -> str:
    return octets.decode("utf-8", "replace")
