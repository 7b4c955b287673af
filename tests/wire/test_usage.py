from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.api import Api
from wire.usage import Usage, normalise_usage

APIS: tuple[Api, ...] = ("anthropic-messages", "openai-responses", "openai-responses-ws", "openai-chat")


def test_anthropic_input_is_the_whole_prompt() -> None:
    usage = {
        "input_tokens": 54,
        "cache_read_input_tokens": 960,
        "cache_creation_input_tokens": 100,
        "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 0},
        "output_tokens": 7,
        "service_tier": "standard",
    }
    assert normalise_usage("anthropic-messages", usage) == Usage(1114, 960, 100, 7, None)


def test_anthropic_without_cache_counts_keeps_them_unknown() -> None:
    assert normalise_usage("anthropic-messages", {"input_tokens": 5}) == Usage(input_tokens=5)
    nulls = {"input_tokens": 5, "cache_read_input_tokens": None, "output_tokens": 1}
    assert normalise_usage("anthropic-messages", nulls) == Usage(input_tokens=5, output_tokens=1)


def test_anthropic_total_is_unknown_when_an_addend_makes_no_sense() -> None:
    spoilt = {"input_tokens": 5, "cache_read_input_tokens": -1, "output_tokens": 1}
    assert normalise_usage("anthropic-messages", spoilt) == Usage(output_tokens=1)
    headless = {"cache_read_input_tokens": 9, "output_tokens": 1}
    assert normalise_usage("anthropic-messages", headless) == Usage(cache_read_tokens=9, output_tokens=1)


@pytest.mark.parametrize("api", ["openai-responses", "openai-responses-ws"])
def test_responses_input_includes_what_was_cached(api: Api) -> None:
    usage = {
        "input_tokens": 18385,
        "input_tokens_details": {"cached_tokens": 13696, "cache_write_tokens": 12},
        "output_tokens": 182,
        "output_tokens_details": {"reasoning_tokens": 16},
        "total_tokens": 18567,
    }
    assert normalise_usage(api, usage) == Usage(18385, 13696, 12, 182, 16)


def test_chat_counts_of_openai_and_of_vllm() -> None:
    usage: dict[str, Any] = {
        "prompt_tokens": 1000,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 960, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    assert normalise_usage("openai-chat", usage) == Usage(1000, 960, None, 20, 3)
    usage["prompt_tokens_details"] = {"cached_tokens": 0, "created_cache_tokens": 960}
    usage["completion_tokens_details"] = None
    assert normalise_usage("openai-chat", usage) == Usage(1000, 0, 960, 20, None)
    usage["prompt_tokens_details"] = None
    assert normalise_usage("openai-chat", usage) == Usage(1000, None, None, 20, None)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("usage", [None, [], "12", 12, {}, {"total_tokens": 5}, {"service_tier": "standard"}], ids=repr)
def test_no_known_count_is_no_usage(api: Api, usage: object) -> None:
    assert normalise_usage(api, usage) is None


def test_other_api_has_no_usage() -> None:
    assert normalise_usage("other", {"input_tokens": 5}) is None


nonsense = st.booleans() | st.integers(max_value=-1) | st.floats() | st.text() | st.none() | st.lists(st.integers())
keys = st.sampled_from(
    [
        "input_tokens",
        "output_tokens",
        "prompt_tokens",
        "completion_tokens",
        "cache_read_input_tokens",
        "input_tokens_details",
        "prompt_tokens_details",
        "output_tokens_details",
        "completion_tokens_details",
    ]
)
details = st.dictionaries(st.sampled_from(["cached_tokens", "reasoning_tokens"]), nonsense)


@given(st.sampled_from(APIS), st.dictionaries(keys, nonsense | details))
def test_counts_that_are_no_counts_are_unknown_never_zero(api: Api, usage: dict[str, Any]) -> None:
    assert normalise_usage(api, usage) is None
