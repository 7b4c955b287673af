from __future__ import annotations

from typing import Any

import pytest

from wire.errors import WireError
from wire.payload import binary, referenced
from wire.prompt_chat import message_parts, read_parts
from wire.shapes import Part

TOOL = {"type": "function", "function": {"name": "ls", "parameters": {}}}


def test_tools_come_first_and_messages_stay_where_they_are() -> None:
    body = {
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
        "tools": [TOOL],
        "functions": [{"name": "old"}],
    }
    assert [(part.kind, part.message, part.name) for part in read_parts(body)] == [
        ("tools", -2, "ls"),
        ("tools", -2, "old"),
        ("system", 0, None),
        ("user", 1, None),
    ]


def test_one_text_block_equals_its_string() -> None:
    blocks = {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]}
    assert message_parts(blocks, 0) == message_parts({"role": "user", "content": "hi"}, 0)


def test_assistant_thinks_speaks_and_calls_in_that_order() -> None:
    message = {
        "role": "assistant",
        "content": "so",
        "reasoning_content": "hm",
        "reasoning": "hm",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"p": "/"}'}}],
    }
    assert message_parts(message, 2) == [
        Part("thinking", "hm", 2, "assistant"),
        Part("assistant", "so", 2, "assistant"),
        Part("tool_call", '{"p": "/"}', 2, "assistant", call_id="c1", name="ls"),
    ]


def test_custom_and_legacy_calls_are_calls() -> None:
    custom = {"role": "assistant", "tool_calls": [{"id": "c", "custom": {"name": "exec", "input": "x"}}]}
    assert message_parts(custom, 0) == [Part("tool_call", "x", 0, "assistant", call_id="c", name="exec")]
    legacy = {"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": "{}"}}
    assert message_parts(legacy, 0) == [Part("tool_call", "{}", 0, "assistant", name="ls")]


def test_tool_message_is_a_result_with_images_apart() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}}
    content = [{"type": "text", "text": "one"}, image, {"type": "text", "text": "two"}]
    assert message_parts({"role": "tool", "tool_call_id": "c1", "content": content}, 1) == [
        Part("tool_result", "one\ntwo", 1, "tool", call_id="c1"),
        binary("image", "aGVsbG8=", 1, "tool", call_id="c1"),
    ]
    assert message_parts({"role": "function", "name": "ls", "content": "x"}, 1) == [
        Part("tool_result", "x", 1, "function", name="ls")
    ]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "image_url", "image_url": {"url": "https://x/a"}}, referenced("image", "https://x/a", 0, "user")),
        ({"type": "input_audio", "input_audio": {"data": "AAAA"}}, binary("opaque", "AAAA", 0, "user")),
        ({"type": "file", "file": {"file_data": "data:a/b;base64,AAAA"}}, binary("document", "AAAA", 0, "user")),
        ({"type": "file", "file": {"file_id": "f"}}, referenced("document", {"file_id": "f"}, 0, "user")),
        ({"type": "novel", "x": 1}, Part("user", '{"type":"novel","x":1}', 0, "user")),
    ],
)
def test_content_blocks_of_each_type(block: dict[str, Any], expected: Part) -> None:
    assert message_parts({"role": "user", "content": [block]}, 0) == [expected]


def test_refusal_is_what_the_assistant_said() -> None:
    assert message_parts({"role": "assistant", "content": None, "refusal": "no"}, 0) == [
        Part("assistant", "no", 0, "assistant")
    ]


@pytest.mark.parametrize(
    "body", [{}, {"messages": [{}]}, {"messages": ["x"]}, {"messages": [{"role": "user", "content": 5}]}]
)
def test_shapes_that_cannot_be_a_request_are_errors(body: dict[str, Any]) -> None:
    with pytest.raises(WireError):
        read_parts(body)
