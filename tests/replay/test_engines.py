from __future__ import annotations

from typing import Any

import pytest

from corpus.errors import InputError
from replay.engines import (
    ENGINES,
    EngineName,
    check_endpoint,
    check_extra_body,
    context_tokens,
    engine_of,
    error_class,
    error_message,
    forcing_fields,
)


@pytest.mark.parametrize("name", ["model", "prompt", "messages", "stream", "max_tokens"])
def test_extra_body_may_not_decide_what_replay_decides(name: str) -> None:
    with pytest.raises(InputError, match=name):
        check_extra_body({name: 1})
    check_extra_body({"temperature": 0})


@pytest.mark.parametrize(
    ("status", "message", "named"),
    [
        (404, "The model `x` does not exist.", "http_4xx"),
        (400, "This model's maximum context length is 2048 tokens.", "context_overflow"),
        (400, "max_tokens must be at least 1, got 0", "context_overflow"),
        (429, "slow down", "http_4xx"),
        (500, "maximum context length", "http_5xx"),
        (503, "", "http_5xx"),
    ],
)
def test_refusals_have_a_class(status: int, message: str, named: str) -> None:
    assert error_class(status, message) == named


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error":{"message":"no such\\n  model","code":404}}', "no such model"),
        (b'{"error":"busy"}', "busy"),
        (b'{"object":"error","message":"gone"}', "gone"),
        (b'{"detail":"Not Found"}', "Not Found"),
        (b'{"detail":[1]}', '{"detail":[1]}'),
        (b"<html>\n bad gateway", "<html> bad gateway"),
        (b"", ""),
        (b"\xff", "\ufffd"),
    ],
)
def test_the_servers_own_words_are_found(body: bytes, said: str) -> None:
    assert error_message(body) == said


def test_every_engine_is_named_by_its_own_row() -> None:
    assert {name: engine.name for name, engine in ENGINES.items()} == {name: name for name in ENGINES}
    assert len({engine.owner for engine in ENGINES.values()}) == len(ENGINES)


@pytest.mark.parametrize(
    ("models", "name"),
    [
        ({"data": [{"id": "m", "owned_by": "sglang"}]}, "sglang"),
        ({"data": [{"id": "m", "owned_by": "nvidia", "context_window": 0}]}, "dynamo"),
        ({"data": [{"id": "m", "owned_by": "llamacpp"}]}, "llamacpp"),
        ({"data": [{"id": "m", "owned_by": "somebody"}]}, "vllm"),
        ({"data": ["m"]}, "vllm"),
        ({"models": []}, "vllm"),
        (None, "vllm"),
    ],
)
def test_an_engine_is_known_by_the_owner_of_its_models(models: object, name: str) -> None:
    assert engine_of(models).name == name


@pytest.mark.parametrize(
    ("engine", "card", "tokens"),
    [
        ("vllm", {"max_model_len": 4096}, 4096),
        ("vllm", {"max_model_len": "4096"}, None),
        ("dynamo", {"context_window": 0}, None),
        ("dynamo", {"context_window": 8192}, 8192),
        ("atom", {"max_model_len": 4096}, None),
    ],
)
def test_the_longest_context_is_where_the_engine_tells_it(
    engine: EngineName, card: dict[str, Any], tokens: int | None
) -> None:
    models = {"data": [{"id": "other", "max_model_len": 1}, {"id": "m", **card}]}
    assert context_tokens(ENGINES[engine], models, "m") == tokens


def test_output_length_is_forced_by_what_the_engine_knows() -> None:
    assert forcing_fields(ENGINES["vllm"], "completions", 7) == {"min_tokens": 7, "ignore_eos": True}
    assert forcing_fields(ENGINES["llamacpp"], "chat", 7) == {"ignore_eos": True}
    assert forcing_fields(ENGINES["vllm"], "messages", 7) == {}


def test_token_ids_are_not_sent_where_they_are_not_taken() -> None:
    check_endpoint(ENGINES["atom"], "chat", ids=False)
    with pytest.raises(InputError, match="ATOM takes no token ids"):
        check_endpoint(ENGINES["atom"], "completions", ids=True)
