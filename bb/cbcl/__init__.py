"""The CBCL language: reading texts, judging dialects, processing messages. Pure: no files, no clock."""
