"""Moving lines between clones: sync, publication, snapshots, archives, rotation, the mirror in the work tree.

`bb sync` (`sync.py`) repeats these steps. Each can be repeated, so a sync that was killed is run again.

1. Push first. If the last verified tip is known and something is unpublished, `publish.py` makes one commit on that tip
   and `remote.py` pushes it with a lease on the tip. If the push is accepted, there was nothing to fetch.
2. Otherwise fetch. `branch.py` verifies each commit after the tip, and `importing.py` compares every line with what is
   here before it writes any. Lines of other writers go to the end of their journals. Back to 1, a little later. If a
   commit is not valid, `quarantine.py` finds the commits that count, and the next push continues after it.
3. Compact. When a snapshot is due, `compacting.py` publishes one and archives what it covers, in a commit of its own.
4. In doubt, fetch. The result of a push is never guessed.
"""
