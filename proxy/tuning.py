"""How this process runs when recording is all it does; measured settings, none of which changes what is done.

mitmproxy's modules are some hundred thousand objects that live as long as the process; frozen, they are not walked
again by every full garbage collection. Bodies are parsed into many short-lived objects in one go, which is no sign of
garbage. Whoever holds the interpreter's lock gives it up sooner, so that a stream's next event waits less for the
scribe. And memory that held a body is kept for the next one: a copy of 4 MB takes 3 ms in fresh pages, 0.4 ms in used
ones.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Final

_YOUNG_OBJECTS: Final = 50_000  # between two collections of the youngest; Python's own: 2000
_SWITCH_S: Final = 0.001  # Python's own: 5 ms

# Options of glibc's mallopt (malloc.h): blocks below the first size come from the heap, whose free end is kept up to
# the second.
_M_MMAP_THRESHOLD, _MMAP_BYTES = -3, 32 << 20
_M_TRIM_THRESHOLD, _TRIM_BYTES = -1, 32 << 20


def tune_process() -> None:
    """Once, when everything has been imported. Not for a process that has other things to do."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, *gc.get_threshold()[1:])
    sys.setswitchinterval(_SWITCH_S)
    _keep_memory()


def _keep_memory() -> None:
    """Of glibc only; other allocators keep to their own ways."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES)
        mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES)
