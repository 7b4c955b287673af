"""A request's body as a flat list of parts, the same for the three APIs.

Parts stand in the order the provider reads them (tools, system, messages), and a conversation's history gives equal
parts in every later request: what clients change without changing what the model sees is normalised away in
`prompt_anthropic`, `prompt_openai` and `prompt_chat`. Compaction rewrites history, and tools loaded on demand change
the tool list; parts follow them faithfully.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from wire import prompt_anthropic, prompt_chat, prompt_openai
from wire.api import Api
from wire.errors import WireError
from wire.jsonbody import boolean, count, parse_object, string
from wire.shapes import Part, PartKind, Prompt

__all__ = ["Part", "PartKind", "Prompt", "max_tokens", "read_prompt"]

_READERS: Final[dict[Api, Callable[[dict[str, Any]], list[Part]]]] = {
    "anthropic-messages": prompt_anthropic.read_parts,
    "openai-responses": prompt_openai.read_parts,
    "openai-responses-ws": prompt_openai.read_parts,
    "openai-chat": prompt_chat.read_parts,
}
_FREE_CHOICE: Final = frozenset({"auto", "none"})  # any other tool choice names a tool, or wants any
_MAX_TOKENS_KEYS: Final = ("max_tokens", "max_output_tokens", "max_completion_tokens")  # no API has two of them


def read_prompt(api: Api, body: bytes) -> Prompt:
    """Read a decoded body; WireError when it is not JSON or cannot be a request of this API.

    A WebSocket frame holds only what is new: join its conversation before asking.
    """
    if api not in _READERS:
        raise WireError(f"requests of api {api!r} are not read")
    request = parse_object(body)
    return Prompt(
        model=string(request.get("model")),
        stream=boolean(request.get("stream")),
        max_tokens=max_tokens(request),
        parts=tuple(_READERS[api](request)),
        forces_tool=_forces_tool(request.get("tool_choice")),
    )


def _forces_tool(choice: object) -> bool:
    kind = choice.get("type") if isinstance(choice, dict) else choice
    if isinstance(choice, dict) and kind == "allowed_tools":  # of OpenAI: its mode says
        kind = choice.get("mode")
    return isinstance(kind, str) and kind not in _FREE_CHOICE


def max_tokens(request: dict[str, Any]) -> int | None:
    """The limit a request puts on its answer, under whichever name its API gives it."""
    known = (count(request.get(key)) for key in _MAX_TOKENS_KEYS)
    return next((limit for limit in known if limit is not None), None)
