"""mitmproxy as a library: the listeners, and how they start and stop.

Only the addons that are needed: mitmproxy's core, its proxy server, the layer choice, TLS towards upstreams, refusal of
HTTP/2 cleartext, refusal of clients from public addresses. No command, file or certificate of mitmproxy's own
is created. Every listener is a reverse proxy for a placeholder host that doesn't exist, and each request is steered to
its real upstream (`proxy.hooks`): a request that somehow was not steered goes nowhere.

mitmproxy keeps its master and options in module globals, so one process can run one set of listeners at a time. What is
used of its internals (stopping client connections) is here and tested against the pinned version range.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Callable
from typing import Final

from mitmproxy import connection, http, options, tls
from mitmproxy.addons import block, core, disable_h2c, next_layer, proxyserver, tlsconfig
from mitmproxy.log import LegacyLogEvents
from mitmproxy.master import Master
from mitmproxy.proxy.mode_specs import ProxyMode, ReverseMode

from corpus.errors import InputError
from proxy.hooks import Hooks
from proxy.upstreams import Provider

_POLL_S: Final = 0.02  # while stopping only
_CLOSE_S: Final = 5.0  # for the handlers of cancelled connections to come to an end

_log = logging.getLogger(__name__)


class UpstreamTls(tlsconfig.TlsConfig):
    """TLS towards upstreams only: no certificate authority is made, and clients can't speak TLS to us."""

    def configure(self, updated: set[str]) -> None:
        pass

    def tls_start_client(self, tls_start: tls.TlsData) -> None:
        pass

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
        if record.name == proxyserver.__name__:
            return  # a port that can't be had, which is told as an InputError
        reason = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else record.levelname
        _log.warning("mitmproxy reported a problem: %s at %s:%d", reason, record.module, record.lineno)


class Listeners:
    """Use `start` first, `stop` last, both in one running event loop."""

    def __init__(self, hooks: Hooks, idle_limit_s: int) -> None:
        self._hooks = hooks
        hooks.client_left = self._client_left
        self._idle_limit_s = idle_limit_s
        self._server = proxyserver.Proxyserver()  # type: ignore[no-untyped-call]  # mitmproxy is typed in part
        self._log = ContentFreeLog()
        self._master: Master
        self._running: asyncio.Task[None]

    async def start(self, host: str, ports: dict[Provider, int]) -> dict[Provider, int]:
        """The ports listened on, for 0 a free one. InputError when a port can't be had."""
        self._log.install()
        self._master = self._make_master()
        self._running = asyncio.ensure_future(self._master.run())
        await self._hooks.ready.wait()
        modes = {provider: _mode(provider, host, port) for provider, port in ports.items()}
        try:
            await self._server.servers.update(modes.values())
            return {provider: self._port_of(mode, host) for provider, mode in modes.items()}
        except BaseException:
            await self._end()
            raise

    async def stop(self, grace_s: float, hurry: asyncio.Event) -> None:
        """Stop listening, wait for exchanges in flight up to `grace_s` or until `hurry`, end what is left."""
        await self._server.servers.update([])
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
            next_layer.NextLayer(),
            UpstreamTls(),
            disable_h2c.DisableH2C(),
            block.Block(),
            self._hooks,
        )
        master.options.update(  # type: ignore[no-untyped-call]
            mode=[],  # the listeners are started below: two with port 0 count as a clash here
            connection_strategy="lazy",  # else a refused upstream is a reset without a hook
            tcp_timeout=self._idle_limit_s,
            store_streamed_bodies=False,
            stream_large_bodies=None,
            body_size_limit=None,
            keep_host_header=False,
            validate_inbound_headers=True,
            websocket=False,  # it would unpack and repack every message, and say goodbye in its own words
            rawtcp=True,  # what a connection was upgraded to; nothing else gets here in reverse mode
        )
        return master

    def _client_left(self, client: connection.Client, server: connection.Server) -> bool:
        """Whether it was not the server that ended an upgraded connection; mitmproxy closes both before it says so."""
        for handler in self._server.connections.values():
            if handler.client is client and (heard := handler.transports.get(server)):
                reader = heard.reader
                ended = isinstance(reader, asyncio.StreamReader) and (reader.at_eof() or reader.exception() is not None)
                return not ended
        return True

    def _port_of(self, mode: ProxyMode, host: str) -> int:
        instance = self._server.servers[mode]
        if instance.last_exception is not None:
            raise _unusable(host, mode.custom_listen_port, instance.last_exception)
        return int(instance.listen_addrs[0][1])

    async def _end(self) -> None:
        await self._server.servers.update([])
        self._master.shutdown()  # type: ignore[no-untyped-call]
        await self._running
        self._log.uninstall()


def _mode(provider: Provider, host: str, port: int) -> ReverseMode:
    return ReverseMode.parse(f"reverse:http://{provider}.invalid:80@{host}:{port}")


def _unusable(host: str, port: int | None, error: Exception) -> InputError:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EADDRINUSE:
        return InputError(f"port {port}", "is already in use", "choose another port, or 0 for any free one")
    reason = errno.errorcode.get(number, "unknown") if number is not None else type(error).__name__
    return InputError(f"{host}:{port}", f"cannot be listened on ({reason})", "choose another host or port")


async def _wait_until(done: Callable[[], bool], limit_s: float) -> None:
    loop = asyncio.get_running_loop()
    t_end = loop.time() + limit_s
    while not done() and loop.time() < t_end:  # noqa: ASYNC110 - mitmproxy tells no one when a connection is gone
        await asyncio.sleep(_POLL_S)
