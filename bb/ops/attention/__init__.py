"""Ops on what deserves an agent's attention (C2A), and the work of a host for one connected harness."""
