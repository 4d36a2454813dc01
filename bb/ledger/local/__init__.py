"""State of this clone or machine that is never published: presence, queue, attachments, registered groups."""
