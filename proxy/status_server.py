"""Serves the status page, the metrics and the pause switch, on loopback.

A few lines of HTTP of its own: three pages, one request a connection. What a web page in a browser could make of it is
refused as on the listeners: a Host that is no address of ours, and a POST with the origin of any other site.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Final

from proxy.access import is_from_web_page, is_own_host
from proxy.sockets import port_of
from proxy.status import metrics_text, page
from proxy.totals import Snapshot, totals_of

_MAX_HEAD: Final = 16 * 1024
_READ_S: Final = 10.0
_HTML: Final = "text/html; charset=utf-8"
_SAFE: Final = (
    "Cache-Control: no-store",
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; form-action 'self'",
    "X-Frame-Options: DENY",
    "X-Content-Type-Options: nosniff",
    "Referrer-Policy: same-origin",  # with none at all, browsers hide the origin of the page's own POST
    "Connection: close",
)


@dataclass(frozen=True, slots=True)
class Reply:
    status: str
    content_type: str = "text/plain; charset=utf-8"
    body: str = ""
    location: str | None = None

    def encode(self) -> bytes:
        body = self.body.encode("utf-8", "replace")
        lines = [
            f"HTTP/1.1 {self.status}",
            f"Content-Type: {self.content_type}",
            f"Content-Length: {len(body)}",
            *_SAFE,
        ]
        if self.location:
            lines.append(f"Location: {self.location}")
        return "\r\n".join([*lines, "", ""]).encode() + body


class StatusServer:
    def __init__(self, snapshot: Callable[[], Snapshot], set_paused: Callable[[bool], None]) -> None:
        self._snapshot = snapshot
        self._set_paused = set_paused
        self._server: asyncio.Server | None = None
        self._port = 0

    async def start(self, bound: socket.socket) -> int:
        """Takes the socket over; its port."""
        self._port = port_of(bound)
        self._server = await asyncio.start_server(self._serve, sock=bound, limit=_MAX_HEAD)
        return self._port

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _READ_S)
            writer.write(self.answer(head, time.time_ns() // 1000).encode())
            await writer.drain()
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    def answer(self, head: bytes, now_us: int) -> Reply:
        """To a request's head, as it was received."""
        lines = head.decode("latin-1").split("\r\n")
        method, _, target = lines[0].rpartition(" ")[0].partition(" ")
        headers = dict(_field(line) for line in lines[1:] if ":" in line)
        if not is_own_host(headers.get("host"), frozenset()):
            return Reply("403 Forbidden", body="refused: the Host is no address of this machine\n")
        path = target.partition("?")[0]
        if method == "POST":
            return self._switch(path, headers)
        if method not in ("GET", "HEAD"):
            return Reply("405 Method Not Allowed")
        return self._show(path, now_us)

    def _show(self, path: str, now_us: int) -> Reply:
        match path:
            case "/":
                return Reply("200 OK", _HTML, page(self._snapshot(), now_us))
            case "/metrics":
                text = metrics_text(self._snapshot(), now_us)
                return Reply("200 OK", "text/plain; version=0.0.4; charset=utf-8", text)
            case "/status.json":
                snapshot = self._snapshot()
                values = {"paused": snapshot.paused, "in_flight": snapshot.open, **asdict(totals_of(snapshot))}
                return Reply("200 OK", "application/json", json.dumps(values) + "\n")
        return Reply("404 Not Found", body="try /, /metrics or /status.json\n")

    def _switch(self, path: str, headers: dict[str, str]) -> Reply:
        origin = headers.get("origin")
        if origin not in self._own_origins() and is_from_web_page(origin, headers.get("sec-fetch-site")):
            return Reply("403 Forbidden", body="refused: another site's page asked for it\n")
        if path not in ("/pause", "/resume"):
            return Reply("404 Not Found", body="try /pause or /resume\n")
        self._set_paused(path == "/pause")
        return Reply("303 See Other", location="/")

    def _own_origins(self) -> tuple[str, str]:
        return f"http://127.0.0.1:{self._port}", f"http://localhost:{self._port}"


def _field(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip().lower(), value.strip()
