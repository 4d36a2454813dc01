"""Calling one op from the command line: run it, carry it to the daemon, say its answer, report a bug, complete
words."""
