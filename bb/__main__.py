"""`python -m bb`, and the entry point of the installed `bb` and `beadboard`."""

from __future__ import annotations

from bb.cli.main import main

if __name__ == "__main__":
    main()
