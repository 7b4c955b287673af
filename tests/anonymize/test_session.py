from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from anonymize.policy import LeakError, check_record
from corpus.blocks import expand_blocks, expand_segments
from corpus.exchange import AgentKind, Exchange, Identity
from corpus.session import Agent, Session
from corpus.soundness import find_flaw
from tests.anonymize.exchanges import (
    CAPTURES,
    KEY,
    WordTokenizer,
    anonymize,
    assistant,
    by_session,
    claude_answer,
    claude_body,
    claude_capture,
    codex_capture,
    exchange,
    needs_captures,
    session_of,
    tool_result,
    tool_use,
    user,
)
from wire.usage import Usage

HELLO = claude_answer({"type": "text", "text": "hello there"})


def turns(texts: list[str]) -> list[Exchange]:
    """One growing conversation: a user text and an answer a turn."""
    history: list[Any] = []
    made = []
    for number, text in enumerate(texts):
        history = [*history, user(text)]
        made.append(exchange(10 * number, claude_body(history, system="be kind"), HELLO))
        history = [*history, assistant("hello there")]
    return made


def permuted(seed: int) -> WordTokenizer:
    order = np.random.default_rng(seed).permutation(1 << 16).astype(np.uint32)

    def permute(ids: NDArray[np.uint32]) -> NDArray[np.uint32]:
        return order[ids]

    return WordTokenizer(permute)


@given(st.lists(st.text("ab \n", max_size=300), min_size=1, max_size=6), st.binary(min_size=32, max_size=32))
def test_any_key_gives_the_same_session(texts: list[str], key: bytes) -> None:
    assert session_of(turns(texts)) == session_of(turns(texts), key=key)


@given(st.lists(st.text("ab \n", max_size=300), min_size=1, max_size=6), st.integers(0, 1000))
def test_permuting_the_vocabulary_gives_the_same_session(texts: list[str], seed: int) -> None:
    assert session_of(turns(texts)) == session_of(turns(texts), permuted(seed))


def recorded() -> Iterator[list[Exchange]]:
    needs_captures()
    for folder, load in (("claude-code", claude_capture), ("codex", codex_capture)):
        for path in sorted((CAPTURES / folder).glob("*.jsonl")):
            yield from by_session(load(path.stem))


def test_every_recorded_session_is_sound_canonical_and_independent_of_key_and_vocabulary() -> None:
    sessions = 0
    for exchanges in recorded():
        done = anonymize(exchanges, keep_aux=True)
        other = anonymize(exchanges, permuted(7), keep_aux=True, key=KEY[::-1])
        assert done == other
        kept = 0 if done.session is None else len(done.session.requests)
        assert kept + done.rejected.total() == len(exchanges)
        if done.session is not None:
            sessions += 1
            assert find_flaw(done.session) is None
            assert_canonical(done.session)
            check_record(done.session)
    assert sessions > 40


def assert_canonical(session: Session) -> None:
    lists = expand_blocks([request.blocks for request in session.requests])
    seen = dict.fromkeys(number for blocks in lists for number in blocks.tolist())
    assert list(seen) == list(range(1, len(seen) + 1))
    for request, blocks, segments in zip(session.requests, lists, expand_segments(session.requests), strict=True):
        assert len(blocks) == request.input_tokens // session.block_size
        assert sum(tokens for _, tokens in segments) == request.input_tokens


def test_a_session_without_a_kept_exchange_is_none_and_counted() -> None:
    done = anonymize([exchange(1, b"", b"", path="/api/hello", method="HEAD")])
    assert (done.session, done.rejected) == (None, {"not_generating": 1})


def test_times_count_from_the_first_kept_request() -> None:
    probe = exchange(1, b"", b"", path="/api/hello", method="HEAD")
    first = exchange(5, claude_body([user("hi")]), HELLO, first_s=5.25, end_s=6)
    second = exchange(8, claude_body([user("ho")]), HELLO)
    session = session_of([second, probe, first])
    assert [(one.t_start_us, one.t_first_us, one.t_end_us) for one in session.requests] == [
        (0, 250_000, 1_000_000),
        (3_000_000, None, 4_000_000),
    ]


def test_the_providers_count_is_kept_apart_from_the_local_size() -> None:
    (request,) = session_of([exchange(1, claude_body([user("one two")]), HELLO)]).requests
    assert request.input_tokens == 4  # control token, two words, one space
    assert request.usage is not None
    assert (request.usage.input_tokens, request.output_tokens) == (5, 7)


def test_the_recorders_usage_wins_over_the_answers() -> None:
    one = exchange(1, claude_body([user("hi")]), HELLO)
    assert one.response is not None
    counted = Exchange(one.request, replace(one.response, usage=Usage(input_tokens=11, output_tokens=12)))
    (request,) = session_of([counted]).requests
    assert (request.usage, request.output_tokens) == (Usage(input_tokens=11, output_tokens=12), 12)


def test_an_answer_without_usage_is_counted_locally() -> None:
    events = [event for event in HELLO if event["type"] != "message_delta"]
    events[0] = {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": []}}
    (request,) = session_of([exchange(1, claude_body([user("hi")]), events)]).requests
    assert (request.usage, request.output_tokens) == (None, 3)


def test_kinds_tell_what_was_added_and_what_came_back() -> None:
    call = tool_use("t1", "Bash", command="ls")
    thought = {"type": "thinking", "thinking": "let me see", "signature": "c2ln"}
    start = [user("hi")]
    later = [*start, assistant(call), user(tool_result("t1", "f"), "also this")]
    one = exchange(1, claude_body(start, system="s"), claude_answer(thought, call, stop="tool_use"))
    first, second = session_of([one, exchange(3, claude_body(later, system="s"), HELLO)]).requests
    assert first.input_kinds == second.output_kinds == ("text",)
    assert {"thinking", "tool_use"} <= set(first.output_kinds) <= {"thinking", "tool_use", "opaque"}
    assert (first.stop, second.input_kinds) == ("tool_use", ("text", "tool_result"))


def child(agent_id: str, parent: str | None = None, kind: AgentKind = "subagent") -> Identity:
    return Identity(session_id="s", agent_id=agent_id, parent_agent_id=parent, agent_kind=kind, purpose="turn")


def test_agents_are_numbered_by_first_appearance_and_a_child_without_a_parent_is_mains() -> None:
    body = claude_body([user("hi")])
    session = session_of(
        [
            exchange(1, body, HELLO, identity=child("x")),
            exchange(2, body, HELLO),
            exchange(3, body, HELLO, identity=child("a", parent="x", kind="fork")),
            exchange(4, body, HELLO, identity=child("b", parent="never heard")),
            exchange(5, body, HELLO, identity=child("c", parent="s")),
        ]
    )
    assert session.agents == (
        Agent(0, None, "main"),
        Agent(1, 0, "subagent"),
        Agent(2, 1, "fork"),
        Agent(3, None, "subagent"),
        Agent(4, 0, "subagent"),
    )
    assert [one.agent for one in session.requests] == [1, 0, 2, 3, 4]


def test_requests_of_one_moment_are_sorted_by_agent() -> None:
    body = claude_body([user("hi")])
    session = session_of(
        [
            exchange(1, body, HELLO, identity=child("x"), exchange_id="a"),
            exchange(1, body, HELLO, exchange_id="b"),
        ]
    )
    assert [(one.agent, one.position) for one in session.requests] == [(0, 1), (1, 0)]
    assert find_flaw(session) is None


def test_sub_agents_share_the_sessions_numbers() -> None:
    body = claude_body([user("word " * 200)])
    session = session_of([exchange(1, body, HELLO), exchange(2, body, HELLO, identity=child("x"))])
    one, other = expand_blocks([request.blocks for request in session.requests])
    assert np.array_equal(one, other)


def test_a_change_of_model_shares_no_block() -> None:
    messages = [user("word " * 200)]
    haiku = {**claude_body(messages), "model": "claude-haiku-5-5"}
    session = session_of([exchange(1, claude_body(messages), HELLO), exchange(2, haiku, HELLO)])
    one, other = expand_blocks([request.blocks for request in session.requests])
    assert not set(one.tolist()) & set(other.tolist())
    assert session.models == ("claude-opus-5-5", "claude-haiku-5-5")


def test_two_private_models_share_a_name_but_no_block() -> None:
    made = [
        exchange(at, {**claude_body([user("word " * 200)]), "model": name}, HELLO)
        for at, name in enumerate(["acme-1", "acme-2"])
    ]
    session = session_of(made)
    one, other = expand_blocks([request.blocks for request in session.requests])
    assert session.models == ("other",)
    assert not set(one.tolist()) & set(other.tolist())


def test_each_turn_tokenizes_what_it_added_and_nothing_else() -> None:
    texts = [f"turn {number} " + "word " * 50 for number in range(8)]
    exchanges, spent = turns(texts), []
    for length in range(len(exchanges) + 1):
        tokenizer = WordTokenizer()
        anonymize(exchanges[:length], tokenizer)
        spent.append(tokenizer.tokens)
    answer, system = 3, 3
    sizes = [len(WordTokenizer().encode(text)) for text in texts]
    assert [after - before for before, after in pairwise(spent)] == [
        sizes[0] + system,
        sizes[1] + answer,
        *sizes[2:],  # the answer is the same text every time
    ]


def test_a_chat_completion_is_a_request_like_any_other() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "shell", "arguments": "{}"}}
    asked = [{"role": "user", "content": "hi"}]
    done = [*asked, {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c1", "content": "f"}]
    choice = {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [call]}}
    usage = {"prompt_tokens": 9, "completion_tokens": 4}
    answer = json.dumps({"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
    made = [
        exchange(
            at,
            {"model": "m", "messages": messages},
            answer,
            path="/v1/chat/completions",
            content_type="application/json",
        )
        for at, messages in enumerate([asked, done])
    ]
    session = session_of(made)
    assert [(one.stop, one.output_tokens, one.api) for one in session.requests] == [
        ("tool_calls", 4, "openai-chat")
    ] * 2
    assert (session.tool_calls[0].emit, session.tool_calls[0].result, session.tool_calls[0].tool) == (0, 1, "shell")


def test_a_string_that_slips_through_stops_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anonymize.session.public_stop", lambda _stop: "secret-4711")
    with pytest.raises(LeakError, match=r"Request\.stop"):
        session_of([exchange(1, claude_body([user("hi")]), HELLO)])
