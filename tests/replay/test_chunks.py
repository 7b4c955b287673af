from __future__ import annotations

from typing import Any

import pytest

from replay.chunks import (
    Chunk,
    read_chat_chunk,
    read_completions_chunk,
    read_messages_event,
    read_responses_event,
)


def test_completion_chunk_without_text_is_still_a_token() -> None:
    assert read_completions_chunk({"choices": [{"text": "", "finish_reason": None}]}) == Chunk(token=True)
    assert read_completions_chunk({"choices": [], "usage": {"prompt_tokens": 1}}) == Chunk(usage={"prompt_tokens": 1})


@pytest.mark.parametrize(
    ("choice", "is_token"),
    [
        ({"delta": {"role": "assistant", "content": ""}, "finish_reason": None}, False),
        ({"delta": {"content": "hi"}}, True),
        ({"delta": {"reasoning_content": "hm"}}, True),
        ({"delta": {"tool_calls": [{}]}}, True),
        ({"delta": {}, "finish_reason": "length"}, True),
        ({"delta": None}, False),
    ],
)
def test_chat_chunk_is_a_token_when_it_says_something(choice: dict[str, object], is_token: bool) -> None:
    assert read_chat_chunk({"choices": [choice]}).token is is_token


@pytest.mark.parametrize(
    ("event", "chunk"),
    [
        ({"type": "message_start", "message": {"usage": {"input_tokens": 3}}}, Chunk(usage={"input_tokens": 3})),
        ({"type": "content_block_start", "content_block": {"type": "text"}}, Chunk()),
        ({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "a"}}, Chunk(token=True)),
        ({"type": "content_block_delta", "delta": {"type": "thinking_delta"}}, Chunk(token=True)),
        ({"type": "content_block_delta", "delta": {"type": "signature_delta"}}, Chunk()),
        (
            {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 2}},
            Chunk(ends=True, usage={"output_tokens": 2}),
        ),
        ({"type": "ping"}, Chunk()),
        ({"type": "message_stop"}, Chunk(ends=True)),
    ],
)
def test_messages_events(event: dict[str, Any], chunk: Chunk) -> None:
    assert read_messages_event(event) == chunk


@pytest.mark.parametrize(
    ("event", "chunk"),
    [
        ({"type": "response.created", "response": {"usage": None}}, Chunk()),
        ({"type": "response.output_text.delta", "delta": "a"}, Chunk(token=True)),
        ({"type": "response.reasoning_text.delta", "delta": "a"}, Chunk(token=True)),
        ({"type": "response.output_text.done", "text": "a"}, Chunk()),
        (
            {"type": "response.completed", "response": {"usage": {"input_tokens": 3}}},
            Chunk(ends=True, usage={"input_tokens": 3}),
        ),
        ({"type": "response.incomplete", "response": {"usage": None}}, Chunk(ends=True)),
        ({"type": "response.failed", "response": {"error": {"message": "x"}}}, Chunk(error={"message": "x"})),
        ({"type": "error", "message": "x"}, Chunk(error={"type": "error", "message": "x"})),
    ],
)
def test_responses_events(event: dict[str, Any], chunk: Chunk) -> None:
    assert read_responses_event(event) == chunk
