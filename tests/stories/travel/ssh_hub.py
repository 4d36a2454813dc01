"""A real `sshd` on the loopback interface, with keys of its own."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
SETTINGS = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/authorized
PidFile none
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
UsePAM no
"""


class SshHub:
    """The port of the server, and the keys in FOLDER: `writer` may do everything, `reader` may only read, `stranger` is
    unknown."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, _free_port()
        for name in ("host", "other-host", "writer", "reader", "stranger"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)]
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        (folder / "authorized").write_text(
            self._public("writer") + f'command="{folder}/read-only",restrict {self._public("reader")}'
        )
        gate = folder / "read-only"
        gate.write_text(
            '#!/bin/sh\ncase "$SSH_ORIGINAL_COMMAND" in\n'
            'git-upload-pack*) eval "$SSH_ORIGINAL_COMMAND" ;;\n'
            '*) echo "FATAL: W app reader DENIED by the rules" >&2; exit 128 ;;\nesac\n'
        )
        gate.chmod(0o755)
        self.trust("host")

    def address(self, repository: Path) -> str:
        return f"ssh://{getpass.getuser()}@127.0.0.1:{self.port}{repository}"

    def _public(self, name: str) -> str:
        return (self.folder / f"{name}.pub").read_text()

    def trust(self, host: str) -> None:
        """Write down the key called HOST as the one of this hub; none, if it is empty."""
        known = f"[127.0.0.1]:{self.port} {self._public(host)}" if host else ""
        (self.folder / "known").write_text(known)

    def by(self, key: str) -> str:
        """What GIT_SSH_COMMAND must be to come with this KEY, without any question."""
        options = ["BatchMode=yes", "IdentitiesOnly=yes", f"UserKnownHostsFile={self.folder}/known"]
        return " ".join(["ssh", "-F", "none", "-i", str(self.folder / key), *(f"-o {each}" for each in options)])


@contextmanager
def served(folder: Path) -> Iterator[SshHub]:
    """A server, while it listens. Its files are in FOLDER."""
    made = SshHub(folder)
    settings = folder / "settings"
    settings.write_text(SETTINGS.format(port=made.port, folder=folder))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd demands it of root
    with (folder / "log").open("w") as log:
        server = subprocess.Popen([str(SSHD), "-D", "-e", "-f", str(settings)], stderr=log, stdin=subprocess.DEVNULL)
    try:
        _until_it_listens(server, made.port)
        yield made
    finally:
        server.terminate()
        server.wait()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _until_it_listens(server: subprocess.Popen[bytes], port: int) -> None:
    while server.poll() is None:
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise AssertionError("sshd did not start")
