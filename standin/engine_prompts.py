"""Turns a request body of the stand-in engine into token ids and an output length, or into the error a client gets.

Error statuses and types are those of vLLM (400 BadRequestError, 404 NotFoundError); the wording is ours but keeps the
phrases that clients search for. A chat prompt costs its texts' tokens plus `MESSAGE_TOKENS` for every message and
`REPLY_TOKENS` for the opening of the answer; these frame ids lie above the vocabulary, so no text can produce them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

import numpy as np
import orjson
import xxhash
from numpy.typing import NDArray

from standin.engine_scheduler import BLOCK_TOKENS

MESSAGE_TOKENS: Final = 4  # open, role, separator, close
REPLY_TOKENS: Final = 3  # open, role, separator
_ROLES: Final = ("system", "developer", "user", "assistant", "tool")
_DEFAULT_COMPLETION_TOKENS: Final = 16  # what the completions API documents
_BLOCK_BYTES: Final = BLOCK_TOKENS * 4


class TextEncoder(Protocol):
    """The part of `corpus.tokenizer.Tokenizer` the engine needs."""

    @property
    def vocab_size(self) -> int: ...

    def encode(self, text: str) -> NDArray[np.uint32]: ...


class RefusedError(Exception):
    """What the client did wrong, with the HTTP status it is told."""

    def __init__(self, status: int, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.param = param

    def body(self) -> bytes:
        kind = "NotFoundError" if self.status == 404 else "BadRequestError"
        error = {"message": str(self), "type": kind, "param": self.param, "code": self.status}
        return orjson.dumps({"error": error})


@dataclass(frozen=True, slots=True)
class Ask:
    """One accepted request: what to prefill, how much to generate, how to answer."""

    chat: bool
    model: str
    ids: NDArray[np.uint32]
    output_tokens: int
    finish: Literal["stop", "length"]
    stream: bool
    include_usage: bool


ChatForm = Callable[[dict[str, Any]], dict[str, Any]]


def read_ask(raw: bytes, *, chat_form: ChatForm | None, model: str, context_tokens: int, encoder: TextEncoder) -> Ask:
    """`chat_form` turns the body into that of a chat; None: it is a completion.

    Raises RefusedError for whatever cannot be served.
    """
    try:
        body = orjson.loads(raw)
    except ValueError as err:
        raise RefusedError(400, f"the request body is no JSON: {err}") from None
    if not isinstance(body, dict):
        raise RefusedError(400, "the request body must be a JSON object")
    if body.get("model") != model:
        raise RefusedError(404, f"The model `{body.get('model')}` does not exist.", "model")
    if body.get("n", 1) != 1:
        raise RefusedError(400, "only n=1 is served", "n")
    chat = chat_form is not None
    if chat_form is not None:
        body = chat_form(body)
    ids = _chat_ids(body, encoder) if chat else _prompt_ids(body.get("prompt"), encoder)
    if not len(ids):
        raise RefusedError(400, "the prompt is empty: at least one token is needed", "prompt")
    output, finish = _output(body, ids, chat=chat, context_tokens=context_tokens)
    options = body.get("stream_options") or {}
    stream = bool(body.get("stream"))
    return Ask(chat, model, ids, output, finish, stream, stream and bool(options.get("include_usage")))


def block_keys(ids: NDArray[np.uint32]) -> tuple[int, ...]:
    """A key for every whole block; equal keys mean that everything up to the block's end is equal."""
    buffer = memoryview(np.ascontiguousarray(ids, dtype="<u4").tobytes())
    state = xxhash.xxh3_64()
    keys = []
    for start in range(0, len(ids) // BLOCK_TOKENS * _BLOCK_BYTES, _BLOCK_BYTES):
        state.update(buffer[start : start + _BLOCK_BYTES])
        keys.append(state.intdigest())
    return tuple(keys)


def _prompt_ids(prompt: object, encoder: TextEncoder) -> NDArray[np.uint32]:
    if isinstance(prompt, str):
        return encoder.encode(prompt)
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], list | str):
        return _prompt_ids(prompt[0], encoder)
    if not isinstance(prompt, list):
        raise RefusedError(400, "the prompt must be one string or one list of token ids", "prompt")
    try:
        ids = np.asarray(prompt or [0])
    except ValueError:  # ragged lists
        ids = np.empty(0, dtype=object)
    if ids.dtype.kind not in "iu" or ids.ndim != 1:
        raise RefusedError(400, "token ids must be integers in one flat list", "prompt")
    if int(ids.min()) < 0 or int(ids.max()) >= encoder.vocab_size:
        bad = int(ids.min()) if int(ids.min()) < 0 else int(ids.max())
        raise RefusedError(400, f"Token id {bad} is out of vocabulary", "prompt")
    return ids[: len(prompt)].astype(np.uint32)


def _chat_ids(body: dict[str, Any], encoder: TextEncoder) -> NDArray[np.uint32]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RefusedError(400, "messages must be a list with at least one message", "messages")
    pieces: list[NDArray[np.uint32]] = []
    if body.get("tools"):
        pieces += _framed("system", orjson.dumps(body["tools"]).decode(), encoder)
    for message in messages:
        if not isinstance(message, dict) or message.get("role") not in _ROLES:
            raise RefusedError(400, f"a message needs one of the roles {', '.join(_ROLES)}", "messages")
        pieces += _framed(message["role"], _message_text(message), encoder)
    pieces.append(_frame("assistant", encoder)[:REPLY_TOKENS])
    return np.concatenate(pieces)


def _framed(role: str, text: str, encoder: TextEncoder) -> list[NDArray[np.uint32]]:
    frame = _frame(role, encoder)
    return [frame[:3], encoder.encode(text), frame[3:]]


def _frame(role: str, encoder: TextEncoder) -> NDArray[np.uint32]:
    first = encoder.vocab_size
    return np.array([first, first + 3 + _ROLES.index(role), first + 1, first + 2], dtype=np.uint32)


def _message_text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(_part_text(part) for part in content)
    if content is not None and not isinstance(content, str):
        raise RefusedError(400, "message content must be text", "messages")
    calls = message.get("tool_calls")
    return (content or "") + (orjson.dumps(calls).decode() if calls else "")


def _part_text(part: object) -> str:
    text = part.get("text") if isinstance(part, dict) else part
    if not isinstance(text, str):
        raise RefusedError(400, "only text parts are served", "messages")
    return text


def _output(
    body: dict[str, Any], ids: NDArray[np.uint32], *, chat: bool, context_tokens: int
) -> tuple[int, Literal["stop", "length"]]:
    """How many tokens to generate, and whether the limit or the text ends them."""
    room = context_tokens - len(ids)
    default = room if chat else min(room, _DEFAULT_COMPLETION_TOKENS)
    asked = body.get("max_completion_tokens") if chat else None
    asked = body.get("max_tokens") if asked is None else asked
    limit = default if asked is None else asked
    least = body.get("min_tokens") or 0
    if not isinstance(limit, int) or not isinstance(least, int) or least < 0:
        raise RefusedError(400, "max_tokens and min_tokens must be whole numbers", "max_tokens")
    if room >= 1 and limit < 1:
        raise RefusedError(400, f"max_tokens must be at least 1, got {limit}", "max_tokens")
    if limit > room or room < 1:
        raise RefusedError(
            400,
            f"This model's maximum context length is {context_tokens} tokens, but the request has {len(ids)} prompt"
            f" tokens and asks for {limit} more; shorten the prompt or lower max_tokens.",
            "max_tokens",
        )
    if least > limit:
        raise RefusedError(400, f"min_tokens {least} is more than max_tokens {limit}", "min_tokens")
    if body.get("ignore_eos"):
        return limit, "length"
    natural = max(least, 24 + xxhash.xxh3_64_intdigest(ids.tobytes()) % 232, 1)  # a text that ends where it likes
    return (limit, "length") if natural >= limit else (natural, "stop")
