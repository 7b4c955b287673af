from __future__ import annotations

from typing import Any

import pytest

from wire.errors import WireError
from wire.payload import binary, referenced, sealed
from wire.prompt_openai import item_parts, read_parts
from wire.shapes import Part

TOOLS = {"type": "additional_tools", "id": "at_1", "role": "developer", "tools": [{"type": "custom", "name": "exec"}]}


def message(role: str, *texts: str, **more: Any) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": t} for t in texts], **more}


def test_leading_tool_items_go_before_instructions_and_are_not_numbered() -> None:
    body = {"instructions": "be brief", "input": [TOOLS, message("developer", "base"), message("user", "a", "b")]}
    assert [(part.kind, part.message, part.role, part.text) for part in read_parts(body)] == [
        ("tools", -2, "tools", '{"type":"custom","name":"exec"}'),
        ("system", -1, "system", "be brief"),
        ("system", 0, "developer", "base"),
        ("user", 1, "user", "a"),
        ("user", 1, "user", "b"),
    ]


def test_tool_items_further_on_stay_where_they_stand() -> None:
    later = read_parts({"input": [message("user", "a"), TOOLS]})[1]
    assert (later.kind, later.message, later.role) == ("tools", 1, "additional_tools")


def test_top_level_tools_are_read_too() -> None:
    assert [part.name for part in read_parts({"tools": [{"type": "function", "name": "ls"}], "input": []})] == ["ls"]


def test_plain_string_input_is_one_user_message() -> None:
    assert read_parts({"input": "hi"}) == [Part("user", "hi", 0, "user")]
    assert read_parts({"input": [{"role": "user", "content": "hi"}]}) == read_parts({"input": "hi"})


def test_ids_and_client_metadata_never_reach_a_part() -> None:
    extras = {"id": "msg_1", "internal_chat_message_metadata_passthrough": {"turn_id": "t", "create_time": 1.5}}
    bare = [message("user", "x"), {"type": "novel", "x": 1}]
    rich = [item | extras | {"status": "completed"} for item in bare]
    assert read_parts({"input": bare}) == read_parts({"input": rich, "client_metadata": {"turn_id": "t"}})


def test_calls_keep_their_arguments_as_sent() -> None:
    call = {"type": "function_call", "name": "spawn_agent", "namespace": "collaboration", "call_id": "c1"}
    assert item_parts(call | {"arguments": '{"a": 1}'}, 2) == [
        Part("tool_call", '{"a": 1}', 2, "function_call", call_id="c1", name="spawn_agent")
    ]
    custom = {"type": "custom_tool_call", "name": "exec", "call_id": "c2", "input": "text(r);"}
    assert item_parts(custom, 3) == [Part("tool_call", "text(r);", 3, "custom_tool_call", call_id="c2", name="exec")]


def test_outputs_are_joined_text_with_images_apart() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,aGVsbG8="}
    output = [{"type": "input_text", "text": "one"}, image, {"type": "input_text", "text": "two"}]
    kind = "custom_tool_call_output"
    assert item_parts({"type": kind, "call_id": "c", "output": output}, 1) == [
        Part("tool_result", "one\ntwo", 1, kind, call_id="c"),
        binary("image", "aGVsbG8=", 1, kind, call_id="c"),
    ]
    plain = item_parts({"type": kind, "call_id": "c", "output": "one"}, 1)
    assert plain == item_parts({"type": kind, "call_id": "c", "output": output[:1]}, 1)


def test_reasoning_is_its_summary_and_its_sealed_content() -> None:
    item = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "look"}, {"type": "summary_text", "text": "first"}],
        "content": None,
        "encrypted_content": "ENC=",
    }
    assert item_parts(item, 4) == [
        Part("thinking", "look\nfirst", 4, "reasoning"),
        sealed("ENC=", 4, "reasoning", name="reasoning"),
    ]
    open_text = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]}
    assert item_parts(open_text, 4) == [Part("thinking", "hm", 4, "reasoning")]


def test_compaction_is_sealed() -> None:
    assert item_parts({"type": "compaction", "id": "cmp_1", "encrypted_content": "C"}, 0) == [
        sealed("C", 0, "compaction", name="compaction")
    ]


def test_agent_message_tells_its_author_and_seals_its_task() -> None:
    item = {
        "type": "agent_message",
        "author": "/root",
        "recipient": "/root/alpha",
        "content": [
            {"type": "input_text", "text": "NEW_TASK"},
            {"type": "encrypted_content", "encrypted_content": "do it"},
        ],
    }
    assert item_parts(item, 1) == [
        Part("user", "NEW_TASK", 1, "agent_message", name="/root"),
        sealed("do it", 1, "agent_message", name="encrypted_content"),
    ]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "input_image", "image_url": "https://x/a.png"}, referenced("image", "https://x/a.png", 0, "user")),
        ({"type": "input_image", "file_id": "f"}, referenced("image", "f", 0, "user")),
        ({"type": "input_file", "file_data": "JVBERg=="}, binary("document", "JVBERg==", 0, "user")),
        ({"type": "input_file", "file_data": "data:a/pdf;base64,JVBERg=="}, binary("document", "JVBERg==", 0, "user")),
        ({"type": "input_file", "file_url": "https://x/a"}, referenced("document", "https://x/a", 0, "user")),
        ({"type": "refusal", "refusal": "no"}, Part("user", "no", 0, "user")),
        ({"type": "novel", "id": "i", "x": 1}, Part("user", '{"type":"novel","x":1}', 0, "user")),
    ],
)
def test_content_parts_of_each_type(block: dict[str, Any], expected: Part) -> None:
    assert read_parts({"input": [{"role": "user", "content": [block]}]}) == [expected]


@pytest.mark.parametrize(
    ("kind", "filed"),
    [
        ("web_search_call", "tool_call"),
        ("local_shell_call_output", "tool_result"),
        ("compaction_trigger", "system"),
        ("configuration_update", "system"),
    ],
)
def test_unknown_items_are_filed_by_how_their_type_ends(kind: str, filed: str) -> None:
    (part,) = item_parts({"type": kind, "id": "x_1", "status": "completed", "q": 1}, 5)
    assert (part.kind, part.text, part.role) == (filed, f'{{"type":"{kind}","q":1}}', kind)


def test_reference_to_a_stored_item_keeps_its_id() -> None:
    (part,) = item_parts({"type": "item_reference", "id": "msg_1"}, 0)
    assert part.text == '{"type":"item_reference","id":"msg_1"}'


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"input": None},
        {"input": ["x"]},
        {"input": [{"type": 5}]},
        {"input": [{"type": "message", "content": "x"}]},
        {"input": [{"role": "user", "content": 5}]},
        {"input": [{"type": "function_call_output", "output": 5}]},
    ],
)
def test_shapes_that_cannot_be_a_request_are_errors(body: dict[str, Any]) -> None:
    with pytest.raises(WireError):
        read_parts(body)
