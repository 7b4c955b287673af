"""Request bodies of the engine: exact token counts, output lengths, refusals."""

from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from standin.engine_prompts import MESSAGE_TOKENS, REPLY_TOKENS, Ask, RefusedError, block_keys, read_ask


class Bytes:
    """A tokenizer with one token for every byte."""

    vocab_size = 256

    def encode(self, text: str) -> NDArray[np.uint32]:
        return np.frombuffer(text.encode(), dtype=np.uint8).astype(np.uint32)


def ask(body: dict[str, Any], *, chat: bool = False, context: int = 1000) -> Ask:
    raw = orjson.dumps({"model": "m"} | body)
    return read_ask(
        raw, chat_form=(lambda given: given) if chat else None, model="m", context_tokens=context, encoder=Bytes()
    )


def refused(body: dict[str, Any], *, chat: bool = False) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        ask(body, chat=chat)
    return caught.value


def test_text_and_ids_of_it_are_the_same_prompt() -> None:
    by_text = ask({"prompt": "hello", "max_tokens": 1})
    by_ids = ask({"prompt": list(b"hello"), "max_tokens": 1})
    assert by_text.ids.tolist() == by_ids.ids.tolist() == ask({"prompt": [list(b"hello")]}).ids.tolist()


def test_chat_costs_the_stated_overhead_and_nothing_else() -> None:
    messages = [{"role": "system", "content": "ab"}, {"role": "user", "content": [{"type": "text", "text": "cde"}]}]
    assert len(ask({"messages": messages}, chat=True).ids) == 5 + 2 * MESSAGE_TOKENS + REPLY_TOKENS


def test_chat_history_is_a_prefix_of_the_next_turn() -> None:
    turn: list[dict[str, Any]] = [{"role": "user", "content": "ab"}]
    before = ask({"messages": turn}, chat=True).ids
    after = ask({"messages": [*turn, {"role": "assistant", "content": "x"}]}, chat=True).ids
    shared = 2 + MESSAGE_TOKENS
    assert before[:shared].tolist() == after[:shared].tolist()


def test_tool_calls_and_tools_are_counted() -> None:
    plain = [{"role": "assistant", "content": None}]
    called = [{"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}]
    bare = len(ask({"messages": plain}, chat=True).ids)
    assert len(ask({"messages": called}, chat=True).ids) == bare + len('[{"id":"1"}]')
    assert len(ask({"messages": plain, "tools": [1]}, chat=True).ids) == bare + MESSAGE_TOKENS + len("[1]")


@pytest.mark.parametrize("prompt", [[5, 256], [5, -1], [1.5], ["a", "b"], [[1], [2, 3]], 7, "", [], [[]], None])
def test_unusable_prompts_are_refused_with_400(prompt: object) -> None:
    assert refused({"prompt": prompt}).status == 400


def test_an_unknown_token_id_is_named() -> None:
    assert "999 is out of vocabulary" in str(refused({"prompt": [1, 999]}))


def test_an_unknown_model_is_refused_with_404() -> None:
    problem = refused({"model": "other", "prompt": "a"})
    assert problem.status == 404
    assert orjson.loads(problem.body())["error"]["type"] == "NotFoundError"


def test_prompt_and_output_must_fit_the_context() -> None:
    assert ask({"prompt": "a" * 990, "max_tokens": 10}).output_tokens == 10
    problem = refused({"prompt": "a" * 990, "max_tokens": 11})
    assert "maximum context length is 1000 tokens" in str(problem)
    assert refused({"prompt": "a" * 1000}).status == 400


@pytest.mark.parametrize(
    "bad", [{"max_tokens": 0}, {"max_tokens": "x"}, {"max_tokens": 2, "min_tokens": 3}, {"n": 2}, {"min_tokens": -1}]
)
def test_impossible_lengths_are_refused(bad: dict[str, Any]) -> None:
    assert refused({"prompt": "abc"} | bad).status == 400


@pytest.mark.parametrize("raw", [b"", b"[1]", b"{"])
def test_a_body_that_is_no_object_is_refused(raw: bytes) -> None:
    with pytest.raises(RefusedError):
        read_ask(raw, chat_form=None, model="m", context_tokens=9, encoder=Bytes())


@pytest.mark.parametrize("messages", [None, [], ["x"], [{"role": "robot"}], [{"role": "user", "content": [{}]}]])
def test_unusable_messages_are_refused(messages: object) -> None:
    assert refused({"messages": messages}, chat=True).status == 400


def test_ignore_eos_generates_exactly_the_limit() -> None:
    got = ask({"prompt": "abc", "max_tokens": 777, "ignore_eos": True})
    assert (got.output_tokens, got.finish) == (777, "length")


@given(st.binary(min_size=1, max_size=20), st.integers(0, 400), st.integers(1, 500))
def test_output_length_respects_both_limits(text: bytes, least: int, limit: int) -> None:
    least = min(least, limit)
    got = ask({"prompt": list(text), "min_tokens": least, "max_tokens": limit})
    assert least <= got.output_tokens <= limit
    assert (got.finish == "length") == (got.output_tokens == limit)


@given(
    st.lists(st.integers(0, 5), max_size=70),
    st.lists(st.integers(0, 5), max_size=200),
    st.lists(st.integers(0, 5), max_size=200),
)
def test_keys_agree_exactly_as_far_as_whole_blocks_do(head: list[int], one: list[int], two: list[int]) -> None:
    a, b = np.array(head + one, dtype=np.uint32), np.array(head + two, dtype=np.uint32)
    keys_a, keys_b = block_keys(a), block_keys(b)
    assert len(keys_a) == len(a) // 64
    for n, (x, y) in enumerate(zip(keys_a, keys_b, strict=False), 1):
        assert (x == y) == (a[: n * 64].tolist() == b[: n * 64].tolist())
