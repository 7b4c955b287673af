"""The Prometheus text format, as far as the metrics of `metrics_table` need it; pure.

Lines that nobody asked for are skipped by their name alone, because an engine's page holds a thousand of them. A broken
line is skipped as well: a scrape is worth what can be read of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from replay.metrics_table import READINGS, Reading

Series = tuple[Mapping[str, str], float]

_WANTED: Final = frozenset(metric for reading in READINGS for metric in reading.metrics)
_NAME: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL: Final = re.compile(r'\s*([a-zA-Z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*,?')
_ESCAPES: Final = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}


def read_metrics(text: str) -> dict[str, float]:
    """Our name -> value, of what the page holds."""
    series: dict[str, list[Series]] = {}
    for name, labels, value in _samples(text):
        series.setdefault(name, []).append((labels, value))
    found: dict[str, float] = {}
    for reading in READINGS:
        if reading.name not in found:
            values = [value for metric in reading.metrics for value in _matching(reading, series.get(metric, ()))]
            if values and all(metric in series for metric in reading.metrics):
                total = math.fsum(values) * reading.scale
                found[reading.name] = total / len(values) if reading.mean else total
    return found


def _matching(reading: Reading, series: Sequence[Series]) -> Iterator[float]:
    for labels, value in series:
        if all(labels.get(label, "").startswith(allowed) for label, allowed in reading.labels.items()):
            yield value


def _samples(text: str) -> Iterator[tuple[str, dict[str, str], float]]:
    for line in text.splitlines():
        match = _NAME.match(line)
        if match is None or match[0] not in _WANTED:
            continue
        labels, rest = _labels(line[match.end() :])
        try:
            value = float(rest.split(maxsplit=1)[0])
        except (IndexError, ValueError):
            continue
        if math.isfinite(value):
            yield match[0], labels, value


def _labels(text: str) -> tuple[dict[str, str], str]:
    """Labels in braces, and what follows them."""
    text = text.lstrip()
    if not text.startswith("{"):
        return {}, text
    labels: dict[str, str] = {}
    at = 1
    while match := _LABEL.match(text, at):
        labels[match[1]] = re.sub(r"\\.", lambda escape: _ESCAPES.get(escape[0], escape[0]), match[2])
        at = match.end()
    end = text.find("}", at)
    return (labels, text[end + 1 :]) if end >= 0 else ({}, "")
