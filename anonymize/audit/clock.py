"""T11: times count from the session's start and tell no date; public ones are on the grid, without long pauses."""

from __future__ import annotations

from typing import Final

from anonymize.policy import PAUSE_CAP_US, TIME_GRID_US
from corpus.session import Session

# A moment later than ten years after a session's start is one on somebody's calendar: now in microseconds is 56 years.
_LONGEST_US: Final = 10 * 365 * 86_400 * 1_000_000


def find_odd_time(session: Session, *, public: bool) -> str | None:
    """The first time that should not be there, as a place; None when all are fine."""
    busy_until = 0
    for request in session.requests:
        known = (request.t_start_us, request.t_first_us, request.t_end_us)
        moments = [moment for moment in known if moment is not None]
        where = f"request {request.request}"
        if not all(0 <= moment <= _LONGEST_US for moment in moments):
            return f"{where} is at a moment that may be a date"
        if request.request == 0 and request.t_start_us != 0:
            return f"{where} does not start at 0"
        if public and any(moment % TIME_GRID_US for moment in moments):
            return f"{where} is at a moment between two of the grid"
        # one step more for each request that had to wait for its turn on the grid
        if public and request.t_start_us - busy_until > PAUSE_CAP_US + TIME_GRID_US * len(session.requests):
            return f"{where} follows a pause longer than the cap"
        busy_until = max(busy_until, *moments)
    return None
