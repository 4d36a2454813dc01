"""What enters an agent's next turn, as content, knock or digest, and what an agent finds when it looks."""
