"""Python's collector of cycles and the sessions: there are none in them, so it never looks.

Going through the records of a corpus takes a sixth of the time of reading them, and longer than a request may be late.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """What is made within is left alone from then on, until `settled_heap` is left."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()


@contextmanager
def settled_heap() -> Iterator[None]:
    """What there is when it is entered is left alone within."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
