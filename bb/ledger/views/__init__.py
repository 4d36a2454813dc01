"""Queries on the index: reservations, mail, chat, attention, CBCL, protocol events."""
