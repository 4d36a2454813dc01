"""Ops for people: status, problems, timeline, sessions, and what live screens need to stay current."""
