"""Ops on CBCL: texts, dialects, keys, and conversations between agents."""
