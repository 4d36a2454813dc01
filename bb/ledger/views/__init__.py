"""Answers read from the index: reservations, mail, chat, attention, CBCL, protocol events."""
