"""Folded state that the rules read: conversations, threads, claims, deliveries, settings. Nothing decides here."""
