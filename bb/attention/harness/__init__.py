"""One connected harness: its capabilities, the messages delivered to it, and the next messages for it."""
