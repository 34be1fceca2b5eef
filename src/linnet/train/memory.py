"""Memory of a training on a processor, which would grow with every new size of a batch.

oneDNN keeps what it compiled for each size of a product, a thousand of them, and the C library keeps blocks between
those in use. Batches of documents hardly ever have the size of an earlier one, so that neither is of much use.
"""

from __future__ import annotations

import contextlib
import ctypes
import os

__all__ = ["KERNELS", "keep_few_kernels", "trim"]

KERNELS = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"  # read by oneDNN before its first product
FEW = "32"


def keep_few_kernels() -> None:
    """Let oneDNN keep the kernels of few sizes, if it has multiplied nothing yet and nobody has said how many."""
    os.environ.setdefault(KERNELS, FEW)


def trim() -> None:
    """Give the memory between the C library's blocks back to the system, where the library can (glibc)."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
