"""The lowest layer: errors, events, ids, clock arithmetic, canonical JSON. It does no I/O."""
