"""mitmproxy's hooks: where traffic is steered, and where it is listened to.

Two duties, kept apart. Steering decides where a request goes, and is the only thing that touches a flow: the target,
the Host header, and refusals of what is not relayed. Listening hands what was heard to an assembler per exchange and
its records to the backlog. Listening may fail in any way without traffic noticing: every entry is guarded, and a tee
returns the bytes it was given, whatever happened in it.

A WebSocket handshake is answered with 426 for as long as WebSockets are not relayed: it is the one status that makes
Codex fall back to POST at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from mitmproxy import connection, http, tls
from mitmproxy.proxy import mode_specs, server_hooks

from corpus.exchange import End
from proxy.assembler import Assembler, Chunk, Ended, Event, Record, RequestBody, RequestHead, ResponseHead
from proxy.endings import Failure, Unreached, ending_of, unreached_by, words_for
from proxy.redaction import is_private, stored_headers, stored_path
from proxy.upstreams import Provider, Upstream, Upstreams, join_path
from wire.api import api_of

ANSWERED_HERE: Final = ""  # `upstream` of an exchange that the recorder answered itself

_REFUSALS: Final[dict[int, bytes]] = {
    400: b"agentreel: send the path only; the upstream is configured, not named by the client\n",
    426: b"agentreel: WebSocket is not relayed here; use POST\n",
}

_log = logging.getLogger(__name__)


class Exchange:
    """One exchange being listened to."""

    def __init__(self, assembler: Assembler, client_id: str) -> None:
        self.assembler = assembler
        self.client_id = client_id
        self.request_complete = False
        self.broken = False


class Hooks:
    """The addon. `tell` takes finished records, `clock` gives Unix microseconds, `new_id` an exchange id for a time."""

    def __init__(
        self,
        upstreams: Upstreams,
        tell: Callable[[Record], None],
        clock: Callable[[], int],
        new_id: Callable[[int], str],
        idle_limit_us: int,
    ) -> None:
        self.ready = asyncio.Event()
        self.stopping = False
        self.failures = 0  # of ours, while listening
        self.open: dict[str, Exchange] = {}  # by flow id
        self._upstreams = upstreams
        self._tell = tell
        self._clock = clock
        self._new_id = new_id
        self._idle_limit_us = idle_limit_us
        self._unreached: dict[str, Unreached] = {}  # by client connection: what its latest connect ran into

    def running(self) -> None:
        self.ready.set()

    # --- steering

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        client_path = flow.request.path
        upstream = None if flow.error else self._steer(flow)
        self._unreached.pop(flow.client_conn.id, None)
        self._guarded(flow, lambda: self._hear_head(flow, client_path, upstream.url if upstream else ANSWERED_HERE))

    def _steer(self, flow: http.HTTPFlow) -> Upstream | None:
        request = flow.request
        refusal = _refusal(request)
        if refusal is not None:
            flow.response = http.Response.make(refusal, _REFUSALS[refusal], {"Content-Type": "text/plain"})
            return None
        provider = provider_of(flow.client_conn)
        upstream = self._upstreams.choose(provider, request.headers)
        request.data.path = join_path(provider, upstream, request.data.path)
        request.data.scheme = upstream.scheme.encode()
        request.data.host = upstream.host
        request.data.port = upstream.port
        request.host_header = upstream.authority
        return upstream

    # --- listening

    def _hear_head(self, flow: http.HTTPFlow, path: str, upstream: str) -> None:
        request = flow.request
        t_us = self._clock()
        keep = not is_private(path)
        head = RequestHead(
            exchange_id=self._new_id(t_us),
            t_us=t_us,
            method=request.method,
            path=stored_path(path).encode("utf-8", "replace").decode(),
            api=api_of(request.method, path),
            upstream=upstream,
            headers=stored_headers(request.headers.fields) if keep else (),
            keep_bodies=keep,
        )
        self.open[flow.id] = Exchange(Assembler(head), flow.client_conn.id)

    def request(self, flow: http.HTTPFlow) -> None:
        exchange = self.open.get(flow.id)
        if exchange is not None:
            exchange.request_complete = True
            body = flow.request.raw_content or b""
            self._guarded(flow, lambda: self._feed(exchange, RequestBody(self._clock(), body)))

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        exchange, response = self.open.get(flow.id), flow.response
        if response is None:
            return
        response.stream = self._tee(flow, exchange) if exchange else True
        if exchange is not None:
            self._guarded(flow, lambda: self._hear_response_head(exchange, response))

    def _hear_response_head(self, exchange: Exchange, response: http.Response) -> None:
        headers = stored_headers(response.headers.fields) if exchange.assembler.head.keep_bodies else ()
        self._feed(exchange, ResponseHead(self._clock(), response.status_code, headers))

    def _tee(self, flow: http.HTTPFlow, exchange: Exchange) -> Callable[[bytes], bytes]:
        def pass_on(data: bytes) -> bytes:
            if data and not exchange.broken:
                self._guarded(flow, lambda: self._feed(exchange, Chunk(self._clock(), data)))
            return data

        return pass_on

    def response(self, flow: http.HTTPFlow) -> None:
        exchange = self.open.get(flow.id)
        if exchange is None:
            return
        content = flow.response.raw_content if flow.response else None
        if content and not exchange.broken:  # not streamed: an answer of our own
            self._guarded(flow, lambda: self._feed(exchange, Chunk(self._clock(), content)))
        self._end(flow.id, "complete")

    def error(self, flow: http.HTTPFlow) -> None:
        self._break(flow.id, client_left=not flow.client_conn.connected)

    def client_disconnected(self, client: connection.Client) -> None:
        self._unreached.pop(client.id, None)
        for flow_id in [key for key, exchange in self.open.items() if exchange.client_id == client.id]:
            self._break(flow_id, client_left=True)

    def server_connect_error(self, data: server_hooks.ServerConnectionHookData) -> None:
        self._unreached[data.client.id] = unreached_by(data.server.error)

    def tls_failed_server(self, data: tls.TlsData) -> None:
        self._unreached[data.context.client.id] = "tls_failed"

    # --- endings

    def _break(self, flow_id: str, *, client_left: bool) -> None:
        exchange = self.open.get(flow_id)
        if exchange is None:
            return
        failure = Failure(
            stopping=self.stopping,
            client_left=client_left,
            idle_us=self._clock() - exchange.assembler.t_last_us,
            idle_limit_us=self._idle_limit_us,
            request_complete=exchange.request_complete,
            unreached=self._unreached.get(exchange.client_id),
        )
        self._end(flow_id, ending_of(failure))

    def _end(self, flow_id: str, end: End) -> None:
        exchange = self.open.pop(flow_id)
        error = "the recorder failed while listening; the body is not whole" if exchange.broken else words_for(end)
        try:
            self._feed(exchange, Ended(self._clock(), end, error))
        except Exception as fault:  # noqa: BLE001 - see _guarded
            self._note(fault)

    def _feed(self, exchange: Exchange, event: Event) -> None:
        for record in exchange.assembler.feed(event):
            self._tell(record)

    def _guarded(self, flow: http.HTTPFlow, listen: Callable[[], None]) -> None:
        try:
            listen()
        except Exception as fault:  # noqa: BLE001 - a bug in listening must never reach the traffic
            self._note(fault)
            if exchange := self.open.get(flow.id):
                exchange.broken = True

    def _note(self, fault: Exception) -> None:
        self.failures += 1
        _log.warning("listening failed, traffic goes on: %s", type(fault).__name__)


def provider_of(client: connection.Client) -> Provider:
    """The listener a client came to, told by the placeholder its mode names as target."""
    mode = client.proxy_mode
    assert isinstance(mode, mode_specs.ReverseMode)
    return "anthropic" if mode.address[0].startswith("anthropic") else "openai"


def _refusal(request: http.Request) -> int | None:
    if request.authority:
        return 400  # absolute-form target
    return 426 if request.headers.get("upgrade", "").lower() == "websocket" else None
