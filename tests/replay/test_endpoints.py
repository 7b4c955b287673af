from __future__ import annotations

from typing import get_args

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.session import Role
from replay.endpoints import CHAT_ROLES, ENDPOINTS, chat_body, chat_spans, completion_body, endpoint_url

ROLES: tuple[Role, ...] = get_args(Role)


def test_completion_body_limits_the_output_and_asks_for_usage() -> None:
    body = orjson.loads(completion_body("m", b"1,2,3", 7, {"temperature": 0.5}))
    assert body == {
        "model": "m",
        "prompt": [1, 2, 3],
        "max_tokens": 7,
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
    }


def test_chat_body_carries_roles_and_texts() -> None:
    body = orjson.loads(chat_body('m"', [("system", b" be"), ("user", b" do"), ("tool", b" done")], 1, {}))
    assert body["model"] == 'm"'
    assert body["messages"] == [
        {"role": "system", "content": " be"},
        {"role": "user", "content": " do"},
        {"role": "tool", "tool_call_id": "call_2", "content": " done"},
    ]


@pytest.mark.parametrize("base", ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/"])
def test_url_may_have_its_v1_or_not(base: str) -> None:
    assert endpoint_url(base, ENDPOINTS["completions"]) == "http://h:1/v1/completions"
    assert endpoint_url(base + "/", ENDPOINTS["chat"]) == "http://h:1/v1/chat/completions"


def test_every_role_of_a_corpus_speaks_in_a_chat() -> None:
    assert set(CHAT_ROLES) == set(ROLES)


def test_segments_become_messages_with_neighbours_merged() -> None:
    segments: list[tuple[Role, int]] = [
        ("tools", 10),
        ("system", 5),
        ("user", 3),
        ("reminder", 2),
        ("thinking", 4),
        ("tool_call", 4),
        ("tool_result", 7),
    ]
    assert chat_spans(35, tuple(segments)) == [
        ("system", 0, 15),
        ("user", 15, 20),
        ("assistant", 20, 28),
        ("tool", 28, 35),
    ]


def test_prompt_without_segments_is_one_user_message() -> None:
    assert chat_spans(9, ()) == [("user", 0, 9)]


def test_last_message_is_a_question_and_later_system_text_speaks_as_the_user() -> None:
    assert chat_spans(6, (("user", 2), ("system", 2), ("assistant", 2))) == [("user", 0, 6)]
    assert chat_spans(5, (("system", 5),)) == [("user", 0, 5)]


@given(tokens=st.integers(1, 60), segments=st.lists(st.tuples(st.sampled_from(ROLES), st.integers(0, 20)), max_size=6))
def test_messages_cover_the_prompt_exactly_whatever_the_segments_say(
    tokens: int, segments: list[tuple[Role, int]]
) -> None:
    spans = chat_spans(tokens, tuple(segments))
    assert [start for _, start, _ in spans] == [0, *(stop for _, _, stop in spans[:-1])]
    assert spans[-1][2] == tokens
    assert all(stop > start for _, start, stop in spans)
    assert spans[-1][0] in ("user", "tool")


def test_completion_chunk_without_text_is_still_a_token() -> None:
    assert ENDPOINTS["completions"].has_token({"text": ""})


@pytest.mark.parametrize(
    ("choice", "is_token"),
    [
        ({"delta": {"role": "assistant", "content": ""}, "finish_reason": None}, False),
        ({"delta": {"content": "hi"}}, True),
        ({"delta": {"reasoning_content": "hm"}}, True),
        ({"delta": {"tool_calls": [{}]}}, True),
        ({"delta": {}, "finish_reason": "length"}, True),
        ({"delta": None}, False),
    ],
)
def test_chat_chunk_is_a_token_when_it_says_something(choice: dict[str, object], is_token: bool) -> None:
    assert ENDPOINTS["chat"].has_token(choice) is is_token
