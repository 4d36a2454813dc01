"""Judging dialects and messages: verification, signatures, trust, installation, expansion, examples and comparison."""
