"""The daemon: serves CCCC clients on a socket and runs actors. The truth is in the ledgers, not here.

One loop serves sockets, terminals and timers, and nothing in it may block. A turn decides all requests that have
arrived, waits once until their facts are on the disk, answers, and only then updates the index. Ops with dotted names,
which may take long, run in threads with desks of their own.
"""
