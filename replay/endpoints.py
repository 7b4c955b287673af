"""The APIs a prompt can go out through: where they listen, how a conversation is laid out for each, how it is answered.

To add one, write its layout (below) and its chunks (`replay.chunks`), and add a row. Bodies are put together from
bytes: a JSON head made once per request, and the prompt's cached fragments, which need no further escapes: texts of
calls hold nothing that JSON escapes, since there they stand in a string in a string.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson

from replay.chunks import Chunk, read_chat_chunk, read_completions_chunk, read_messages_event, read_responses_event
from replay.items import Item
from wire.api import Api

if TYPE_CHECKING:
    from replay.content_pool import Form

EndpointName = Literal["completions", "chat", "messages", "responses"]
Laid = Sequence[tuple[Item, bytes]]  # each with its text

_TOOL: Final = b"tool"  # templates print a tool's name, so all have one
_USAGE: Final[Mapping[str, Any]] = {"stream_options": {"include_usage": True}}


@dataclass(frozen=True, slots=True)
class Endpoint:
    name: EndpointName
    path: str
    form: Form
    limit: str  # the field for the longest output
    fields: Mapping[str, Any]  # of every body
    lay_out: Callable[[Laid], bytes]
    read: Callable[[Mapping[str, Any]], Chunk]
    usage: Api  # whose words its token counts have


def endpoint_url(base: str, endpoint: Endpoint) -> str:
    """`base` with or without its `/v1`."""
    return base.rstrip("/").removesuffix("/v1") + endpoint.path


def request_body(endpoint: Endpoint, model: str, prompt: bytes, output_tokens: int, extra: Mapping[str, Any]) -> bytes:
    """`prompt`: as the endpoint laid it out; `extra`: what the engine and the user add."""
    head = {**extra, "model": model, "stream": True, **endpoint.fields, endpoint.limit: output_tokens}
    return b"".join((orjson.dumps(head)[:-1], b",", prompt, b"}"))


def _completions(laid: Laid) -> bytes:
    """The text is token ids with commas between."""
    return b'"prompt":[' + b",".join([text for _, text in laid]) + b"]"


def _chat(laid: Laid) -> bytes:
    messages: list[bytes] = []
    for turn in _turns(laid):
        (first, text), calls = turn[0], [_chat_call(item, text) for item, text in turn if item.kind == "call"]
        said = b"" if first.kind == "call" else text
        role = b"assistant" if calls else first.kind.encode()
        if calls:
            more = b',"tool_calls":[%s]' % b",".join(calls)
        elif first.kind == "result":
            role, more = b"tool", b',"tool_call_id":"%s"' % _call_id(first)
        else:
            more = b""
        messages.append(b'{"role":"%s","content":"%s"%s}' % (role, said, more))
    return b'"messages":[' + b",".join(messages) + b"]"


def _messages(laid: Laid) -> bytes:
    system = b'"system":"%s",' % laid[0][1] if laid[0][0].kind == "system" else b""
    messages: list[bytes] = []
    for turn in _turns(laid, results_together=True):
        kind = turn[0][0].kind
        if kind == "system":
            continue
        blocks = b",".join([_messages_block(item, text) for item, text in turn])
        role = b"user" if kind in ("user", "result") else b"assistant"
        messages.append(b'{"role":"%s","content":[%s]}' % (role, blocks))
    return system + b'"messages":[' + b",".join(messages) + b"]"


def _responses(laid: Laid) -> bytes:
    system = b'"instructions":"%s",' % laid[0][1] if laid[0][0].kind == "system" else b""
    items = b",".join([_responses_item(item, text) for item, text in laid if item.kind != "system"])
    return system + b'"input":[' + items + b"]"


def _turns(laid: Laid, *, results_together: bool = False) -> list[list[tuple[Item, bytes]]]:
    """What goes into one message: a text and the calls behind it, calls in a row, and results where asked."""
    turns: list[list[tuple[Item, bytes]]] = []
    for item, text in laid:
        before = turns[-1][-1][0].kind if turns else ""
        joins = item.kind == "call" and before in ("assistant", "call")
        joins = joins or (results_together and item.kind == before == "result")
        if joins:
            turns[-1].append((item, text))
        else:
            turns.append([(item, text)])
    return turns


def _call_id(item: Item) -> bytes:
    """Digits only: templates that print it spend as many tokens on every call."""
    return b"call_%09d" % item.call


def _chat_call(item: Item, text: bytes) -> bytes:
    function = b'{"name":"%s","arguments":"{\\"input\\":\\"%s\\"}"}' % (_TOOL, text)
    return b'{"id":"%s","type":"function","function":%s}' % (_call_id(item), function)


def _messages_block(item: Item, text: bytes) -> bytes:
    if item.kind == "call":
        return b'{"type":"tool_use","id":"%s","name":"%s","input":{"input":"%s"}}' % (_call_id(item), _TOOL, text)
    if item.kind == "result":
        return b'{"type":"tool_result","tool_use_id":"%s","content":"%s"}' % (_call_id(item), text)
    return b'{"type":"text","text":"%s"}' % text


def _responses_item(item: Item, text: bytes) -> bytes:
    if item.kind == "call":
        named = b'"call_id":"%s","name":"%s"' % (_call_id(item), _TOOL)
        return b'{"type":"function_call",%s,"arguments":"{\\"input\\":\\"%s\\"}"}' % (named, text)
    if item.kind == "result":
        return b'{"type":"function_call_output","call_id":"%s","output":"%s"}' % (_call_id(item), text)
    return b'{"role":"%s","content":"%s"}' % (item.kind.encode(), text)


ENDPOINTS: Final[Mapping[EndpointName, Endpoint]] = {
    endpoint.name: endpoint
    for endpoint in (
        Endpoint(
            "completions",
            "/v1/completions",
            "ids",
            "max_tokens",
            _USAGE,
            _completions,
            read_completions_chunk,
            "openai-chat",
        ),
        Endpoint("chat", "/v1/chat/completions", "text", "max_tokens", _USAGE, _chat, read_chat_chunk, "openai-chat"),
        Endpoint(
            "messages", "/v1/messages", "text", "max_tokens", {}, _messages, read_messages_event, "anthropic-messages"
        ),
        Endpoint(
            "responses",
            "/v1/responses",
            "text",
            "max_output_tokens",
            {"store": False},
            _responses,
            read_responses_event,
            "openai-responses",
        ),
    )
}
