"""What this clone or machine remembers beside the ledger and never publishes: presence, queue, attachments, known
groups."""
