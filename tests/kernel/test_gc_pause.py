"""Garbage is left lying while very much is made at once, and only then."""

from __future__ import annotations

import gc

import pytest

from bb.kernel.gc_pause import GcPause


@pytest.mark.parametrize("was_on", [True, False])
def test_garbage_is_left_lying_meanwhile_and_only_then(was_on: bool):
    before = gc.isenabled()
    try:
        (gc.enable if was_on else gc.disable)()
        with GcPause():
            assert not gc.isenabled()
        assert gc.isenabled() == was_on
    finally:
        (gc.enable if before else gc.disable)()
