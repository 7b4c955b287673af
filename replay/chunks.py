"""What one event of a streamed answer says, in each API's words; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple


class Chunk(NamedTuple):
    """`token`: it carries generated tokens; `ends`: the answer says that this is all; `error`: the server gave up."""

    token: bool = False
    ends: bool = False
    usage: Mapping[str, Any] | None = None
    error: object = None


# What the answer is made of, by the type of its delta; all else frames it.
_MESSAGES_TOKENS: Final = frozenset({"text_delta", "thinking_delta", "input_json_delta"})
_RESPONSES_TOKENS: Final = frozenset(
    {
        "response.output_text.delta",
        "response.reasoning_text.delta",
        "response.reasoning_summary_text.delta",
        "response.reasoning.delta",
        "response.function_call_arguments.delta",
        "response.custom_tool_call_input.delta",
        "response.refusal.delta",
    }
)


def read_completions_chunk(chunk: Mapping[str, Any]) -> Chunk:
    """Every choice stands for a token, also one without text: a held-back half character, a special token."""
    choices = chunk.get("choices") or ()
    ends = False
    for choice in choices:
        ends = ends or choice.get("finish_reason") is not None
    return Chunk(bool(choices), ends, chunk.get("usage"))


def read_chat_chunk(chunk: Mapping[str, Any]) -> Chunk:
    """The opening chunk carries a role only; a last one may carry the end of a text without characters."""
    token = ends = False
    for choice in chunk.get("choices") or ():
        ends = ends or choice.get("finish_reason") is not None
        delta = choice.get("delta") or {}
        get = delta.get  # asked one by one: this is what each chunk of a run goes through
        said = get("content") or get("reasoning_content") or get("reasoning") or get("tool_calls")
        token = token or bool(said) or ends
    return Chunk(token, ends, chunk.get("usage"))


def read_messages_event(event: Mapping[str, Any]) -> Chunk:
    """Usage comes in two parts: the prompt's with the start, the output's with the end."""
    kind = event["type"]
    if kind == "content_block_delta":
        return Chunk(token=event["delta"]["type"] in _MESSAGES_TOKENS)
    if kind == "message_start":
        return Chunk(usage=event["message"].get("usage"))
    if kind == "message_delta":
        return Chunk(ends=event["delta"].get("stop_reason") is not None, usage=event.get("usage"))
    return Chunk(ends=kind == "message_stop")


def read_responses_event(event: Mapping[str, Any]) -> Chunk:
    kind = event["type"]
    if kind in _RESPONSES_TOKENS:
        return Chunk(token=True)
    if kind in ("response.completed", "response.incomplete"):
        return Chunk(ends=True, usage=event["response"].get("usage"))
    if kind == "response.failed":
        return Chunk(error=event["response"].get("error") or {"message": "the response failed"})
    return Chunk(error=dict(event)) if kind == "error" else Chunk()
