"""`python -m bb.mcp`: what `bb mcp` becomes."""

import sys

from bb.mcp.run import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
