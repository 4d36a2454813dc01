"""Agents and what they hold: the rules of the Operative Protocol, over facts. No files, no clock, no processes."""
