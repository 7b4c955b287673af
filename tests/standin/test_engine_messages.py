"""The Messages API of the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import pytest

from standin.engine_messages import MessagesReply, chat_of_messages
from standin.engine_prompts import Ask, RefusedError
from wire.sse import split_sse


def reply() -> MessagesReply:
    ask = Ask(True, "m", np.zeros(100, dtype=np.uint32), 3, "length", stream=True, include_usage=False)
    return MessagesReply(ask, 5, digest=123, created_s=9)


def test_a_conversation_becomes_a_chat_with_results_before_the_text_beside_them() -> None:
    body = {
        "system": [{"type": "text", "text": "be"}],
        "messages": [
            {"role": "user", "content": "do"},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "ok"},
                    {"type": "tool_use", "id": "1", "name": "t", "input": {"a": 1}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "note"},
                    {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "done"}]},
                ],
            },
        ],
    }
    call = {"id": "1", "type": "function", "function": {"name": "t", "arguments": '{"a":1}'}}
    assert chat_of_messages(body)["messages"] == [
        {"role": "system", "content": "be"},
        {"role": "user", "content": "do"},
        {"role": "assistant", "content": "ok", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "done"},
        {"role": "user", "content": "note"},
    ]


@pytest.mark.parametrize(
    "message",
    [
        "x",
        {"role": "system", "content": "a"},
        {"role": "user", "content": [{"type": "image"}]},
        {"role": "user", "content": 1},
    ],
)
def test_what_is_not_served_is_refused(message: Any) -> None:
    with pytest.raises(RefusedError):
        chat_of_messages({"messages": [message]})


def test_usage_tells_apart_what_was_cached() -> None:
    usage = reply().usage(64)
    assert (usage["input_tokens"], usage["cache_read_input_tokens"], usage["output_tokens"]) == (36, 64, 3)
    assert orjson.loads(reply().whole(64))["usage"] == usage


def test_a_stream_has_the_events_of_the_api() -> None:
    one = reply()
    raw = one.opening() + b"".join(one.token(n) for n in range(3)) + one.closing(64)
    events = split_sse(raw)
    assert [event.event for event in events] == [
        "message_start",
        "content_block_start",
        *["content_block_delta"] * 3,
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    data = [orjson.loads(event.data) for event in events]
    text = "".join(event["delta"]["text"] for event in data[2:5])
    assert text == orjson.loads(one.whole(0))["content"][0]["text"]
    assert data[6]["delta"]["stop_reason"] == "max_tokens"
