"""Uncommitted lines: a log for each changed file, its contents and symbols, and what commits and tests one's own."""
