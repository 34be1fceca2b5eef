"""What takes long to open, in a thread of its own: nobody waits for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from linnet.errors import LinnetError

__all__ = ["Aside"]

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Aside(Generic[T]):
    """Something that is being opened.

    Attributes:
        ready: set when it is opened, or cannot be.
        value: what was opened; None until then, and if it cannot be.

    >>> opened = Aside(lambda: "open")
    >>> opened.ready.wait(5), opened.value
    (True, 'open')
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self.ready = threading.Event()
        self.value: T | None = None
        self._make = make
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            self.value = self._make()
        except (LinnetError, OSError) as error:  # people do without it
            logger.warning("%s", error)
        finally:
            self.ready.set()
