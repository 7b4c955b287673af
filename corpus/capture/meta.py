"""The one mapping between the records of `corpus.exchange` and the JSON stored beside each body.

Every field except `body` is stored under its own name. Ids come from other people's programs and may hold lone
surrogates, which UTF-8 and orjson refuse; such a record is written with surrogates passed through (three bytes each),
and the reader takes that road only where plain UTF-8 fails. So what was heard comes back equal, always.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import orjson

from corpus.exchange import GapRecord, Headers, Identity, RequestRecord, ResponseRecord
from wire.usage import Usage


def dump_json(value: object) -> bytes:
    """Compact JSON; integers of any size, strings with lone surrogates included."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def load_json(data: bytes) -> Any:
    """What `dump_json` was given (tuples as lists); ValueError when `data` is no JSON."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return json.loads(data.decode("utf-8", "surrogatepass"))


def dump_request(record: RequestRecord) -> bytes:
    return dump_json(_flat(record) | {"identity": _flat(record.identity)})


def dump_response(record: ResponseRecord) -> bytes:
    return dump_json(_flat(record) | {"usage": None if record.usage is None else _flat(record.usage)})


def dump_gap(record: GapRecord) -> bytes:
    return dump_json(_flat(record))


def load_request(meta: bytes, body: bytes) -> RequestRecord:
    """ValueError when `meta` does not describe a request."""
    try:
        values = load_json(meta)
        values["headers"] = _headers(values["headers"])
        values["identity"] = Identity(**values["identity"])
        return RequestRecord(**values, body=body)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"not a request record: {error}") from error


def load_response(meta: bytes, body: bytes) -> ResponseRecord:
    """ValueError when `meta` does not describe a response."""
    try:
        values = load_json(meta)
        values["headers"] = _headers(values["headers"])
        values["chunk_sizes"] = tuple(values["chunk_sizes"])
        values["chunk_times_us"] = tuple(values["chunk_times_us"])
        values["usage"] = None if values["usage"] is None else Usage(**values["usage"])
        return ResponseRecord(**values, body=body)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"not a response record: {error}") from error


def load_gap(meta: bytes) -> GapRecord:
    """ValueError when `meta` does not describe a gap."""
    try:
        return GapRecord(**load_json(meta))
    except TypeError as error:
        raise ValueError(f"not a gap record: {error}") from error


def _flat(record: RequestRecord | ResponseRecord | GapRecord | Identity | Usage) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record) if field.name != "body"}


def _headers(pairs: list[list[str]]) -> Headers:
    return tuple((name, value) for name, value in pairs)
