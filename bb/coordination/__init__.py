"""Agents and their reservations: the rules of the Operative Protocol, over facts. No files, clocks or processes."""
