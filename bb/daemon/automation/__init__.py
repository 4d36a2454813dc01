"""Timed notices for groups: reminders, silence, nudges."""
