from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from corpus.exchange import ResponseRecord
from proxy.retries import Digest, Key, Retries, digest_body, digest_messages, digest_request, ended_badly


def content_key(session_id: str, body: bytes) -> Key:
    return session_id, digest_body(body)


def digest(request: dict[str, Any]) -> bytes:
    return digest_request(request, digest_messages(Digest(), request["messages"]))


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
    asked: list[dict[str, Any]] = [
        {"messages": [1], "max_tokens": most, "stream": stream} for most, stream in ((128000, True), (64000, False))
    ]
    first, second = map(digest, asked)
    assert first == second
    assert first != digest({"messages": [2], "max_tokens": 64000, "stream": False})
    assert first != digest(asked[0] | {"temperature": 1})


def test_messages_are_digested_alike_in_one_go_and_bit_by_bit() -> None:
    whole = digest_messages(Digest(), ["a", {"b": 1}, "c"])
    before = digest_messages(Digest(), ["a"])
    assert digest_messages(before, [{"b": 1}, "c"]).digest() == whole.digest()
    assert digest_messages(before, []).digest() == before.digest() != whole.digest()


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
