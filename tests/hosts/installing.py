"""Installs the real programs from the npm registry into a cache of their own: `python -m tests.hosts.installing`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from tests.hosts.programs import ACP_EXAMPLE, HOSTS, Host, cache


def main() -> int:
    """Install what is missing. The exit status is 1, with the reason on stderr, if a program cannot be had."""
    missing = [host for host in (*HOSTS.values(), ACP_EXAMPLE) if not host.path.exists()]
    if missing and (why := _without_npm()):
        return _failed(missing, why)
    for host in missing:
        print(f"Installing {host.package} {host.version} into {host.folder}", file=sys.stderr)
        if why := _installed(host):
            return _failed([host], why)
    return 0


def _without_npm() -> str:
    if not shutil.which("npm") or not shutil.which("node"):
        return "npm and node are not on the PATH"
    return ""


def _installed(host: Host) -> str:
    """Why a host could not be installed; empty if it could be."""
    host.folder.mkdir(parents=True, exist_ok=True)
    (host.folder / "package.json").write_text('{"private": true}\n')
    quiet = ["--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1", "--cache", str(cache() / "npm")]
    done = subprocess.run(
        ["npm", "install", *quiet, f"{host.package}@{host.version}"],
        cwd=host.folder,
        env=os.environ | {"npm_config_update_notifier": "false"},
        capture_output=True,
    )
    if done.returncode == 0 and host.path.exists():
        return ""
    shutil.rmtree(host.folder)
    said = done.stderr.decode(errors="replace").strip().splitlines()[:5]  # the stack of npm follows
    return "\n".join(said) or f"the package has no program {host.program}"


def _failed(missing: list[Host], why: str) -> int:
    names = ", ".join(f"{host.package}@{host.version}" for host in missing)
    print(f"Error: the tests of real hosts need {names}, from the npm registry: {why}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
