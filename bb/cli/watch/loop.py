"""The loop of `bb watch`: check for changes, draw, wait for a key, a signal or a change.

A check costs a few `stat` calls, five times a second. The picture is rebuilt only after a possible change, and only for
a limited part of the time. The screen is laid out every second, because ages grow, and only changed lines are written.
While the screen is paused, the loop only waits.
"""

from __future__ import annotations

import time

from bb.cli.watch import filters, keys, model
from bb.cli.watch.layout import Framed, Layout
from bb.cli.watch.model import Chosen
from bb.cli.watch.terminal import CONTINUED, RESIZED, STOPPED, Screen
from bb.kernel import clock
from bb.kernel.errors import BbError
from bb.kernel.foreign import Foreign
from bb.ops.desk.desk import Desk
from bb.ops.overview.changes import GLANCE, Watched
from bb.ops.overview.screen_view import ScreenData

SHARE = 8  # after a picture, wait so many times as long as it took
LONGEST_REST = 0.7  # seconds; the longest such wait, so that a change is shown within a second
UNDECIDED = 0.05  # seconds to wait for the rest of a sequence after ESC
AGAIN = 1.0  # seconds until the next attempt after a failure


class Watcher:
    """One ledger on one screen."""

    def __init__(self, desk: Desk, agent: str | None, bead: str | None, since: int | None, chosen: Chosen) -> None:
        self._desk, self._whose, self._chosen = desk, (agent, bead), chosen
        self._watched = Watched(desk)  # created before the first picture, so that no change is missed
        self._viewing = ScreenData(desk, agent, bead, since)
        self._picture = self._viewing.picture()
        self._layout = Layout()
        self._narrow()
        self._look_at = 0.0  # not before then, by the monotonic clock
        self._has_changed = False
        self._trouble: str | None = None
        self._rest = b""
        self._page, self._drawn_at = 1, -1

    def run(self) -> None:
        """Show the screen until the user quits."""
        with Screen() as screen:
            while not self._chosen.is_over:
                self._look()
                self._draw(screen)
                self._hear(screen)

    # -- checking for changes

    def _look(self) -> None:
        """Rebuild the picture if something may have changed."""
        if self._chosen.paused_at is not None and not self._chosen.is_stale:
            return
        try:
            self._has_changed = self._watched.has_changed() or self._has_changed or self._chosen.is_stale
            started = time.monotonic()
            if not self._has_changed or (started < self._look_at and not self._chosen.is_stale):
                return
            self._picture = self._viewing.picture()
        except BbError as error:
            self._trouble = f"[{error.code}] {error.message}"
            self._has_changed, self._look_at = True, time.monotonic() + AGAIN
        else:
            took = time.monotonic() - started
            self._look_at = started + took + min(took * SHARE, LONGEST_REST)
            self._has_changed, self._trouble = False, None
            self._narrow()
        self._drawn_at = -1
        self._chosen = self._chosen.replace(is_stale=False)

    def _narrow(self) -> None:
        """Apply the filter to the picture."""
        self._narrowed_by = self._chosen.filter
        picture_filter = filters.of(*self._whose, self._chosen.filter)
        self._shown = filters.applied(self._picture, picture_filter)

    # -- drawing

    def _draw(self, screen: Screen) -> None:
        """Draw the screen, unless it was already drawn for this second."""
        now = self._now()
        if now // clock.SECOND == self._drawn_at:
            return
        if self._narrowed_by != self._chosen.filter:
            self._narrow()
        status = self._picture.status
        title, sync, fleet = Foreign(status["repository"]), Foreign(status["sync"]), Foreign(status.get("fleet"))
        frame = Framed(title, sync, status["is_damaged"], any(self._whose), self._trouble, fleet)
        drawn = self._layout.drawn(self._shown, frame, self._chosen, *screen.size(), now)
        screen.draw(drawn.lines)
        self._page, self._drawn_at = drawn.page, now // clock.SECOND
        self._chosen = self._chosen.replace(offset=min(self._chosen.offset, drawn.furthest))

    def _now(self) -> int:
        """The current time, or the time of the pause."""
        return self._desk.now() if self._chosen.paused_at is None else self._chosen.paused_at

    # -- input

    def _hear(self, screen: Screen) -> None:
        """Wait briefly for keys and signals, and handle them."""
        is_still = self._chosen.paused_at is not None and not self._rest and not self._chosen.is_stale
        patience = UNDECIDED if self._rest else None if is_still else GLANCE
        typed, signals = screen.wait(patience)
        if typed or self._rest:
            self._press(self._rest + typed, is_all=not typed)
        if RESIZED in signals:
            screen.forget()
        if CONTINUED in signals:
            screen.resume()
        if self._chosen.is_stale:
            screen.forget()
        if STOPPED in signals or self._chosen.is_suspended:
            screen.suspend()
            self._chosen = self._chosen.replace(is_suspended=False)
        if typed or signals or self._rest:
            self._drawn_at = -1

    def _press(self, octets: bytes, *, is_all: bool) -> None:
        pressed, self._rest = keys.pressed(octets, is_all=is_all)
        for key in pressed:
            self._chosen = model.press(self._chosen, key, now=self._desk.now(), page=self._page)
        self._drawn_at = -1
