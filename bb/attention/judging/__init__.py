"""Decides which agents a message is aimed at, what response it needs, how it is shown, and which agent claims it."""
