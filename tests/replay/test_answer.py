from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.answer import StreamedAnswer
from replay.endpoints import ENDPOINTS
from wire.usage import Usage

TOKEN = b'data: {"choices":[{"text":" a","finish_reason":null}]}\n\n'
LAST = b'data: {"choices":[{"text":" b","finish_reason":"length"}]}\n\n'
USAGE = (
    b'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,'
    b'"prompt_tokens_details":{"cached_tokens":4}}}\n\n'
)
DONE = b"data: [DONE]\n\n"
WHOLE = TOKEN + LAST + USAGE + DONE


def read(*reads: bytes, endpoint: str = "completions") -> StreamedAnswer:
    answer = StreamedAnswer(ENDPOINTS["chat" if endpoint == "chat" else "completions"])
    for number, data in enumerate(reads, 1):
        answer.feed(data, number * 10)
    answer.finish()
    return answer


def test_first_and_last_token_have_the_time_of_their_read() -> None:
    answer = read(b": hello\n\n", TOKEN, LAST, USAGE, DONE)
    assert (answer.first_token_us, answer.last_token_us, answer.error) == (20, 30, None)
    assert answer.usage == Usage(input_tokens=9, output_tokens=2, cache_read_tokens=4)


@given(cuts=st.sets(st.integers(1, len(WHOLE) - 1), max_size=6))
def test_cuts_of_the_network_change_nothing_but_times(cuts: set[int]) -> None:
    bounds = [0, *sorted(cuts), len(WHOLE)]
    answer = read(*(WHOLE[a:b] for a, b in pairwise(bounds)))
    assert answer.error is None
    assert answer.usage == Usage(input_tokens=9, output_tokens=2, cache_read_tokens=4)
    assert answer.first_token_us is not None


def test_chat_role_chunk_is_not_the_first_token() -> None:
    answer = read(
        b'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n',
        b'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"length"}]}\n\n',
        endpoint="chat",
    )
    assert (answer.first_token_us, answer.error) == (20, None)


def test_stream_without_usage_is_no_error() -> None:
    answer = read(TOKEN, LAST, DONE)
    assert (answer.usage, answer.error) == (None, None)


@pytest.mark.parametrize("reads", [(), (TOKEN,), (TOKEN, LAST[:20])])
def test_stream_that_just_stops_is_truncated(reads: tuple[bytes, ...]) -> None:
    assert read(*reads).error == "truncated"


@pytest.mark.parametrize("event", [b"data: {broken\n\n", b"data: [1]\n\n", b'data: {"choices":[7]}\n\n'])
def test_chunk_that_makes_no_sense_is_a_bad_stream(event: bytes) -> None:
    assert read(TOKEN, event, DONE).error == "bad_stream"


@pytest.mark.parametrize("body", [b"<html>Bad gateway</html>", b'\n{"choices":[{"text":" a"}]}', b"x" * 99_999])
def test_whole_page_instead_of_a_stream_is_a_bad_stream(body: bytes) -> None:
    answer = read(body[:5], body[5:])
    assert (answer.error, answer.detail) == ("bad_stream", "the answer is no stream of events")


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (b'{"error":{"message":"engine died","code":500}}', "http_5xx"),
        (b'{"error":{"message":"longer than the context length","code":400}}', "context_overflow"),
        (b'{"error":{"message":"?"}}', "bad_stream"),
        (b'{"error":"?"}', "bad_stream"),
    ],
)
def test_error_inside_the_stream_has_a_class_and_its_words(error: bytes, named: str) -> None:
    answer = read(TOKEN, b"data: " + error + b"\n\n")
    assert answer.error == named
    assert answer.detail


def test_chunks_that_differ_in_their_text_alone_are_tokens_and_all_others_are_looked_into() -> None:
    more = [b'data: {"choices":[{"text":" %s","finish_reason":null}]}\n\n' % text for text in (b"b", b"\\n", b"c d")]
    answer = read(TOKEN, *more, USAGE, LAST, DONE)
    assert (answer.first_token_us, answer.last_token_us, answer.error) == (10, 60, None)
    assert read(TOKEN, *more, DONE).last_token_us == 40
    assert read(TOKEN, *more).error == "truncated"
    assert (
        read(TOKEN, more[0], b'data: {"choices":[{"text":" b","finish_reason":null]}\n\n', LAST).error == "bad_stream"
    )
    assert read(TOKEN, more[0], b'data: {"error":{"message":"x"}}\n\n', more[1]).error == "bad_stream"
