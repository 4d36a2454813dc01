"""Ends the daemon when its home directory was deleted: no client can find it any more, and it would poll for ever."""

from __future__ import annotations

from collections.abc import Callable

from bb.daemon.clients.endpoint import Endpoint
from bb.daemon.loop.loop import Loop

LOOK = 2.0  # seconds between two looks
GONE = 30.0  # seconds without a home until it counts as deleted: a network disk may be away for a moment


class HomeWatch:
    """Looks at the home of ENDPOINT in the turns of LOOP, and calls ON_GONE once it was deleted or made anew."""

    def __init__(self, endpoint: Endpoint, loop: Loop, on_gone: Callable[[], None]) -> None:
        self._endpoint, self._loop, self._on_gone = endpoint, loop, on_gone
        self._gone_since: float | None = None
        loop.later(LOOK, self._look)

    def _look(self) -> None:
        if self._endpoint.is_in_place:
            self._gone_since = None
        else:
            now = self._loop.now()
            self._gone_since = now if self._gone_since is None else self._gone_since
            if self._endpoint.is_replaced or now - self._gone_since >= GONE:
                self._on_gone()
                return
        self._loop.later(LOOK, self._look)
