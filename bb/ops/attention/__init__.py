"""Ops of C2A: which messages an agent gets, and how it answers them; and the host's work for one connected harness."""
