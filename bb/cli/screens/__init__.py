"""Answers as text for people, one module per subject."""
