"""Journals on disk: the format of lines, their hash chain, and the fact that each line records. State is in `index`."""
