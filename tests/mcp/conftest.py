from pathlib import Path

import pytest

from tests.mcp.mcp_support import AMBER, COBALT, Here


@pytest.fixture
def here(tmp_path: Path) -> Here:
    """A repository without a ledger."""
    return Here(tmp_path)


@pytest.fixture
def both(here: Here) -> Here:
    """A repository with two agents at work."""
    here.joined(AMBER, COBALT)
    return here
