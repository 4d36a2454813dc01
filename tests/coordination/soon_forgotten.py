"""A fleet whose readers forget grants a few places after they ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bb.coordination.holdings import forgetting


@contextmanager
def forgetting_soon(step: int = 3, kept: int = 4) -> Iterator[None]:
    """Grants are forgotten as soon as KEPT places after they ended, at each multiple of STEP."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forgetting, "STEP", step)
        patch.setattr(forgetting, "KEPT", kept)
        yield
