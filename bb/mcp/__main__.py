"""`python -m bb.mcp`: the process that `bb mcp` executes."""

import sys

from bb.mcp.run import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
