"""What saying or hearing a message does to an agent, and conversations replayed in memory."""
