from __future__ import annotations

from report.distributions import Samples
from report.published import PUBLISHED


def test_what_is_published_is_about_distributions_that_are_drawn() -> None:
    assert PUBLISHED.keys() <= Samples().values.keys()
    assert all(0 < p < 100 and value > 0 for known in PUBLISHED.values() for p, value in known)
