"""CBCL messages as mail: their form in an inbox, and the state of each agent's conversations. The language is in
`bb.cbcl`."""
