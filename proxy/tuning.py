"""How this process runs when recording is all it does; measured settings, none of which changes what is done.

mitmproxy's modules are some hundred thousand objects that live as long as the process; frozen, they are not walked
again by every full garbage collection. Bodies are parsed into many short-lived objects in one go, which is no sign of
garbage. And whoever holds the interpreter's lock gives it up sooner, so that a stream's next event waits less for the
scribe.
"""

from __future__ import annotations

import gc
import sys
from typing import Final

_YOUNG_OBJECTS: Final = 50_000  # between two collections of the youngest; Python's own: 2000
_SWITCH_S: Final = 0.001  # Python's own: 5 ms


def tune_process() -> None:
    """Once, when everything has been imported. Not for a process that has other things to do."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, *gc.get_threshold()[1:])
    sys.setswitchinterval(_SWITCH_S)
