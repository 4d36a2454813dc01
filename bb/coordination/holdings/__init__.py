"""Reservations: scopes, reservations, queue, freezes, transfers, contests and incursions. Agents are in `agents`."""
