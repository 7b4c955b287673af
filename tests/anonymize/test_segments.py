from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

import pytest

from anonymize.cleanup import reason_to_reject, repeated_attempts
from anonymize.hearing import Hearing
from anonymize.segments import MIN_PLACEHOLDER_TOKENS, Segment, placed_parts
from corpus.exchange import Exchange
from tests.anonymize.exchanges import CAPTURES, by_session, claude_capture, codex_capture, needs_captures
from tests.anonymize.recorded_turns import codex_turns
from wire.api import Api
from wire.prompt import read_prompt
from wire.shapes import Prompt


def segments_of(prompt: Prompt) -> tuple[Segment, ...]:
    return tuple(segment for segment, _ in placed_parts(prompt))


def segments(body: Mapping[str, object], api: Api = "anthropic-messages") -> tuple[Segment, ...]:
    return segments_of(read_prompt(api, json.dumps(body).encode()))


def roles(body: Mapping[str, object], api: Api = "anthropic-messages") -> list[str]:
    return [segment.role for segment in segments(body, api)]


PLAIN = {"name": "Bash", "input_schema": {}}
LOADED = {"name": "SendMessage", "description": "to an agent", "input_schema": {}, "defer_loading": True}
CALL = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "t1", "name": "ToolSearch", "input": {"query": "q"}}],
}
FOUND = {
    "role": "user",
    "content": [
        {
            "type": "tool_result",
            "tool_use_id": "t1",
            "content": [{"type": "tool_reference", "tool_name": "SendMessage"}],
        }
    ],
}


def test_segments_stand_in_the_order_of_the_provider_and_not_of_the_body() -> None:
    body = {"messages": [{"role": "user", "content": "hi"}], "system": "be kind", "tools": [PLAIN]}
    assert roles(body) == ["tools", "system", "user"]


def test_the_billing_line_is_left_out() -> None:
    system = [
        {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1; cch=1a2b3;"},
        {"type": "text", "text": "a"},
    ]
    changed = [{"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1; cch=9f9f9;"}, system[1]]
    messages = [{"role": "user", "content": "hi"}]
    assert segments({"messages": messages, "system": system}) == segments({"messages": messages, "system": changed})
    assert roles({"messages": messages, "system": system}) == ["system", "user"]


def test_loading_a_deferred_tool_does_not_change_the_prefix() -> None:
    before = segments({"messages": [{"role": "user", "content": "hi"}, CALL], "tools": [PLAIN]})
    after = segments({"messages": [{"role": "user", "content": "hi"}, CALL, FOUND], "tools": [PLAIN, LOADED]})
    assert after[: len(before)] == before
    assert [segment.role for segment in after[len(before) :]] == ["tool_result", "tools"]
    assert "to an agent" in after[-1].text


def test_a_deferred_tool_that_nothing_refers_to_is_not_in_the_prompt() -> None:
    placeholder = {"name": "DeferredToolPlaceholder", "defer_loading": True, "input_schema": {}}
    body = {"messages": [{"role": "user", "content": "hi"}], "tools": [PLAIN, LOADED, placeholder]}
    assert roles(body) == ["tools", "user"]


def test_codex_tools_come_first_although_they_are_an_input_item() -> None:
    items = [
        {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "exec"}]},
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "base"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
    ]
    assert roles({"model": "gpt-6.2-sol", "input": items}, "openai-responses") == ["tools", "system", "user"]


def image(data: str) -> dict[str, object]:
    source = {"type": "base64", "media_type": "image/png", "data": data}
    return {"messages": [{"role": "user", "content": [{"type": "image", "source": source}]}]}


def test_an_image_becomes_a_placeholder_with_its_own_identity() -> None:
    (one,), (same,), (other,) = (
        segments(image("aaaa" * 900)),
        segments(image("aaaa" * 900)),
        segments(image("bbbb" * 900)),
    )
    assert one == same
    assert one != other
    assert (one.text, one.placeholder_tokens, len(one.digest)) == ("", 256, 32)


def test_short_ciphertext_still_has_room_for_its_identity() -> None:
    item = {"type": "reasoning", "summary": [], "encrypted_content": "abcd"}
    (segment,) = segments({"model": "m", "input": [item]}, "openai-responses")
    assert (segment.role, segment.placeholder_tokens) == ("opaque", MIN_PLACEHOLDER_TOKENS)


def test_a_signature_counts_only_where_the_thinking_is_not_shown() -> None:
    def thinking(text: str) -> dict[str, object]:
        block = {"type": "thinking", "thinking": text, "signature": "c" * 4_000}
        return {"messages": [{"role": "assistant", "content": [block]}]}

    assert roles(thinking("let me see")) == ["thinking"]
    assert roles(thinking("")) == ["opaque"]


# Pairs of neighbouring requests of one agent whose history differs, all explained: after a compaction the history is
# new; an agent hook is a second conversation under the agent's id; a search and a page summary have their own prompts.
EXPLAINED = {
    "app_http": 1,
    "custom_compact": 1,
    "http_compact": 1,
    "hint_custom_agent_skill_hooks": 4,
    "proxy_websearch_webfetch": 4,
}
UNORDERED = {"base_resume_fork_session_compact"}  # several runs of the client merged, each with a clock of its own


def kept(exchanges: list[Exchange]) -> list[Exchange]:
    repeated = repeated_attempts(exchanges)
    return [one for one in exchanges if reason_to_reject(one, repeated, keep_aux=False) is None]


def test_history_is_stable_over_every_recorded_scenario() -> None:
    needs_captures()
    compared, broken = 0, Counter[str]()
    for folder, load in (("claude-code", claude_capture), ("codex", codex_capture)):
        for scenario in sorted(path.stem for path in (CAPTURES / folder).glob("*.jsonl")):
            for session in by_session(load(scenario) if scenario not in UNORDERED else []):
                last: dict[str | None, tuple[Segment, ...]] = {}
                for one in kept(session):
                    agent_id, now = (
                        one.request.identity.agent_id,
                        segments_of(read_prompt(one.request.api, one.request.body)),
                    )
                    before = last.get(agent_id, ())
                    compared += agent_id in last
                    broken[scenario] += now[: len(before)] != before
                    last[agent_id] = now
    assert {scenario: pairs for scenario, pairs in broken.items() if pairs} == EXPLAINED
    assert compared > 150


EXPLAINED_TURNS = {"app_ws": 1}  # a compaction, as in its twin over HTTP


def test_whole_prompts_of_recorded_websocket_turns_keep_their_history() -> None:
    needs_captures()
    compared, broken, whole = 0, Counter[str](), 0
    for scenario in sorted(path.stem for path in (CAPTURES / "codex").glob("*.jsonl")):
        turns = codex_turns(scenario)
        last: dict[tuple[str | None, str | None], tuple[Segment, ...]] = {}
        hearing = Hearing(turns, keep_aux=False)
        for heard in hearing.requests(turns):
            who = heard.exchange.request.identity
            now, before = segments_of(heard.prompt), last.get((who.session_id, who.agent_id), ())
            compared += bool(before)
            broken[scenario] += now[: len(before)] != before
            last[who.session_id, who.agent_id] = now
            whole += heard.exchange.request.previous is not None
        assert hearing.rejected["history_missing"] == 0
    assert {scenario: pairs for scenario, pairs in broken.items() if pairs} == EXPLAINED_TURNS
    assert compared > 20
    assert whole > 20


def test_a_recorded_tool_search_keeps_the_prefix() -> None:
    exchanges = kept(claude_capture("base_subagent_resumed_by_message"))
    main = [one for one in exchanges if one.request.identity.agent_id is None]
    prompts = [segments_of(read_prompt(one.request.api, one.request.body)) for one in main]
    found = next(n for n, prompt in enumerate(prompts) if any('"SendMessage"' in one.text for one in prompt))
    assert prompts[found][: len(prompts[found - 1])] == prompts[found - 1]
    with pytest.raises(StopIteration):
        next(one for one in prompts[found - 1] if "SendMessage" in one.text and one.role == "tools")
