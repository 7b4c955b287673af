from __future__ import annotations

from typing import Any

import pytest

from corpus.run import SentRequest
from replay.summary import RunFacts, percentiles, summarise
from tests.replay.rehearsal import row_of


def facts(**changes: Any) -> RunFacts:
    values: dict[str, Any] = {
        "profile_start_us": 0,
        "profile_end_us": 10_000_000,
        "completed_plays": frozenset(),
        "dropped": {},
        "corpus_requests": 10,
        "dropped_sessions": ("gone",),
        "client_cpu_s": 0.25,
        "interrupted": False,
    }
    return RunFacts(**{**values, **changes})


def good(request: int, **changes: Any) -> SentRequest:
    values = {
        "request": request,
        "planned_input_tokens": 100,
        "planned_output_tokens": 11,
        "measured_input_tokens": 100,
        "measured_output_tokens": 11,
        "cached_tokens": 64,
        "predicted_cached_tokens": 64,
        "sent_us": 0,
        "first_token_us": 500_000,
        "last_token_us": 1_500_000,
        "end_us": 1_600_000,
        "recorded_end_us": 800_000,
    }
    return row_of(**{**values, **changes})


def test_every_promised_key_is_there_even_for_an_empty_run() -> None:
    promised = [
        "requests",
        "errors",
        "duration_s",
        "ttft_s",
        "tpot_s",
        "interactivity_tps",
        "e2e_normalized_tps",
        "input_tokens",
        "output_tokens",
        "throughput_tps",
        "output_tps",
        "cached_tokens",
        "cache_hit_rate",
        "predicted_hit_rate",
        "token_error",
        "lateness_ms",
        "edge_violations",
        "sessions_completed",
        "session_slowdown",
        "client_cpu_s",
    ]
    summary = summarise([], facts(profile_start_us=None))
    assert set(promised) <= summary.keys()
    assert summary["duration_s"] is None
    assert summary["ttft_s"] == {"p50": None, "p90": None, "p99": None}
    assert summary["token_error"] == {"p50": None, "p99": None, "max": None}
    assert summary["lateness_ms"] == {"p50": None, "p99": None, "max": None}
    assert (summary["cached_tokens"], summary["cache_hit_rate"], summary["predicted_hit_rate"]) == (None, None, None)


def test_times_and_rates_follow_their_definitions() -> None:
    summary = summarise([good(0)], facts())
    assert summary["ttft_s"]["p50"] == 0.5
    assert summary["tpot_s"]["p90"] == pytest.approx(0.1)
    assert summary["interactivity_tps"]["p90"] == pytest.approx(10)
    assert summary["e2e_normalized_tps"]["p99"] == pytest.approx(11 / 1.5)
    assert summary["throughput_tps"] == pytest.approx(11.1)
    assert summary["output_tps"] == pytest.approx(1.1)
    assert summary["cache_hit_rate"] == 0.64


def test_percentile_of_a_rate_is_the_slow_side() -> None:
    rows = [good(i, last_token_us=500_000 + (i + 1) * 1_000_000) for i in range(100)]
    rates = summarise(rows, facts())["interactivity_tps"]
    assert rates["p50"] > rates["p90"] > rates["p99"]


def test_hit_rates_are_weighted_by_tokens() -> None:
    rows = [good(0, cached_tokens=0, predicted_cached_tokens=0), good(1, measured_input_tokens=900, cached_tokens=900)]
    assert summarise(rows, facts())["cache_hit_rate"] == 0.9


def test_single_token_answer_has_no_tpot_but_counts_elsewhere() -> None:
    summary = summarise([good(0, planned_output_tokens=1, measured_output_tokens=1)], facts())
    assert summary["tpot_s"]["p50"] is None
    assert summary["interactivity_tps"]["p50"] is None
    assert summary["ttft_s"]["p50"] == 0.5


def test_only_profiling_counts_and_what_was_cut_is_no_error() -> None:
    rows = [
        good(0),
        good(1, phase="warmup"),
        good(2, phase="warmup", error="connect"),
        good(3, error="timeout"),
        good(4, error="cut", end_us=None),
    ]
    summary = summarise(rows, facts())
    assert (summary["requests"], summary["errors"], summary["unfinished"]) == (2, 1, 1)
    assert (summary["warmup_requests"], summary["warmup_errors"]) == (2, 1)
    assert summary["errors_by_class"] == {"timeout": 1}
    assert summary["input_tokens"] == 100


def test_server_that_counts_nothing_gives_warnings_and_nulls() -> None:
    rows = [good(0, measured_input_tokens=None, measured_output_tokens=None, cached_tokens=None)]
    summary = summarise(rows, facts())
    assert summary["warnings"] == {"no_usage": 1, "no_cached_tokens": 1}
    assert summary["token_error"]["max"] is None
    assert summary["cache_hit_rate"] is None


def test_answer_of_another_length_than_asked_is_a_warning() -> None:
    assert summarise([good(0, measured_output_tokens=5)], facts())["warnings"] == {"wrong_output_length": 1}


def test_prompts_counted_by_another_tokenizer_are_a_warning() -> None:
    rows = [good(number, planned_input_tokens=1000, measured_input_tokens=1000 + 10 * number) for number in range(5)]
    assert summarise(rows, facts())["warnings"] == {"wrong_prompt_length": 2}


def test_largest_token_error_keeps_its_sign() -> None:
    rows = [good(0, measured_input_tokens=101), good(1, measured_input_tokens=64), good(2)]
    assert summarise(rows, facts())["token_error"] == {"p50": 1, "p99": -36, "max": -36}


def test_slowdown_compares_whole_profiled_plays_with_their_recording() -> None:
    whole = [
        good(0),
        good(1, sent_us=2_000_000, end_us=4_000_000, recorded_start_us=1_000_000, recorded_end_us=2_000_000),
    ]
    begun_in_warmup = [good(0, play=1, phase="warmup"), good(1, play=1, end_us=9_000_000)]
    summary = summarise([*whole, *begun_in_warmup], facts(completed_plays=frozenset({0, 1})))
    assert summary["sessions_completed"] == 2
    assert summary["session_slowdown"] == {"p50": 2.0, "p90": 2.0}


def test_dropped_share_is_always_told() -> None:
    nothing_sent = summarise([], facts())
    assert (nothing_sent["dropped_share"], nothing_sent["dropped_sessions"]) == (0.0, ["gone"])
    summary = summarise([], facts(dropped={"over_context": 3}))
    assert (summary["dropped_requests"], summary["dropped_share"]) == ({"over_context": 3}, 0.3)


def test_percentiles_lie_between_ranks() -> None:
    assert percentiles([1, 2], (50,)) == {"p50": 1.5}


def test_answers_of_another_length_are_counted_and_sized() -> None:
    rows = [good(0), good(1, measured_output_tokens=9), good(2, measured_output_tokens=None)]
    found = summarise(rows, facts())["osl_mismatch"]
    assert found == {"requests": 1, "share": 0.5, "tokens": {"p50": -2, "p99": -2, "max": -2}}


def test_prediction_stands_beside_what_the_server_cached() -> None:
    found = summarise([good(0), good(1, predicted_cached_tokens=128), good(2, cached_tokens=None)], facts())
    assert (found["cached_tokens"], found["predicted_cached_tokens"]) == (128, 192)


def test_throughput_is_told_per_chip() -> None:
    found = summarise([good(0)], facts(chips=2))
    assert (found["throughput_tps"], found["throughput_tps_per_chip"]) == (11.1, 5.55)


def test_queue_and_prefill_are_told_apart_where_the_server_tells() -> None:
    rows = [good(0, root_offset_us=0)]
    phases = {"profile": {"queue_s": 1.0, "prefill_s": 1.0}, "warmup": {}}
    found = summarise(rows, facts(completed_plays=frozenset({0}), server=phases))
    assert found["critical_path_shares"]["queue"] == found["critical_path_shares"]["prefill"] > 0
    assert found["server"] == phases


def test_requests_beyond_the_servers_context_are_a_warning() -> None:
    assert summarise([good(0)], facts(over_context=4))["warnings"] == {"more_tokens_than_the_server_takes": 4}


def test_hits_on_what_an_earlier_run_left_are_a_warning() -> None:
    fair = [good(0, cached_tokens=64), good(1, cached_tokens=66)]
    assert summarise(fair, facts())["warnings"] == {}
    foreign = [good(0, cached_tokens=64), good(1, predicted_cached_tokens=0)]
    assert summarise(foreign, facts())["warnings"] == {"cached_tokens_of_an_earlier_run": 1}
