"""Connections of clients: requests, answers, event streams, and where the daemon is found."""
