"""Parsing octets into a message or a definition, and writing canonical text. Only the grammar is checked here."""
