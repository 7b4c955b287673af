from __future__ import annotations

from dataclasses import replace

from anonymize.attempts import Attempts
from corpus.exchange import Exchange, Identity, Purpose
from corpus.session import Attempt
from tests.anonymize.exchanges import anonymize, claude_answer, claude_body, exchange, session_of, user

BODY = claude_body([user("hi")])
ANSWER = claude_answer({"type": "text", "text": "hello"})


def failed(at_s: float, retry_of: Exchange | None = None, *, agent: str | None = None, text: str = "hi") -> Exchange:
    """Refused with 529 after a quarter of a second."""
    told = Identity(session_id="s", agent_id=agent, purpose="turn")
    name = None if retry_of is None else retry_of.request.exchange_id
    body = claude_body([user(text)])
    return exchange(at_s, body, b"{}", identity=told, retry_of=name, status=529, end_s=at_s + 0.25)


def answered(
    at_s: float, retry_of: Exchange | None = None, *, agent: str | None = None, purpose: Purpose = "turn"
) -> Exchange:
    told = Identity(session_id="s", agent_id=agent, purpose=purpose)
    name = None if retry_of is None else retry_of.request.exchange_id
    return exchange(at_s, BODY, ANSWER, identity=told, retry_of=name)


def told(*tries: Exchange, then: Exchange) -> list[tuple[int, bool]]:
    repeats = {one.request.retry_of for one in (*tries, then)} - {None}
    attempts = Attempts({name for name in repeats if name is not None})
    for one in tries:
        attempts.failed(one)
    found = [(attempt.lead_us, attempt.repeated) for attempt in attempts.behind(then)]
    assert attempts.behind(then) == ()
    return found


def test_a_repetition_tells_of_every_try_before_it() -> None:
    first = failed(1)
    second = failed(2, first)
    assert told(first, second, then=answered(4, second)) == [(3_000_000, True), (2_000_000, True)]


def test_a_body_that_the_client_gave_up_on_is_told_by_the_next_step() -> None:
    first = failed(1, text="never mind")
    second = failed(2, first, text="never mind")
    assert told(first, second, then=answered(4)) == [(3_000_000, False), (2_000_000, False)]


def test_what_another_agent_or_an_aside_asks_tells_nothing_of_it() -> None:
    assert told(failed(1), then=answered(2, agent="a")) == []
    assert told(failed(1), then=answered(2, purpose="title")) == []
    assert told(failed(1), then=answered(2, purpose="compaction")) == [(1_000_000, False)]


def test_a_try_still_in_flight_is_not_given_up() -> None:
    slow = failed(1)
    assert slow.response is not None
    slow = replace(slow, response=replace(slow.response, t_end_us=9_000_000))
    assert told(slow, then=answered(2)) == []


def test_a_try_whose_end_nobody_heard_has_no_duration() -> None:
    attempts = Attempts(())
    attempts.failed(Exchange(failed(1).request, None))
    assert attempts.behind(answered(2)) == (Attempt(1_000_000, None, "unknown", None, repeated=False),)


def test_build_keeps_attempts_of_a_request_and_counts_them() -> None:
    """Refused, then cut before a word was said, then answered; a last one is never answered."""
    first = failed(1)
    second = exchange(2, BODY, ANSWER[:1], end="upstream_reset", end_s=3, retry_of=first.request.exchange_id)
    done = anonymize([first, second, answered(5, second), failed(9)])
    assert done.session is not None
    (request,) = done.session.requests
    assert request.attempts == (
        Attempt(4_000_000, 250_000, "complete", 529, repeated=True),
        Attempt(3_000_000, 1_000_000, "upstream_reset", 200, repeated=True),
    )
    assert done.rejected == {"retried": 2, "error": 1}


def test_kept_attempts_are_requests_that_their_repetition_names() -> None:
    first = failed(1)
    second = exchange(2, BODY, ANSWER[:1], end="upstream_reset", end_s=3, retry_of=first.request.exchange_id)
    session = session_of([first, second, answered(5, second), Exchange(failed(9).request, None)], keep_aux=True)
    assert [(one.end, one.status, one.retry_of, one.attempts) for one in session.requests] == [
        ("complete", 529, None, ()),
        ("upstream_reset", 200, 0, ()),
        ("complete", 200, 1, ()),
        ("unknown", None, None, ()),
    ]
    assert [one.output_tokens for one in session.requests][::3] == [0, 0]
    assert session.requests[3].t_end_us is None
