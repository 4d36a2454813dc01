"""Commands that keep going: the live screen, alarms, notifications."""
