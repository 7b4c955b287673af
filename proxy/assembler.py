"""One exchange, put together from what was heard: no socket, no clock, no file.

Feed the events of one exchange in the order they were heard; records come back as they become complete. Whatever the
order, and however the exchange ends, exactly one request record and exactly one response record come out, the request
first: an ending before the request was complete yields both at once. After the ending everything is ignored.

    head heard -> RequestBody -> ResponseHead -> Chunk* -> Ended
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from corpus.exchange import End, Headers, Identity, Mode, RequestRecord, ResponseRecord
from wire.api import Api

# A response larger than this is passed on but its body is not kept: no model answer comes near, and what is kept
# lives in memory until the exchange ends.
MAX_BODY_BYTES: Final = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RequestHead:
    """`headers`, `path` are as they are to be stored; `keep_bodies` False: neither body is ever stored."""

    exchange_id: str
    t_us: int
    method: str
    path: str
    api: Api
    upstream: str
    headers: Headers
    keep_bodies: bool = True
    contributor: str | None = None
    mode: Mode = "reverse"


@dataclass(frozen=True, slots=True)
class RequestBody:
    t_us: int
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ResponseHead:
    t_us: int
    status: int
    headers: Headers


@dataclass(frozen=True, slots=True)
class Chunk:
    t_us: int
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Ended:
    t_us: int
    end: End = "complete"
    error: str | None = None


Event = RequestBody | ResponseHead | Chunk | Ended
Record = RequestRecord | ResponseRecord


class Assembler:
    """Identity, `retry_of` and usage are left open here: they need parsing, which the writer's thread does."""

    def __init__(self, head: RequestHead, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self.head = head
        self.t_last_us = head.t_us
        self.ended = False
        self._request_told = False
        self._response: ResponseHead | None = None
        self._body = bytearray()
        self._room = max_body_bytes if head.keep_bodies else 0
        self._overflowed = False
        self._sizes: list[int] = []
        self._times_us: list[int] = []

    @property
    def answered(self) -> bool:
        return self._response is not None

    def feed(self, event: Event) -> tuple[Record, ...]:
        if self.ended:
            return ()
        self.t_last_us = event.t_us
        match event:
            case RequestBody():
                return self._tell_request(event)
            case ResponseHead():
                self._response = event
                return ()
            case Chunk():
                self._keep(event)
                return ()
            case Ended():
                self.ended = True
                told = self._tell_request(RequestBody(event.t_us, b""))
                return (*told, self._tell_response(event))

    def _tell_request(self, event: RequestBody) -> tuple[RequestRecord, ...]:
        if self._request_told:
            return ()
        self._request_told = True
        head = self.head
        return (
            RequestRecord(
                exchange_id=head.exchange_id,
                t_request_us=head.t_us,
                t_body_us=event.t_us,
                method=head.method,
                path=head.path,
                api=head.api,
                upstream=head.upstream,
                headers=head.headers,
                identity=Identity(),
                retry_of=None,
                body_bytes=len(event.body),
                body=event.body if head.keep_bodies else b"",
                contributor=head.contributor,
                mode=head.mode,
            ),
        )

    def _keep(self, chunk: Chunk) -> None:
        self._sizes.append(len(chunk.data))
        self._times_us.append(chunk.t_us - self.head.t_us)
        if not self._overflowed and len(self._body) + len(chunk.data) <= self._room:
            self._body += chunk.data
        else:
            self._overflowed = True
            self._body.clear()

    def _tell_response(self, event: Ended) -> ResponseRecord:
        response = self._response
        overflow = "body too large to keep" if self._overflowed and self.head.keep_bodies else None
        return ResponseRecord(
            exchange_id=self.head.exchange_id,
            end=event.end,
            status=response.status if response else None,
            headers=response.headers if response else (),
            t_headers_us=response.t_us if response else None,
            t_first_byte_us=self.head.t_us + self._times_us[0] if self._times_us else None,
            t_end_us=event.t_us,
            chunk_sizes=tuple(self._sizes),
            chunk_times_us=tuple(self._times_us),
            usage=None,
            error=event.error or overflow,
            body_bytes=len(self._body),
            body=bytes(self._body),
        )
