"""`python -m bb`, and what the installed `bb` and `beadboard` call."""

from __future__ import annotations

from bb.cli.main import main

if __name__ == "__main__":
    main()
