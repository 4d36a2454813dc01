"""CBCL messages as mail: how they look in an inbox, and what an agent has said and heard. The language is in
`bb.cbcl`."""
