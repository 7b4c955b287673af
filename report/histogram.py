"""How often which value: bins uniform in the logarithm, percentile guides, and a count of what has no logarithm.

Bins of whole numbers end between two of them, so none is empty only because no whole number lies in it. Two samples
share the bins and are then drawn as shares, so that they can be laid over each other whatever their sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from report.chart import Axis, Chart, Guide, Series, Unit
from report.wording import count, seconds, share

Numbers = NDArray[np.float64]

PERCENTILES: Final = (50, 75, 90, 95, 99)
_BINS: Final = (15, 50)  # fewest and most; between them the square root of the sample's size


def histogram(
    title: str,
    axis: str,
    unit: Unit,
    values: Sequence[float],
    *,
    names: tuple[str, str] = ("", ""),
    other: Sequence[float] | None = None,
    better: str = "",
    notes: Sequence[str] = (),
    known: tuple[str, Sequence[tuple[int, float]]] = ("", ()),
) -> Chart:
    """`values` and `other` (the second sample, in outline) are whole numbers unless `unit` is "share".

    `known` are the name and percentiles of a third one, of which no more is known.
    """
    samples = [np.asarray(sample, dtype=np.float64) for sample in (values, other) if sample is not None]
    log = unit != "share"
    drawn = [sample[sample > 0] if log else sample for sample in samples]
    edges = _log_edges(drawn) if log else np.linspace(0, 1, 21)
    first, *rest = [np.histogram(sample, edges)[0] for sample in drawn]
    shares = bool(rest)
    return Chart(
        title,
        better,
        Axis(axis, unit, log=log),
        Axis("share of values" if shares else "count", "share" if shares else "number"),
        [
            Series(names[0], "first", "bars", _listed(edges), _heights(first, len(samples[0]), shares)),
            *(
                Series(names[1], "second", "outline", _listed(edges), _heights(c, len(samples[1]), shares))
                for c in rest
            ),
        ],
        [*guides_of(samples[0], unit, positive=log), *_known_guides(*known, unit)],
        [note for note in (*_size_notes(names, samples, log=log), *notes) if note],
    )


def guides_of(sample: Numbers, unit: Unit, *, positive: bool) -> list[Guide]:
    """Of the whole sample; a percentile of zero has no place on a logarithmic axis, and equal ones share a guide."""
    if not len(sample):
        return []
    at: dict[str, tuple[list[int], float]] = {}
    for p, value in zip(PERCENTILES, np.percentile(sample, PERCENTILES).tolist(), strict=True):
        if value > 0 or not positive:
            at.setdefault(in_words(value, unit), ([], value))[0].append(p)
    return [
        Guide(_short(value), f"p{names[0]}{f'-p{names[-1]}' if names[1:] else ''} {words}")
        for words, (names, value) in at.items()
    ]


def _known_guides(name: str, percentiles: Sequence[tuple[int, float]], unit: Unit) -> list[Guide]:
    return [Guide(value, f"p{p} {in_words(value, unit)}", name) for p, value in percentiles]


def in_words(value: float, unit: Unit) -> str:
    if unit == "us":
        return f"{value / 1000:.3g} ms" if abs(value) < 1e6 else seconds(value / 1e6)
    return share(value) if unit == "share" else count(value)


def _log_edges(samples: Sequence[Numbers]) -> Numbers:
    together = np.concatenate(list(samples))
    if not len(together):
        return np.array([0.5, 1.5])
    bins = min(_BINS[1], max(_BINS[0], round(len(together) ** 0.5)))
    edges = np.geomspace(together.min(), together.max() + 1, bins + 1)
    return np.unique(np.floor(edges)) - 0.5


def _heights(counts: NDArray[np.int_], size: int, shares: bool) -> list[float]:
    return [_short(c / size) for c in counts.tolist()] if shares and size else counts.tolist()


def _listed(edges: Numbers) -> list[float]:
    return [_short(edge) for edge in edges.tolist()]


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def _size_notes(names: tuple[str, str], samples: Sequence[Numbers], *, log: bool) -> list[str]:
    notes = []
    for name, sample in zip(names, samples, strict=False):
        zero = int((sample <= 0).sum())
        words = "zero or less" if len(sample) and sample.min() < 0 else "zero"
        left_out = f", of them {zero:,} {words}, not on the axis" if log and zero else ""
        notes.append(f"{name + ': ' if name else ''}{len(sample):,} values{left_out}")
    return notes
