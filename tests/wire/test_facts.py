from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.api import Api
from wire.facts import SYSTEM_HEAD_CHARACTERS, RequestFacts, facts_of, peek_request, telling

BILLING = "x-anthropic-billing-header: cc_version=2.1.328.6c6;"


def peek(api: Api, **body: Any) -> RequestFacts:
    return peek_request(api, orjson.dumps(body))


def test_messages_request_of_an_agent() -> None:
    facts = peek(
        "anthropic-messages",
        model="claude",
        stream=True,
        max_tokens=128000,
        tools=[{"name": "Bash", "input_schema": {}}, {"name": "Read", "input_schema": {}}],
        thinking={"type": "adaptive"},
        metadata={"user_id": '{"session_id":"s"}'},
        system=[{"type": "text", "text": BILLING}, {"type": "text", "text": "identity"}, {"type": "text", "text": "p"}],
        messages=[{"role": "user", "content": "u"}, {"role": "system", "content": "date"}],
    )
    assert facts == RequestFacts(
        model="claude",
        stream=True,
        has_tools=True,
        tool_names=("Bash", "Read"),
        only_server_tools=False,
        json_schema_output=False,
        thinking_disabled=False,
        max_tokens=128000,
        metadata_user_id='{"session_id":"s"}',
        system_texts_head="identity\np\ndate",
        asked=("u",),
    )


def test_title_search_and_classifier_requests_differ_by_their_facts() -> None:
    title = peek("anthropic-messages", messages=[], tools=[], output_config={"format": {"type": "json_schema"}})
    assert (title.json_schema_output, title.has_tools, title.only_server_tools) == (True, False, False)
    search = peek("anthropic-messages", messages=[], tools=[{"type": "web_search_20250305", "name": "web_search"}])
    assert (search.has_tools, search.only_server_tools, search.tool_names) == (True, True, ("web_search",))
    classifier = peek(
        "anthropic-messages", messages=[], thinking={"type": "disabled"}, stop_sequences=["</block>"], max_tokens=64
    )
    assert (classifier.thinking_disabled, classifier.stop_sequences, classifier.max_tokens) == (True, ("</block>",), 64)
    assert classifier.stream is None


def test_codex_tools_and_metadata_are_found_in_input_and_body() -> None:
    namespace = {"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec"}]}
    facts = peek(
        "openai-responses",
        model="gpt",
        input=[
            {"type": "additional_tools", "role": "developer", "tools": [namespace]},
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "base"}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        ],
        client_metadata={"thread_id": "t", "x-codex-turn-metadata": "{}", "odd": 5},
        text={"format": {"type": "json_schema"}},
        reasoning={"effort": "none"},
    )
    assert facts.tool_names == ("exec",)
    assert (facts.has_tools, facts.only_server_tools, facts.json_schema_output) == (True, False, True)
    assert facts.client_metadata == {"thread_id": "t", "x-codex-turn-metadata": "{}"}
    assert facts.system_texts_head == "base"
    assert facts.thinking_disabled is True


def test_chat_request() -> None:
    facts = peek(
        "openai-chat",
        messages=[{"role": "system", "content": "s"}],
        stop="END",
        max_completion_tokens=5,
        response_format={"type": "json_schema"},
    )
    assert (facts.stop_sequences, facts.max_tokens, facts.json_schema_output) == (("END",), 5, True)
    assert (facts.system_texts_head, facts.thinking_disabled) == ("s", None)


def test_system_head_is_cut() -> None:
    facts = peek("anthropic-messages", messages=[], system=f"{BILLING}\n" + "x" * 10_000)
    assert facts.system_texts_head == "x" * SYSTEM_HEAD_CHARACTERS


def test_what_was_asked_last_is_told_whatever_system_messages_follow() -> None:
    blocks = [{"type": "tool_result", "content": "out"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    said: list[dict[str, Any]] = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "answer"},
        {"role": "user", "content": blocks},
        {"role": "system", "content": "date"},
    ]
    assert peek("anthropic-messages", messages=said).asked == ("a", "b")
    assert peek("anthropic-messages", messages=said[:2]).asked == ("first",)
    assert peek("anthropic-messages", messages=said[1:2]).asked == ()


roles = st.sampled_from(["user", "system", "assistant", "developer"])


@given(st.lists(st.builds(lambda role, text: {"role": role, "content": text}, roles, st.text(max_size=3))), st.data())
def test_facts_rest_on_what_is_telling_alone(said: list[dict[str, Any]], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(said)))
    kept = [*telling(said[:cut]), *said[cut:]]
    assert facts_of({"messages": kept}) == facts_of({"messages": said})
    assert telling(kept) == telling(said)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"<html>"])
def test_unreadable_body_gives_no_facts(body: bytes) -> None:
    assert peek_request("anthropic-messages", body) == RequestFacts()


def test_other_api_gives_no_facts() -> None:
    assert peek_request("other", b'{"model":"m"}') == RequestFacts()


fields = (
    "model stream tools system messages input instructions thinking reasoning metadata client_metadata text stop "
    "type role name content"
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["system", "additional_tools", "namespace"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(fields.split()), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(fields.split()), values))
def test_no_shape_of_body_raises(body: dict[str, Any]) -> None:
    assert isinstance(peek_request("openai-responses", orjson.dumps(body)), RequestFacts)
