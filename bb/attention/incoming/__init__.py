"""What surfaces and other hosts hand in: each line becomes facts, or nothing new."""
