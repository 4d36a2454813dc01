"""Uncommitted lines: whose they are, and how an agent commits and tests its own."""
