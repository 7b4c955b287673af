from __future__ import annotations

import pytest

from corpus.errors import InputError
from replay.engines import check_extra_body, error_class, error_message


@pytest.mark.parametrize("name", ["model", "prompt", "messages", "stream", "max_tokens"])
def test_extra_body_may_not_decide_what_replay_decides(name: str) -> None:
    with pytest.raises(InputError, match=name):
        check_extra_body({name: 1})
    check_extra_body({"temperature": 0})


@pytest.mark.parametrize(
    ("status", "message", "named"),
    [
        (404, "The model `x` does not exist.", "http_4xx"),
        (400, "This model's maximum context length is 2048 tokens.", "context_overflow"),
        (400, "max_tokens must be at least 1, got 0", "context_overflow"),
        (429, "slow down", "http_4xx"),
        (500, "maximum context length", "http_5xx"),
        (503, "", "http_5xx"),
    ],
)
def test_refusals_have_a_class(status: int, message: str, named: str) -> None:
    assert error_class(status, message) == named


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error":{"message":"no such\\n  model","code":404}}', "no such model"),
        (b'{"error":"busy"}', "busy"),
        (b'{"object":"error","message":"gone"}', "gone"),
        (b'{"detail":"Not Found"}', "Not Found"),
        (b'{"detail":[1]}', '{"detail":[1]}'),
        (b"<html>\n bad gateway", "<html> bad gateway"),
        (b"", ""),
        (b"\xff", "\ufffd"),
    ],
)
def test_the_servers_own_words_are_found(body: bytes, said: str) -> None:
    assert error_message(body) == said
