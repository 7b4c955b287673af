from __future__ import annotations

import pytest

from anonymize.cleanup import reason_to_reject, repeated_attempts
from corpus.exchange import Exchange, Identity, Purpose
from tests.anonymize.exchanges import anonymize, claude_answer, claude_body, claude_capture, exchange, user

BODY = claude_body([user("hi")])
ANSWER = claude_answer({"type": "text", "text": "hello"})


def reason(one: Exchange, *, keep_aux: bool = False) -> str | None:
    return reason_to_reject(one, frozenset(), keep_aux=keep_aux)


def with_purpose(purpose: Purpose) -> Exchange:
    return exchange(1, BODY, ANSWER, identity=Identity(session_id="s", purpose=purpose))


def test_an_answered_turn_is_kept() -> None:
    assert reason(exchange(1, BODY, ANSWER)) is None


@pytest.mark.parametrize("purpose", ["turn", "compaction", "web_search", "web_fetch", "review", "hook", "other"])
def test_what_the_agent_waits_for_is_kept(purpose: Purpose) -> None:
    assert reason(with_purpose(purpose)) is None


@pytest.mark.parametrize(
    ("purpose", "expected"),
    [
        ("title", "title"),
        ("side_question", "side_question"),
        ("memory", "memory"),
        ("classifier", "security_monitor"),
        ("guardian", "security_monitor"),
    ],
)
def test_auxiliary_requests_stay_out_unless_asked_for(purpose: Purpose, expected: str) -> None:
    assert reason(with_purpose(purpose)) == expected
    assert reason(with_purpose(purpose), keep_aux=True) is None


@pytest.mark.parametrize("purpose", ["count_tokens", "probe", "prewarm"])
def test_what_generates_nothing_stays_out_even_with_aux(purpose: Purpose) -> None:
    assert reason(with_purpose(purpose), keep_aux=True) == "not_generating"


def test_other_traffic_and_handshakes_stay_out() -> None:
    assert reason(exchange(1, b"", b"", path="/api/hello", method="HEAD")) == "not_generating"
    shaken = Identity(session_id="s", purpose="probe")
    assert reason(exchange(1, b"", b"x", path="/v1/responses", method="GET", identity=shaken)) == "not_generating"


def test_turns_on_a_websocket_are_kept() -> None:
    assert reason(exchange(1, b"{}", b"x", path="/v1/responses", method="GET")) is None


def test_failures_are_told_apart() -> None:
    assert reason(exchange(1, BODY, b'{"error":{}}', status=529)) == "error"
    assert reason(exchange(1, BODY, b"", status=None, end="upstream_refused")) == "no_answer"
    assert reason(exchange(1, BODY, b"", status=200, end="upstream_reset")) == "no_answer"
    assert reason(Exchange(exchange(1, BODY, ANSWER).request, None)) == "no_answer"


def test_a_repeated_attempt_is_folded_into_its_repetition() -> None:
    failed = exchange(1, BODY, b'{"error":{}}', status=529)
    again = exchange(3, BODY, ANSWER, retry_of=failed.request.exchange_id)
    repeated = repeated_attempts([failed, again])
    assert reason_to_reject(failed, repeated, keep_aux=False) == "retried"
    assert reason_to_reject(again, repeated, keep_aux=False) is None
    assert reason_to_reject(failed, repeated, keep_aux=False, keep_failed=True) is None


def test_an_answer_cut_by_the_client_is_kept_when_something_had_come() -> None:
    cut = exchange(1, BODY, ANSWER[:3], end="client_abort")
    done = anonymize([cut])
    assert done.session is not None
    assert (done.session.requests[0].end, done.session.requests[0].stop) == ("client_abort", "")


def test_bodies_that_cannot_be_read_or_say_nothing_are_counted() -> None:
    broken = exchange(1, b'{"messages": 7}', ANSWER)
    huge = exchange(2, claude_body([user("word " * 500)]), ANSWER)
    failed = exchange(
        3, BODY, [{"type": "error", "error": {"type": "overloaded_error", "message": "m"}}], end="sse_error"
    )
    silent = exchange(4, BODY, ANSWER[:1], end="upstream_reset")
    done = anonymize([broken, huge, failed, silent], max_input_tokens=400)
    assert done.session is None
    assert done.rejected == {"unparsable": 1, "over_max_input_tokens": 1, "error": 1, "no_answer": 1}


def test_nothing_is_lost_between_kept_and_rejected_in_a_recorded_fault() -> None:
    exchanges = claude_capture("fault_429_529_500")
    done = anonymize(exchanges)
    assert done.session is not None
    assert len(done.session.requests) + done.rejected.total() == len(exchanges)
    assert done.rejected["retried"] == 3
