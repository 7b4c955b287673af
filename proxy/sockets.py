"""The sockets that are listened on: bound by us and not by mitmproxy, so that workers can share a port.

With `shared` several processes listen on one port and the kernel gives each connection to one of them. Such a port
would silently be shared with a second recorder too, so `reserve` first asks for it alone, and keeps it from being
taken while workers come and go: a bound socket that doesn't listen gets no connections.
"""

from __future__ import annotations

import errno
import socket
from typing import Any

from corpus.errors import InputError


def bind(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Bound, not yet listening; port 0: any free one. InputError when it can't be had."""
    family, address = _address(host, port)
    # The protocol is named: without it asyncio doesn't switch off Nagle's algorithm on what is accepted, and every
    # first event of a stream waits 40 ms for an acknowledgement.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise _unusable(host, port, error) from error
    bound.setblocking(False)
    return bound


def reserve(host: str, port: int) -> socket.socket:
    """A port for workers to share, taken by nobody else now."""
    alone = bind(host, port)
    found = port_of(alone)
    alone.listen(1)  # what another process has bound shared is refused only now
    alone.close()
    return bind(host, found, shared=True)


def port_of(bound: socket.socket) -> int:
    return int(bound.getsockname()[1])


def _address(host: str, port: int) -> tuple[socket.AddressFamily, tuple[Any, ...]]:
    if host == "localhost":
        host = "127.0.0.1"
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise InputError("--host", f"{host!r} is no address of this machine", "use 127.0.0.1") from error
    family, _, _, _, address = found[0]
    return family, address


def _unusable(host: str, port: int, error: OSError) -> InputError:
    if error.errno == errno.EADDRINUSE:
        return InputError(f"port {port}", "is already in use", "choose another port, or 0 for any free one")
    reason = errno.errorcode.get(error.errno or 0, "unknown")
    return InputError(f"{host}:{port}", f"cannot be listened on ({reason})", "choose another host or port")
