"""One look at the database for all listeners of a process: whether anything was written since the last one."""

from __future__ import annotations

import math
import threading
import time

from linnet.annotate.store import Store

__all__ = ["Watch"]


class Watch:
    """Looks whether anybody has written to a database, at most once in `every` seconds, whoever asks how often.

    Attributes:
        last: what the last look has found.
    """

    def __init__(self, store: Store, every: float) -> None:
        self.last = ""
        self._store, self._every = store, every
        self._lock = threading.Lock()
        self._looked = -math.inf

    @property
    def due(self) -> bool:
        """Whether it is time for a look."""
        return time.monotonic() - self._looked >= self._every

    def look(self) -> str:
        """Return a text that is another one when something was written, as `Store.state` does."""
        with self._lock:
            if self.due:
                self.last = self._store.state()
                self._looked = time.monotonic()
            return self.last
