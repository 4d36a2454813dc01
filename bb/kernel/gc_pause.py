"""A context that stops garbage collection, for work that creates many values and no cyclic garbage."""

from __future__ import annotations

import gc


class GcPause:
    """Disables garbage collection. Otherwise thousands of short-lived values would trigger it repeatedly."""

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_on:
            gc.enable()
