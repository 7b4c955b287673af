"""One client's connections: mitmproxy's handler of them, with what the hooks want of it besides.

A handler owns a client's socket and those to the servers it was sent to. Between plain sockets, a streamed answer's
pieces are taken here, as they come off the socket (`proxy.relay`); where one side speaks TLS inside mitmproxy, behind
its decryption.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from mitmproxy import connection, http
from mitmproxy.proxy import events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HttpLayer
from mitmproxy.proxy.layers.http._http1 import Http1Client
from mitmproxy.proxy.mode_servers import ProxyConnectionHandler

from proxy.relay import Relay


class ClientHandler(ProxyConnectionHandler):
    _relay: Relay | None = None

    def shorten(self, flow: http.HTTPFlow, hear: Callable[[bytes], object]) -> None:
        """Gives the answer in flight the short way from its next piece on; call it while the first passes."""
        parser = self._parser_of(flow.server_conn)
        if parser is None or not flow.request.is_http11:  # HTTP/2 has frames of its own
            return
        relay = Relay(parser, flow.client_conn, hear)
        if flow.server_conn.tls or flow.client_conn.tls:
            relay.divert()
        else:
            self._relay = relay

    def is_connected_to(self, address: tuple[str, int], *, tls: bool) -> bool:
        """Whether a request to this server would find a connection open."""
        return any(
            isinstance(found, connection.Server) and found.connected and (found.address, found.tls) == (address, tls)
            for found in self.transports
        )

    def was_left_by(self, server: connection.Server) -> bool:
        """Whether it was the server that ended an upgraded connection; mitmproxy closes both before it says so."""
        heard = self.transports.get(server)
        reader = heard.reader if heard else None
        return isinstance(reader, asyncio.StreamReader) and (reader.at_eof() or reader.exception() is not None)

    async def server_event(self, event: events.Event) -> None:
        relay = self._relay
        if relay is None or not isinstance(event, events.DataReceived) or event.connection is not relay.server:
            await super().server_event(event)
            return
        taken = self._pass_on(relay, event.data)
        if taken < len(event.data):
            await super().server_event(events.DataReceived(event.connection, event.data[taken:]))
            if relay.over:
                self._relay = None

    def _pass_on(self, relay: Relay, data: bytes) -> int:
        client = self.transports.get(self.client)
        if client is None or client.writer is None or client.writer.is_closing():
            return 0
        taken = relay.take(data)
        if taken:
            self.timeout_watchdog.register_activity()  # type: ignore[no-untyped-call]  # mitmproxy is typed in part
            client.writer.write(data[:taken])
        return taken

    def _parser_of(self, server: connection.Connection) -> Http1Client | None:
        for layer in _http_layers(self.layer.context):
            parser = layer.connections[server].context.layers[-1] if server in layer.connections else None
            if isinstance(parser, Http1Client):
                return parser
        return None


def _http_layers(context: Context) -> Iterator[HttpLayer]:
    """The outermost first: a tunnel is a stream of one, and holds another."""
    seen: set[int] = set()
    contexts = [context]
    for each in contexts:
        for layer in each.layers:
            if isinstance(layer, HttpLayer) and id(layer) not in seen:
                seen.add(id(layer))
                yield layer
                contexts += [stream.context for stream in layer.streams.values()]
