from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.api import Api
from wire.errors import WireError
from wire.prompt import read_prompt

APIS: tuple[Api, ...] = ("anthropic-messages", "openai-responses", "openai-responses-ws", "openai-chat")
KEYS = "type role content text messages input system tools name id call_id source data output thinking arguments url"
WORDS = (
    "text user assistant tool_use tool_result image document message function_call_output input_image namespace tool"
)
leaves = st.none() | st.booleans() | st.integers(0, 9) | st.sampled_from(WORDS.split())
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=5),
    max_leaves=25,
)
requests = st.dictionaries(st.sampled_from(["messages", "input", "system", "tools", "instructions"]), values)


@given(st.sampled_from(APIS), requests | values)
def test_any_json_is_read_or_refused_with_a_wire_error(api: Api, request: Any) -> None:
    try:
        prompt = read_prompt(api, orjson.dumps(request))
    except WireError:
        return
    numbers = [part.message for part in prompt.parts]
    assert numbers == sorted(numbers)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b'{"messages":"x"}', b'{"messages":{}}', b'{"input":5}'])
def test_what_cannot_be_a_request_is_an_error(api: Api, body: bytes) -> None:
    with pytest.raises(WireError):
        read_prompt(api, body)


def test_other_api_is_never_parsed() -> None:
    with pytest.raises(WireError, match="other"):
        read_prompt("other", b'{"messages":[]}')


@pytest.mark.parametrize(
    ("api", "body", "limit"),
    [
        ("anthropic-messages", {"messages": [], "max_tokens": 64}, 64),
        ("openai-responses", {"input": [], "max_output_tokens": 65}, 65),
        ("openai-chat", {"messages": [], "max_completion_tokens": 66}, 66),
        ("openai-chat", {"messages": [], "max_tokens": None, "max_completion_tokens": 67}, 67),
        ("openai-chat", {"messages": [], "max_tokens": True}, None),
    ],
)
def test_head_of_a_request_is_read_under_each_api_s_names(api: Api, body: dict[str, Any], limit: int | None) -> None:
    prompt = read_prompt(api, orjson.dumps(body | {"model": "m", "stream": True}))
    assert (prompt.model, prompt.stream, prompt.max_tokens, prompt.parts) == ("m", True, limit, ())
    unsaid = read_prompt(api, orjson.dumps(body | {"model": 5, "stream": "yes"}))
    assert (unsaid.model, unsaid.stream) == (None, None)


def test_lone_surrogate_in_history_keeps_its_place_in_the_text() -> None:
    prompt = read_prompt("anthropic-messages", b'{"messages":[{"role":"user","content":"cut \\ud83d"}]}')
    assert prompt.parts[0].text == "cut \ud83d"


@pytest.mark.parametrize(
    ("choice", "forced"),
    [
        (None, False),
        ("auto", False),
        ("none", False),
        ("required", True),
        ({"type": "auto", "disable_parallel_tool_use": True}, False),
        ({"type": "any"}, True),
        ({"type": "tool", "name": "Bash"}, True),
        ({"type": "function", "name": "shell"}, True),
        ({"type": "allowed_tools", "mode": "auto", "tools": []}, False),
        ({"type": "allowed_tools", "mode": "required", "tools": []}, True),
        (5, False),
        ({}, False),
    ],
)
def test_a_tool_choice_that_leaves_no_choice_is_told(choice: Any, forced: bool) -> None:
    body = orjson.dumps({"messages": [], "tool_choice": choice})
    assert read_prompt("anthropic-messages", body).forces_tool is forced
