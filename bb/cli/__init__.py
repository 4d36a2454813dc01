"""The command line: turns words into an op call, and its answer into one JSON document or short text."""
