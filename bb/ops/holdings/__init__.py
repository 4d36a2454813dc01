"""Ops on reservations: reserve, release, wait, transfer, freeze, list and resolve incursions."""
