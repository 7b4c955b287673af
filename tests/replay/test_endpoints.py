from __future__ import annotations

from typing import Any

import orjson
import pytest

from replay.endpoints import ENDPOINTS, EndpointName, Laid, endpoint_url, request_body
from replay.items import Item, Kind

KINDS: tuple[Kind, ...] = ("system", "user", "assistant", "call", "call", "result", "result", "user")


def laid(*kinds: Kind) -> Laid:
    items, calls = [], [n for n, kind in enumerate(kinds) if kind == "call"]
    for n, kind in enumerate(kinds):
        call = n if kind == "call" else calls.pop(0) if kind == "result" else 0
        items.append((Item(kind, n, n + 1, call), b" %d" % n))
    return items


def body(endpoint: EndpointName, *kinds: Kind, **extra: Any) -> dict[str, Any]:
    prompt = ENDPOINTS[endpoint].lay_out(laid(*kinds))
    found: dict[str, Any] = orjson.loads(request_body(ENDPOINTS[endpoint], 'm"', prompt, 7, extra))
    return found


def test_completions_take_ids_and_are_asked_for_usage() -> None:
    endpoint = ENDPOINTS["completions"]
    made = request_body(endpoint, "m", endpoint.lay_out([(Item("user", 0, 3), b"1,2,3")]), 7, {"temperature": 0.5})
    assert orjson.loads(made) == {
        "model": "m",
        "prompt": [1, 2, 3],
        "max_tokens": 7,
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
    }


def test_chat_puts_calls_into_the_message_before_them() -> None:
    function = {"name": "tool", "arguments": '{"input":" 3"}'}
    assert body("chat", *KINDS)["messages"] == [
        {"role": "system", "content": " 0"},
        {"role": "user", "content": " 1"},
        {
            "role": "assistant",
            "content": " 2",
            "tool_calls": [
                {"id": "call_000000003", "type": "function", "function": function},
                {
                    "id": "call_000000004",
                    "type": "function",
                    "function": {"name": "tool", "arguments": '{"input":" 4"}'},
                },
            ],
        },
        {"role": "tool", "content": " 5", "tool_call_id": "call_000000003"},
        {"role": "tool", "content": " 6", "tool_call_id": "call_000000004"},
        {"role": "user", "content": " 7"},
    ]
    assert [message["role"] for message in body("chat", "user", "call", "result")["messages"]] == [
        "user",
        "assistant",
        "tool",
    ]


def test_messages_have_blocks_and_results_that_answer_them_together() -> None:
    made = body("messages", *KINDS)
    assert made["system"] == " 0"
    assert (made["max_tokens"], "stream_options" in made) == (7, False)
    assert made["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": " 1"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": " 2"},
                {"type": "tool_use", "id": "call_000000003", "name": "tool", "input": {"input": " 3"}},
                {"type": "tool_use", "id": "call_000000004", "name": "tool", "input": {"input": " 4"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call_000000003", "content": " 5"},
                {"type": "tool_result", "tool_use_id": "call_000000004", "content": " 6"},
            ],
        },
        {"role": "user", "content": [{"type": "text", "text": " 7"}]},
    ]


def test_responses_have_one_item_for_everything() -> None:
    made = body("responses", *KINDS)
    assert made["instructions"] == " 0"
    assert (made["max_output_tokens"], made["store"], "max_tokens" in made) == (7, False, False)
    call = {"type": "function_call", "name": "tool"}
    assert made["input"] == [
        {"role": "user", "content": " 1"},
        {"role": "assistant", "content": " 2"},
        {**call, "call_id": "call_000000003", "arguments": '{"input":" 3"}'},
        {**call, "call_id": "call_000000004", "arguments": '{"input":" 4"}'},
        {"type": "function_call_output", "call_id": "call_000000003", "output": " 5"},
        {"type": "function_call_output", "call_id": "call_000000004", "output": " 6"},
        {"role": "user", "content": " 7"},
    ]


@pytest.mark.parametrize("endpoint", ["chat", "messages", "responses"])
def test_a_conversation_without_system_says_none(endpoint: EndpointName) -> None:
    made = body(endpoint, "user", temperature=0)
    assert not {"system", "instructions"} & made.keys()
    assert (made["model"], made["temperature"], made["stream"]) == ('m"', 0, True)


@pytest.mark.parametrize("base", ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/"])
def test_url_may_have_its_v1_or_not(base: str) -> None:
    assert endpoint_url(base, ENDPOINTS["completions"]) == "http://h:1/v1/completions"
    assert endpoint_url(base + "/", ENDPOINTS["chat"]) == "http://h:1/v1/chat/completions"
