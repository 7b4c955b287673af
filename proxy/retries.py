"""Which request repeats one that failed: same session, same content, and the earlier attempt ended badly.

Clients repeat a failed request and never say so, byte for byte but for three habits. Claude Code may ask again without
streaming and for a shorter answer (after an error event in the middle of a stream, or a 404), so those fields are left
out. Codex sends its `client_metadata` in any order, goes on from an earlier turn over a WebSocket but asks in full
after a reconnect, and puts the items that a broken answer had finished behind its input: its prompts are compared, as
told by `proxy.chains`. Memory is bounded: the oldest failures go.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Final

import xxhash

from corpus.capture.meta import dump_json
from corpus.exchange import RequestRecord, ResponseRecord

# Failures remembered. A client gives up after at most 30 attempts within minutes.
REMEMBERED: Final = 4096

_NOT_CONTENT: Final = ("stream", "max_tokens", "messages")  # of Claude Code's; messages are digested one by one

Digest = xxhash.xxh3_128
Key = tuple[str | None, bytes]


def digest_messages(before: Digest, messages: Iterable[Any]) -> Digest:
    """Of all messages of a request: those that `before` is of, then these. Digests stay in this process."""
    digest = before.copy()
    for message in messages:
        digest.update(dump_json(message))
    return digest


def digest_request(request: dict[str, Any], messages: Digest) -> bytes:
    """Of a request to Anthropic's API, parsed; `messages`: of its messages."""
    rest = {name: value for name, value in request.items() if name not in _NOT_CONTENT}
    return messages.digest() + xxhash.xxh3_128_digest(dump_json(rest))


def digest_body(body: bytes) -> bytes:
    """Of any other request; `body` decoded."""
    return xxhash.xxh3_128_digest(body)


class Retries:
    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._open: OrderedDict[str, Key] = OrderedDict()  # exchange id -> key, while it has not ended
        self._failed: OrderedDict[Key, str] = OrderedDict()  # key -> the latest attempt that failed

    def heard_request(self, exchange_id: str, key: Key) -> str | None:
        """The exchange this one repeats."""
        self._open[exchange_id] = key
        _trim(self._open, self._remembered)
        return self._failed.get(key)

    def heard_response(self, exchange_id: str, *, failed: bool, also: Iterable[Key] = ()) -> None:
        """`also`: further keys by which a failed attempt may be repeated."""
        key = self._open.pop(exchange_id, None)
        if key is None:
            return
        self._failed.pop(key, None)
        if failed:
            self._failed |= dict.fromkeys((key, *also), exchange_id)
            _trim(self._failed, self._remembered)


def ended_badly(response: ResponseRecord) -> bool:
    return response.end != "complete" or response.status is None or response.status >= 400


def is_comparable(request: RequestRecord) -> bool:
    """Requests without a body (handshakes, model lists) repeat themselves for other reasons."""
    return request.api != "other" and bool(request.body)


def _trim[K, V](entries: OrderedDict[K, V], size: int) -> None:
    while len(entries) > size:
        entries.popitem(last=False)
