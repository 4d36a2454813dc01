"""From octets to a message or a definition, and back to canonical text. Nothing is judged here beyond the grammar."""
