"""What inference servers want besides the prompt and how they refuse: the engine differences, as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from corpus.errors import InputError
from corpus.run import ErrorClass

# Forces the recorded output length on vLLM and its relatives: 20 asked, 20 chunks and completion_tokens 20 measured.
_LENGTH_FIELDS: Final[Mapping[str, Callable[[int], Any]]] = {
    "max_tokens": lambda tokens: tokens,
    "min_tokens": lambda tokens: tokens,
    "ignore_eos": lambda _tokens: True,
}
_STREAM_FIELDS: Final[Mapping[str, Any]] = {"stream": True, "stream_options": {"include_usage": True}}
_RESERVED: Final = frozenset({"model", "prompt", "messages", "stream", "stream_options", *_LENGTH_FIELDS})

# Words of 400 answers that mean "the prompt does not fit": vLLM, SGLang, llama.cpp, TensorRT-LLM.
_OVERFLOW_WORDS: Final = (
    "context length",
    "context window",
    "context size",
    "max_model_len",
    "maximum input length",
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


def body_head(model: str, output_tokens: int, extra: Mapping[str, Any]) -> bytes:
    """The JSON object without its closing brace."""
    length = {name: value(output_tokens) for name, value in _LENGTH_FIELDS.items()}
    return orjson.dumps({**extra, "model": model, **_STREAM_FIELDS, **length})[:-1]
