"""Robust, non-negative linear regression of relative errors, in numpy alone.

Minimises sum huber(prediction / counted - 1) + ridge, over coefficients >= 0: a token, a byte or a piece never takes
tokens away, and one odd request (a truncated capture, a tool the provider ran) must not bend the fit. The ridge pulls
towards `prior` with the weight of a fiftieth of a request: a coefficient about which the data says nothing stays there,
and collinear ones share what is explained.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from anonymize.features import Vector

type Mask = NDArray[np.bool_]

_PRIOR_REQUESTS: Final = 0.02
_ROUNDS: Final = 25
_HUBER: Final = 1.345  # of the residuals' scale: 95 % as efficient as least squares where errors are normal (Huber)
_SMALLEST_SCALE: Final = 5e-3  # of the residuals: half a percent off is no outlier
_DAMPING: Final = 1e-9


def fit_relative(features: Vector, counted: Vector, prior: Vector) -> Vector:
    """Coefficients, one a column of `features` (requests x columns); `prior` when there are no requests."""
    if not len(features):
        return prior.copy()
    rows = features / counted[:, None]
    size = np.sqrt((rows**2).mean(axis=0))
    used = size > 0
    scaled, start = rows[:, used] / size[used], prior[used] * size[used]
    weights = np.ones(len(rows))
    found = start
    for _ in range(_ROUNDS):
        weighted = scaled * weights[:, None]
        gram = weighted.T @ scaled + np.eye(len(start)) * (_PRIOR_REQUESTS + _DAMPING)
        found = _nonnegative(gram, weighted.sum(axis=0) + _PRIOR_REQUESTS * start)
        weights = _huber_weights(scaled @ found - 1)
    coefficients = prior.copy()
    coefficients[used] = found / size[used]
    return coefficients


def _huber_weights(residuals: Vector) -> Vector:
    scale = max(1.4826 * float(np.median(np.abs(residuals))), _SMALLEST_SCALE)
    return np.minimum(1.0, _HUBER * scale / np.maximum(np.abs(residuals), _DAMPING))


def _nonnegative(gram: Vector, target: Vector) -> Vector:
    """argmin b'Gb/2 - t'b over b >= 0: the active-set method of Lawson and Hanson on the normal equations."""
    free, found = np.zeros(len(target), dtype=np.bool_), np.zeros(len(target))
    for _ in range(3 * len(target)):
        gradient = np.where(free, -np.inf, target - gram @ found)
        best = int(np.argmax(gradient))
        if gradient[best] <= _DAMPING:
            break
        free[best] = True
        free, found = _solved(gram, target, free, found)
    return found


def _solved(gram: Vector, target: Vector, free: Mask, found: Vector) -> tuple[Mask, Vector]:
    """The solution on the free coefficients, those that would turn negative given back to zero one after another."""
    while True:
        trial = np.zeros(len(target))
        trial[free] = np.linalg.solve(gram[np.ix_(free, free)], target[free])
        negative = np.logical_and(free, trial <= 0)
        if not negative.any():
            return free, trial
        steps = found[negative] / np.maximum(found[negative] - trial[negative], _DAMPING)
        found = found + float(steps.min()) * (trial - found)
        free = np.logical_and(free, found > _DAMPING)
        found = np.where(free, found, 0.0)
