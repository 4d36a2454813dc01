"""One connected harness: what it can do, what was delivered to it, what it must be told next."""
