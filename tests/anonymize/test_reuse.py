from __future__ import annotations

import pytest

from anonymize.features import as_vector
from anonymize.observing import Counted, Observed, observe
from anonymize.reuse import LEAST_REUSED_TOKENS, assess_reuse
from corpus.exchange import Exchange
from tests.anonymize.exchanges import WordTokenizer, assistant, claude_answer, claude_body, exchange, user


def counted(repeated: int, read: int | None, *, model: str = "m", local: int = 2_000, tokens: int = 3_000) -> Counted:
    return Counted(model, "anthropic", 0, tokens, local, as_vector(()), repeated, read)


def seen(*requests: Counted) -> list[Observed]:
    return [Observed((), requests, 0)]


def test_reuse_is_compared_in_the_providers_tokens() -> None:
    found = assess_reuse(seen(counted(1_000, 1_500), counted(2_000, 1_500)))["m"]
    assert (found.requests, found.unread) == (2, 0)
    assert (found.predicted_tokens, found.read_tokens) == (4_500, 3_000)
    assert found.ratios is not None
    assert found.ratios.percentiles[50] == pytest.approx(1.5)
    assert found.ratios.token_weighted == pytest.approx(1.5)


def test_requests_that_read_nothing_are_counted_and_not_in_the_ratios() -> None:
    found = assess_reuse(seen(counted(1_000, 0), counted(1_000, 1_500)))["m"]
    assert (found.requests, found.unread) == (2, 1)
    assert found.ratios is not None
    assert found.ratios.percentiles[99] == pytest.approx(1.0)
    assert assess_reuse(seen(counted(1_000, 0)))["m"].ratios is None


def test_short_prefixes_and_silent_providers_are_left_out() -> None:
    short = counted(LEAST_REUSED_TOKENS // 2, 700, local=2_000, tokens=2_000)
    assert assess_reuse(seen(short, counted(1_500, None, model="silent"))) == {}


def test_what_a_prompt_repeats_is_read_off_the_prompts() -> None:
    def turn(number: int, messages: list[dict[str, object]], read: int) -> Exchange:
        events = claude_answer({"type": "text", "text": "hello"})
        usage = {"input_tokens": 5, "cache_read_input_tokens": read, "output_tokens": 1}
        events[0]["message"]["usage"] = usage
        return exchange(number, claude_body(messages, system="be kind"), events)

    start = [user("hi")]
    later = [*start, assistant("hello"), user("and now")]
    exchanges = [turn(0, start, 0), turn(1, later, 9), turn(2, [user("anew")], 4)]
    requests = observe(exchanges, exchanges, WordTokenizer()).requests
    assert [one.repeated_tokens for one in requests] == [0, requests[0].local_tokens, 1 + 3]
    assert [one.read_tokens for one in requests] == [0, 9, 4]
