from __future__ import annotations

from typing import Any

import pytest

from wire.errors import WireError
from wire.payload import binary, digest, referenced, sealed
from wire.prompt_anthropic import content_parts, read_parts, system_texts
from wire.shapes import Part

MARK = {"cache_control": {"type": "ephemeral"}}
BILLING = "x-anthropic-billing-header: cc_version=2.1.328.6c6; cc_entrypoint=cli; cch=1a0e2;"


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def one(block: dict[str, Any], role: str = "user") -> list[Part]:
    return content_parts([block], 0, role)


def test_parts_come_as_tools_then_system_then_messages_whatever_the_text_order() -> None:
    body = {"messages": [user("hi")], "system": "be brief", "tools": [{"name": "Bash"}]}
    assert [(part.kind, part.message, part.role) for part in read_parts(body)] == [
        ("tools", -2, "tools"),
        ("system", -1, "system"),
        ("user", 0, "user"),
    ]


def test_moving_cache_mark_leaves_all_parts_equal() -> None:
    tools: list[dict[str, Any]] = [{"name": "Bash"}]
    result = {"type": "tool_result", "tool_use_id": "t", "content": "ok"}
    plain = {"tools": tools, "system": [text("s")], "messages": [user([result]), user([text("a"), text("b")])]}
    marked = {
        "tools": [tools[0] | MARK],
        "system": [text("s", **MARK)],
        "messages": [user([result | MARK]), user([text("a"), text("b", **MARK)])],
    }
    assert read_parts(plain) == read_parts(marked)


@pytest.mark.parametrize("role", ["user", "assistant", "system"])
def test_one_text_block_equals_its_string(role: str) -> None:
    assert content_parts([text("hi", **MARK)], 3, role) == content_parts("hi", 3, role)


def test_billing_line_is_a_part_of_its_own_and_no_system_text() -> None:
    parts = read_parts({"messages": [], "system": [text(BILLING), text("identity")]})
    assert [(part.kind, part.text) for part in parts] == [("billing", BILLING), ("system", "identity")]


def test_billing_line_is_split_off_a_system_string() -> None:
    parts = read_parts({"messages": [], "system": f"{BILLING}\nidentity"})
    assert [(part.kind, part.text) for part in parts] == [("billing", BILLING), ("system", "identity")]


def test_messages_are_numbered_and_each_text_block_is_a_part() -> None:
    body = {"messages": [user([text("<system-reminder>r"), text("q")]), {"role": "system", "content": "date"}]}
    assert [(part.kind, part.message, part.role) for part in read_parts(body)] == [
        ("reminder", 0, "user"),
        ("user", 0, "user"),
        ("system", 1, "system"),
    ]


def test_tool_use_is_the_compact_json_of_its_input() -> None:
    block = {"type": "tool_use", "id": "t1", "name": "Edit", "input": {"b": 1, "a": "é"}}
    assert one(block, "assistant") == [Part("tool_call", '{"b":1,"a":"é"}', 0, "assistant", call_id="t1", name="Edit")]
    assert one(block | {"input": '{"cut'}, "assistant")[0].text == '{"cut'


def test_tool_result_joins_its_texts_and_keeps_images_and_documents_apart() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}
    pdf = {"type": "document", "source": {"type": "base64", "data": "JVBERg=="}}
    block = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "is_error": True,
        "content": [text("one"), image, text("two"), pdf],
    }
    assert one(block) == [
        Part("tool_result", "one\ntwo", 0, "user", call_id="t1", is_error=True),
        binary("image", "aGVsbG8=", 0, "user", call_id="t1"),
        binary("document", "JVBERg==", 0, "user", call_id="t1"),
    ]


@pytest.mark.parametrize("content", [None, "", []])
def test_empty_tool_result_still_marks_the_result(content: object) -> None:
    block = {"type": "tool_result", "tool_use_id": "t1", "content": content}
    assert one(block) == [Part("tool_result", "", 0, "user", call_id="t1")]
    assert one(block | {"content": "x"}) == one(block | {"content": [text("x")]})


def test_tool_reference_in_a_result_is_told_as_json() -> None:
    block = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "tool_reference", "tool_name": "Send"}]}
    assert one(block)[0].text == '{"type":"tool_reference","tool_name":"Send"}'


def test_thinking_is_its_text_and_the_signature_that_seals_it() -> None:
    assert one({"type": "thinking", "thinking": "hm", "signature": "SIG"}, "assistant") == [
        Part("thinking", "hm", 0, "assistant"),
        sealed("SIG", 0, "assistant", name="thinking"),
    ]
    assert one({"type": "thinking", "thinking": "", "signature": "SIG"}, "assistant") == [
        sealed("SIG", 0, "assistant", name="thinking")
    ]
    assert one({"type": "redacted_thinking", "data": "ENC"}, "assistant") == [
        sealed("ENC", 0, "assistant", name="redacted_thinking")
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"type": "base64", "data": "aGVsbG8="}, [binary("document", "aGVsbG8=", 0, "user")]),
        ({"type": "text", "data": "plain"}, [Part("document", "plain", 0, "user")]),
        ({"type": "url", "url": "https://x/a"}, [referenced("document", "https://x/a", 0, "user")]),
        ({"type": "file", "file_id": "f"}, [referenced("document", {"type": "file", "file_id": "f"}, 0, "user")]),
        ({"type": "content", "content": [text("inner")]}, [Part("user", "inner", 0, "user")]),
    ],
    ids=["base64", "text", "url", "file", "content"],
)
def test_document_by_each_kind_of_source(source: dict[str, Any], expected: list[Part]) -> None:
    assert one({"type": "document", "source": source}) == expected
    titled = one({"type": "document", "source": source, "title": "T", "context": "C"})
    assert titled == [Part("document", "T\nC", 0, "user"), *expected]


def test_server_tool_result_keeps_sealed_pages_apart_from_readable_fields() -> None:
    page = {"type": "web_search_result", "url": "https://x", "encrypted_content": "SEALED"}
    block = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [page]}
    result, page_part = one(block, "assistant")
    assert (result.kind, result.text, result.call_id) == (
        "tool_result",
        '[{"type":"web_search_result","url":"https://x"}]',
        "s1",
    )
    assert (page_part.kind, page_part.opaque_bytes, page_part.digest) == ("opaque", 6, digest("SEALED"))
    error = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": {"error_code": "unavailable"}}
    assert one(error, "assistant")[0].text == '[{"error_code":"unavailable"}]'


def test_block_of_unknown_type_becomes_its_json_without_the_mark() -> None:
    block = {"type": "novel", "x": 1, "encrypted_content": "E", **MARK}
    assert one(block, "assistant") == [
        Part("assistant", '{"type":"novel","x":1}', 0, "assistant"),
        sealed("E", 0, "assistant", name="novel"),
    ]


@pytest.mark.parametrize("system", [None, [], ""])
def test_missing_system_text_is_no_part(system: object) -> None:
    assert read_parts({"messages": [], "system": system}) == []
    assert not any(system_texts(system))


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": [{"content": "x"}]},
        {"messages": [user(5)]},
        {"messages": [user([{"text": "x"}])]},
        {"messages": ["x"]},
        {"messages": [], "system": 5},
    ],
    ids=["no-messages", "no-role", "number", "no-type", "string", "system-number"],
)
def test_shapes_that_cannot_be_a_request_are_errors(body: dict[str, Any]) -> None:
    with pytest.raises(WireError):
        read_parts(body)
