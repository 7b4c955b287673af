"""The inference servers as one table: what they want besides the prompt, how they are told who asks, how they refuse.

To add an engine, add a row. What stands here was seen on real servers for vLLM 0.32, llama.cpp and Dynamo 1.6.1, and is
from the projects' documents and sources for SGLang, TensorRT-LLM and ATOM. Metrics have a table of their own
(`metrics_table`), and the server's own flags are in docs/replaying.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson

from corpus.errors import InputError
from corpus.run import ErrorClass

EngineName = Literal["vllm", "sglang", "trtllm", "dynamo", "llamacpp", "atom"]
FieldPath = tuple[str, ...]  # into the request body

# Each forces the recorded output length: 20 asked, 20 chunks and completion_tokens 20 measured on vLLM.
_FORCING: Final[Mapping[str, Callable[[int], Any]]] = {
    "min_tokens": lambda tokens: tokens,
    "ignore_eos": lambda _tokens: True,
}
_BOTH: Final = ("min_tokens", "ignore_eos")


@dataclass(frozen=True, slots=True)
class Engine:
    """`forcing`: endpoint -> fields; an endpoint without any cannot force a length, and the summary counts the misses.

    `background`: where a request says that it can wait, and the value that says it. `resets`: paths of which the first
    that exists empties the prefix cache. `context`: where the server's list of models tells the longest context.
    """

    name: EngineName
    title: str
    owner: str  # `owned_by` of its models
    forcing: Mapping[str, tuple[str, ...]]
    ids: bool = True  # takes prompts as token ids
    session_header: str | None = None
    parent_header: str | None = None
    final_header: str | None = None  # "true" with the last request of a session
    rank_header: str | None = None  # of data parallelism
    background: tuple[FieldPath, int] | None = None
    prefetch: FieldPath | None = None  # true: the prompt will be continued soon after it is answered
    length: FieldPath | None = None  # how many tokens the answer will have
    resets: tuple[str, ...] = ()
    reset_needs: str = ""
    context: FieldPath = ()
    cached_needs: str = ""  # what makes it tell cached tokens


ENGINES: Final[Mapping[EngineName, Engine]] = {
    engine.name: engine
    for engine in (
        Engine(
            "vllm",
            "vLLM",
            owner="vllm",
            forcing={"completions": _BOTH, "chat": _BOTH, "responses": ("ignore_eos",)},
            session_header="x-session-id",  # read by routers in front of it
            parent_header="x-parent-session-id",
            rank_header="X-data-parallel-rank",
            background=(("priority",), 1),  # lower is earlier; refused unless it schedules by priority
            resets=("/reset_prefix_cache",),
            reset_needs="VLLM_SERVER_DEV_MODE=1",
            context=("max_model_len",),
            cached_needs="--enable-prompt-tokens-details",
        ),
        Engine(
            "sglang",
            "SGLang",
            owner="sglang",
            forcing={"completions": _BOTH, "chat": _BOTH},
            session_header="X-SMG-Routing-Key",  # of its model gateway
            rank_header="X-data-parallel-rank",
            background=(("priority",), -1),  # higher is earlier
            resets=("/flush_cache",),
            context=("max_model_len",),
            cached_needs="--enable-cache-report",
        ),
        Engine(
            "trtllm",
            "TensorRT-LLM",
            owner="tensorrt_llm",
            forcing={"completions": _BOTH, "chat": _BOTH},
            session_header="x-session-id",
            reset_needs="a restart",
        ),
        Engine(
            "dynamo",
            "Dynamo",
            owner="nvidia",
            forcing={"completions": _BOTH, "chat": _BOTH},  # at the top level: inside `nvext` they are refused
            session_header="X-Dynamo-Session-ID",
            parent_header="X-Dynamo-Parent-Session-ID",
            final_header="X-Dynamo-Session-Final",
            background=(("nvext", "agent_hints", "priority"), -1),  # higher is earlier
            prefetch=("nvext", "agent_hints", "speculative_prefill"),
            length=("nvext", "agent_hints", "osl"),
            reset_needs="a restart of its workers",
            context=("context_window",),
        ),
        Engine(
            "llamacpp",
            "llama.cpp",
            owner="llamacpp",
            forcing=dict.fromkeys(("completions", "chat", "messages", "responses"), ("ignore_eos",)),
            session_header="x-session-id",
            reset_needs="a restart, or POST /slots/N?action=erase for every slot",
        ),
        Engine(
            "atom",
            "ATOM",
            owner="atom",
            forcing=dict.fromkeys(("chat", "responses"), ("ignore_eos",)),
            ids=False,
            session_header="x-dynamo-session-id",
            parent_header="x-dynamo-parent-session-id",
            resets=("/flush_cache",),
        ),
    )
}
DEFAULT_ENGINE: Final = ENGINES["vllm"]  # what most compatible servers imitate

_DECIDED: Final = (
    "model",
    "prompt",
    "messages",
    "input",
    "system",
    "instructions",
    "store",
    "stream",
    "stream_options",
    "max_tokens",
    "max_output_tokens",
)
_RESERVED: Final = frozenset((*_DECIDED, *_FORCING))

# Words of 400 answers that mean "the prompt does not fit": vLLM, SGLang, llama.cpp, TensorRT-LLM.
_OVERFLOW_WORDS: Final = (
    "context length",
    "context window",
    "context size",
    "max_model_len",
    "maximum input length",
    "max_seq_len",
    "max_num_tokens",
    "max_tokens must be at least 1, got 0",
    "exceed_context_size",
)


def check_extra_body(extra: Mapping[str, Any]) -> None:
    for name in sorted(_RESERVED & extra.keys()):
        raise InputError("--extra-body", f"{name!r} is decided by the replay itself", "leave it out")


def error_class(status: int, message: str) -> ErrorClass:
    """Of an answer that is no success."""
    if status >= 500:
        return "http_5xx"
    lowered = message.lower()
    return "context_overflow" if any(words in lowered for words in _OVERFLOW_WORDS) else "http_4xx"


def error_message(body: bytes) -> str:
    """The server's own words, on one line: OpenAI's `error.message`, FastAPI's `detail`, else the body's beginning."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        value = None
    if isinstance(value, dict):
        inner = value.get("error")
        found = inner.get("message") if isinstance(inner, dict) else inner
        found = found or value.get("message") or value.get("detail")
        if isinstance(found, str):
            return " ".join(found.split())[:400]
    return " ".join(body[:400].decode(errors="replace").split())


def engine_of(models: object) -> Engine:
    """By the owner that a server's list of models names; the default for one that is not known."""
    owners = {str(card.get("owned_by", "")).lower() for card in _cards(models)}
    return next((engine for engine in ENGINES.values() if engine.owner in owners), DEFAULT_ENGINE)


def context_tokens(engine: Engine, models: object, model: str) -> int | None:
    """The longest context the server says it serves the model with, prompt and output together."""
    for card in _cards(models):
        if card.get("id") == model and engine.context:
            found: Any = card
            for name in engine.context:
                found = found.get(name) if isinstance(found, dict) else None
            return found if isinstance(found, int) and found > 0 else None
    return None


def check_endpoint(engine: Engine, endpoint: str, *, ids: bool) -> None:
    """Raises InputError for a form of prompt that the engine does not take."""
    if ids and not engine.ids:
        raise InputError("--endpoint", f"{engine.title} takes no token ids, as {endpoint} sends them", "use chat")


def forcing_fields(engine: Engine, endpoint: str, output_tokens: int) -> dict[str, Any]:
    return {name: _FORCING[name](output_tokens) for name in engine.forcing.get(endpoint, ())}


def set_field(body: dict[str, Any], path: FieldPath, value: object) -> None:
    """Objects on the way are made, or kept with what they hold."""
    for name in path[:-1]:
        inner = body.get(name)
        body[name] = inner = dict(inner) if isinstance(inner, dict) else {}
        body = inner
    body[path[-1]] = value


def _cards(models: object) -> list[dict[str, Any]]:
    data = models.get("data") if isinstance(models, dict) else None
    return [card for card in data if isinstance(card, dict)] if isinstance(data, list) else []
