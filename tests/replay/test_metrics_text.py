"""Pages as the engines and exporters write them, by their documents; read under our names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.metrics_table import READINGS
from replay.metrics_text import read_metrics

VLLM = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a \\"b\\" {c}, d"} 3.0
vllm:num_requests_running{engine="1",model_name="m"} 2.0
vllm:kv_cache_usage_perc{engine="0"} 0.5
vllm:kv_cache_usage_perc{engine="1"} 0.25
vllm:prompt_tokens_by_source_total{source="local_compute"} 1e+03 1764000000000
vllm:prompt_tokens_by_source_total{source="local_cache_hit"} 3000.0
vllm:time_to_first_token_seconds_bucket{le="0.001"} 7
"""
SGLANG = """\
sglang:prompt_tokens_total{model_name="m"} 8.128902e+06
sglang:cached_tokens_total{cache_source="device"} 100.0
sglang:cached_tokens_total{cache_source="host"} 20.0
sglang:cached_tokens_total{cache_source="storage_mooncake"} 3.0
sglang:token_usage{model_name="m"} 0.28
"""
LLAMA = """\
llamacpp:prompt_tokens_total 100
llamacpp:prompt_tokens_cached_total 40
llamacpp:tokens_predicted_total 7
llamacpp:requests_processing 1
"""
DCGM = """\
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a"} 312.5
DCGM_FI_DEV_POWER_USAGE{gpu="1",UUID="GPU-b"} 287.5
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0"} 1500
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="1"} 500
"""
AMD = 'gpu_package_power{gpu_id="0"} 700\ngpu_energy_consumed{gpu_id="0"} 5e6\ngpu_power_usage{gpu_id="0"} 1\n'


@pytest.mark.parametrize(
    ("page", "read"),
    [
        (
            VLLM,
            {"running": 5, "kv_used_share": 0.375, "prompt_computed_tokens": 1000, "prompt_local_hit_tokens": 3000},
        ),
        (
            SGLANG,
            {
                "prompt_tokens": 8_128_902,
                "hbm_query_tokens": 8_128_902,
                "hbm_hit_tokens": 100,
                "prompt_local_hit_tokens": 100,
                "dram_hit_tokens": 23,
                "prompt_external_hit_tokens": 23,
                "kv_used_share": 0.28,
            },
        ),
        ("sglang:cached_tokens_total 5\n", {"hbm_hit_tokens": 5}),
        (
            LLAMA,
            {
                "prompt_tokens": 140,
                "hbm_query_tokens": 140,
                "hbm_hit_tokens": 40,
                "prompt_computed_tokens": 100,
                "prompt_local_hit_tokens": 40,
                "output_tokens": 7,
                "running": 1,
            },
        ),
        (DCGM, {"power_w": 600, "energy_j": 2}),
        (AMD, {"power_w": 700, "energy_j": 5}),
        (AMD.replace("gpu_p", "amd_gpu_p").replace("gpu_e", "amd_gpu_e"), {"power_w": 700, "energy_j": 5}),
        ("vllm:gpu_cache_usage_perc 0.1\nvllm:kv_cache_usage_perc 0.9\n", {"kv_used_share": 0.9}),
        ("dynamo_frontend_queued_requests 4\nvllm:num_requests_waiting 2\n", {"waiting": 2}),
    ],
)
def test_pages_are_read_under_our_names(page: str, read: dict[str, float]) -> None:
    assert read_metrics(page) == read


@pytest.mark.parametrize(
    "line",
    [
        *(
            "vllm:num_requests_running",
            "vllm:num_requests_running{",
            "vllm:num_requests_running NaN",
            "<html>",
            "",
            "{}",
        ),
        *("vllm:num_requests_running x", 'vllm:num_requests_running{a="b" 3', "vllm:num_requests_running_other 3"),
    ],
)
def test_a_line_that_says_nothing_is_skipped(line: str) -> None:
    assert read_metrics(f"{line}\nvllm:num_requests_waiting 1") == {"waiting": 1}


def test_a_sum_of_which_a_part_is_missing_is_unknown() -> None:
    assert "prompt_tokens" not in read_metrics("llamacpp:prompt_tokens_total 100\n")


@given(text=st.text())
def test_any_text_is_survived(text: str) -> None:
    assert read_metrics(text).keys() <= {reading.name for reading in READINGS}
