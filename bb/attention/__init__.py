"""What deserves an agent's attention, when, and how (C2A). Pure rules over facts.

Delivery is not injection: what is said is kept, and may be looked at; what of it enters an agent's turn, and whether
the agent answers, is decided here.
"""
