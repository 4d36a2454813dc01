"""Checks whether a command or commit affects other agents' work: shell lines, git hazards, CI findings. Nothing is
run here."""
