"""Which messages get an agent's attention, when, and how (C2A). Pure rules over facts.

Delivery is not injection: every message is kept and can be read. The rules here decide which messages enter an agent's
turn, and whether the agent may or must answer.
"""
