"""A port of this machine: the one that is asked for or none, the usual one or any."""

from __future__ import annotations

import pytest

from bb.wire import loopback
from bb.wire.loopback import LOOPBACK, PortTaken, listening


def test_no_port_is_had_twice_and_the_refusal_names_it():
    with listening(loopback.ANY) as first:
        host, port = first.getsockname()
        assert host == LOOPBACK
        with pytest.raises(PortTaken.error) as refused:
            listening(port)

    assert (refused.value.code, refused.value.exit_status, refused.value.details) == ("PORT_TAKEN", 6, {"port": port})


def test_who_names_none_has_the_usual_one_or_else_any():
    with listening(loopback.ANY) as free:
        usual = free.getsockname()[1]
        with listening(None, usual) as other:
            assert other.getsockname()[1] not in (0, usual)
    with listening(None, usual) as again:
        assert again.getsockname()[1] == usual


def test_a_port_that_was_let_go_can_be_had_at_once():
    with listening(loopback.ANY) as first:
        port = first.getsockname()[1]
    with listening(port) as again:
        assert again.getsockname()[1] == port
