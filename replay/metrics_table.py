"""How servers and exporters name what they measure, and our one name for each: the table to extend.

A row is one way to know one of `corpus.server_metrics.METRICS`. The first row of a name that a source has is taken, so
newer names stand above older ones, and engines above the routers that pass their metrics on. Several metrics of a row
are added up. Names were read off vLLM 0.32, llama.cpp (xllamacpp 2026.10) and Dynamo 1.6.1 servers; the others are from
the projects' documents and sources (SGLang, TensorRT-LLM `/prometheus/metrics`, ATOM, NVIDIA's DCGM exporter, AMD's
device metrics exporter).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Reading:
    name: str  # ours
    metrics: tuple[str, ...]  # theirs, as exposed (`_total` and `_sum` included)
    labels: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # only series whose label begins with one of these
    scale: float = 1.0
    mean: bool = False  # of the series, where their sum would mean nothing


def _reading(name: str, *metrics: str, scale: float = 1.0, mean: bool = False, **labels: tuple[str, ...]) -> Reading:
    return Reading(name, metrics, labels, scale, mean)


_AMD_PREFIXES: Final = ("", "amd_")

READINGS: Final[tuple[Reading, ...]] = (
    # vLLM: prefix-cache counters are in tokens; "external" is what a KV connector (host memory, disk, peers) served
    _reading("running", "vllm:num_requests_running"),
    _reading("waiting", "vllm:num_requests_waiting"),
    _reading("kv_used_share", "vllm:kv_cache_usage_perc", mean=True),
    _reading("kv_used_share", "vllm:gpu_cache_usage_perc", mean=True),
    _reading("prompt_tokens", "vllm:prompt_tokens_total"),
    _reading("output_tokens", "vllm:generation_tokens_total"),
    _reading("hbm_query_tokens", "vllm:prefix_cache_queries_total"),
    _reading("hbm_query_tokens", "vllm:gpu_prefix_cache_queries_total"),
    _reading("hbm_hit_tokens", "vllm:prefix_cache_hits_total"),
    _reading("hbm_hit_tokens", "vllm:gpu_prefix_cache_hits_total"),
    _reading("dram_query_tokens", "vllm:external_prefix_cache_queries_total"),
    _reading("dram_hit_tokens", "vllm:external_prefix_cache_hits_total"),
    _reading("prompt_computed_tokens", "vllm:prompt_tokens_by_source_total", source=("local_compute",)),
    _reading("prompt_local_hit_tokens", "vllm:prompt_tokens_by_source_total", source=("local_cache_hit",)),
    _reading("prompt_external_hit_tokens", "vllm:prompt_tokens_by_source_total", source=("external_kv_transfer",)),
    _reading("preemptions", "vllm:num_preemptions_total"),
    _reading("spec_draft_tokens", "vllm:spec_decode_num_draft_tokens_total"),
    _reading("spec_accepted_tokens", "vllm:spec_decode_num_accepted_tokens_total"),
    _reading("queue_s", "vllm:request_queue_time_seconds_sum"),
    _reading("prefill_s", "vllm:request_prefill_time_seconds_sum"),
    # SGLang: started with --enable-metrics; "host" and "storage_..." are the tiers of its hierarchical cache
    _reading("running", "sglang:num_running_reqs"),
    _reading("waiting", "sglang:num_queue_reqs"),
    _reading("kv_used_share", "sglang:token_usage", mean=True),
    _reading("prompt_tokens", "sglang:prompt_tokens_total"),
    _reading("output_tokens", "sglang:generation_tokens_total"),
    _reading("hbm_query_tokens", "sglang:prompt_tokens_total"),
    _reading("hbm_hit_tokens", "sglang:cached_tokens_total", cache_source=("device",)),
    _reading("hbm_hit_tokens", "sglang:cached_tokens_total"),
    _reading("dram_hit_tokens", "sglang:cached_tokens_total", cache_source=("host", "storage")),
    _reading("prompt_computed_tokens", "sglang:realtime_tokens_total", mode=("prefill_compute",)),
    _reading("prompt_local_hit_tokens", "sglang:cached_tokens_total", cache_source=("device",)),
    _reading("prompt_external_hit_tokens", "sglang:cached_tokens_total", cache_source=("host", "storage")),
    _reading("preemptions", "sglang:num_retracted_requests_total"),
    _reading("queue_s", "sglang:queue_time_seconds_sum"),
    # TensorRT-LLM: `return_perf_metrics: true` and `enable_iter_perf_stats: true`, at /prometheus/metrics
    _reading("running", "trtllm_num_requests_running"),
    _reading("running", "trtllm_num_active_requests"),
    _reading("waiting", "trtllm_num_requests_waiting"),
    _reading("waiting", "trtllm_server_queue_length"),
    _reading("kv_used_share", "trtllm_kv_cache_utilization", mean=True),
    _reading("prompt_tokens", "trtllm_prompt_tokens_total"),
    _reading("output_tokens", "trtllm_generation_tokens_total"),
    _reading("hbm_query_tokens", "trtllm_prompt_tokens_total"),
    _reading("hbm_hit_tokens", "trtllm_prompt_cached_tokens_total"),
    _reading("prompt_local_hit_tokens", "trtllm_prompt_cached_tokens_total"),
    _reading("spec_draft_tokens", "trtllm_spec_decode_drafted_tokens_total"),
    _reading("spec_draft_tokens", "trtllm_spec_decode_num_draft_tokens_total"),
    _reading("spec_accepted_tokens", "trtllm_spec_decode_accepted_tokens_total"),
    _reading("spec_accepted_tokens", "trtllm_spec_decode_num_accepted_tokens_total"),
    _reading("queue_s", "trtllm_request_queue_time_seconds_sum"),
    _reading("prefill_s", "trtllm_request_prefill_time_seconds_sum"),
    # llama.cpp: started with --metrics; its prompt counter leaves out what came from a slot's cache
    _reading("running", "llamacpp:requests_processing"),
    _reading("waiting", "llamacpp:requests_deferred"),
    _reading("kv_used_share", "llamacpp:kv_cache_usage_ratio", mean=True),
    _reading("prompt_tokens", "llamacpp:prompt_tokens_total", "llamacpp:prompt_tokens_cached_total"),
    _reading("output_tokens", "llamacpp:tokens_predicted_total"),
    _reading("hbm_query_tokens", "llamacpp:prompt_tokens_total", "llamacpp:prompt_tokens_cached_total"),
    _reading("hbm_hit_tokens", "llamacpp:prompt_tokens_cached_total"),
    _reading("prompt_computed_tokens", "llamacpp:prompt_tokens_total"),
    _reading("prompt_local_hit_tokens", "llamacpp:prompt_tokens_cached_total"),
    _reading("prefill_s", "llamacpp:prompt_seconds_total"),
    _reading("spec_draft_tokens", "llamacpp:tokens_drafted_total"),
    _reading("spec_accepted_tokens", "llamacpp:tokens_drafted_accepted_total"),
    # ATOM: what was loaded from LMCache is a transfer, and "offload" what was reused of it beyond the GPU's own
    _reading("running", "atom:requests_running"),
    _reading("waiting", "atom:requests_waiting"),
    _reading("kv_used_share", "atom:kv_cache_usage_ratio", mean=True),
    _reading("prompt_tokens", "atom:prompt_tokens_total"),
    _reading("output_tokens", "atom:generation_tokens_total"),
    _reading("hbm_query_tokens", "atom:prefix_cache_full_tokens_total"),
    _reading("hbm_hit_tokens", "atom:prefix_cache_cached_tokens_total"),
    _reading("dram_hit_tokens", "atom:prefix_cache_offload_tokens_total"),
    _reading("prompt_local_hit_tokens", "atom:prefix_cache_cached_tokens_total"),
    _reading("prompt_external_hit_tokens", "atom:prefix_cache_offload_tokens_total"),
    _reading("preemptions", "atom:preemptions_total"),
    _reading("queue_s", "atom:request_queue_time_seconds_sum"),
    _reading("prefill_s", "atom:ttft_forward_to_output_seconds_sum"),
    _reading("spec_draft_tokens", "atom:mtp_draft_tokens_total"),
    _reading("spec_accepted_tokens", "atom:mtp_accepted_tokens_total"),
    # Dynamo's frontend: what all workers behind it did
    _reading("running", "dynamo_frontend_inflight_requests"),
    _reading("waiting", "dynamo_frontend_queued_requests"),
    _reading("prompt_tokens", "dynamo_frontend_input_sequence_tokens_sum"),
    _reading("output_tokens", "dynamo_frontend_output_sequence_tokens_sum"),  # its live counter misses some
    _reading("hbm_query_tokens", "dynamo_frontend_input_sequence_tokens_sum"),
    _reading("hbm_hit_tokens", "dynamo_frontend_cached_tokens_sum"),
    # power: NVIDIA in W and mJ, AMD in W and uJ, often set up with a prefix of its own
    _reading("power_w", "DCGM_FI_DEV_POWER_USAGE"),
    *(
        _reading("power_w", prefix + name)
        for prefix in _AMD_PREFIXES
        for name in ("gpu_package_power", "gpu_average_package_power", "gpu_power_usage")
    ),
    _reading("energy_j", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", scale=1e-3),
    *(_reading("energy_j", f"{prefix}gpu_energy_consumed", scale=1e-6) for prefix in _AMD_PREFIXES),
)
