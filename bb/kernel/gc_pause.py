"""Work that makes very many values at once, and no garbage that a collector would find among them."""

from __future__ import annotations

import gc


class Undisturbed:
    """No garbage collection meanwhile: thousands of short-lived values would set it off again and again."""

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_on:
            gc.enable()
