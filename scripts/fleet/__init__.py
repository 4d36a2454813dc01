"""What scripts/bench-fleet needs: a fleet of simulated machines on one box, and the load that their agents make."""
