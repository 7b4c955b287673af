"""mitmproxy as a library: the listeners, and how they start and stop.

Only the addons that are needed: mitmproxy's core, its proxy server, the layer choice, TLS towards upstreams, refusal of
HTTP/2 cleartext, refusal of clients from public addresses. No command, file or certificate of mitmproxy's own
is created, but for the certificate authority of a forward proxy that was asked for. Every other listener is a reverse
proxy for a placeholder host that doesn't exist, and each request is steered to its real upstream (`proxy.hooks`): a
request that somehow was not steered goes nowhere. The sockets are ours, and so is TLS on them.

mitmproxy keeps its master and options in module globals, so one process can run one set of listeners at a time. What is
used of its internals (stopping client connections) is here and tested against the pinned version range.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from mitmproxy import certs, connection, http, options, tls
from mitmproxy.addonmanager import traverse
from mitmproxy.addons import block, core, disable_h2c, next_layer, proxyserver, tlsconfig
from mitmproxy.log import LegacyLogEvents
from mitmproxy.master import Master
from mitmproxy.proxy.mode_servers import ServerInstance
from mitmproxy.proxy.mode_specs import ProxyMode, RegularMode, ReverseMode

from proxy.clients import ClientHandler
from proxy.forward import Forward
from proxy.gate import Gate, is_forward
from proxy.hooks import Hooks
from proxy.upstreams import Provider

Listener = Provider | Literal["forward"]

CA_NAME: Final = "agentreel"  # of the forward proxy's authority: in the certificate and in its file names
CA_KEY_BITS: Final = 2048

_POLL_S: Final = 0.02  # while stopping only
_BACKLOG: Final = 1024  # connections that wait to be accepted: many agents may start at once
# Of a client. mitmproxy asks for 64 KB at a time, and each piece passes through all its layers: a body of 4 MB took
# a third of its CPU time so.
_READ_BYTES: Final = 1 << 20
_CLOSE_S: Final = 5.0  # for the handlers of cancelled connections to come to an end

_log = logging.getLogger(__name__)


class UpstreamTls(tlsconfig.TlsConfig):
    """TLS towards upstreams. Towards clients only inside a forward proxy's tunnels, where `ca_folder` is given."""

    def __init__(self, ca_folder: Path | None) -> None:
        super().__init__()
        if ca_folder is not None:
            ca_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.certstore = certs.CertStore.from_store(ca_folder, CA_NAME, CA_KEY_BITS)

    def configure(self, updated: set[str]) -> None:
        pass

    def tls_start_client(self, tls_start: tls.TlsData) -> None:
        if isinstance(tls_start.conn, connection.Client) and is_forward(tls_start.conn):
            super().tls_start_client(tls_start)

    def request(self, flow: http.HTTPFlow) -> None:
        """No revocation list is served either: there is no authority that could have one."""


class ContentFreeLog(logging.Handler):
    """Says that mitmproxy logged something and where, but not what: its messages quote requests and responses."""

    def install(self) -> None:
        logger = logging.getLogger("mitmproxy")
        logger.addHandler(self)
        logger.setLevel(logging.WARNING)
        logger.propagate = False

    def uninstall(self) -> None:
        logger = logging.getLogger("mitmproxy")
        logger.propagate = True
        logger.setLevel(logging.NOTSET)
        logger.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        reason = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else record.levelname
        _log.warning("mitmproxy reported a problem: %s at %s:%d", reason, record.module, record.lineno)


class Listeners:
    """Use `start` first, `stop` last, both in one running event loop."""

    def __init__(self, gate: Gate, forward: Forward, hooks: Hooks, idle_limit_s: int, ca_folder: Path | None) -> None:
        self._gate = gate
        self._forward = forward
        self._ca_folder = ca_folder
        self._accepting: list[asyncio.Server] = []
        self._hooked: dict[str, list[Callable[..., object]]] = {}  # by hook, of all addons
        self._hooks = hooks
        hooks.handler_of = self._handler_of
        self._idle_limit_s = idle_limit_s
        self._server = proxyserver.Proxyserver()  # type: ignore[no-untyped-call]  # mitmproxy is typed in part
        self._log = ContentFreeLog()
        self._master: Master
        self._running: asyncio.Task[None]

    async def start(self, sockets: Mapping[Listener, socket.socket], client_tls: ssl.SSLContext | None) -> None:
        """Takes the bound sockets over; the forward proxy's never speaks TLS itself."""
        self._log.install()
        self._master = self._make_master()
        self._running = asyncio.ensure_future(self._master.run())
        await self._hooks.ready.wait()
        try:
            for listener, bound in sockets.items():
                instance: ServerInstance[ProxyMode] = ServerInstance.make(_mode(listener), self._server)
                tls_context = None if listener == "forward" else client_tls
                self._accepting.append(await self._serve(instance, bound, tls_context))
        except BaseException:
            await self._end()
            raise

    async def stop(self, grace_s: float, hurry: asyncio.Event) -> None:
        """Stop listening, wait for exchanges in flight up to `grace_s` or until `hurry`, end what is left."""
        self._stop_accepting()
        await _wait_until(lambda: not self._hooks.hearing.open or hurry.is_set(), grace_s)
        self._hooks.hearing.stopping = True
        for handler in list(self._server.connections.values()):
            client = handler.transports.get(handler.client)
            if client is not None and client.handler is not None:
                client.handler.cancel("the recorder is stopping")
        await _wait_until(lambda: not self._server.connections, _CLOSE_S)
        await self._end()

    def _make_master(self) -> Master:
        master = Master(options.Options())
        for handler in logging.getLogger().handlers:
            if isinstance(handler, LegacyLogEvents):
                handler.uninstall()  # it would take the root logger's place as the last resort, and say nothing
        master.addons.add(  # type: ignore[no-untyped-call]
            core.Core(),
            self._server,
            self._forward,
            next_layer.NextLayer(),
            UpstreamTls(self._ca_folder),
            disable_h2c.DisableH2C(),
            block.Block(),
            self._gate,
            self._hooks,
        )
        master.options.update(  # type: ignore[no-untyped-call]
            mode=[],  # the listeners are started below, on sockets of ours
            ssl_verify_upstream_trusted_ca=os.environ.get("SSL_CERT_FILE") or None,  # a company's own authorities
            connection_strategy="lazy",  # else a refused upstream is a reset without a hook
            tcp_timeout=self._idle_limit_s,
            store_streamed_bodies=False,
            stream_large_bodies=None,
            body_size_limit=None,
            keep_host_header=True,  # the gate checks what the client sent; steering replaces it
            validate_inbound_headers=True,
            websocket=False,  # it would unpack and repack every message, and say goodbye in its own words
            rawtcp=True,  # what a connection was upgraded to; nothing else gets here in reverse mode
        )
        return master

    def _listeners_to(self, hook: str) -> Sequence[Callable[..., object]]:
        found = self._hooked.get(hook)
        if found is None:
            addons = traverse(self._master.addons.chain)  # type: ignore[no-untyped-call]
            found = self._hooked[hook] = [getattr(addon, hook) for addon in addons if hasattr(addon, hook)]
        return found

    def _handler_of(self, client: connection.Client) -> ClientHandler | None:
        handler = self._server.connections.get(client.id)
        return handler if isinstance(handler, ClientHandler) else None

    async def _serve(
        self, instance: ServerInstance[ProxyMode], bound: socket.socket, tls_context: ssl.SSLContext | None
    ) -> asyncio.Server:
        loop = asyncio.get_running_loop()

        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            handler = ClientHandler(self._master, reader, writer, instance.mode, self._listeners_to)
            handler.layer = instance.make_top_layer(handler.layer.context)
            with self._server.register_connection(handler.client.id, handler):
                await handler.handle_client()

        def protocol() -> asyncio.StreamReaderProtocol:
            return asyncio.StreamReaderProtocol(WideReader(_READ_BYTES, loop), handle, loop)

        return await loop.create_server(protocol, sock=bound, ssl=tls_context, backlog=_BACKLOG)

    def _stop_accepting(self) -> None:
        while self._accepting:
            self._accepting.pop().close()

    async def _end(self) -> None:
        self._stop_accepting()
        self._master.shutdown()  # type: ignore[no-untyped-call]
        await self._running
        self._log.uninstall()


class WideReader(asyncio.StreamReader):
    """Gives what has come, however little was asked for."""

    async def read(self, n: int = -1) -> bytes:
        return await super().read(max(n, _READ_BYTES) if n > 0 else n)


def _mode(listener: Listener) -> ProxyMode:
    if listener == "forward":
        return RegularMode.parse("regular")
    return ReverseMode.parse(f"reverse:http://{listener}.invalid:80")


async def _wait_until(done: Callable[[], bool], limit_s: float) -> None:
    loop = asyncio.get_running_loop()
    t_end = loop.time() + limit_s
    while not done() and loop.time() < t_end:  # noqa: ASYNC110 - mitmproxy tells no one when a connection is gone
        await asyncio.sleep(_POLL_S)
