"""How this process runs when recording is all it does; measured settings, none of which changes what is done.

mitmproxy's modules are some hundred thousand objects that live as long as the process; frozen, they are not walked
again by every full garbage collection. Bodies are parsed into many short-lived objects in one go, which is no sign of
garbage. Whoever holds the interpreter's lock gives it up sooner, so that a stream's next event waits less for the
scribe. And a connection takes two descriptors and a session one, for which 256 or 1024 are soon too few.
"""

from __future__ import annotations

import contextlib
import gc
import resource
import sys
from typing import Final

_YOUNG_OBJECTS: Final = 50_000  # between two collections of the youngest; Python's own: 2000
_SWITCH_S: Final = 0.001  # Python's own: 5 ms
_DESCRIPTORS: Final = 8192


def tune_process() -> None:
    """Once, when everything has been imported. Not for a process that has other things to do."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, *gc.get_threshold()[1:])
    sys.setswitchinterval(_SWITCH_S)
    _allow_descriptors()


def _allow_descriptors() -> None:
    """As far as the system lets every process go without asking."""
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if most == resource.RLIM_INFINITY else min(_DESCRIPTORS, most)
    if allowed != resource.RLIM_INFINITY and allowed < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
