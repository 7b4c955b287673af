from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from anonymize.audit.clock import find_odd_time
from anonymize.public import public_session
from corpus.session import Session
from tests.anonymize.exchanges import claude_answer, claude_body, exchange, session_of, user

NOW_US = 1_764_400_000_000_000


@pytest.fixture
def session() -> Session:
    answer = claude_answer({"type": "text", "text": "hello"})
    return session_of([exchange(at, claude_body([user("hi")]), answer, first_s=at + 0.123) for at in (1, 9_000.5)])


def changed(session: Session, number: int, **values: Any) -> Session:
    requests = list(session.requests)
    requests[number] = replace(requests[number], **values)
    return replace(session, requests=tuple(requests))


def test_times_from_the_start_pass(session: Session) -> None:
    assert find_odd_time(session, public=False) is None
    assert find_odd_time(public_session(session), public=True) is None


def test_planted_dates_are_caught(session: Session) -> None:
    for field in ("t_start_us", "t_first_us", "t_end_us"):
        assert "may be a date" in str(find_odd_time(changed(session, 1, **{field: NOW_US}), public=False))
    assert "does not start at 0" in str(find_odd_time(changed(session, 0, t_start_us=5), public=False))


def test_planted_exact_times_and_long_pauses_are_caught_in_a_public_corpus(session: Session) -> None:
    assert "between two of the grid" in str(find_odd_time(session, public=True))
    public = public_session(session)
    assert "longer than the cap" in str(
        find_odd_time(changed(public, 1, t_start_us=9_000_000_000, t_first_us=None, t_end_us=None), public=True)
    )
