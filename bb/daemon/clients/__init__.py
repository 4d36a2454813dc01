"""Connections of clients: requests, answers, event streams, and the daemon's address."""
