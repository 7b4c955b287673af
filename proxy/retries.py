"""Which request repeats one that failed: same session, same content, and the earlier attempt ended badly.

Clients repeat a failed request and never say so, byte for byte but for two habits, so those parts are left out of the
comparison: the key order of Codex's `client_metadata` is random, and Claude Code may ask again without streaming and
for a shorter answer (after an error event in the middle of a stream, or a 404). Memory is bounded: the oldest failures
go.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Final

import orjson

from corpus.exchange import RequestRecord, ResponseRecord
from wire.api import Api

# Failures remembered. A client gives up after at most 30 attempts within minutes.
REMEMBERED: Final = 4096

_NOT_CONTENT: Final[dict[Api, tuple[str, ...]]] = {
    "openai-responses": ("client_metadata",),
    "openai-responses-ws": ("client_metadata",),
    "anthropic-messages": ("stream", "max_tokens"),
}

_Key = tuple[str | None, bytes]


def content_key(api: Api, session_id: str | None, body: bytes) -> _Key:
    """`body` decoded. The digest lives in this process only."""
    if leave_out := _NOT_CONTENT.get(api):
        body = _without(body, leave_out)
    return session_id, hashlib.blake2b(body, digest_size=16).digest()


def _without(body: bytes, names: tuple[str, ...]) -> bytes:
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body
    if not isinstance(parsed, dict) or not parsed.keys() & set(names):
        return body
    return orjson.dumps({name: value for name, value in parsed.items() if name not in names})


class Retries:
    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._open: OrderedDict[str, _Key] = OrderedDict()  # exchange id -> key, while it has not ended
        self._failed: OrderedDict[_Key, str] = OrderedDict()  # key -> the latest attempt that failed

    def heard_request(self, exchange_id: str, key: _Key) -> str | None:
        """The exchange this one repeats."""
        self._open[exchange_id] = key
        _trim(self._open, self._remembered)
        return self._failed.get(key)

    def heard_response(self, exchange_id: str, *, failed: bool) -> None:
        key = self._open.pop(exchange_id, None)
        if key is None:
            return
        self._failed.pop(key, None)
        if failed:
            self._failed[key] = exchange_id
            _trim(self._failed, self._remembered)


def ended_badly(response: ResponseRecord) -> bool:
    return response.end != "complete" or response.status is None or response.status >= 400


def is_comparable(request: RequestRecord) -> bool:
    """Requests without a body (handshakes, model lists) repeat themselves for other reasons."""
    return request.api != "other" and bool(request.body)


def _trim[K, V](entries: OrderedDict[K, V], size: int) -> None:
    while len(entries) > size:
        entries.popitem(last=False)
