"""What arrives when things go wrong: valid messages of all protocols, and ways to spoil them."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from typing import Final

import orjson
from hypothesis import strategies as st

DEEP: Final = 2000  # deeper than any parser or writer of JSON here goes


def sse(*objects: dict[str, object]) -> bytes:
    return b"".join(b"event: %s\ndata: %s\n\n" % (str(o.get("type")).encode(), orjson.dumps(o)) for o in objects)


USAGE = {"input_tokens": 5, "output_tokens": 1}
MESSAGE = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": USAGE}
ITEM = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}
TOOLS = [{"name": "Bash", "input_schema": {}}, {"type": "web_search_20250305", "name": "web_search"}]
SAID = [
    {"role": "user", "content": [{"type": "text", "text": "word " * 4000}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": '\ud7ff \\ " text ' * 2000}]},
    {"role": "system", "content": "be kind"},
]
REQUESTS: Final[dict[str, bytes]] = {
    "/v1/messages": orjson.dumps(
        {"model": "m", "messages": SAID, "system": [{"type": "text", "text": "s"}], "tools": TOOLS, "stream": True}
    ),
    "/v1/responses": orjson.dumps(
        {
            "model": "m",
            "input": [
                {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "exec"}]},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi " * 12000}]},
                {"type": "reasoning", "id": "rs_1", "encrypted_content": "abc", "summary": []},
                {"type": "function_call", "call_id": "c", "name": "exec", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": "ok"},
            ],
            "client_metadata": {"x-codex-turn-metadata": '{"session_id":"s","thread_id":"t"}'},
        }
    ),
    "/v1/chat/completions": orjson.dumps({"model": "m", "messages": SAID, "stream": True}),
}
ANSWERS: Final = (
    sse(
        {"type": "message_start", "message": MESSAGE},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "Bash"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"a":'}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ),
    sse(
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.done", "output_index": 0, "item": ITEM},
        {"type": "response.completed", "response": {"id": "r", "output": [ITEM], "usage": USAGE}},
    ),
    b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"hi"}}],"usage":null}\n\ndata: [DONE]\n\n',
    orjson.dumps(MESSAGE),
    orjson.dumps({"type": "error", "error": {"type": "overloaded_error", "message": "no"}}),
)
_ODD: Final = (b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"\\", b"{", b"]", b"\r\n\r\n", b"data: ", b"null", b"1e999")


def _flip(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 8)):
        if data:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _cut(data: bytearray, chance: random.Random) -> None:
    del data[chance.randint(0, len(data)) :]


def _drop(data: bytearray, chance: random.Random) -> None:
    at = chance.randint(0, len(data))
    del data[at : at + chance.randint(1, 40)]


def _insert(data: bytearray, chance: random.Random) -> None:
    at = chance.randint(0, len(data))
    data[at:at] = chance.choice(_ODD) * chance.randint(1, 3)


def _repeat(data: bytearray, chance: random.Random) -> None:
    at = chance.randint(0, len(data))
    data[at:at] = data[at : at + chance.randint(1, 2000)]


def _nest(data: bytearray, chance: random.Random) -> None:
    """A value in the middle becomes very deep."""
    spots = [at for at in range(0, len(data), 7) if data[at : at + 1] == b":"] or [0]
    at = chance.choice(spots) + 1
    data[at:at] = b"[" * DEEP + b"]" * DEEP + b',"x":'


def _swap_types(data: bytearray, chance: random.Random) -> None:
    """A value becomes one of another type, and the whole stays JSON."""
    for before in (b'"m"', b"[]", b"true", b'"user"', b'"Bash"', b'"s"', b"null", b'"message"'):
        if chance.random() < 0.5:
            data[:] = bytes(data).replace(before, chance.choice((b"7", b"{}", b"[1]", b"null", b'"\\ud83d"', b"-1")), 3)


def _pack(data: bytearray, _chance: random.Random) -> None:
    data[:] = gzip.compress(bytes(data))[: len(data)]


MUTATIONS: Final[tuple[Callable[[bytearray, random.Random], None], ...]] = (
    *(_flip, _cut, _drop, _insert, _repeat, _nest, _swap_types, _pack),
)


def spoilt(valid: bytes, chance: random.Random) -> bytes:
    data = bytearray(valid)
    for mutation in chance.choices(MUTATIONS, k=chance.randint(0, 3)):
        mutation(data, chance)
    return bytes(data)


def spoilt_ones(*valid: bytes) -> st.SearchStrategy[bytes]:
    """One of these, spoilt in some way, or no such thing at all."""
    some = st.builds(spoilt, st.sampled_from(valid), st.builds(random.Random, st.integers(0, 2**32)))
    return st.one_of(some, some, some, st.binary(max_size=200))
