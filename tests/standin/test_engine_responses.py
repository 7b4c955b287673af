"""The Responses API of the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import pytest

from standin.engine_prompts import Ask, RefusedError
from standin.engine_responses import ResponsesReply, chat_of_responses
from wire.sse import split_sse


def reply() -> ResponsesReply:
    ask = Ask(True, "m", np.zeros(100, dtype=np.uint32), 3, "length", stream=True, include_usage=False)
    return ResponsesReply(ask, 5, digest=123, created_s=9)


def test_items_become_a_chat_with_calls_in_the_message_before_them() -> None:
    call = {"type": "function_call", "name": "t", "arguments": "{}"}
    body = {
        "instructions": "be",
        "max_output_tokens": 7,
        "input": [
            {"role": "user", "content": "do"},
            {"role": "assistant", "content": "ok"},
            {**call, "call_id": "1"},
            {**call, "call_id": "2"},
            {"type": "function_call_output", "call_id": "1", "output": "done"},
            {**call, "call_id": "3"},
        ],
    }
    chat = chat_of_responses(body)
    assert chat["max_tokens"] == 7
    assert [message["role"] for message in chat["messages"]] == ["system", "user", "assistant", "tool", "assistant"]
    assert [made["id"] for made in chat["messages"][2]["tool_calls"]] == ["1", "2"]
    assert chat_of_responses({"input": "hi"})["messages"] == [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize("item", ["x", {"type": "reasoning"}, {"type": "function_call"}])
def test_what_is_not_served_is_refused(item: Any) -> None:
    with pytest.raises(RefusedError):
        chat_of_responses({"input": [item]})


def test_a_stream_has_the_events_of_the_api_and_ends_with_the_whole() -> None:
    one = reply()
    raw = one.opening() + b"".join(one.token(n) for n in range(3)) + one.closing(64)
    events = split_sse(raw)
    data = [orjson.loads(event.data) for event in events]
    assert [event["sequence_number"] for event in data] == list(range(len(data)))
    assert [event["type"] for event in data] == [event.event for event in events]
    assert [event["delta"] for event in data if event["type"] == "response.output_text.delta"] == [
        one.word(n) for n in range(3)
    ]
    assert data[-1]["type"] == "response.incomplete"
    assert data[-1]["response"] == orjson.loads(one.whole(64))
    assert data[-1]["response"]["usage"]["input_tokens_details"] == {"cached_tokens": 64}
    assert data[-1]["response"]["usage"]["input_tokens"] == 100
