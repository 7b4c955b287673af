"""A distribution in a line of text: bins uniform in the logarithm, each a bar of eight heights.

The lowest bar means "few", a blank "none"; zeros have no logarithm and are counted beside the bars.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

BINS: Final = 16
_BARS: Final = "▁▂▃▄▅▆▇█"


def log_bins(values: Sequence[int], divisor: float = 1) -> dict[str, Any]:
    """`counts` of equal steps of the logarithm from the least positive value to the largest; None without any."""
    sample = np.asarray(values, dtype=np.float64) / divisor
    positive = sample[sample > 0]
    zeros = int(len(sample) - len(positive))
    if not len(positive):
        return {"from": None, "to": None, "counts": [], "zeros": zeros}
    low, high = float(positive.min()), float(positive.max())
    place = np.log(positive / low) / np.log(high / low) * BINS if high > low else np.zeros(len(positive))
    counts = np.bincount(np.minimum(place.astype(np.int64), BINS - 1), minlength=BINS)
    return {"from": low, "to": high, "counts": counts.tolist(), "zeros": zeros}


def draw_bars(bins: dict[str, Any]) -> str:
    """As wide as there are bins, and how many zeros there were, if any."""
    tallest = max(bins["counts"], default=0)
    bars = "".join(_BARS[-(-len(_BARS) * count // tallest) - 1] if count else " " for count in bins["counts"])
    zeros = f"{bins['zeros']} x 0" if bins["zeros"] else ""
    return "  ".join(part for part in (bars, zeros) if part)
