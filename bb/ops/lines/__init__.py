"""Ops on the lines of the work tree: whose they are."""
