from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from corpus.exchange import ResponseRecord
from proxy.retries import Retries, content_key, ended_badly

GOOD = ResponseRecord("e", "complete", 200, (), 1, 1, 1, (), (), None, None, 0, b"")


def test_repetition_of_a_failure_is_its_retry() -> None:
    retries, key = Retries(), content_key("s", b"{}")
    assert retries.heard_request("e1", key) is None
    retries.heard_response("e1", failed=True)
    assert retries.heard_request("e2", key) == "e1"
    retries.heard_response("e2", failed=True)
    assert retries.heard_request("e3", key) == "e2"


def test_repetition_of_a_success_is_no_retry() -> None:
    retries, key = Retries(), content_key("s", b"{}")
    retries.heard_request("e1", key)
    retries.heard_response("e1", failed=True)
    retries.heard_request("e2", key)
    retries.heard_response("e2", failed=False)
    assert retries.heard_request("e3", key) is None


def test_repetition_while_the_first_is_running_is_no_retry() -> None:
    retries, key = Retries(), content_key("s", b"{}")
    retries.heard_request("e1", key)
    assert retries.heard_request("e2", key) is None


def test_other_session_or_other_body_is_no_retry() -> None:
    retries = Retries()
    retries.heard_request("e1", content_key("s", b"{}"))
    retries.heard_response("e1", failed=True)
    assert retries.heard_request("e2", content_key("t", b"{}")) is None
    assert retries.heard_request("e3", content_key("s", b"{ }")) is None


def test_claude_code_asking_again_without_a_stream_is_a_retry() -> None:
    asked = [
        {"messages": [1], "max_tokens": most, "stream": stream} for most, stream in ((128000, True), (64000, False))
    ]
    first, second = (content_key("s", orjson.dumps(request), request) for request in asked)
    assert first == second
    other = {"messages": [2], "max_tokens": 64000, "stream": False}
    assert first != content_key("s", orjson.dumps(other), other)


def test_a_failure_may_be_repeated_under_another_key() -> None:
    retries, key, longer = Retries(), content_key("s", b"a"), content_key("s", b"ab")
    retries.heard_request("e1", key)
    retries.heard_response("e1", failed=True, also=[longer])
    assert retries.heard_request("e2", longer) == "e1"
    retries.heard_response("e2", failed=False)
    assert retries.heard_request("e3", longer) is None


def test_memory_is_bounded() -> None:
    retries = Retries(remembered=10)
    keys = [content_key("s", b"%d" % number) for number in range(20)]
    for number, key in enumerate(keys):
        retries.heard_request(f"e{number}", key)
        retries.heard_response(f"e{number}", failed=True)
    assert retries.heard_request("late", keys[9]) is None
    assert retries.heard_request("late", keys[10]) == "e10"


@pytest.mark.parametrize(
    "response",
    [
        replace(GOOD, status=529),
        replace(GOOD, status=None),
        replace(GOOD, end="upstream_reset"),
        replace(GOOD, end="sse_error"),
    ],
)
def test_bad_endings(response: ResponseRecord) -> None:
    assert ended_badly(response)
    assert not ended_badly(GOOD)
