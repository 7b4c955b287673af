"""One client's connections: mitmproxy's handler of them, with what the hooks want of it besides.

A handler owns a client's socket and those to the servers it was sent to, and puts the short way of a streamed answer
between them (`proxy.relay`). Two things that mitmproxy does at every hook are left out, since they delay an answer's
first byte: it asks all addons by name whether they have the hook, and then once more for an "update" that nobody here
listens to; and it lets the event loop read and write elsewhere before a hook's end is heard of.
"""

from __future__ import annotations

from asyncio import StreamReader, StreamWriter, Transport
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence

from mitmproxy import connection, http
from mitmproxy.addonmanager import safecall
from mitmproxy.master import Master
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HttpLayer
from mitmproxy.proxy.layers.http._http1 import Http1Client
from mitmproxy.proxy.mode_servers import ProxyConnectionHandler
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.proxy.server import ConnectionIO

from proxy.relay import Relay, Tap

ListenersTo = Callable[[str], Sequence[Callable[..., object]]]  # a hook, by its name


class ClientHandler(ProxyConnectionHandler):
    """`listeners` are called in order; what one raises is logged, and the next is called."""

    def __init__(
        self, master: Master, reader: StreamReader, writer: StreamWriter, mode: ProxyMode, listeners: ListenersTo
    ) -> None:
        super().__init__(master, reader, writer, master.options, mode)  # type: ignore[no-untyped-call]  # typed in part
        self._listeners = listeners
        self._tap: Tap | None = None
        self._completed: deque[events.HookCompleted] = deque()

    def shorten(self, flow: http.HTTPFlow, hear: Callable[[bytes], object]) -> None:
        """Gives the answer in flight the short way from its next piece on; call it while the first passes."""
        parser = self._parser_of(flow.server_conn)
        if parser is None or not flow.request.is_http11:  # HTTP/2 has frames of its own
            return
        relay = Relay(parser, flow.client_conn, hear)
        if flow.server_conn.tls or flow.client_conn.tls:
            relay.divert()
            return
        self._untap()
        server, client = self.transports.get(flow.server_conn), self.transports.get(self.client)
        if server and client and isinstance(server.reader, StreamReader):
            ends = (_transport_of(server), _transport_of(client))
            self._tap = Tap(relay, ends[0], server.reader, ends[1], self.timeout_watchdog.register_activity)

    def _untap(self) -> None:
        if self._tap:
            self._tap.take_away()
            self._tap = None

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
        return isinstance(reader, StreamReader) and (reader.at_eof() or reader.exception() is not None)

    async def handle_hook(self, hook: commands.StartHook) -> None:
        with self.timeout_watchdog.disarm():
            for listener in self._listeners(hook.name):
                with safecall():
                    waits = listener(*hook.args())
                    if isinstance(waits, Awaitable):
                        await waits

    async def hook_task(self, hook: commands.StartHook) -> None:
        """Begins in the middle of the event that asked for the hook, and has mostly ended before that event has."""
        await self.handle_hook(hook)
        if not hook.blocking:
            return
        self._completed.append(events.HookCompleted(hook))
        if not self._server_event_lock.locked():
            await self._complete()

    async def server_event(self, event: events.Event) -> None:
        await super().server_event(event)
        await self._complete()
        if self._tap and self._tap.relay.over:
            self._untap()

    async def _complete(self) -> None:
        while self._completed:
            await super().server_event(self._completed.popleft())

    def _parser_of(self, server: connection.Connection) -> Http1Client | None:
        for layer in _http_layers(self.layer.context):
            parser = layer.connections[server].context.layers[-1] if server in layer.connections else None
            if isinstance(parser, Http1Client):
                return parser
        return None


def _transport_of(connection: ConnectionIO) -> Transport:
    assert isinstance(connection.writer, StreamWriter)
    assert isinstance(connection.writer.transport, Transport)
    return connection.writer.transport


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
