"""The actors that run here: start, stop, deliver messages, clean up."""
