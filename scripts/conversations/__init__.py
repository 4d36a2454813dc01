"""Plays conversations of chat platforms through the host of attention, and judges which agents answered.

The conversations are files in `tests/data/conversations`; docs/attention.md describes their form. `script` reads them,
`platforms` writes the payload of each platform, `stage` plays them with a model, `judge` compares the outcome with what
the file wants. A host is the rules in memory (`in_memory`) or a running `bb chat serve` (`served`).
"""
