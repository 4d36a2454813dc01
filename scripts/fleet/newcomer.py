"""A machine that comes to a fleet with a long log."""

from __future__ import annotations
