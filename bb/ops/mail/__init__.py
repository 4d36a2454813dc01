"""Ops on mail between agents and on protocol events."""
