"""`bb daemon`: start and stop the daemon, show its state, read its log.

The daemon is a separate process that is reached through its socket. It holds a lock, so there is only one for each home
directory, and the lock shows whether it runs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from bb.cli.calls import output
from bb.cli.programs import daemon_log, extras
from bb.coordination.agents import callers
from bb.kernel.errors import BbError, Busy, Refused
from bb.ledger.files import disk, disk_refusals
from bb.ledger.fleet import asking, settings
from bb.ledger.git import place as places
from bb.ledger.git.program import SCRUBBED
from bb.ledger.local import descriptor
from bb.ledger.local import machine_registry as knowns
from bb.ops.desk.live_daemon import DaemonUnavailable
from bb.start import ALONE
from bb.wire import client

TO_START, TO_STOP, TO_PING = 10.0, 20.0, 2.0  # seconds
TO_KILL = 5.0  # seconds for a process that was killed to end
TO_CONNECT = 8.0  # seconds for the first connection to the engine of a fleet
PAUSE = 0.01
IDLE = "BB_DAEMON_EXIT_WHEN_IDLE"
METRICS = "BB_DAEMON_METRICS"  # the port of /metrics on the loopback interface
ALLOW_ANONYMOUS = "BB_DAEMON_ALLOW_ANONYMOUS_TCP"
# The daemon does not depend on the agent or the directory that started it.
NOT_PASSED_ON = frozenset(
    ["BB_AGENT", *callers.VARIABLES, "CCCC_ACTOR_ID", "CCCC_GROUP_ID", "PWD", "OLDPWD", *SCRUBBED]
)
LAST_WORDS = 10  # lines of its log in an error
# The refusals of a daemon that has ended or is about to, or of another process that has the lock of the relay.
ENDED = frozenset([asking.RelayGone.code, asking.RelayLost.code, DaemonUnavailable.code, client.OutcomeUnknown.code])

DaemonNotStarted = Refused.declare(
    "DAEMON_NOT_STARTED",
    "The daemon did not start",
    hint="`bb daemon logs` may show why; `bb daemon run` starts it in the foreground",
)

DaemonNotStopped = Busy.declare(
    "DAEMON_NOT_STOPPED",
    "The daemon did not end when asked to",
    hint="`bb daemon status` names its process; `bb daemon logs` may show its activity",
)


def start(
    env: Mapping[str, str], idle: int | None, *, anonymous: bool = False, metrics: int | None = None
) -> dict[str, Any]:
    """Start the daemon if it is not running, and wait until it answers. In a clone that has joined a fleet, it runs the
    relay of the clone from now on. If another command ends the daemon meanwhile, it is started again."""
    answer = _start(env, idle, anonymous=anonymous, metrics=metrics)
    deadline = time.monotonic() + TO_START
    while True:
        found = _attended(answer["home"], env)
        refused = found.get("fleet", {}).get("refused")
        if refused is None or refused["code"] not in ENDED or time.monotonic() > deadline:
            return answer | found
        time.sleep(5 * PAUSE)
        again = _start(env, idle, anonymous=anonymous, metrics=metrics)
        answer = answer if again["pid"] == answer["pid"] else again


def _attended(home: str, env: Mapping[str, str]) -> dict[str, Any]:
    """The member `fleet` of the answer, if the current directory is in a clone that has joined a fleet: whether the
    daemon runs its relay, or why it does not."""
    try:
        cwd = os.getcwd()
        store = places.find(cwd, env).store
        if not settings.is_joined(store):
            return {}
        answer = client.ask(home, "fleet_attend", {"cwd": cwd}, patience=TO_START)
        return {"fleet": answer | {"engine": _state_of_engine(store)}}
    except (places.NotARepository.error, FileNotFoundError):
        return {}
    except BbError as refusal:
        refused = {"code": refusal.code, "message": refusal.message, "hint": refusal.hint}
        return {"fleet": {"attended": False, "refused": refused}}


def _state_of_engine(store: str) -> str:
    """How the relay finds its engine, once it has tried to connect: a command that follows is not refused only because
    the first connection takes a second."""
    deadline = time.monotonic() + TO_CONNECT
    while True:
        status = asking.ask(store, {"ask": "status"}, TO_PING)
        if status.get("state") != "away" or status.get("refusal") or time.monotonic() > deadline:
            return str(status.get("state"))
        time.sleep(5 * PAUSE)


def _start(env: Mapping[str, str], idle: int | None, *, anonymous: bool, metrics: int | None) -> dict[str, Any]:
    home = knowns.home(env)
    if reply := _ping(home):
        if metrics not in (None, reply.get("metrics")):
            at = f"with metrics at port {reply['metrics']}" if reply.get("metrics") else "without metrics"
            raise descriptor.AlreadyRunning(
                f"a daemon is already running for this home directory, {at}",
                hint="run `bb daemon stop`, then start it with --metrics; it then restarts its actors and relays",
                home=home,
            )
        if anonymous and descriptor.address(home).token:
            raise descriptor.AlreadyRunning(
                "a daemon is already running for this home directory, and it requires its token from clients",
                hint="run `bb daemon stop`, then start it with --allow-anonymous-tcp; it then restarts its actors",
                home=home,
            )
        return {"started": False, **reply}
    begun_at = daemon_log.size(home)
    settings_of_daemon = _environment(env, home, idle, anonymous=anonymous, metrics=metrics)
    child = _spawned(home, settings_of_daemon)
    deadline = time.monotonic() + TO_START
    while time.monotonic() < deadline:
        if reply := _ping(home):
            if reply["pid"] != child.pid:  # otherwise the child would become the daemon when the other one ends
                child.kill()
                child.wait()
            return {"started": reply["pid"] == child.pid, **reply}
        if child.poll() is not None and not descriptor.is_running(home):  # if held, another daemon started first,
            if child.returncode != descriptor.AlreadyRunning.family.exit_status:
                raise _not_started(home, begun_at, f"the daemon ended at once, with status {child.returncode}")
            child = _spawned(home, settings_of_daemon)  # or one was about to end, and has ended now
        time.sleep(PAUSE)
    raise _not_started(home, begun_at, f"the daemon does not answer after {TO_START:.0f} seconds")


def stop(env: Mapping[str, str]) -> dict[str, Any]:
    """Stop the daemon, wait until it has ended, and return the process and actors that were stopped."""
    home = knowns.home(env)
    if (state := _state_once_known(env, home)) is None:
        return {"stopped": False, "home": home, "pid": None, "version": None, "actors": []}
    if not (state["responding"] and _is_asked_to_end(home)):
        _signal(home, state["pid"], "SIGTERM", "SIGCONT")
    if not _has_ended(home, state["pid"], TO_STOP):
        _signal(home, state["pid"], "SIGKILL")  # nothing is lost by it
        if not _has_ended(home, state["pid"], TO_KILL):
            raise DaemonNotStopped(f"process {state['pid']} still runs after {TO_STOP:.0f} seconds", pid=state["pid"])
    return {"stopped": True, **{name: state[name] for name in ("home", "pid", "version", "actors")}}


def _state_once_known(env: Mapping[str, str], home: str) -> dict[str, Any] | None:
    """The state of the daemon, whose process is certain; None if no daemon runs. A daemon that begins or ends has its
    lock and no descriptor. So it is waited for before it is refused."""
    deadline = time.monotonic() + TO_STOP
    while descriptor.is_running(home):
        state = status(env)
        if state["responding"] or _has_lock(home, state["pid"]):
            return state
        if time.monotonic() > deadline:
            raise DaemonNotStopped("the daemon does not answer, and its process is not known", pid=state["pid"])
        time.sleep(PAUSE)
    return None


def _is_asked_to_end(home: str) -> bool:
    """Ask the daemon to end; whether it has answered."""
    try:
        client.ask(home, "shutdown", {}, patience=TO_START)
    except (DaemonUnavailable.error, client.OutcomeUnknown.error):
        return False
    return True


def _has_ended(home: str, pid: int | None, patience: float) -> bool:
    """Wait until the daemon PID has ended. A command may have started the next one already."""
    deadline = time.monotonic() + patience
    while descriptor.is_running(home) and not (pid and descriptor.address(home).pid not in (0, pid)):
        if time.monotonic() > deadline:
            return False
        time.sleep(PAUSE)
    return True


def status(env: Mapping[str, str]) -> dict[str, Any]:
    """The daemon's state, its groups and its running actors."""
    home = knowns.home(env)
    reply = _ping(home)
    where = descriptor.address(home)
    pid = reply["pid"] if reply else where.pid or None
    runs = reply is not None or descriptor.is_running(home)
    answer: dict[str, Any] = {
        "running": runs,
        "responding": reply is not None,
        "pid": pid if runs else None,
        "version": reply["version"] if reply else None,
        "endpoint": str(where) if runs else None,
        "warning": where.warning if runs else None,
        "home": home,
        "log": daemon_log.path(home),
        "groups": [],
        "actors": [],
    }
    return answer | (_at_work(home) if reply else {})


def run(env: Mapping[str, str], idle: int | None, *, anonymous: bool, as_json: bool, metrics: int | None = None) -> int:
    """Become the daemon, in the foreground. With --json, print one document first."""
    home = knowns.home(env)
    if descriptor.is_running(home):
        raise descriptor.AlreadyRunning(home=home)
    begins = {"pid": os.getpid(), "home": home}
    if as_json:
        output.success("daemon run", begins, as_json=True)
        output.flush()
    settings_of_daemon = _environment(env, home, idle, anonymous=anonymous, metrics=metrics)
    os.execve(sys.executable, _COMMAND, settings_of_daemon)  # noqa: S606  (ourselves)


_COMMAND = [sys.executable, ALONE, "-m", "bb.daemon"]


def _environment(
    env: Mapping[str, str], home: str, idle: int | None, *, anonymous: bool, metrics: int | None
) -> dict[str, str]:
    """The environment of the daemon, with the path of this process's bb."""
    ours = {name: value for name, value in env.items() if name not in NOT_PASSED_ON}
    ours = extras.with_source(ours) | {"CCCC_HOME": home}
    ours |= {ALLOW_ANONYMOUS: "1"} if anonymous else {}
    ours |= {METRICS: str(metrics)} if metrics is not None else {}
    return ours | ({} if idle is None else {IDLE: str(idle)})


def _spawned(home: str, env: dict[str, str]) -> subprocess.Popen[bytes]:
    folder = os.path.join(home, "daemon")
    with disk_refusals.InDaemonHome(home):
        disk.make_private_folder(folder)
        os.chmod(folder, 0o700)
        log = os.open(daemon_log.path(home), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = subprocess.DEVNULL
    try:
        return subprocess.Popen(  # noqa: S603  (ourselves)
            _COMMAND,
            cwd=home,
            env=env,
            stdin=nothing,
            stdout=log,
            stderr=log,
            start_new_session=True,
            creationflags=getattr(subprocess, "DETACHED_PROCESS", 0),  # the equivalent of a new session on Windows
        )
    except OSError as error:
        raise DaemonNotStarted(f"the daemon cannot be started: {error.strerror}") from error
    finally:
        os.close(log)


def _not_started(home: str, begun_at: int, why: str) -> BbError:
    """The refusal for a failed start, with the daemon's last log lines."""
    words = daemon_log.since(home, begun_at)[-LAST_WORDS:]
    own = [line.removeprefix("Error: ") for line in words if line.startswith("Error: ")]
    return DaemonNotStarted(f"{why}: {own[-1]}" if own else why, home=home, log=words)


def _ping(home: str) -> dict[str, Any] | None:
    """The daemon's answer to a ping; None without one."""
    try:
        about = client.ask(home, "ping", {}, patience=TO_PING)
    except (DaemonUnavailable.error, client.OutcomeUnknown.error):
        return None
    where = descriptor.address(home)
    return {
        "running": True,
        "pid": about.get("pid"),
        "version": about.get("version"),
        "endpoint": str(where),
        "warning": where.warning,
        **({"metrics": port} if (port := about.get("metrics")) else {}),
        "home": home,
        "log": daemon_log.path(home),
    }


def _at_work(home: str) -> dict[str, Any]:
    """The daemon's groups and running actors, if it answers."""
    try:
        groups = client.ask(home, "groups", {}, patience=TO_START)["groups"]
        actors = [
            {"group_id": group["group_id"], "actor_id": actor["id"], "runner": actor["runner"]}
            for group in groups
            if group["running"]
            for actor in _actors(home, group["group_id"])
            if actor["running"]
        ]
    except (BbError, KeyError, TypeError):
        return {}  # the daemon of another program, or one that is ending
    names = ("group_id", "title", "state", "path", "running")
    return {"groups": [{name: group.get(name) for name in names} for group in groups], "actors": actors}


def _actors(home: str, group_id: str) -> list[dict[str, Any]]:
    actors: list[dict[str, Any]] = client.ask(home, "actor_list", {"group_id": group_id}, patience=TO_START)["actors"]
    return actors


def _signal(home: str, pid: int | None, *names: str) -> None:
    """Send signals to the daemon's process, if its id is certain and the system has them. A process that is stopped
    receives SIGTERM only when SIGCONT lets it go on."""
    import signal  # noqa: PLC0415

    if pid is None or not _has_lock(home, pid):
        return
    try:
        for name in names:
            if hasattr(signal, name):
                os.kill(pid, getattr(signal, name))
    except ProcessLookupError:
        return
    except OSError as error:
        raise DaemonNotStopped(f"process {pid} cannot be ended: {error.strerror}", pid=pid) from error


def _has_lock(home: str, pid: int | None) -> bool:
    """Whether process PID is certainly the daemon of that home directory."""
    return pid is not None and _has_open(pid, os.path.join(home, "daemon", descriptor.LOCK))


def _has_open(pid: int, path: str) -> bool:
    """Whether process PID has a file open. The system may have given a former daemon's id to another process."""
    folder = f"/proc/{pid}/fd"
    try:
        path_stat = os.stat(path)
        return any(_is_same(os.path.join(folder, name), path_stat) for name in os.listdir(folder))
    except OSError:
        return False  # without certainty, no process is signalled


def _is_same(path: str, wanted: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), wanted)
    except OSError:
        return False
