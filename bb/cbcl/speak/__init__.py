"""Sending and receiving messages: their effects on an agent, and conversations replayed in memory."""
