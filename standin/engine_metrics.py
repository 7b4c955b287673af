"""Counts what the stand-in engine did and prints it in the Prometheus text format under vLLM's metric names.

Names, label names and the meaning of each (prefix-cache counters are in tokens, not requests) were read off a vLLM 0.32
server. Seconds are those of the events the scheduler reported.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from standin.engine_scheduler import BLOCK_TOKENS, Admitted, Event, Finished, Token

_BUCKETS_S: Final = (0.001, 0.005, 0.01, 0.02, 0.04, 0.08, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0)
_HISTOGRAMS: Final = {
    "queue": "vllm:request_queue_time_seconds",
    "prefill": "vllm:request_prefill_time_seconds",
    "ttft": "vllm:time_to_first_token_seconds",
    "token": "vllm:inter_token_latency_seconds",
    "e2e": "vllm:e2e_request_latency_seconds",
}


@dataclass(slots=True)
class _Life:
    prompt_tokens: int
    submitted_s: float
    admitted_s: float = 0.0
    last_token_s: float | None = None


@dataclass(slots=True)
class _Histogram:
    counts: list[int] = field(default_factory=lambda: [0] * (len(_BUCKETS_S) + 1))
    total_s: float = 0.0

    def observe(self, seconds: float) -> None:
        self.counts[bisect_left(_BUCKETS_S, seconds)] += 1
        self.total_s += seconds


@dataclass(slots=True)
class Metrics:
    model: str
    capacity_blocks: int | None
    prompt_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    finished: Counter[str] = field(default_factory=Counter)
    _lives: dict[int, _Life] = field(default_factory=dict)
    _histograms: dict[str, _Histogram] = field(default_factory=lambda: {name: _Histogram() for name in _HISTOGRAMS})

    def submitted(self, number: int, prompt_tokens: int, now_s: float) -> None:
        self._lives[number] = _Life(prompt_tokens, now_s)

    def happened(self, event: Event, finish: str) -> None:
        """Take in one scheduler event; `finish` is the finish reason of its request."""
        life = self._lives.get(event.number)
        if life is None:
            return
        match event:
            case Admitted(_, t_s, cached):
                life.admitted_s = t_s
                self._histograms["queue"].observe(t_s - life.submitted_s)
                self.prompt_tokens += life.prompt_tokens
                self.cached_tokens += cached
            case Token(_, t_s):
                self._token(life, t_s)
            case Finished(number, t_s):
                self._histograms["e2e"].observe(t_s - life.submitted_s)
                self.finished[finish] += 1
                del self._lives[number]

    def aborted(self, number: int) -> None:
        if self._lives.pop(number, None):
            self.finished["abort"] += 1

    def _token(self, life: _Life, t_s: float) -> None:
        self.generated_tokens += 1
        if life.last_token_s is None:
            self._histograms["ttft"].observe(t_s - life.submitted_s)
            self._histograms["prefill"].observe(t_s - life.admitted_s)
        else:
            self._histograms["token"].observe(t_s - life.last_token_s)
        life.last_token_s = t_s

    def text(self, *, running: int, waiting: int, usage: float) -> str:
        """The exposition; gauges are given because only the scheduler knows them."""
        out: list[str] = []
        for name, value in (("num_requests_running", running), ("num_requests_waiting", waiting)):
            self._family(out, f"vllm:{name}", "gauge", {"": value})
        self._family(out, "vllm:kv_cache_usage_perc", "gauge", {"": usage})
        counters = {
            "prefix_cache_queries_total": self.prompt_tokens,
            "prefix_cache_hits_total": self.cached_tokens,
            "prompt_tokens_total": self.prompt_tokens,
            "prompt_tokens_cached_total": self.cached_tokens,
            "generation_tokens_total": self.generated_tokens,
            "num_preemptions_total": 0,
        }
        for name, count in counters.items():
            self._family(out, f"vllm:{name}", "counter", {"": count})
        sources = {"local_compute": self.prompt_tokens - self.cached_tokens, "local_cache_hit": self.cached_tokens}
        by_source = {f',source="{source}"': tokens for source, tokens in {**sources, "external_kv_transfer": 0}.items()}
        self._family(out, "vllm:prompt_tokens_by_source_total", "counter", by_source)
        reasons = {f',finished_reason="{r}"': self.finished[r] for r in ("stop", "length", "abort")}
        self._family(out, "vllm:request_success_total", "counter", reasons)
        blocks = "unlimited" if self.capacity_blocks is None else str(self.capacity_blocks)
        config = f',block_size="{BLOCK_TOKENS}",enable_prefix_caching="True",num_gpu_blocks="{blocks}"'
        self._family(out, "vllm:cache_config_info", "gauge", {config: 1})
        for key, name in _HISTOGRAMS.items():
            self._histogram(out, name, self._histograms[key])
        return "\n".join(out) + "\n"

    def _family(self, out: list[str], name: str, kind: str, samples: Mapping[str, float]) -> None:
        out.append(f"# TYPE {name} {kind}")
        out.extend(f"{name}{{{self._labels()}{labels}}} {float(value)}" for labels, value in samples.items())

    def _histogram(self, out: list[str], name: str, data: _Histogram) -> None:
        out.append(f"# TYPE {name} histogram")
        below = 0
        for bound, count in zip((*map(str, _BUCKETS_S), "+Inf"), data.counts, strict=True):
            below += count
            out.append(f'{name}_bucket{{{self._labels()},le="{bound}"}} {float(below)}')
        out.append(f"{name}_count{{{self._labels()}}} {float(below)}")
        out.append(f"{name}_sum{{{self._labels()}}} {data.total_s}")

    def _labels(self) -> str:
        name = self.model.replace("\\", "\\\\").replace('"', '\\"')
        return f'engine="0",model_name="{name}"'
