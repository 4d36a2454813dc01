"""`python -m bb.daemon`: run the daemon in the foreground."""

from __future__ import annotations

import os
import sys

from bb.daemon.run import Daemon
from bb.kernel.errors import BbError
from bb.kernel.escaping import harmless
from bb.ledger.carrier import postgres_variables

IDLE = "BB_DAEMON_EXIT_WHEN_IDLE"


def main() -> int:
    """Serve until asked to stop; the exit status."""
    written = os.environ.get(IDLE, "")
    try:
        idle = float(written) if written else None
    except ValueError:
        sys.stderr.write(f"Error: [INVALID_VALUE] {IDLE} must be a number of seconds, not {harmless(written[:40])!r}\n")
        return 2
    try:
        daemon = Daemon(os.environ, idle)  # its actors have the whole environment
        postgres_variables.leave_out(os.environ)
        daemon.run()
    except BbError as error:
        sys.stderr.write(f"Error: [{error.code}] {harmless(error.message)}\nHint: {harmless(error.hint or '')}\n")
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
