"""Agents: names, registration, sessions, liveness and pauses. Their reservations are in `holdings`."""
