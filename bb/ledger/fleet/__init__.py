"""The fleet: what a relay does with the lines of one clone and the rows of an engine, and the addresses of engines. The
threads and sockets of a relay are in `daemon/fleet`."""
