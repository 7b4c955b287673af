"""The APIs a prompt can go out through: where they listen, how a body is laid out, what an answer's chunk says.

Bodies are put together from bytes: a JSON head made once per request (`engines.body_head`), and the prompt's cached
fragments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from corpus.blocks import SegmentList
from corpus.session import Role
from replay.content_pool import Form
from replay.engines import body_head

EndpointName = Literal["completions", "chat"]
ChatRole = Literal["system", "user", "assistant", "tool"]

CHAT_ROLES: Final[Mapping[Role, ChatRole]] = {
    "system": "system",
    "tools": "system",
    "user": "user",
    "reminder": "user",
    "image": "user",
    "document": "user",
    "opaque": "assistant",
    "assistant": "assistant",
    "thinking": "assistant",
    "tool_call": "assistant",
    "tool_result": "tool",
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    name: EndpointName
    path: str
    form: Form
    has_token: Callable[[Mapping[str, Any]], bool]  # does a choice of a stream chunk carry generated tokens?


def _completion_has_token(_choice: Mapping[str, Any]) -> bool:
    """Every chunk stands for a token, also one without text: a held-back half character, a special token."""
    return True


def _chat_has_token(choice: Mapping[str, Any]) -> bool:
    """The opening chunk carries a role only; a last one may carry the end of a text without characters."""
    delta = choice.get("delta") or {}
    said = any(delta.get(name) for name in ("content", "reasoning_content", "reasoning", "tool_calls"))
    return said or choice.get("finish_reason") is not None


ENDPOINTS: Final[Mapping[EndpointName, Endpoint]] = {
    "completions": Endpoint("completions", "/v1/completions", "ids", _completion_has_token),
    "chat": Endpoint("chat", "/v1/chat/completions", "text", _chat_has_token),
}


def endpoint_url(base: str, endpoint: Endpoint) -> str:
    """`base` with or without its `/v1`."""
    return base.rstrip("/").removesuffix("/v1") + endpoint.path


def completion_body(model: str, prompt: bytes, output_tokens: int, extra: Mapping[str, Any]) -> bytes:
    """`prompt`: token ids with commas between."""
    return b"".join((body_head(model, output_tokens, extra), b',"prompt":[', prompt, b"]}"))


def chat_body(
    model: str, messages: list[tuple[ChatRole, bytes]], output_tokens: int, extra: Mapping[str, Any]
) -> bytes:
    """`messages`: role and text, the text free of characters that JSON escapes."""
    pieces = [body_head(model, output_tokens, extra), b',"messages":[']
    for number, (role, text) in enumerate(messages):
        call = b',"tool_call_id":"call_%d"' % number if role == "tool" else b""
        pieces += [b"," if number else b"", b'{"role":"', role.encode(), b'"', call, b',"content":"', text, b'"}']
    pieces.append(b"]}")
    return b"".join(pieces)


def chat_spans(input_tokens: int, segments: SegmentList) -> list[tuple[ChatRole, int, int]]:
    """(role, first token, past the last token), covering the prompt without gaps.

    Chat templates want the system message first and a question last, so a later system segment speaks as the user, and
    so does the last message unless it is a tool's.
    """
    spans: list[tuple[ChatRole, int, int]] = []
    at = 0
    for segment, tokens in segments:
        stop = min(at + tokens, input_tokens)
        role = CHAT_ROLES[segment]
        if role == "system" and spans and spans[-1][0] != "system":
            role = "user"
        if stop > at:
            _extend(spans, role, at, stop)
        at = stop
    if at < input_tokens:
        _extend(spans, "user", at, input_tokens)
    if spans[-1][0] not in ("user", "tool"):
        _, start, stop = spans.pop()
        _extend(spans, "user", start, stop)
    return spans


def _extend(spans: list[tuple[ChatRole, int, int]], role: ChatRole, start: int, stop: int) -> None:
    if spans and spans[-1][0] == role:
        start = spans.pop()[1]
    spans.append((role, start, stop))
