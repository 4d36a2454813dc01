"""Ops on reservations: reserve, release, wait, transfer, freeze, report incursions."""
