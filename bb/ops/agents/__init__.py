"""Ops on agents: register, heartbeat, pause, retire. Reservations are in `holdings`."""
