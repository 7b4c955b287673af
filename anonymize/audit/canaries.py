"""T5: made-up exchanges with a word that occurs nowhere else in every captured field, and the search for these words.

What is searched: every file that a build leaves or had in between, as it is, unpacked where it is compressed, Parquet
column by column, for each canary in all disguises of `anonymize.audit.disguises` and as the tokenizer's numbers.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from anonymize.audit.disguises import found_forms
from corpus.exchange import Exchange, Identity, RequestRecord, ResponseRecord
from corpus.tokenizer import Tokenizer
from wire.api import api_of
from wire.turns import response_id

type Json = dict[str, Any]
type Plant = Callable[[], str]

SESSION: Final = "canary-session"
_SOCKET_SESSION: Final = "canary-socket"
REFUSED: Final = 1
"""How many of the exchanges are answered by an error, so that they make no request."""
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_LEAST_TOKENS: Final = 4  # shorter runs of small numbers occur by chance


def canary_exchanges() -> tuple[list[Exchange], list[str]]:
    """By time: a session of Claude Code, Codex and an error, and one of two turns on a WebSocket, the second going on
    from the first, from somebody else; and the canaries in them."""
    words: list[str] = []
    numbers = count()

    def plant() -> str:
        words.append(f"quill{next(numbers):03d}vexjumbogryphon")
        return words[-1]

    claude = _exchange(1, "/v1/messages", _claude_request(plant), _claude_answer(plant), plant)
    codex = _exchange(2, "/v1/responses", _codex_request(plant), _sse(_codex_answer(plant)), plant)
    refusal = json.dumps({"type": "error", "error": {"type": plant(), "message": plant()}, plant(): plant()})
    failed = _exchange(3, "/v1/messages", _claude_request(plant), refusal.encode(), plant, status=400)
    return [claude, codex, failed, *_turns(plant)], words


def search_folder(folder: Path, canaries: Sequence[str], tokenizer: Tokenizer) -> Iterator[str]:
    """Where a canary shows: file below `folder`, number of the canary, and in which form."""
    secrets = [word.encode() for word in canaries]
    tokens = [tokenizer.encode(word).astype("<i8") for word in canaries]
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        where = path.relative_to(folder)
        data = path.read_bytes()
        if any(word in str(where) for word in canaries):
            yield "the name of a file"
        for plain in (data, *_unpacked(path, data)):
            yield from (f"{where}: canary {number} ({form})" for number, form in found_forms(plain, secrets))
        for column in _integers(path):
            for number, ids in enumerate(tokens):
                if len(ids) >= _LEAST_TOKENS and ids.tobytes() in column:
                    yield f"{where}: canary {number} (as token numbers)"


def _unpacked(path: Path, data: bytes) -> Iterator[bytes]:
    if data.startswith(_ZSTD_MAGIC):
        yield zstandard.ZstdDecompressor().decompressobj().decompress(data)
    if path.suffix == ".parquet":
        for column in _leaf_columns(path):
            if pa.types.is_string(column.type):
                yield "\n".join(text for text in column.unique().to_pylist() if text is not None).encode()


def _integers(path: Path) -> Iterator[bytes]:
    if path.suffix == ".parquet":
        for column in _leaf_columns(path):
            if pa.types.is_integer(column.type):
                yield column.drop_null().to_numpy().astype("<i8").tobytes()


def _leaf_columns(path: Path) -> Iterator[pa.Array[Any]]:
    """Every column's values, lists and structs taken apart."""
    with pq.ParquetFile(path) as file:
        waiting: list[Any] = [column.combine_chunks() for column in file.read().columns]
    while waiting:
        array = waiting.pop()
        if isinstance(array, pa.ChunkedArray):
            array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
        if pa.types.is_list(array.type) or pa.types.is_struct(array.type):
            waiting.extend(array.flatten() if pa.types.is_struct(array.type) else [array.flatten()])
        else:
            yield array


def _exchange(at_s: int, path: str, body: Json, answer: bytes, plant: Plant, *, status: int = 200) -> Exchange:
    at_us = 1_700_000_000_000_000 + at_s * 10_000_000
    headers = (("content-type", "text/event-stream"), (plant(), plant()), ("cookie", plant()))
    identity = Identity(
        session_id=SESSION,
        agent_name=plant(),
        purpose="turn",
        turn_id=plant(),
        harness=plant(),
        harness_version=plant(),
        model=plant(),
    )
    sent = json.dumps(body).encode()
    request = RequestRecord(
        exchange_id=f"{at_s}-{plant()}",
        t_request_us=at_us,
        t_body_us=at_us,
        method="POST",
        path=f"{path}?key={plant()}",
        api=api_of("POST", path),
        upstream=f"https://{plant()}",
        headers=headers,
        identity=identity,
        retry_of=None,
        body_bytes=len(sent),
        body=sent,
        contributor=plant(),
    )
    response = ResponseRecord(
        exchange_id=request.exchange_id,
        end="complete",
        status=status,
        headers=headers,
        t_headers_us=at_us + 1000,
        t_first_byte_us=at_us + 2000,
        t_end_us=at_us + 3000,
        chunk_sizes=(len(answer),),
        chunk_times_us=(2000,),
        usage=None,
        error=plant(),
        body_bytes=len(answer),
        body=answer,
    )
    return Exchange(request, response)


def _claude_request(plant: Plant) -> Json:
    image = {"type": "base64", "media_type": plant(), "data": base64.b64encode(plant().encode()).decode()}
    call = {"type": "tool_use", "id": plant(), "name": plant(), "input": {plant(): plant()}}
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": [{"type": "text", "text": plant() * 40}]}
    document = {"type": "document", "title": plant(), "source": {"type": "url", "url": plant()}}
    return {
        "model": plant(),
        "system": [{"type": "text", "text": f"x-anthropic-billing-header: {plant()}"}, _text(plant() * 40)],
        "tools": [{"name": plant(), "description": plant(), "input_schema": {"properties": {plant(): plant()}}}],
        "messages": [
            {"role": "user", "content": [_text(plant()), {"type": "image", "source": image}, document]},
            {"role": "assistant", "content": [_thought(plant), _text(plant()), call]},
            {"role": "user", "content": [result, _text(f"<system-reminder>{plant()}</system-reminder>")]},
        ],
        "metadata": {"user_id": plant()},
        plant(): plant(),
    }


def _claude_answer(plant: Plant) -> bytes:
    call = {"type": "tool_use", "id": plant(), "name": plant(), "input": {}}
    events: list[Json] = [
        {"type": "message_start", "message": {"id": plant(), "model": plant(), "usage": {"input_tokens": 9}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": plant()}},
        {"type": "content_block_start", "index": 1, "content_block": call},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": plant()}},
        {"type": "message_delta", "delta": {"stop_reason": plant()}, "usage": {"output_tokens": 5, plant(): plant()}},
        {"type": "message_stop"},
    ]
    return _sse(events)


def _codex_request(plant: Plant, items: Sequence[Json] | None = None) -> Json:
    return {
        "model": plant(),
        "instructions": plant() * 40,
        "tools": [{"type": plant(), "name": plant(), "description": plant()}],
        "input": _codex_items(plant) if items is None else items,
        "client_metadata": {plant(): plant()},
        "prompt_cache_key": plant(),
    }


def _codex_items(plant: Plant) -> list[Json]:
    return [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": plant()}]},
        {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": plant()}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": plant()}], "encrypted_content": plant()},
        {"type": "function_call", "name": plant(), "arguments": plant(), "call_id": "c1", "id": plant()},
        {"type": "function_call_output", "call_id": "c1", "output": plant()},
        {"type": plant(), plant(): plant()},
    ]


def _turns(plant: Plant) -> list[Exchange]:
    first = _turn(4, _codex_request(plant), _codex_answer(plant), plant, None)
    more = {"type": "function_call_output", "call_id": "c2", "output": plant() * 40}
    assert first.response is not None
    body = _codex_request(plant, [more]) | {"previous_response_id": response_id(first.response.messages)}
    return [first, _turn(5, body, _codex_answer(plant), plant, first)]


def _turn(at_s: int, body: Json, events: Sequence[Json], plant: Plant, before: Exchange | None) -> Exchange:
    messages = [json.dumps(event).encode() + b"\n" for event in events]
    frame = {"type": "response.create"} | body
    made = _exchange(at_s, "/v1/responses", frame, b"".join(messages), plant)
    identity = replace(made.request.identity, session_id=_SOCKET_SESSION)
    previous = before.request.exchange_id if before else None
    asked = replace(made.request, api="openai-responses-ws", method="GET", identity=identity, previous=previous)
    assert made.response is not None
    sizes = tuple(map(len, messages))
    return Exchange(asked, replace(made.response, chunk_sizes=sizes, chunk_times_us=(2000,) * len(sizes)))


def _codex_answer(plant: Plant) -> list[Json]:
    item = {
        "type": "message",
        "id": plant(),
        "role": "assistant",
        "content": [{"type": "output_text", "text": plant()}],
    }
    usage = {"input_tokens": 9, "output_tokens": 5}
    done = {"id": plant(), "model": plant(), "status": "completed", "usage": usage, "user": plant()}
    return [
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": done},
    ]


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _thought(plant: Plant) -> Json:
    return {"type": "thinking", "thinking": plant(), "signature": plant()}


def _sse(events: Sequence[Json]) -> bytes:
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)
