"""Servers that take and give what SGLang, TensorRT-LLM and ATOM document, for engines that no CPU runs.

Made from the projects' request models, metrics and error texts. A fake refuses what the engine would: fields that its
request model does not have (TensorRT-LLM forbids them; the others ignore them, and a field that is ignored is a mistake
here as well), token ids where only text is taken, and prompts beyond its context.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from replay.engines import EngineName
from tests.replay.loopback import Server

CONTEXT: Final = 310
_OPENAI: Final = {"model", "prompt", "messages", "max_tokens", "stream", "stream_options", "temperature"}


@dataclass(frozen=True)
class Documented:
    fields: frozenset[str]
    card: Mapping[str, Any]
    takes_ids: bool
    headers: frozenset[str]  # that it reads, in lower case
    metrics_path: str
    metrics: str
    overflow: str
    reset: str | None = None


DOCUMENTED: Final[Mapping[EngineName, Documented]] = {
    "sglang": Documented(
        fields=frozenset(_OPENAI | {"min_tokens", "ignore_eos", "priority", "routed_dp_rank", "cache_salt", "rid"}),
        card={"id": "m", "owned_by": "sglang", "root": "m", "max_model_len": CONTEXT},
        takes_ids=True,
        headers=frozenset({"x-smg-routing-key", "x-data-parallel-rank"}),
        metrics_path="/metrics",
        metrics=(
            'sglang:prompt_tokens_total{model_name="m"} 900\nsglang:generation_tokens_total{model_name="m"} 40\n'
            'sglang:cached_tokens_total{cache_source="device",model_name="m"} 300\n'
            'sglang:token_usage{model_name="m",tp_rank="0"} 0.25\nsglang:num_running_reqs{model_name="m"} 2\n'
        ),
        overflow="The input (400 tokens) is longer than the model's context length (310 tokens).",
        reset="/flush_cache",
    ),
    "trtllm": Documented(
        fields=frozenset(_OPENAI | {"min_tokens", "ignore_eos", "prompt_ignore_length", "detokenize"}),
        card={"id": "m", "object": "model", "owned_by": "tensorrt_llm"},
        takes_ids=True,
        headers=frozenset({"x-session-id", "x-correlation-id", "x-session-affinity"}),
        metrics_path="/prometheus/metrics",
        metrics=(
            'trtllm_kv_cache_utilization{engine_type="trtllm"} 0.25\ntrtllm_num_requests_running{a="b"} 2\n'
            "trtllm_prompt_tokens_total 900\ntrtllm_prompt_cached_tokens_total 300\ntrtllm_generation_tokens_total 40\n"
        ),
        overflow="The sum of prompt length (400) and max_tokens (2) should not exceed max_seq_len (310)",
    ),
    "atom": Documented(
        fields=frozenset(_OPENAI | {"ignore_eos", "top_k", "top_p", "seed", "stop"}),
        card={"id": "m", "object": "model", "owned_by": "atom"},
        takes_ids=False,
        headers=frozenset({"x-dynamo-session-id", "x-dynamo-parent-session-id", "x-correlation-id"}),
        metrics_path="/metrics",
        metrics=(
            "atom:requests_running 2.0\natom:kv_cache_usage_ratio 0.25\natom:prompt_tokens_total 900.0\n"
            "atom:generation_tokens_total 40.0\natom:prefix_cache_full_tokens_total 900.0\n"
            "atom:prefix_cache_cached_tokens_total 300.0\natom:prefix_cache_offload_tokens_total 60.0\n"
            "atom:lmcache_loaded_tokens_total 900.0\n"
        ),
        overflow="prompt of 400 tokens exceeds max_model_len 310",
        reset="/flush_cache",
    ),
}


class EngineFake(Server):
    """`broken` collects what the engine would not have understood."""

    def __init__(self, engine: EngineName) -> None:
        self.documented = DOCUMENTED[engine]
        super().__init__(
            misbehave=_judge,
            metrics=self.documented.metrics,
            metrics_path=self.documented.metrics_path,
            models={"object": "list", "data": [dict(self.documented.card)]},
        )
        self.broken: list[str] = []


async def _judge(server: Server, request: web.Request, body: dict[str, Any]) -> web.StreamResponse | None:
    assert isinstance(server, EngineFake)
    documented = server.documented
    server.broken += sorted(body.keys() - documented.fields)
    own = {"host", "user-agent", "content-type", "accept", "content-length"}
    server.broken += sorted(
        name for name in map(str.lower, request.headers) if not name.startswith("x-agentreel-")
        and name not in documented.headers | own
    )  # fmt: skip
    if isinstance(body.get("prompt"), list) and not documented.takes_ids:
        server.broken.append("token ids")
    words = len(body["prompt"]) if "prompt" in body else sum(len(m["content"].split()) for m in body["messages"])
    if words + body["max_tokens"] > CONTEXT:
        error = {"object": "error", "message": documented.overflow, "type": "BadRequestError", "code": 400}
        return web.json_response(error, status=400)
    return None
