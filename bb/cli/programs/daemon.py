"""`bb daemon`: start the daemon, stop it, see whether it runs, read its log. It is a process of its own, met on its
socket; that there is only one of it is a matter of a lock, so the lock says whether it is there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

from bb.cli.calls import say
from bb.cli.programs import daemon_log, extras
from bb.coordination.agents import callers
from bb.kernel.errors import BbError, Busy, Refused
from bb.ledger.files import disk
from bb.ledger.git.program import SCRUBBED
from bb.ledger.local import descriptor
from bb.ledger.local import machine_registry as knowns
from bb.ops.desk.live_daemon import DaemonUnavailable
from bb.start import ALONE
from bb.wire import client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

TO_START, TO_STOP, TO_PING = 10.0, 20.0, 2.0  # seconds
PAUSE = 0.01
IDLE = "BB_DAEMON_EXIT_WHEN_IDLE"
ALLOW_ANONYMOUS = "BB_DAEMON_ALLOW_ANONYMOUS_TCP"
# Whose the daemon is, and where it works, is no matter of who starts it or where.
NOT_PASSED_ON = frozenset(
    ["BB_AGENT", *callers.VARIABLES, "CCCC_ACTOR_ID", "CCCC_GROUP_ID", "PWD", "OLDPWD", *SCRUBBED]
)
LAST_WORDS = 10  # lines of its log in an error


class DaemonNotStarted(Refused):
    """The daemon has not come up."""

    code = "DAEMON_NOT_STARTED"
    hint = "`bb daemon logs` may say why; `bb daemon run` starts it where you can watch"


class DaemonNotStopped(Busy):
    """The daemon has been asked to end, and has not."""

    code = "DAEMON_NOT_STOPPED"
    hint = "`bb daemon status` names its process; `bb daemon logs` may say what it does"


def start(env: Mapping[str, str], idle: int | None, *, anonymous: bool = False) -> dict[str, Any]:
    """Start the daemon, unless it runs, and wait until it answers."""
    home = knowns.home(env)
    if found := _ping(home):
        if anonymous and descriptor.address(home).token:
            raise descriptor.AlreadyRunning(
                "a daemon is running for this home directory, and it asks clients for its token",
                hint="`bb daemon stop`, then start it with --allow-anonymous-tcp; its actors go on under the next one",
                home=home,
            )
        return {"started": False, **found}
    begun_at = daemon_log.size(home)
    child = _spawned(home, _environment(env, home, idle, anonymous=anonymous))
    deadline = time.monotonic() + TO_START
    while time.monotonic() < deadline:
        if found := _ping(home):
            if found["pid"] != child.pid:  # or it would be the daemon once the other one ends
                child.kill()
                child.wait()
            return {"started": found["pid"] == child.pid, **found}
        if child.poll() is not None and not descriptor.is_held(home):  # held: somebody else was faster
            raise _not_started(home, begun_at, f"the daemon ended at once, with status {child.returncode}")
        time.sleep(PAUSE)
    raise _not_started(home, begun_at, f"the daemon does not answer after {TO_START:.0f} seconds")


def stop(env: Mapping[str, str]) -> dict[str, Any]:
    """Let the daemon end, and wait until it has; what was stopped."""
    home = knowns.home(env)
    if not descriptor.is_held(home):
        return {"stopped": False, "home": home, "pid": None, "version": None, "actors": []}
    found = status(env)
    try:
        client.ask(home, "shutdown", {}, patience=TO_START)
    except (DaemonUnavailable, client.OutcomeUnknown):
        _terminate(home, found["pid"])
    deadline = time.monotonic() + TO_STOP
    while descriptor.is_held(home):
        if time.monotonic() > deadline:
            raise DaemonNotStopped(f"process {found['pid']} still runs after {TO_STOP:.0f} seconds", pid=found["pid"])
        time.sleep(PAUSE)
    return {"stopped": True, **{name: found[name] for name in ("home", "pid", "version", "actors")}}


def status(env: Mapping[str, str]) -> dict[str, Any]:
    """Whether a daemon runs, which it is, and what runs in it."""
    home = knowns.home(env)
    found = _ping(home)
    where = descriptor.address(home)
    pid = found["pid"] if found else where.pid or None
    runs = found is not None or descriptor.is_held(home)
    answer: dict[str, Any] = {
        "running": runs,
        "responding": found is not None,
        "pid": pid if runs else None,
        "version": found["version"] if found else None,
        "endpoint": str(where) if runs else None,
        "warning": where.warning if runs else None,
        "home": home,
        "log": daemon_log.path(home),
        "groups": [],
        "actors": [],
    }
    return answer | (_at_work(home) if found else {})


def run(env: Mapping[str, str], idle: int | None, *, anonymous: bool, as_json: bool) -> int:
    """Become the daemon, in the foreground. In JSON, the one document says that it begins."""
    home = knowns.home(env)
    if descriptor.is_held(home):
        raise descriptor.AlreadyRunning(home=home)
    begins = {"pid": os.getpid(), "home": home}
    if as_json:
        say.success("daemon run", begins, as_json=True)
        say.flush()
    os.execve(sys.executable, _COMMAND, _environment(env, home, idle, anonymous=anonymous))  # noqa: S606  (ourselves)


_COMMAND = [sys.executable, ALONE, "-m", "bb.daemon"]


def _environment(env: Mapping[str, str], home: str, idle: int | None, *, anonymous: bool) -> dict[str, str]:
    """What the daemon is given, so that it finds bb where this process found it."""
    ours = {name: value for name, value in env.items() if name not in NOT_PASSED_ON}
    ours = extras.with_source(ours) | {"CCCC_HOME": home}
    ours |= {ALLOW_ANONYMOUS: "1"} if anonymous else {}
    return ours | ({} if idle is None else {IDLE: str(idle)})


def _spawned(home: str, env: dict[str, str]) -> subprocess.Popen[bytes]:
    folder = os.path.join(home, "daemon")
    disk.make_private_folder(folder)
    try:
        os.chmod(folder, 0o700)
        log = os.open(daemon_log.path(home), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise disk.refusal(error) from error
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
            creationflags=getattr(subprocess, "DETACHED_PROCESS", 0),  # what Windows has instead
        )
    except OSError as error:
        raise DaemonNotStarted(f"the daemon cannot be started: {error.strerror}") from error
    finally:
        os.close(log)


def _not_started(home: str, begun_at: int, why: str) -> DaemonNotStarted:
    """Why there is no daemon, in its own last words where it had any."""
    words = daemon_log.since(home, begun_at)[-LAST_WORDS:]
    own = [line.removeprefix("Error: ") for line in words if line.startswith("Error: ")]
    return DaemonNotStarted(f"{why}: {own[-1]}" if own else why, home=home, log=words)


def _ping(home: str) -> dict[str, Any] | None:
    """The daemon that answers, if one does."""
    try:
        about = client.ask(home, "ping", {}, patience=TO_PING)
    except (DaemonUnavailable, client.OutcomeUnknown):
        return None
    where = descriptor.address(home)
    return {
        "running": True,
        "pid": about.get("pid"),
        "version": about.get("version"),
        "endpoint": str(where),
        "warning": where.warning,
        "home": home,
        "log": daemon_log.path(home),
    }


def _at_work(home: str) -> dict[str, Any]:
    """The groups that the daemon knows, and the actors that run in it; as far as it tells."""
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
        return {}  # another program's daemon, or one that is ending
    shown = ("group_id", "title", "state", "path", "running")
    return {"groups": [{name: group.get(name) for name in shown} for group in groups], "actors": actors}


def _actors(home: str, group_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.ask(home, "actor_list", {"group_id": group_id}, patience=TO_START)["actors"]
    return found


def _terminate(home: str, pid: int | None) -> None:
    """End the process that is the daemon, if it is known which one that is."""
    if not descriptor.is_held(home):
        return
    lock = os.path.join(home, "daemon", descriptor.LOCK)
    if pid is None or not _has_open(pid, lock):
        raise DaemonNotStopped("the daemon does not answer, and its process is not known", pid=pid)
    import signal  # noqa: PLC0415

    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return
    except OSError as error:
        raise DaemonNotStopped(f"process {pid} cannot be ended: {error.strerror}", pid=pid) from error


def _has_open(pid: int, path: str) -> bool:
    """Whether process PID is one that has a file open. A number that was a daemon's may be anybody's by now."""
    folder = f"/proc/{pid}/fd"
    try:
        wanted = os.stat(path)
        return any(_is_same(os.path.join(folder, name), wanted) for name in os.listdir(folder))
    except OSError:
        return False  # where the system does not tell, nobody is signalled


def _is_same(path: str, wanted: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), wanted)
    except OSError:
        return False
