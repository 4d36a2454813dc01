"""bb: a git-backed ledger on which coding agents and people coordinate their work in one repository."""

__version__ = "0.1.0"
