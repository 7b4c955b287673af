"""A few facts about a request, read without building its parts: what tells one purpose from another.

Cheap enough to ask of every request as it passes (one JSON parse). A body that cannot be read gives no facts; nothing
here raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from wire.api import Api
from wire.errors import WireError
from wire.jsonbody import boolean, objects, parse_object, string
from wire.prompt import max_tokens
from wire.prompt_anthropic import is_billing
from wire.tools import is_server_tool, tool_names

SYSTEM_HEAD_CHARACTERS: Final = 4096  # longer than the openings by which known system prompts differ

# Where other agents' bodies name a session, a prompt, a model: keys from the outside in.
NAMED_PATHS: Final = (
    "prompt_cache_key",
    "metadata.sessionId",  # Qwen Code
    "metadata.promptId",
    "request.session_id",  # Gemini CLI
    "user_prompt_id",
)

_TOOLS_ITEM: Final = "additional_tools"
_SYSTEM_ROLES: Final = frozenset({"system", "developer"})
_USER: Final = "user"


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """None, or empty: not said, or not readable."""

    model: str | None = None
    stream: bool | None = None
    has_tools: bool | None = None
    tool_names: tuple[str, ...] = ()
    only_server_tools: bool | None = None  # all tools are run by the provider; False without tools
    json_schema_output: bool | None = None
    stop_sequences: tuple[str, ...] = ()
    thinking_disabled: bool | None = None  # None: the request does not speak of thinking
    max_tokens: int | None = None
    client_metadata: dict[str, str] = field(default_factory=dict)  # Codex
    metadata_user_id: str | None = None  # Claude Code: JSON in a string
    system_texts_head: str = ""  # first characters of the system texts, without Claude Code's billing line
    asked: tuple[str, ...] = ()  # text blocks of the last user's message, whatever system messages follow it
    generates: bool = True  # False: a Responses request that only readies the connection
    named: dict[str, str] = field(default_factory=dict)  # what NAMED_PATHS say, by path


def peek_request(api: Api, body: bytes) -> RequestFacts:
    """Facts of a decoded body; all unknown for `other` and for bodies that are not a JSON object."""
    if api == "other":
        return RequestFacts()
    try:
        return facts_of(parse_object(body))
    except WireError:
        return RequestFacts()


def facts_of(request: dict[str, Any]) -> RequestFacts:
    """Facts of a parsed body."""
    try:
        names, tools = _tools(request)
    except WireError:
        return RequestFacts()
    metadata, client_metadata = _object(request, "metadata"), _object(request, "client_metadata")
    return RequestFacts(
        model=string(request.get("model")),
        stream=boolean(request.get("stream")),
        has_tools=bool(tools),
        tool_names=names,
        only_server_tools=bool(tools) and all(map(is_server_tool, tools)),
        json_schema_output=_asks_for_schema(request),
        stop_sequences=_stop_sequences(request),
        thinking_disabled=_thinking_disabled(request),
        max_tokens=max_tokens(request),
        client_metadata={key: value for key, value in client_metadata.items() if isinstance(value, str)},
        metadata_user_id=string(metadata.get("user_id")),
        system_texts_head=_system_head(request),
        asked=_asked(request),
        generates=request.get("generate") is not False,
        named=_named(request),
    )


def telling(history: Sequence[Any]) -> tuple[Any, ...]:
    """Those messages or items of a request's history that facts rest on; all others may be left out."""
    newest = next((at for at in reversed(range(len(history))) if _role(history[at]) == _USER), -1)
    return tuple(one for at, one in enumerate(history) if at == newest or _is_told_of(one))


def _is_told_of(message: object) -> bool:
    return _role(message) in _SYSTEM_ROLES or (isinstance(message, dict) and message.get("type") == _TOOLS_ITEM)


def _role(message: object) -> str | None:
    return string(message.get("role")) if isinstance(message, dict) else None


def _object(request: dict[str, Any], *path: str) -> dict[str, Any]:
    value: object = request
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _named(request: dict[str, Any]) -> dict[str, str]:
    named = {}
    for path in NAMED_PATHS:
        *outer, last = path.split(".")
        if value := string(_object(request, *outer).get(last)):
            named[path] = value
    return named


def _tools(request: dict[str, Any]) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    """Names of all tools, and their definitions; newer Codex models send them as items of the input."""
    tools = objects(request.get("tools"))
    for item in objects(request.get("input")):
        if item.get("type") == _TOOLS_ITEM:
            tools = tools + objects(item.get("tools"))
    return tool_names(tools), tools


def _asks_for_schema(request: dict[str, Any]) -> bool:
    formats = (
        _object(request, "output_config", "format"),  # Messages
        _object(request, "text", "format"),  # Responses
        _object(request, "response_format"),  # Chat Completions
    )
    return any(form.get("type") == "json_schema" for form in formats)


def _stop_sequences(request: dict[str, Any]) -> tuple[str, ...]:
    given = request.get("stop_sequences", request.get("stop"))
    listed = given if isinstance(given, list) else [given]
    return tuple(stop for stop in listed if isinstance(stop, str))


def _thinking_disabled(request: dict[str, Any]) -> bool | None:
    if kind := string(_object(request, "thinking").get("type")):
        return kind == "disabled"
    effort = string(_object(request, "reasoning").get("effort")) or string(request.get("reasoning_effort"))
    return None if effort is None else effort == "none"


def _system_head(request: dict[str, Any]) -> str:
    head = ""
    for text in _system_texts(request):
        if is_billing(text):
            text = text.partition("\n")[2]  # noqa: PLW2901  # what is left of the block after the line
        head += ("\n" if head and text else "") + text[:SYSTEM_HEAD_CHARACTERS]
        if len(head) >= SYSTEM_HEAD_CHARACTERS:
            break
    return head[:SYSTEM_HEAD_CHARACTERS]


def _system_texts(request: dict[str, Any]) -> chain[str]:
    """The request's own system field, then what its messages say under a system role."""
    messages = objects(request.get("messages")) + objects(request.get("input"))
    spoken = (message.get("content") for message in messages if _role(message) in _SYSTEM_ROLES)
    contents = chain((request.get("system"), request.get("instructions")), spoken)
    return chain.from_iterable(map(_texts, contents))


def _asked(request: dict[str, Any]) -> tuple[str, ...]:
    messages = objects(request.get("messages"))
    newest = next((message for message in reversed(messages) if _role(message) == _USER), None)
    return tuple(_texts(newest.get("content"))) if newest else ()


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [text for block in objects(content) if (text := string(block.get("text")))]
