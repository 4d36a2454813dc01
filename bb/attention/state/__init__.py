"""Folded state that the rules read: conversations, threads, claims, deliveries, settings. It contains no rules."""
