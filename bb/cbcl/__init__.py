"""The CBCL language: texts are read, dialects are judged, agents speak. Pure: no files, no clock."""
