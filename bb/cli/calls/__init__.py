"""Calling one op from the command line: run it, send it to the daemon, print its answer, report a bug, completion."""
