"""Input from surfaces and other hosts: each line becomes facts, or nothing if it is known."""
