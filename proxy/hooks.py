"""mitmproxy's hooks: where traffic is steered, and where it is listened to.

Two duties, kept apart. Steering decides where a request goes, and is the only thing that touches a flow: the target,
and the Host header; what may not pass was answered by the gate (`proxy.gate`). Listening hands what was heard to
`proxy.hearing`. Listening may fail in any way without traffic noticing: every entry is guarded, and a tee returns the
bytes it was given, whatever happened in it.

A connection that is upgraded (WebSocket) becomes a plain TCP stream for mitmproxy, which relays it byte for byte; what
was said on it is read from a copy (`proxy.turns`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from mitmproxy import connection, http, tcp, tls
from mitmproxy.proxy import mode_specs, server_hooks

from proxy.assembler import Chunk, RequestBody, RequestHead, ResponseHead
from proxy.clients import ClientHandler
from proxy.endings import unreached_by
from proxy.forward import forward_upstream
from proxy.gate import is_forward, verdict_of
from proxy.hearing import Exchange, Hearing
from proxy.redaction import is_private, stored_headers, stored_path
from proxy.turns import Connection
from proxy.upstreams import Provider, Upstream, Upstreams, join_path
from wire.api import api_of

ANSWERED_HERE: Final = ""  # `upstream` of an exchange that the recorder answered itself

_SWITCHED: Final = 101


class Hooks:
    """The addon. `handler_of` finds the handler of a client that has not left."""

    def __init__(self, upstreams: Upstreams, hearing: Hearing) -> None:
        self.ready = asyncio.Event()
        self.hearing = hearing
        self.handler_of: Callable[[connection.Client], ClientHandler | None] = lambda _client: None
        self._upstreams = upstreams
        self._upgraded: dict[str, Connection] = {}  # by client connection

    def running(self) -> None:
        self.ready.set()

    # --- steering

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        client_path = flow.request.path
        upstream = None if flow.error or flow.response else self._steer(flow)
        self.hearing.unreached.pop(flow.client_conn.id, None)
        where = upstream.url if upstream else ANSWERED_HERE
        if verdict_of(flow).record:
            self.hearing.guarded(flow.id, lambda: self._hear_head(flow, client_path, where))
        if upstream and self._is_connected(flow):
            flow.request.stream = self._gather(self.hearing.open.get(flow.id))

    def _is_connected(self, flow: http.HTTPFlow) -> bool:
        """Else the body is held back until the server has turned out to be there: a client hears why not."""
        handler, request = self.handler_of(flow.client_conn), flow.request
        return handler is not None and handler.is_connected_to(
            (request.host, request.port), tls=request.scheme == "https"
        )

    def _steer(self, flow: http.HTTPFlow) -> Upstream:
        request = flow.request
        if is_forward(flow.client_conn):
            return forward_upstream(request)
        provider = provider_of(flow.client_conn)
        upstream = self._upstreams.choose(provider, request.headers, request.data.path)
        request.data.path = join_path(provider, upstream, request.data.path)
        request.data.scheme = upstream.scheme.encode()
        request.data.host = upstream.host
        request.data.port = upstream.port
        request.host_header = upstream.authority
        return upstream

    # --- listening

    def _hear_head(self, flow: http.HTTPFlow, path: str, upstream: str) -> None:
        request = flow.request
        t_us = self.hearing.clock()
        keep = not is_private(path)
        verdict = verdict_of(flow)
        head = RequestHead(
            exchange_id=self.hearing.new_id(t_us),
            t_us=t_us,
            method=request.method,
            path=stored_path(path).encode("utf-8", "replace").decode(),
            api=api_of(request.method, path),
            upstream=upstream,
            headers=stored_headers(request.headers.fields) if keep else (),
            keep_bodies=keep,
            contributor=verdict.contributor,
            mode=verdict.mode,
        )
        self.hearing.begin(flow.id, head, flow.client_conn.id, muted=verdict.muted)

    def _gather(self, exchange: Exchange | None) -> Callable[[bytes], bytes]:
        def pass_on(data: bytes) -> bytes:
            if exchange:
                exchange.request_pieces.append(data)
            return data

        return pass_on

    def request(self, flow: http.HTTPFlow) -> None:
        if exchange := self.hearing.open.get(flow.id):
            exchange.request_complete = True
            self._hear_request(flow, exchange)

    def _hear_request(self, flow: http.HTTPFlow, exchange: Exchange) -> None:
        body = b"".join(exchange.request_pieces) or flow.request.raw_content or b""
        exchange.request_pieces.clear()
        heard = RequestBody(self.hearing.clock(), body)
        self.hearing.guarded(flow.id, lambda: self.hearing.hear(exchange, heard))

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        exchange, response = self.hearing.open.get(flow.id), flow.response
        if response is None:
            return
        response.stream = self._tee(flow, exchange)
        if exchange is not None:
            self.hearing.guarded(flow.id, lambda: self._hear_response_head(exchange, response))

    def _hear_response_head(self, exchange: Exchange, response: http.Response) -> None:
        self.hearing.hear(exchange, self._response_head(exchange, response))

    def _response_head(self, exchange: Exchange, response: http.Response) -> ResponseHead:
        headers = stored_headers(response.headers.fields) if exchange.assembler.head.keep_bodies else ()
        return ResponseHead(self.hearing.clock(), response.status_code, headers)

    def _tee(self, flow: http.HTTPFlow, exchange: Exchange | None) -> Callable[[bytes], bytes]:
        started = False

        def hear(data: bytes) -> None:
            if exchange and data and not exchange.broken:
                self.hearing.guarded(flow.id, lambda: self.hearing.hear(exchange, Chunk(self.hearing.clock(), data)))

        def pass_on(data: bytes) -> bytes:
            nonlocal started
            hear(data)
            if not started:
                started = True
                self.hearing.guarded("", lambda: self._shorten(flow, hear))
            return data

        return pass_on

    def _shorten(self, flow: http.HTTPFlow, hear: Callable[[bytes], object]) -> None:
        if handler := self.handler_of(flow.client_conn):
            handler.shorten(flow, hear)

    def response(self, flow: http.HTTPFlow) -> None:
        exchange = self.hearing.open.get(flow.id)
        if exchange is None or flow.response is None:
            return
        if flow.response.status_code == _SWITCHED:
            self._follow(flow.client_conn.id, flow.id, self._response_head(exchange, flow.response))
            return
        content = flow.response.raw_content
        if content and not exchange.broken:  # not streamed: an answer of our own
            self.hearing.guarded(flow.id, lambda: self.hearing.hear(exchange, Chunk(self.hearing.clock(), content)))
        if not exchange.request_complete:  # answered before all of it was sent
            self._hear_request(flow, exchange)
        self.hearing.end(flow.id, "complete")

    def error(self, flow: http.HTTPFlow) -> None:
        server_left = bool(flow.request.stream) and not flow.server_conn.connected
        self.hearing.break_off(flow.id, client_left=not flow.client_conn.connected, server_left=server_left)

    def client_disconnected(self, client: connection.Client) -> None:
        self.hearing.unreached.pop(client.id, None)
        self._leave(client.id, client_left=True)
        self.hearing.break_off_all(client.id, client_left=True)

    def server_connect_error(self, data: server_hooks.ServerConnectionHookData) -> None:
        self.hearing.unreached[data.client.id] = unreached_by(data.server.error)

    def tls_failed_server(self, data: tls.TlsData) -> None:
        self.hearing.unreached[data.context.client.id] = "tls_failed"

    # --- upgraded connections

    def _follow(self, client_id: str, key: str, response: ResponseHead) -> None:
        """The handshake's exchange is no longer open: an idle connection must not hold up a stop."""
        self._upgraded[client_id] = Connection(self.hearing, self.hearing.open.pop(key), response)

    def tcp_message(self, flow: tcp.TCPFlow) -> None:
        message = flow.messages[-1]
        flow.messages.clear()  # else all that was ever said stays in memory
        if upgraded := self._upgraded.get(flow.client_conn.id):
            upgraded.hear(message.content, from_client=message.from_client)

    def tcp_end(self, flow: tcp.TCPFlow) -> None:
        handler = self.handler_of(flow.client_conn)
        server_left = not self.hearing.stopping and handler is not None and handler.was_left_by(flow.server_conn)
        self._leave(flow.client_conn.id, client_left=not server_left)

    def tcp_error(self, flow: tcp.TCPFlow) -> None:
        self._leave(flow.client_conn.id, client_left=False)

    def _leave(self, client_id: str, *, client_left: bool) -> None:
        if upgraded := self._upgraded.pop(client_id, None):
            self.hearing.guarded("", lambda: upgraded.end(client_left=client_left))


def provider_of(client: connection.Client) -> Provider:
    """The listener a client came to, told by the placeholder its mode names as target."""
    mode = client.proxy_mode
    assert isinstance(mode, mode_specs.ReverseMode)
    return "anthropic" if mode.address[0].startswith("anthropic") else "openai"
