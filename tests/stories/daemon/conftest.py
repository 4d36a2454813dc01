"""What these stories have in common: a daemon that runs."""

from __future__ import annotations

from tests.daemons import daemon

__all__ = ["daemon"]
