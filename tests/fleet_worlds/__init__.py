"""A fleet in one process, with a clock that a test turns: an engine, machines, agents, and everything that breaks.

`world.py` has time and chance, `engine.py` the engine and the connections to it, `machine.py` a machine with its disk
and its relay, `agent.py` what the agents do, `keeper.py` the person who repairs, `failures.py` what goes wrong, and
`model.py` the truth that all of it is held against.
"""
