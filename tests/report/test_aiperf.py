from __future__ import annotations

from typing import Any

import orjson

from corpus.run import Run
from report.aiperf import aiperf_lines
from tests.replay.rehearsal import row_of

SENT: dict[str, Any] = {
    "play": 3,
    "session": 7,
    "request": 4,
    "due_us": 900,
    "sent_us": 1_000,
    "first_token_us": 3_000,
    "last_token_us": 9_000,
    "end_us": 9_500,
    "planned_input_tokens": 100,
    "planned_output_tokens": 4,
    "measured_input_tokens": 101,
    "measured_output_tokens": 3,
    "cached_tokens": 64,
}


def records(*rows: Any) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in aiperf_lines(Run({}, rows, {}))]


def test_a_request_has_aiperfs_metrics_in_its_units() -> None:
    (record,) = records(row_of(**SENT))
    assert {name: metric["value"] for name, metric in record["metrics"].items()} == {
        "input_sequence_length": 101,
        "output_sequence_length": 3,
        "requested_osl": 4,
        "usage_prompt_tokens": 101,
        "usage_completion_tokens": 3,
        "usage_prompt_cache_read_tokens": 64,
        "time_to_first_token": 2.0,
        "request_latency": 8.0,
        "inter_token_latency": 3.0,
        "e2e_output_token_throughput": 375.0,
        "output_token_throughput_per_user": 1000 / 3,
    }
    metadata = record["metadata"]
    assert (metadata["credit_issued_ns"], metadata["request_start_ns"]) == (900_000, 1_000_000)
    assert (metadata["benchmark_phase"], metadata["was_cancelled"], record["error"]) == ("profiling", False, None)


def test_turns_are_counted_within_an_agent_of_a_play() -> None:
    found = records(
        *(row_of(**{**SENT, "agent": agent, "play": play}) for play, agent in ((1, 0), (1, 1), (1, 0), (2, 0)))
    )
    assert [(m["metadata"]["x_correlation_id"], m["metadata"]["turn_index"]) for m in found] == [
        ("play-1", 0),
        ("play-1-agent-1", 0),
        ("play-1", 1),
        ("play-2", 0),
    ]
    assert [m["metadata"]["parent_correlation_id"] for m in found] == [None, "play-1", None, None]


def test_what_failed_has_its_class_and_no_metrics() -> None:
    failed, cut = records(
        row_of(**{**SENT, "error": "http_5xx", "status": 503}), row_of(**{**SENT, "error": "cut", "end_us": None})
    )
    assert failed["error"] == {"code": 503, "type": "http_5xx", "message": "http 5xx"}
    assert (failed["metrics"], cut["metrics"], cut["error"]) == ({}, {}, None)
    assert (cut["metadata"]["was_cancelled"], cut["metadata"]["request_end_ns"]) == (True, 1_000_000)


def test_planned_tokens_stand_where_the_server_tells_none_and_unsent_requests_are_left_out() -> None:
    quiet = {"measured_input_tokens": None, "measured_output_tokens": None, "cached_tokens": None}
    (record,) = records(row_of(**{**SENT, **quiet}), row_of(**{**SENT, "sent_us": None}))
    assert record["metrics"]["input_sequence_length"]["value"] == 100
    assert not [name for name in record["metrics"] if name.startswith("usage_")]
