"""Ops on the fleet: begin and end one, join one, and look at it."""
