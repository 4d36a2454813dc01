"""The event loop and the log."""
