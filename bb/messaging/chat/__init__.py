"""Messages of a group (CCCS): text, recipients, references, acknowledgements, notifications. Mail is in `mail`."""
