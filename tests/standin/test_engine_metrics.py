"""The metrics text: vLLM's names, Prometheus' format."""

import re

from standin.engine_metrics import Metrics
from standin.engine_scheduler import Admitted, Finished, Token

_LINE = re.compile(r'^([a-zA-Z_:][\w:]*)\{((?:\w+="[^"\\]*(?:\\.[^"\\]*)*",?)*)\} (\S+)$')


def samples(text: str) -> dict[str, float]:
    """Every sample by name and labels other than engine and model_name; fails on a line that is no sample."""
    out = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            continue
        found = _LINE.match(line)
        assert found, line
        labels = re.sub(r'engine="0",model_name="[^"]*",?', "", found[2])
        out[found[1] + (f"{{{labels}}}" if labels else "")] = float(found[3])
    return out


def test_counts_and_histograms_follow_the_events() -> None:
    metrics = Metrics("m", capacity_blocks=10)
    metrics.submitted(1, 100, 0.0)
    for event in (Admitted(1, 0.5, 64), Token(1, 2.0), Token(1, 2.03), Finished(1, 2.03)):
        metrics.happened(event, "length")
    metrics.submitted(2, 7, 3.0)
    metrics.aborted(2)
    got = samples(metrics.text(running=3, waiting=2, usage=0.25))
    assert got["vllm:num_requests_running"] == 3
    assert got["vllm:num_requests_waiting"] == 2
    assert got["vllm:kv_cache_usage_perc"] == 0.25
    assert got["vllm:prompt_tokens_total"] == got["vllm:prefix_cache_queries_total"] == 100
    assert got["vllm:prefix_cache_hits_total"] == 64
    assert got["vllm:generation_tokens_total"] == 2
    assert got['vllm:request_success_total{finished_reason="length"}'] == 1
    assert got['vllm:request_success_total{finished_reason="abort"}'] == 1
    assert got["vllm:time_to_first_token_seconds_sum"] == 2.0
    assert got['vllm:time_to_first_token_seconds_bucket{le="1.0"}'] == 0
    assert got['vllm:time_to_first_token_seconds_bucket{le="2.5"}'] == 1
    assert got['vllm:time_to_first_token_seconds_bucket{le="+Inf"}'] == 1
    assert got["vllm:inter_token_latency_seconds_count"] == 1
    assert got["vllm:request_queue_time_seconds_sum"] == 0.5


def test_events_of_unknown_requests_count_for_nothing() -> None:
    metrics = Metrics("m", None)
    metrics.happened(Token(9, 1.0), "stop")
    metrics.aborted(9)
    assert samples(metrics.text(running=0, waiting=0, usage=0))["vllm:generation_tokens_total"] == 0


def test_a_model_name_with_quotes_is_escaped() -> None:
    text = Metrics('a"b', None).text(running=0, waiting=0, usage=0)
    assert 'model_name="a\\"b"' in text
    assert samples(text)
