"""One client's connections: mitmproxy's handler of them, with what the hooks want of it besides.

A handler owns a client's socket and those to the servers it was sent to, and puts the short way of a streamed answer
between them (`proxy.tap`). Two things that mitmproxy does at every hook are left out, since they delay an answer's
first byte: it asks all addons by name whether they have the hook, and then once more for an "update" that nobody here
listens to; and it lets the event loop read and write elsewhere before a hook's end is heard of.
"""

from __future__ import annotations

from asyncio import StreamReader, StreamWriter, Transport
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial

from mitmproxy import connection, http
from mitmproxy.addonmanager import safecall
from mitmproxy.master import Master
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HttpLayer
from mitmproxy.proxy.layers.http._http1 import Http1Client
from mitmproxy.proxy.layers.tls import TLSLayer
from mitmproxy.proxy.mode_servers import ProxyConnectionHandler
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.utils.asyncio_utils import create_task

from proxy.relay import Relay
from proxy.tap import End, Tap

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
        self._untap()
        server, client = self._end_of(flow.server_conn, parser.context), self._end_of(self.client, parser.context)
        if server and client:
            heard, hear_rest = self.timeout_watchdog.register_activity, partial(self._hear_rest, flow.server_conn)
            self._tap = Tap(Relay(parser, hear), server, client, heard, hear_rest)

    def _end_of(self, found: connection.Connection, context: Context) -> End | None:
        """None: it has left, or its TLS session is not where it is expected."""
        io = self.transports.get(found)
        tls = next((layer.tls for layer in context.layers if isinstance(layer, TLSLayer) and layer.conn == found), None)
        if io is None or not isinstance(io.reader, StreamReader) or (tls is None and found.tls):
            return None
        assert isinstance(io.writer, StreamWriter)
        assert isinstance(io.writer.transport, Transport)
        return End(io.writer.transport, io.reader, tls)

    def _hear_rest(self, server: connection.Server) -> None:
        """What lies in the server's TLS session; done with when this returns, but for the draining."""
        create_task(self._take_rest(server), name="rest of a piece", keep_ref=True)

    async def _take_rest(self, server: connection.Server) -> None:
        await self.server_event(events.DataReceived(server, b""))
        await self.drain_writers()  # type: ignore[no-untyped-call]  # mitmproxy is typed in part

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
