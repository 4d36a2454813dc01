"""A plugin of pytest, `-p tests.many_files`: the process has 1,100 files open before the tests begin, as a daemon with
many clients has. `select.select` refuses the descriptors of all files that are opened later."""

from __future__ import annotations

import os
import resource

NUMBER = 1100
LEAST = 4096  # files that must be permitted

_soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
if _soft < LEAST:
    resource.setrlimit(resource.RLIMIT_NOFILE, (LEAST, _hard))
_files = [os.open(os.devnull, os.O_RDONLY) for _ in range(NUMBER)]
assert _files[-1] > 1023
