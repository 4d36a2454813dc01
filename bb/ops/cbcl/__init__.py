"""Ops on CBCL: texts, dialects, keys, and agents that speak it to each other."""
